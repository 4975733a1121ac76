"""
One Kafka broker on this machine, for trying things out: a KRaft node of its own, from jars that `jvm/jars.py` fetched.

`Broker` runs it as a child that ends with its parent (the demo, the benches, the tests; see `guard.py`), or detached
(`kconnect broker`). Not for data that matters: one node, no replication, no security.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from kconnect import archive_mapping
from kconnect.errors import ConnectError
from kconnect.jvm import jars, java, lock
from kconnect.kafka.admin import Admin
from kconnect.local.guard import Guard
from kconnect.private_folder import OPTION

_ANSWER_S = 5.0
_UP_S = 180.0
"""A broker that can't start ends, which is seen at once; on a machine with much else to do one was up after a minute only."""

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # Tests that wait for a dead member would otherwise wait six seconds at least.
    "group.min.session.timeout.ms": "1000",
    # The same for group.protocol=consumer, whose members ask for no session of their own: as long as a sink task's is else.
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "12000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "2000",
    "num.partitions": "1",
    # After kill -9 a broker must wait until the life before counts as dead.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}

_JVM = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    # A class archive that does not fit is not used; that it wasn't is nothing to tell.
    "-Xshare:auto",
    # The archive may be of a version that made it without these.
    "-XX:+IgnoreUnrecognizedVMOptions",
    *archive_mapping.IN_PLACE,
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)


