"""
A standalone Spark cluster on machines of their own: a master and three workers, from the pip package of PySpark.

Who talks to it knows its secret, and all that it sends is encrypted. Held by `cluster.py`. Read next: `workers.py`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import httpx

from kconnect.errors import ConnectError
from tests.rig.machines import ADDRESSES, MASTER, SPARK_WORKERS
from tests.rig.machines.hosts import Hosts, Process

SECRET = "spark-secret-K55"
SETTINGS = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": SECRET,
    "spark.network.crypto.enabled": "true",
}
"""The same for master, workers and applications."""
MASTER_URL = f"spark://{MASTER}:7077"
WORK = "/tmp/spark-work"
"""On each of its machines. What executors print is in machines/NAME/tmp/spark-work/APPLICATION/NUMBER/stderr of the rig."""

_MASTER_CLASS, _WORKER_CLASS = "deploy.master.Master", "deploy.worker.Worker"
_EXECUTOR_CLASS, _DAEMON = "CoarseGrainedExecutorBackend", "kconnect.spark.daemon"
_OFFER = ("--cores", "12", "--memory", "6g")
_UI_PORT = "8080"


class Spark:
    """`start` is for one machine, for the first time and after any end."""

    def __init__(self, directory: Path, hosts: Hosts) -> None:
        self._hosts, self._settings_file = hosts, directory / "spark.properties"

    def write_settings(self) -> None:
        self._settings_file.touch(0o600)
        self._settings_file.write_text("".join(f"{key} {value}\n" for key, value in SETTINGS.items()), "utf-8")

    def start(self, name: str) -> None:
        """Start the master or a worker, unless it runs. It is not waited for."""
        if self.daemons(name):
            return
        environment = {
            "SPARK_HOME": str(_home()),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dspark.worker.timeout=20",
            "SPARK_LOCAL_DIRS": "/tmp/spark-local",
            "PYSPARK_PYTHON": sys.executable,
        }
        file = ["--properties-file", str(self._settings_file)]
        if name == MASTER:
            words = [f"org.apache.spark.{_MASTER_CLASS}", "--host", name, "--port", "7077", "--webui-port", _UI_PORT, *file]
        else:
            offer = [*_OFFER, "--work-dir", WORK, "--webui-port", "8081", *file, MASTER_URL]
            words = [f"org.apache.spark.{_WORKER_CLASS}", "--host", name, *offer]
        self._hosts.start(name, [str(_home() / "bin" / "spark-class"), *words], name, environment)

    def ails(self) -> str | None:
        """Return what the cluster lacks: a master that lives and all its workers; None if all is well."""
        try:
            state = httpx.get(f"http://{MASTER}:{_UI_PORT}/json/", timeout=5, trust_env=False).raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            return f"Spark's master does not answer: {error}"
        if state.get("status") != "ALIVE":
            return f"Spark's master is {state.get('status')}"
        count: int = state.get("aliveworkers", 0)
        return None if count == len(SPARK_WORKERS) else f"Spark has {count} of {len(SPARK_WORKERS)} workers"

    # --- its processes ---

    def daemons(self, name: str) -> list[Process]:
        """Return the master or the worker of Spark on a machine."""
        return [process for cls in (_MASTER_CLASS, _WORKER_CLASS) for process in self._hosts.processes(name, cls)]

    def executors(self, name: str, application: str = "") -> list[Process]:
        """Return the executors on a machine, all or those of one application, by its worker's machine."""
        return self._hosts.processes(name, _EXECUTOR_CLASS, f"@{ADDRESSES[application]}:" if application else "")

    def python_daemons(self, name: str) -> list[Process]:
        """Return the Python processes of executors that fork the hosts."""
        return [process for process in self._hosts.processes(name, _DAEMON) if not self._is_fork(name, process)]

    def task_hosts(self, name: str) -> list[Process]:
        """Return the Python processes that run units, forks of the daemons."""
        return [process for process in self._hosts.processes(name, _DAEMON) if self._is_fork(name, process)]

    def _is_fork(self, name: str, process: Process) -> bool:
        """A fork shows the command line of its daemon, so its parent is the one of them that has none for a parent."""
        pids = {other.pid for other in self._hosts.processes(name, _DAEMON)}
        return process.parent in pids


def _home() -> Path:
    # Located, not imported: that takes half a second.
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ConnectError("PySpark is not installed")
    return Path(spec.origin).parent
