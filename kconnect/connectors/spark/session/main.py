"""
The loop of the Spark application: takes requests, and answers each from a thread that has a session of its own.

Started by `application.py` with the number of a socket; it ends when that is closed, and its JVM with it. Read next:
`tables.py`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kconnect import doorman, private_folder
from kconnect.connectors.spark.session import delta, groups, iceberg, stores, tables, wire
from kconnect.connectors.spark.session.groups import Request, Writes

Answer = tuple[dict[str, Any], bytes]
_ENDS_S = 5.0
"""How long a JVM may take to end that has run out of memory."""
_LOOKERS = 4
"""A table whose store does not answer holds up one of them."""
JARS = "kconnect-jars"
"""The folder of this Python with the jars of table formats, as `kconnect lake setup` makes it."""
_OPTIONS = "spark.driver.extraJavaOptions"


def main() -> None:
    line = socket.socket(fileno=int(sys.argv[1]))
    head, _ = wire.receive(line)
    Server(line, head).serve()
    sys.stdout.flush()
    # Threads that are within the JVM would be waited for. It ends with this process.
    os._exit(0)


class Server:
    """
    `settings` is the first message: Spark's settings, how many requests are answered at a time, and which links are followed.
    """

    def __init__(self, line: socket.socket, settings: dict[str, Any]) -> None:
        self._line, self._settings = line, settings
        self._sending = threading.Lock()
        # Who only looks at a table does not wait behind those that write, and nobody for what tidies one up.
        self._looks: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._chores: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._writes = Writes()

    def serve(self) -> None:
        """Answer until the other side is gone."""
        try:
            spark = _session(self._settings["spark"])
        except Exception as error:  # noqa: BLE001 - whatever keeps Spark from starting is told
            self._answer({"number": 0, **tables.told(error)})
            return
        # Without its JVM nothing can be answered any more; whoever asks next starts another application.
        java = spark.sparkContext._gateway.proc
        threading.Thread(target=lambda: (java.wait(), os._exit(1)), daemon=True).start()
        self._java = java
        stores.close(spark)
        self._answer({"number": 0, "version": spark.version})
        links = self._settings["links"]
        lake = tables.Tables({"delta": delta.Delta(links), "iceberg": iceberg.Iceberg(links)})
        for requests in (*[self._looks] * _LOOKERS, self._chores):
            threading.Thread(target=self._work, args=(spark, lake, requests), daemon=True).start()
        for _ in range(self._settings["writers"]):
            threading.Thread(target=self._write, args=(spark, lake), daemon=True).start()
        import pyarrow as pa

        try:
            while True:
                head, rows = wire.receive(self._line)
                if head["do"] == "write":
                    self._writes.put(Request(head, pa.ipc.open_stream(rows).read_all()))
                else:
                    (self._chores if head["do"] == "maintain" else self._looks).put(Request(head, rows))
        except wire.ClosedError:
            return

    def _work(self, spark: Any, lake: tables.Tables, requests: queue.SimpleQueue[Request]) -> None:
        session = _own_session(spark)
        opened = stores.Opened(session)
        acts: dict[str, Callable[..., Answer]] = {
            "look": lake.look,
            "set": lake.set_offsets,
            "maintain": lake.maintain,
            "copy": lake.copy,
        }
        while True:
            request = requests.get()
            self._tell(request, _answered(acts[request.head["do"]], session, opened, request, self._java))

    def _write(self, spark: Any, lake: tables.Tables) -> None:
        session = _own_session(spark)
        opened = stores.Opened(session)
        while True:
            with self._writes.taken() as requests:
                together = groups.combined(requests)
                if together is not None:
                    answer = _answered(lake.write, session, opened, together, self._java)
                    if answer[0].get("outcome") == "committed":
                        for request in requests:
                            self._tell(request, answer)
                        continue
                # One of them is stale, or bad: by themselves, the others are not.
                for request in requests:
                    self._tell(request, _answered(lake.write, session, opened, request, self._java))

    def _tell(self, request: Request, answer: Answer) -> None:
        self._answer({"number": request.head["number"], **answer[0]}, answer[1])

    def _answer(self, head: dict[str, Any], rows: bytes = b"") -> None:
        with self._sending:
            try:
                wire.send(self._line, head, rows)
            except OSError:
                return  # Nobody waits for it any more; `serve` ends.


def _answered(act: Callable[..., Answer], spark: Any, opened: stores.Opened, request: Request, java: Any) -> Answer:
    began = time.monotonic()
    try:
        opened.open(request.head["where"])
        head, rows = act(spark, request.head, request.rows)
        return {**head, "seconds": time.monotonic() - began}, rows
    except Exception as error:  # noqa: BLE001 - who asked decides what it means
        traceback.print_exc()
        if _is_ending(spark):
            # What fails while the JVM ends is no answer: this process ends then, too, and who asked is told of that.
            with contextlib.suppress(subprocess.TimeoutExpired):
                java.wait(_ENDS_S)
                time.sleep(_ENDS_S)
        return tables.told(error), b""


def _is_ending(spark: Any) -> bool:
    """Whether Spark has stopped, or its JVM does not answer any more."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001 - py4j has many for a JVM that is gone
        return True