class Broker:
    """
    `start` may be called again after `stop` or `kill`: same port, same data. A port of 0 takes a free one.

    `properties` are added to the broker's. A `detached` broker outlives this process; any other process can stop it, or ask
    for it, with a `Broker` of the same directory. `version` is Kafka's.
    """

    def __init__(
        self,
        directory: Path | str,
        port: int = 0,
        properties: Mapping[str, str] | None = None,
        detached: bool = False,
        version: str = jars.KAFKA_VERSION,
    ) -> None:
        self.directory = Path(directory).expanduser().resolve()
        self._wanted_port = port
        self._properties = dict(properties or {})
        self._detached = detached
        self._version = version
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    @property
    def log(self) -> Path:
        return self.directory / "broker.log"

    @property
    def port(self) -> int:
        return int(str(self._state()["port"]))

    @property
    def pid(self) -> int:
        return int(str(self._state()["pid"]))

    @property
    def cluster_id(self) -> str:
        return str(self._state()["cluster_id"])

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def running(self) -> bool:
        """Whether the broker that was started in this directory lives; another process with its old pid does not count."""
        state = self._state(must_exist=False)
        try:
            # The command line names this directory. Times of start would do too, but they shift when the clock is set.
            return str(self._file) in psutil.Process(int(str(state["pid"]))).cmdline()
        except (KeyError, psutil.Error):
            return False

    def start(self) -> Broker:
        """
        Start it and wait until it answers; nothing to do if it runs already.

        Raises:
            ConnectError: no Java, no jars and no network, a taken port, a directory that can't be written.
        """
        program = java.checked()
        classes = jars.kafka(self._version)
        try:
            with lock.hold(self.directory / "broker.lock"):
                if not self.running():
                    self._start(program, classes)
        except OSError as error:
            raise ConnectError(
                f"The broker's directory {self.directory} can't be used ({error.strerror}): choose one that you may write to"
            ) from error
        return self

    def stop(self, timeout: float = 20.0) -> None:
        """End it in order, or after the limit anyhow."""
        self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL, 10.0)

    # --- starting ---

    @property
    def _file(self) -> Path:
        return self.directory / "server.properties"

    def _start(self, program: str, classes: Path) -> None:
        state = self._state(must_exist=False)
        port = self._wanted_port or int(str(state.get("port") or free_port()))
        require_free(port)
        controller = int(str(state.get("controller") or free_port()))
        # Nobody outside knows the controller's port, so it may change.
        if controller == port or not _is_free(controller):
            controller = free_port()
        archive = _archive(program, classes)
        cluster_id = self._format(program, classes, archive, port, controller)
        self._write_properties(self._file, port, controller, "data")
        # Loading classes is most of the start: 3.1 s without the archive, 1.3 s with it.
        use = f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={self._new_archive}"
        before = self.log.stat().st_size if self.log.exists() else 0
        self._release_guard()
        # Its libraries unpack native code, in which other users of the machine have no part.
        unpacked = self.directory / "unpacked"
        unpacked.mkdir(mode=0o700, exist_ok=True)
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                [program, *_JVM, use, f"{OPTION}{unpacked}", "-cp", jars.class_path(classes), "kafka.Kafka", str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                # Ctrl-C in the terminal must not reach it before those that use it have ended.
                start_new_session=True,
            )
        try:
            self._write_state(
                {
                    "pid": self._process.pid,
                    "port": port,
                    "controller": controller,
                    "cluster_id": cluster_id,
                    "archive": str(archive),
                }
            )
            if not self._detached:
                self._guard = Guard(self._process.pid, str(self._file))
            self._wait_up(self._process, port, cluster_id, before)
        except BaseException:
            # Also Ctrl-C: a broker that nobody knows of would keep the port.
            self.kill()
            raise

    def _format(self, program: str, classes: Path, archive: Path, port: int, controller: int) -> str:
        """The cluster id of the storage, which is made if there is none."""
        ready = self.directory / "data"
        written = _cluster_id(ready)
        if written is not None:
            return written
        # An id that begins with a dash is taken for an option by Kafka's own tools.
        cluster_id = "k" + secrets.token_urlsafe(16)[:21]
        # Made aside, as an interrupted one would be neither empty nor whole.
        shutil.rmtree(self.directory / "data.new", ignore_errors=True)
        file = self.directory / "format.properties"
        self._write_properties(file, port, controller, "data.new")
        command = [program, "-Xmx256m", *_JVM[1:]]
        if archive.exists():
            command.append(f"-XX:SharedArchiveFile={archive}")
        command += ["-cp", jars.class_path(classes), "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(file)]
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if result.returncode != 0:
            text = result.stdout + result.stderr
            with open(self.log, "a", encoding="utf-8") as log:
                log.write(text)
            raise ConnectError(f"Kafka's storage in {self.directory} can't be created{_cause(text)}; the log is {self.log}")
        shutil.rmtree(ready, ignore_errors=True)
        (self.directory / "data.new").rename(ready)
        file.unlink()
        return cluster_id

    def _wait_up(self, process: subprocess.Popen[bytes], port: int, cluster_id: str, before: int) -> None:
        end = time.monotonic() + _UP_S
        while time.monotonic() < end:
            if process.poll() is not None:
                raise ConnectError(self._reason(process.returncode, port, before))
            if not _is_free(port):
                answered_id = None
                # It listens before it can answer.
                with contextlib.suppress(ConnectError):
                    answered_id = Admin({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}, _ANSWER_S).cluster_id()
                if answered_id == cluster_id:
                    return
                if answered_id is not None:
                    raise ConnectError(f"Another broker answers on port {port}: stop it, or choose another port")
            time.sleep(0.05)
        raise ConnectError(f"The broker did not answer within {_UP_S:.0f} s; its log is {self.log}")

    def _reason(self, status: int, port: int, before: int) -> str:
        with open(self.log, "rb") as file:
            file.seek(before)
            text = file.read().decode("utf-8", "replace")
        if "Address already in use" in text:
            return f"Port {port} has been taken by another program: start again, or choose another port"
        return f"The broker ended at once with status {status}{_cause(text)}; its log is {self.log}"

    def _write_properties(self, file: Path, port: int, controller: int, data: str) -> None:
        addresses = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(self.directory / data),
        }
        lines = {**_PROPERTIES, **addresses, **self._properties}
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), "utf-8")

    # --- ending ---

    def _end(self, number: signal.Signals, timeout: float) -> None:
        in_order = False
        if self.running():
            process = psutil.Process(self.pid)
            process.send_signal(number)
            try:
                process.wait(timeout)
                in_order = number == signal.SIGTERM
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(10)
        if self._process is not None:
            self._process.wait()
            self._process = None
        self._release_guard()
        if in_order:
            self._keep_archive()
        self._new_archive.unlink(missing_ok=True)

    def _release_guard(self) -> None:
        if self._guard is not None:
            self._guard.release()
            self._guard = None

    # --- the class archive ---

    @property
    def _new_archive(self) -> Path:
        return self.directory / "classes.jsa"

    def _keep_archive(self) -> None:
        """The first broker that ends in order leaves its class archive to all that follow."""
        target = Path(str(self._state().get("archive")))
        if not self._new_archive.exists() or target.exists() or not target.parent.exists():
            return
        aside = target.with_suffix(f".{os.getpid()}")
        try:
            shutil.move(self._new_archive, aside)
            aside.rename(target)
        except OSError:
            # Only speed is lost, for instance where the disk is full.
            aside.unlink(missing_ok=True)

    # --- what is known of it ---

    def _state(self, must_exist: bool = True) -> dict[str, object]:
        try:
            state: dict[str, object] = json.loads((self.directory / "broker.json").read_text("utf-8"))
            return state
        except (OSError, ValueError):
            if must_exist:
                raise ConnectError(f"No broker was started in {self.directory}") from None
            return {}

    def _write_state(self, state: dict[str, object]) -> None:
        aside = self.directory / "broker.json.new"
        aside.write_text(json.dumps(state), "utf-8")
        aside.replace(self.directory / "broker.json")


