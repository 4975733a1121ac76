"""
A real Spark standalone cluster as child processes: one master and its workers, from the pip package of PySpark.

For tests of hosts that run elsewhere than under the worker that wants them. `SparkCluster` knows the executors and the hosts
in them, so that a test can kill exactly one. Like the local broker, it ends with its parent. Read next: `spark/session.py`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psutil

from kconnect.errors import ConnectError
from kconnect.jvm import java
from kconnect.local.broker import free_port
from kconnect.local.guard import Guard
from kconnect.testing.processes import still_alive

_UP_S = 240.0
_WORKER = "Worker"


class SparkCluster:
    """
    `start_master` may be called again after `kill_master`: same address, but it knows no application any more. `properties` are
    those of the master and of its workers. `home` is another PySpark's folder than that of this Python.
    """

    def __init__(
        self,
        directory: Path,
        cores: int = 4,
        properties: Mapping[str, str] | None = None,
        workers: int = 1,
        home: Path | None = None,
    ) -> None:
        self.directory = directory
        self.cores, self.workers, self._home = cores, workers, home
        self.port, self._ui_port = free_port(), free_port()
        self._running: dict[str, _Child] = {}
        (directory / "conf").mkdir(parents=True, exist_ok=True)
        texts = (f"{name} {value}\n" for name, value in (properties or {}).items())
        (directory / "conf" / "spark-defaults.conf").write_text("".join(texts), "utf-8")

    @property
    def master_url(self) -> str:
        """What a worker file says as `spark.master`."""
        return f"spark://127.0.0.1:{self.port}"

    @property
    def ui(self) -> str:
        """The master's web pages, without a slash at the end."""
        return f"http://127.0.0.1:{self._ui_port}"

    @property
    def work(self) -> Path:
        """What executors print is below: `<application>/<executor>/stderr`."""
        return self.directory / "work"

    def start(self) -> SparkCluster:
        """Start all, and wait until the workers offer their cores."""
        try:
            self.start_master()
            for number in range(self.workers):
                offer = ["-c", str(self.cores), "-m", "1g", "-d", str(self.work)]
                self._launch(_WORKER + str(number), *offer, "--webui-port", "0", self.master_url)
            self._wait(_WORKER + "0", lambda: self.overview().get("aliveworkers") == self.workers)
        except BaseException:
            self.stop()
            raise
        return self

    def start_master(self) -> None:
        self._launch("Master", "--port", str(self.port), "--webui-port", str(self._ui_port))
        self._wait("Master", lambda: self.overview().get("status") == "ALIVE")

    def kill_master(self) -> None:
        """kill -9."""
        self._running.pop("Master").end(kill=True)

    def stop(self) -> None:
        """End everything. The workers go first: they take their executors along."""
        left = self._below_workers()
        for name in sorted(self._running, reverse=True):
            self._running.pop(name).end(kill=False)
        for process in still_alive(left, 10):
            process.kill()

    # --- what it does now ---

    def overview(self) -> dict[str, Any]:
        """The master's own account: `workers`, `activeapps`, `completedapps`, and so on; empty while it can't be asked."""
        try:
            answer: dict[str, Any] = httpx.get(f"{self.ui}/json/", timeout=30, trust_env=False).raise_for_status().json()
        except (httpx.HTTPError, ValueError):
            return {}
        return answer

    def executors(self) -> list[psutil.Process]:
        """The JVMs that the Spark workers run for applications."""
        return [process for process in self._below_workers() if "CoarseGrainedExecutorBackend" in _command(process)]

    def hosts(self) -> list[psutil.Process]:
        """The Python processes of task hosts: forks of the daemon, so they show the command that it shows."""
        daemons = {process.pid for process in self._below_workers() if "kconnect.spark.daemon" in _command(process)}
        return [process for process in self._below_workers() if process.pid in daemons and _parent(process) in daemons]

    # --- its processes ---

    def _launch(self, name: str, *arguments: str) -> None:
        home = self._home or _spark_home()
        for folder in ("conf", "local"):
            (self.directory / folder).mkdir(exist_ok=True)
        program = java.checked()
        foreign = ("SPARK_", "PYSPARK_", "CONNECT_")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        environment.update(
            SPARK_HOME=str(home),
            JAVA_HOME=str(Path(program).resolve().parent.parent),
            # A user's own configuration of Spark has no say here.
            SPARK_CONF_DIR=str(self.directory / "conf"),
            SPARK_LOCAL_DIRS=str(self.directory / "local"),
            SPARK_LOCAL_IP="127.0.0.1",
            SPARK_DAEMON_MEMORY="256m",
            SPARK_DAEMON_JAVA_OPTS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        )
        kind = name.rstrip("0123456789")
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        self._running[name] = _Child([*command, "--host", "127.0.0.1", *arguments], environment, self._log(name))

    def _wait(self, name: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _UP_S
        while not condition():
            status = self._running[name].process.poll()
            if status is not None:
                raise ConnectError(f"Spark's {name} ended with status {status}; its log is {self._log(name)}")
            if time.monotonic() > end:
                raise ConnectError(f"Spark's {name} was not ready within {_UP_S:.0f} s; its log is {self._log(name)}")
            time.sleep(0.1)

    def _log(self, name: str) -> Path:
        return self.directory / f"{name.lower()}.log"

    def _below_workers(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for name, child in self._running.items():
            if name.startswith(_WORKER):
                with contextlib.suppress(psutil.NoSuchProcess):
                    found += psutil.Process(child.process.pid).children(recursive=True)
        return found


class _Child:
    """A process, and a guard that ends it when this process is gone. `spark-class` becomes the JVM, so the pid stays."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
            )
        self._guard = Guard(self.process.pid, command[1])

    def end(self, kill: bool) -> None:
        self._guard.release()
        if not kill:
            self.process.terminate()
            try:
                self.process.wait(20)
                return
            except subprocess.TimeoutExpired:
                pass
        self.process.kill()
        self.process.wait()


def _spark_home() -> Path:
    # Located, not imported: that takes half a second.
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise ConnectError("PySpark is not installed")
    return Path(found.origin).parent


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _parent(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.Error:
        return None
