"""
A real worker as a child process, with its whole process tree: for the demo, `LocalConnect` and kconnect's own tests.

`WorkerProcess` writes a worker file, starts `kconnect worker` and waits until the worker is healthy. It knows each process of
the worker's tree, so that a test can kill exactly one of them. Read next: `worker/main.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from kconnect import interpreter
from kconnect.errors import ConnectError
from kconnect.local.broker import free_port
from kconnect.rest.client import ConnectClient, RestError

_HEALTHY_S = 240.0


class WorkerProcess:
    """
    A worker on this machine. `group` names the cluster and its topics; `properties` are added to the worker file.

    `start` may be called again after `kill` or `stop`. The worker then has the same file, port and topics, as after a user's
    restart.
    """

    def __init__(
        self,
        directory: Path,
        bootstrap_servers: str,
        group: str = "kconnect",
        port: int = 0,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.client = ConnectClient(self.url)
        self.log = directory / f"worker-{self.port}.log"
        self._file = directory / f"worker-{self.port}.properties"
        self._process: subprocess.Popen[bytes] | None = None
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "config.storage.topic": f"{group}-configs",
            "offset.storage.topic": f"{group}-offsets",
            "status.storage.topic": f"{group}-status",
            "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1",
            "offset.storage.partitions": "5",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.flush.interval.ms": "1000",
            "listeners": f"http://127.0.0.1:{self.port}",
            **(properties or {}),
        }
        directory.mkdir(parents=True, exist_ok=True)
        self._file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ConnectError("The worker was not started")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, wait: bool = True) -> WorkerProcess:
        """Start the worker, and wait until `/health` says that it has read its topics."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CONNECT_")}
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
                # Ctrl-C in a terminal is for whoever started this one, who then stops it in order.
                start_new_session=True,
            )
        if wait:
            self.wait_healthy()
        return self

    def _command(self) -> list[str]:
        return interpreter.command("kconnect", "worker", str(self._file))

    def wait_healthy(self, timeout: float = _HEALTHY_S) -> None:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self._process is not None and self._process.poll() is not None:
                raise ConnectError(f"The worker ended with status {self._process.returncode}: {self.last_line()}")
            try:
                if self._is_up():
                    return
            except RestError:
                pass
            time.sleep(0.1)
        raise ConnectError(f"The worker was not healthy within {timeout:.0f} s; its log is {self.log}")

    def _is_up(self) -> bool:
        return self.client.health().get("status") == "healthy"

    def last_line(self) -> str:
        lines = self.log.read_text("utf-8", "replace").strip().splitlines() if self.log.exists() else []
        return lines[-1] if lines else "(no output)"

    def last_words(self) -> str:
        """The exit status and the last lines of the worker's log, without the requests that it answered."""
        lines = self.log.read_text("utf-8", "replace").splitlines() if self.log.exists() else []
        messages = [line for line in lines if "kconnect.rest.access" not in line]
        status = None if self._process is None else self._process.poll()
        return f"status {status}: {' / '.join(messages[-3:])}"

    def stop(self, timeout: float = 40.0) -> int | None:
        """
        Ask the worker to end, and wait. Returns its exit status. Processes that still run after the limit are killed, by pid.
        """
        process, tree = self._process, self.tree()
        if process is None:
            return None
        if process.poll() is None:
            process.terminate()
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        _end(tree, 10)
        self._process = None
        return status

    def kill(self) -> None:
        """`kill -9` of the worker process alone; its children notice by themselves."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def wait_ended(self, tree: list[psutil.Process], timeout: float = 120.0) -> list[psutil.Process]:
        """Wait `timeout` seconds at most for the processes of `tree` to end. Returns those that still live."""
        return still_alive(tree, timeout)

    # --- the processes of its tree ---

    def tree(self) -> list[psutil.Process]:
        if self._process is None:
            return []
        try:
            root = psutil.Process(self._process.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def driver(self) -> psutil.Process | None:
        return self._find("kconnect.host.driver")

    def jvm(self) -> psutil.Process | None:
        return next((process for process in self.tree() if _name(process).startswith("java")), None)

    def hosts(self) -> list[psutil.Process]:
        """The Python processes that run units: the children of Spark's daemon."""
        daemon = self._find("kconnect.spark.daemon")
        try:
            return [] if daemon is None else daemon.children()
        except psutil.NoSuchProcess:
            return []

    def memory(self) -> int:
        """The memory of the whole tree, in bytes; pages that processes share are counted once (PSS)."""
        total = 0
        for process in self.tree():
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue
        return total

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that the process tree has used, including processes that have ended."""
        total = 0.0
        for process in self.tree():
            try:
                total += sum(process.cpu_times()[:4])
            except psutil.Error:
                continue
        return total

    def _find(self, module: str) -> psutil.Process | None:
        for process in self.tree():
            try:
                if module in process.cmdline() and "-m" in process.cmdline():
                    # A fork of the daemon shows the daemon's command line: the parent is the first that does.
                    return process
            except psutil.Error:
                continue
        return None


def _name(process: psutil.Process) -> str:
    try:
        name: str = process.name()
    except psutil.Error:
        return ""
    return name


def still_alive(processes: list[psutil.Process], timeout: float) -> list[psutil.Process]:
    """
    The processes that have not ended within `timeout` seconds. `psutil.wait_procs` can't be used: it raises a FileNotFoundError
    if a process ends just as it looks.
    """
    end = time.monotonic() + timeout
    while (alive := [process for process in processes if _lives(process)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


def _lives(process: psutil.Process) -> bool:
    try:
        lives: bool = process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    return lives


def _end(processes: list[psutil.Process], timeout: float) -> None:
    for process in still_alive(processes, timeout):
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