def _archive(program: str, classes: Path) -> Path:
    """Return the path of the class archive for this Java and these jars. Another Java, or other jars, have another archive."""
    java_file = Path(program if os.sep in program else shutil.which(program) or program).resolve()
    identity = f"{java_file} {java_file.stat().st_mtime_ns if java_file.exists() else 0} {' '.join(_JVM)}"
    return classes / f"broker-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa"


def _cause(output: str) -> str:
    """Return the reason that a JVM which ended early has printed, in brackets; an empty text if there is none."""
    causes = re.findall(r"^(?:Caused by: |Exception in thread \S+ )(?:\w+\.)+\w+: (.+)", output, re.MULTILINE)
    return f" ({causes[-1]})" if causes else ""


def _cluster_id(data: Path) -> str | None:
    try:
        match = re.search(r"^cluster\.id=(\S+)", (data / "meta.properties").read_text("utf-8"), re.MULTILINE)
    except OSError:
        return None
    return match[1] if match else None


_PORTS = range(15_000, 32_000)
_asked = itertools.count(random.randrange(len(_PORTS)))


def free_port() -> int:
    """
    A port that nobody uses, below those that the system gives to clients.

    Among those a client's connection could take it while a broker is started again, or, trying to reach the broker that is
    down, even be connected to itself. Each is given once: who asked for one may not have begun to listen when the next is
    asked for, by another process too.
    """
    for number in itertools.islice(_asked, 1000):
        port = _PORTS[number % len(_PORTS)]
        if _is_free(port):
            return port
    raise ConnectError("No free port was found between 15000 and 32000: close some programs that listen there")


def require_free(port: int) -> None:
    """ConnectError, saying what to do, unless this user may listen on that port of this machine."""
    try:
        _bind(port)
    except PermissionError as error:
        raise ConnectError(f"You may not use port {port}: choose one above 1023") from error
    except OSError as error:
        raise ConnectError(
            f"Port {port} is taken by another program: stop it, or choose another port ({error.strerror})"
        ) from error


def _is_free(port: int) -> bool:
    try:
        _bind(port)
    except OSError:
        return False
    return True


def _bind(port: int) -> None:
    with socket.socket() as probe:
        # As Java does it: connections of the last broker that linger are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