def _own_session(spark: Any) -> Any:
    """Return a session of this thread's own."""
    session = spark.newSession()
    # What Java asks for in this thread, catalogs above all, is that of the active session, and each Python thread has one.
    session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
    _forget_java(session)
    return session


def _session(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    jars = sorted(map(str, Path(sys.prefix, JARS).glob("*.jar")))
    # Of TMPDIR, which Java does not heed; `application.py` has made that, for this user alone.
    aside = private_folder.PrivateFolder(tempfile.gettempdir(), -1)
    settings[_OPTIONS] = aside.added_to(settings.get(_OPTIONS, ""))
    settings = {"spark.app.name": "kconnect lake", **({"spark.jars": ",".join(jars)} if jars else {}), **settings}
    logins = _logins(Path(f"{sys.prefix}.conf"))
    names = [re.escape(line.split(maxsplit=1)[0]) for line in logins.splitlines() if line.strip() and line[0] != "#"]
    settings["spark.redaction.regex"] = "|".join((settings["spark.redaction.regex"], *names))
    # It is on the JVM's class path, so it stays for as long as that; `application.py` removes it, with all of TMPDIR.
    folder = tempfile.mkdtemp(prefix="kconnect-spark-")
    # Spark would have what a builder is told in its command line, which all users of the machine can read.
    lines = [f"{name} {_escaped(value)}" for name, value in settings.items()]
    file = Path(folder, "spark-defaults.conf")
    file.touch(0o600)
    file.write_text("\n".join((logins, *lines, "")), "utf-8")
    os.environ["SPARK_CONF_DIR"] = folder
    try:
        spark = SparkSession.builder.getOrCreate()
        doorman.post(spark.sparkContext._gateway)
        if settings["spark.master"].startswith("local"):
            # Executors elsewhere have no such folder.
            aside.lend_to_hadoop(spark._jsc.hadoopConfiguration())
        return spark
    finally:
        file.unlink()


def _logins(file: Path) -> str:
    """
    Return what stands in a file beside this Python's folder, lake.conf for lake: settings with logins, in the form of Spark's
    own spark-defaults.conf. The worker's file has none for Spark: plugins would know them. OSError if others may read it.
    """
    if not file.exists():
        return ""
    if file.stat().st_mode & 0o077:
        raise PermissionError(f"{file} is for logins, and others than its owner may read it: chmod 600 {file}")
    return file.read_text("utf-8")


def _forget_java(spark: Any) -> None:
    """
    Take away the functions of SQL that call methods of Java. A table's log may have expressions, such as constraints, and
    whoever may write into the table's folder may have written them.
    """
    jvm, registry = spark._jvm, spark._jsparkSession.sessionState().functionRegistry()
    for name in ("reflect", "java_method", "try_reflect"):
        registry.dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))


def _escaped(value: str) -> str:
    """Return a value as a file of Java's properties has it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


if __name__ == "__main__":
    main()
