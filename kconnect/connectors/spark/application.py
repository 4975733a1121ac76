"""
The Spark application, as its task host sees it: started by whoever asks first, asked by all, ended with the host.

It is a process of another Python (the worker's `lake.python`), since the jars of Delta and Iceberg fit certain versions of
Spark only. It can't hurt the host: if it ends, all that was asked of it fails, and the next question starts another one.
Called by `lake.py` and `targets.py`. Read next: `session/main.py`, the other side.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import fcntl
import json
import logging
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow as pa

import kconnect
from kconnect import interpreter
from kconnect.api import ConnectError
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.names import printable
from kconnect.connectors.spark.session import wire

log = logging.getLogger(__name__)

PYTHON, SETTINGS = "lake.python", "lake.spark."
_TAKEN_S = 300
_CHORES = ("maintain", "copy")
_ENDS_S, _LOOKS_S = 30.0, 0.2
"""How long its processes may take to end once their first one has, and how often that is looked at."""
_SUSPICION, _VERDICT, _REST_S = 2, 4, 600.0
"""So many ends in a row have a table asked for alone, so many have it rest, for so long."""
_WRITERS = 4
"""Commits at a time: most of one is Spark's planning, in the driver's JVM."""
_DEFAULTS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "2",
    # VACUUM has so many tasks: by Spark's default 10,000, which take a minute for a table with ten files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.log.level": "WARN",
    "spark.sql.adaptive.enabled": "true",
    # A store that says nothing is not waited for as long as their clients do.
    "spark.hadoop.ipc.client.connect.timeout": "10000",
    "spark.hadoop.ipc.client.connect.max.retries": "2",
    "spark.hadoop.ipc.client.connect.max.retries.on.timeouts": "1",
    "spark.hadoop.ipc.client.rpc-timeout.ms": "60000",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "10s",
    "spark.hadoop.fs.s3a.attempts.maximum": "3",
}
_ALONE = {
    # Spark listens, with its own jars and blocks, for whoever asks.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}
"""Of a master that is this process itself."""
_OURS = {
    # Of what the event log and the UI show: logins of catalogs and stores, which may be in a catalog's address, too.
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|credential|[.]uri$|header[.]|[.-]key|sas[.]|auth[.]",
    # What SQL has of names that data and configs choose is no place for the environment's values.
    "spark.sql.variable.substitute": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.extensions": (
        "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    ),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


class SparkFault(Exception):
    """
    An error of the application. `passes`: another try may succeed. `forbids`: the user may not do that. `blames`: the table
    does not take the values of a row; `perhaps` that is so. `ended`: the application has, before it said anything.
    """

    ended = False

    def __init__(
        self, text: str, passes: bool = False, forbids: bool = False, blames: bool = False, perhaps: bool = False
    ) -> None:
        super().__init__(text)
        self.passes, self.forbids, self.blames, self.perhaps = passes, forbids, blames, perhaps


class Answer(NamedTuple):
    """`table` is what there is, None if nothing is; `schema` has its columns; Spark has taken so many `seconds`."""

    outcome: str
    table: dict[str, Any] | None
    schema: pa.Schema | None
    seconds: float = 0.0


class _Asked(NamedTuple):
    table: str
    head: dict[str, Any]
    rows: pa.Buffer | None
    answer: Future[Answer]


class Suspects:
    """
    Tables that were asked for whenever the application has ended, one after the other: whoever may write into the folder of one
    can end it, by an expression of its log, and all other tables with it. By table, how many such ends there were in a row.
    """

    def __init__(self) -> None:
        self._ends: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def ends(self, table: str) -> int:
        return self._ends.get(table, 0)

    def has(self, table: str) -> bool:
        """Whether a table is asked for alone. One end says nothing: somebody may have killed a process."""
        return self.ends(table) >= _SUSPICION

    def rests(self, table: str) -> str | None:
        """Return why a table is not asked for, if it is not."""
        seconds = self._until.get(table, 0.0) - time.monotonic()
        if seconds <= 0:
            return None
        return (
            f"the Spark application has ended each of the last {self.ends(table)} times that this table was asked for. It is "
            f"tried again in {seconds / 60:.0f} min: look at what its log or metadata have Spark do"
        )

    def note(self, table: str, ends: bool) -> None:
        """Note that there was an answer, or that the application has ended before it."""
        if not ends:
            self._ends.pop(table, None)
            self._until.pop(table, None)
            return
        self._ends[table] = self.ends(table) + 1
        if self._ends[table] >= _VERDICT:
            self._until[table] = time.monotonic() + _REST_S


def _table_of(head: Mapping[str, Any]) -> str:
    """Return what stands for the table of a question."""
    return json.dumps([head.get("format"), head.get("where")], sort_keys=True)


class Application:
    """One for each process and each set of settings: `of` gives it. All methods may be called from any thread."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        self._suspects = Suspects()
        self._queue: list[_Asked] = []
        """Questions about suspects, which are asked one after the other."""
        self._asks_suspect = False
        self._python = worker.get(PYTHON, "")
        chosen = {name.removeprefix("lake."): value for name, value in worker.items() if name.startswith(SETTINGS)}
        is_local = {**_DEFAULTS, **chosen}["spark.master"].startswith("local")
        self._settings = {**_DEFAULTS, **chosen, **_OURS, **(_ALONE if is_local else {})}
        self._links = HostFiles(worker).followed
        self._lock = threading.Lock()
        self._life: _Life | None = None

    def ask(self, head: dict[str, Any], rows: pa.Buffer | None = None) -> Future[Answer]:
        """Ask for something; the future fails with SparkFault. SparkFault if Spark can't be started."""
        asked = _Asked(_table_of(head), head, rows, Future())
        with self._lock:
            reason = self._suspects.rests(asked.table)
            waits = reason is None and self._suspects.has(asked.table) and head["do"] not in _CHORES
            if waits:
                self._queue.append(asked)
        if reason is not None:
            asked.answer.set_exception(SparkFault(reason, passes=True))
        elif waits:
            self._ask_next()
        else:
            self._send(asked, False)
        return asked.answer

    def _send(self, asked: _Asked, alone: bool) -> None:
        with self._lock:
            if self._life is None or self._life.ended.is_set():
                self._life = _Life(self._python, self._settings, self._links)
            life = self._life
        life.ask(asked.head, asked.rows).add_done_callback(lambda done: self._answered(asked, done, alone))

    def _answered(self, asked: _Asked, done: Future[Answer], alone: bool) -> None:
        error = done.exception()
        with self._lock:
            self._suspects.note(asked.table, ends=isinstance(error, SparkFault) and error.ended)
            if alone:
                self._asks_suspect = False
        if error is None:
            asked.answer.set_result(done.result())
        else:
            asked.answer.set_exception(error)
        self._ask_next()

    def _ask_next(self) -> None:
        """Ask what waits of a suspect, that with the fewest ends first, unless another one is asked."""
        with self._lock:
            if self._asks_suspect or not self._queue:
                return
            self._asks_suspect = True
            asked = min(self._queue, key=lambda each: self._suspects.ends(each.table))
            self._queue.remove(asked)
        try:
            self._send(asked, True)
        except Exception as error:  # noqa: BLE001 - who asked is told why Spark can't be started
            with self._lock:
                self._asks_suspect = False
            asked.answer.set_exception(error)
            self._ask_next()

    def end_if_silent(self, longest_s: float, setting: str) -> None:
        """End Spark if something was asked of it, and it has answered nothing for longer than `setting` says."""
        with self._lock:
            if self._life is not None and self._life.silent_s() > longest_s:
                self._life.give_up(f"it has answered nothing for {longest_s:.0f} s, which is {setting}")
                self._life = None

    def end(self) -> None:
        """End Spark, if it runs."""
        with self._lock:
            if self._life is not None:
                self._life.end()
                self._life = None


