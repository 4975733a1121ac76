"""
Three kconnect workers on machines of their own: REST by https with tokens, Spark and Kafka by what their owners ask for.

Held by `cluster.py`. `Workers.client` asks one of them, from a process that has entered the rig's network. Read next:
`cluster.py`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kconnect.core.state.records import Topic
from kconnect.rest import credentials
from kconnect.rest.client import ConnectClient, RestError, bearer
from tests.rig.machines import WORKERS
from tests.rig.machines.brokers import SERVERS, WORKER, login
from tests.rig.machines.certificates import Certificates
from tests.rig.machines.hosts import Hosts, Process
from tests.rig.machines.rights import GROUP
from tests.rig.machines.spark import MASTER_URL
from tests.rig.machines.spark import SETTINGS as SPARK_SETTINGS
from tests.rig.machines.trial import Trial

TOKEN = "rig-token-R81"
INTERNAL = {
    Topic.CONFIG: "connect-configs",
    Topic.OFFSET: "connect-offsets",
    Topic.STATUS: "connect-status",
    Topic.ASSIGNMENT: "connect-configs-assignments",
}
PORT = 8443

_READY = b"This worker is ready"
_CORES = "4"
"""For two ordinary hosts, two for the rig's plugins, of each worker."""


class Workers:
    """`start` is for one worker, for the first time and after any end. `plugins` is its `plugin.path`."""

    def __init__(
        self, directory: Path, hosts: Hosts, certificates: Certificates, plugins: Sequence[Path], trial: Trial
    ) -> None:
        self._trial = trial
        self._directory, self._hosts, self._certificates, self._plugins = directory, hosts, certificates, plugins
        self._users = directory / "users"
        self._log_sizes: dict[str, int] = {}
        """How long each worker's log was when it was started."""

    def write_users(self) -> None:
        self._users.touch(0o600)
        self._users.write_text(credentials.token_line("rig", "admin", TOKEN) + "\n", "utf-8")

    def start(self, name: str, environment: Mapping[str, str] | None = None, log: str = "") -> None:
        """
        Start a worker, unless it runs. It is not waited for. `log` is a file of the machine that its output goes to, by default
        the rig's log of this name.
        """
        if self.processes(name):
            return
        output = self._hosts.log(name)
        self._log_sizes[name] = output.stat().st_size if output.exists() else 0
        file = self._directory / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self._properties(name).items()), "utf-8")
        command = self._command(file)
        words = ["sh", "-c", 'log=$1; shift; exec "$@" >>"$log" 2>&1', "sh", log, *command] if log else command
        self._hosts.start(name, words, name, environment)

    def _command(self, file: Path) -> list[str]:
        return [str(Path(sys.executable).with_name("kconnect")), "worker", str(file)]

    def _properties(self, name: str) -> dict[str, str]:
        authority = str(self._certificates.authority)
        kafka = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": login(WORKER),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": authority,
        }
        return {
            "bootstrap.servers": SERVERS,
            **{f"{prefix}{key}": value for prefix in ("", "producer.", "consumer.", "admin.") for key, value in kafka.items()},
            "group.id": GROUP,
            "config.storage.topic": INTERNAL[Topic.CONFIG],
            "offset.storage.topic": INTERNAL[Topic.OFFSET],
            "status.storage.topic": INTERNAL[Topic.STATUS],
            "offset.storage.partitions": "5",
            # The brokers' time of what was there first, as in the other chaos.
            "offset.storage.message.timestamp.type": "LogAppendTime",
            "assignment.storage.message.timestamp.type": "LogAppendTime",
            "exactly.once.source.support": "enabled" if self._trial.exactly_once else "disabled",
            "offset.flush.interval.ms": "1000",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "plugin.path": ",".join(map(str, self._plugins)),
            "listeners": f"https://{name}:{PORT}",
            "listeners.https.ssl.keystore.type": "PEM",
            "listeners.https.ssl.keystore.location": str(self._certificates.file(name)),
            "listeners.https.ssl.truststore.type": "PEM",
            "listeners.https.ssl.truststore.location": authority,
            "rest.authentication.file": str(self._users),
            "rest.authentication.methods": "token",
            "task.hosts": "2",
            "spark.master": MASTER_URL,
            **SPARK_SETTINGS,
            "spark.cores.max": _CORES,
            # Two executors for each worker: on different machines, and no more JVMs than a small machine can hold.
            "spark.executor.cores": "2",
            "spark.executor.memory": "512m",
            "spark.pyspark.python": sys.executable,
        }

    # --- one of them ---

    def client(self, name: str, timeout: float) -> ConnectClient:
        os.environ["SSL_CERT_FILE"] = str(self._certificates.authority)
        return ConnectClient(f"https://{name}:{PORT}/", timeout, authorization=bearer(TOKEN))

    def is_healthy(self, name: str) -> bool:
        try:
            with self.client(name, 5.0) as client:
                return client.health().get("status") == "healthy"
        except RestError:
            return False

    def is_ready(self, name: str) -> bool:
        """Return whether a worker has logged since its start that it takes work: what a rolling restart waits for."""
        with self._hosts.log(name).open("rb") as log:
            log.seek(self._log_sizes.get(name, 0))
            return _READY in log.read()

    def processes(self, name: str) -> list[Process]:
        """Return the worker's own process, without those that it has started."""
        return [process for process in self._hosts.processes(name, "kconnect worker") if process.parent is None]

    def driver(self, name: str) -> list[Process]:
        return self._hosts.processes(name, "kconnect.host.driver")[:1]

    def jvm(self, name: str) -> list[Process]:
        """Return the JVM of a worker's driver."""
        return self._hosts.processes(name, "org.apache.spark.deploy.SparkSubmit")

    def busy(self) -> list[str]:
        """Return the workers that tasks run on."""
        workers = self._cluster().get("workers", ())
        return sorted(str(worker["worker_id"]).partition(":")[0] for worker in workers if worker["tasks"])

    def leader(self) -> str | None:
        """Return the worker that leads, if that can be told."""
        leader = self._cluster().get("leader")
        return str(leader).partition(":")[0] if leader else None

    def _cluster(self) -> Mapping[str, Any]:
        """Return what the first worker that answers says of the cluster; nothing if none answers."""
        for name in WORKERS:
            with contextlib.suppress(RestError), self.client(name, 10.0) as client:
                return client.cluster()
        return {}

    def last_words(self, name: str) -> str:
        """Return the last lines of a worker's log, without the requests that it answered."""
        lines = self._hosts.log(name).read_text("utf-8", "replace").splitlines()
        return " / ".join([line for line in lines if "kconnect.rest.access" not in line][-3:])