_applications: dict[tuple[tuple[str, str], ...], Application] = {}
_making = threading.Lock()


def of(worker: Mapping[str, str]) -> Application:
    """Return the application of this process for a worker's settings."""
    key = tuple(sorted((name, value) for name, value in worker.items() if name == PYTHON or name.startswith(SETTINGS)))
    with _making:
        if key not in _applications:
            _applications[key] = Application(worker)
        return _applications[key]


class _Life:
    """One process of the application, from its start to its end."""

    def __init__(self, python: str, settings: Mapping[str, str], links: list[str] | None) -> None:
        if not python:
            raise ConnectError(
                f"The worker's {PYTHON} is not set: run kconnect lake setup on each machine of the cluster, and set {PYTHON} "
                "in the worker's file to the program that it names"
            )
        self.ended = threading.Event()
        self._sending, self._noting = threading.Lock(), threading.Lock()
        self._futures: dict[int, Future[Answer]] = {}
        self._number = 0
        self._heard_at = time.monotonic()
        """When something was answered, or asked while nothing was to be answered."""
        self._chores: set[int] = set()
        """These may take as long as they do."""
        self._last_lines: list[str] = []
        self._line, theirs = socket.socketpair()
        # Who asks is not to wait for ever for an application that takes nothing.
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _TAKEN_S, 0))
        self._folder = _Folder()
        command = interpreter.command("kconnect.connectors.spark.session.main", str(theirs.fileno()), python=python)
        environment = {
            **os.environ,
            **self._folder.environment,
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": python,
        }
        for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_SUBMIT_ARGS"):
            environment.pop(name, None)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                    env=environment,
                    # A signal that is meant for the worker's terminal is none for it: its host ends it.
                    start_new_session=True,
                )
            except OSError as error:
                self._line.close()
                self._folder.remove()
                raise ConnectError(f"{PYTHON}={python} can't be run: {error.strerror}") from None
        self._cleared = threading.Event()
        atexit.register(self._leave)
        # Not threads of the task that asks first, which would be waited for at its end: others ask, too.
        _thread.start_new_thread(self._show, ())
        _thread.start_new_thread(self._hear, ())
        with contextlib.suppress(OSError):
            # It may have ended already, which whoever hears notices.
            wire.send(self._line, {"spark": dict(settings), "writers": _WRITERS, "links": links})

    def ask(self, head: dict[str, Any], rows: pa.Buffer | None) -> Future[Answer]:
        future: Future[Answer] = Future()
        with self._noting:
            self._number += 1
            number = self._number
            if self.ended.is_set():
                future.set_exception(self._fault())
                return future
            if self._futures.keys() <= self._chores:
                self._heard_at = time.monotonic()
            if head["do"] in _CHORES:
                self._chores.add(number)
            self._futures[number] = future
        try:
            with self._sending:
                wire.send(self._line, {**head, "number": number}, b"" if rows is None else memoryview(rows))
        except OSError:
            self.end()
        return future

    def silent_s(self) -> float:
        """Return for how long nothing was answered; 0 if there is nothing to answer."""
        with self._noting:
            return 0.0 if self._futures.keys() <= self._chores else time.monotonic() - self._heard_at

    def give_up(self, reason: str) -> None:
        log.warning("The Spark application is ended: %s", reason)
        self._last_lines.append(reason)
        self.end()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def _hear(self) -> None:
        try:
            while True:
                head, rows = wire.receive(self._line)
                with self._noting:
                    future = self._futures.pop(head["number"], None)
                    self._chores.discard(head["number"])
                    self._heard_at = time.monotonic()
                if head["number"] == 0 and "error" not in head:
                    log.info("The Spark application for lakes has started: Spark %s", head["version"])
                elif head["number"] == 0:
                    self._last_lines.append(head["error"])
                elif future is not None and "error" in head:
                    fault = SparkFault(
                        printable(head["error"]), *(head[name] for name in ("passes", "forbids", "blames", "perhaps"))
                    )
                    future.set_exception(fault)
                elif future is not None:
                    schema = pa.ipc.read_schema(pa.py_buffer(bytes(rows))) if rows else None
                    future.set_result(Answer(head["outcome"], head["table"], schema, head["seconds"]))
        except wire.ClosedError:
            pass
        self._process.kill()
        self._process.wait()
        with self._noting:
            self.ended.set()
            waiting, self._futures = list(self._futures.values()), {}
        for future in waiting:
            future.set_exception(self._fault())
        self._line.close()
        self._clear()

    def _clear(self) -> None:
        """
        Remove the folder once nobody looks for code in it: Spark's JVM ends behind the process that has started it. Before
        that, another user of this machine could make the folder anew.
        """
        late_at = time.monotonic() + _ENDS_S
        while left := _session(self._process.pid):
            if time.monotonic() > late_at:
                for process in left:
                    with contextlib.suppress(psutil.Error):
                        process.kill()
            time.sleep(_LOOKS_S)
        self._folder.remove()
        self._cleared.set()
        atexit.unregister(self._leave)

    def _leave(self) -> None:
        """Wait, at the end of this process, until its children have ended."""
        self.end()
        self._cleared.wait(2 * _ENDS_S)

    def _fault(self) -> SparkFault:
        reason = f": {printable(self._last_lines[-1])}" if self._last_lines else ""
        fault = SparkFault(f"the Spark application has ended{reason}", passes=True)
        fault.ended = True
        return fault

    def _show(self) -> None:
        """Log what Spark says: stacks of Java for those who look for them only."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text = printable(line.decode("utf-8", "replace").rstrip())
            if not text:
                continue
            log.debug("Spark: %s", text)
            if "Error" in text and not text.startswith(("at ", "\t")):
                self._last_lines = [*self._last_lines[-3:], text[:500]]


class _Folder:
    """
    Where the application's processes find kconnect, and have what they put aside: Spark's settings are in a folder of its JVM's
    class path. Nobody else can make anything in it, whatever is removed there, and it stays for as long as they live.
    """

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="kconnect-lake-"))
        # An application lives for weeks. What removes old files there (systemd-tmpfiles) leaves alone what is locked.
        self._lock = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        # Of the first nothing but kconnect is to be found: not the packages of this Python.
        modules, aside = self._path / "modules", self._path / "aside"
        modules.mkdir()
        aside.mkdir()
        os.symlink(Path(kconnect.__file__).parent, modules / "kconnect")
        self.environment = {"PYTHONPATH": str(modules), "TMPDIR": str(aside)}

    def remove(self) -> None:
        os.close(self._lock)
        shutil.rmtree(self._path, ignore_errors=True)


def _session(leader: int) -> list[psutil.Process]:
    """Return the processes of a session that have not ended."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
