"""
Three workers of Kafka Connect in the place of kconnect's: the same machines, brokers, rights, connectors and faults.

Held by `cluster.py` where a run is of these. Spark has nothing to do then. Read next: `workers.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from kconnect.jvm import jars, java
from kconnect.rest.client import ConnectClient, RestError
from tests.rig.machines import WORKERS
from tests.rig.machines.certificates import Certificates
from tests.rig.machines.hosts import Hosts, Process
from tests.rig.machines.trial import Trial
from tests.rig.machines.workers import PORT, Workers

_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
_OWN = ("assignment.", "rest.authentication.", "task.hosts", "spark.")
"""What settings of kconnect alone begin with."""
_PASSWORD = "rig-store-P12"
_LED_BY = re.compile(r"leaderUrl='https://(\w+):")


class Peers(Workers):
    """As `Workers`, of Kafka Connect of the version that kconnect is compared with."""

    def __init__(
        self, directory: Path, hosts: Hosts, certificates: Certificates, plugins: Sequence[Path], trial: Trial
    ) -> None:
        super().__init__(directory, hosts, certificates, plugins, trial)
        self._authority = certificates.authority.with_suffix(".p12")
        # Fetched here: the machines of the rig reach no repository.
        loggers = map(str, sorted(jars.kafka().glob("log4j-*.jar")))
        self._class_path = os.pathsep.join((jars.class_path(jars.connect()), *loggers))

    def write_users(self) -> None:
        """Write the store of the authority, in a form that Connect's server can read: it reads no PEM."""
        keytool = str(Path(java.checked()).with_name("keytool")) if "/" in java.checked() else "keytool"
        store = ["-keystore", str(self._authority), "-storetype", "PKCS12", "-storepass", _PASSWORD]
        words = [keytool, "-importcert", "-noprompt", "-alias", "rig", "-file", str(self._certificates.authority), *store]
        subprocess.run(words, check=True, capture_output=True)

    def start(self, name: str, environment: Mapping[str, str] | None = None, log: str = "") -> None:
        if not self.processes(name):
            words = ["-in", str(self._certificates.file(name)), "-passout", f"pass:{_PASSWORD}"]
            subprocess.run(
                ["openssl", "pkcs12", "-export", *words, "-out", str(self._store(name))], check=True, capture_output=True
            )
        super().start(name, environment, log)

    def _store(self, name: str) -> Path:
        return self._certificates.file(name).with_suffix(".p12")

    def _command(self, file: Path) -> list[str]:
        options = ("-Xms128M", "-Xmx512M", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true")
        return [java.checked(), *options, "-cp", self._class_path, _CLASS, str(file)]

    def _properties(self, name: str) -> dict[str, str]:
        shared = {key: value for key, value in super()._properties(name).items() if not key.startswith(_OWN)}
        for kind, place in (("keystore", self._store(name)), ("truststore", self._authority)):
            store = {"type": "PKCS12", "location": str(place), "password": _PASSWORD}
            shared |= {f"listeners.https.ssl.{kind}.{key}": value for key, value in store.items()}
        shared["listeners.https.ssl.key.password"] = _PASSWORD
        delay = self._trial.delay_ms
        return shared if delay is None else {**shared, "scheduled.rebalance.max.delay.ms": str(delay)}

    def client(self, name: str, timeout: float) -> ConnectClient:
        os.environ["SSL_CERT_FILE"] = str(self._certificates.authority)
        return ConnectClient(f"https://{name}:{PORT}/", timeout)

    def is_ready(self, name: str) -> bool:
        return bool(self.processes(name)) and self.is_healthy(name)

    def processes(self, name: str) -> list[Process]:
        return self._hosts.processes(name, _CLASS)

    def driver(self, name: str) -> list[Process]:
        return []

    def jvm(self, name: str) -> list[Process]:
        return []

    def busy(self) -> list[str]:
        tasks: Counter[str] = Counter()
        for status in self._statuses().values():
            tasks.update(task["worker_id"].partition(":")[0] for task in status["status"]["tasks"])
        return sorted(name for name in tasks if name in WORKERS)

    def leader(self) -> str | None:
        """By the log of any worker: no request tells."""
        led: list[tuple[float, str]] = []
        for name in WORKERS:
            log = self._hosts.log(name)
            if log.exists() and (found := _LED_BY.findall(log.read_text("utf-8", "replace"))):
                led.append((log.stat().st_mtime, found[-1]))
        return max(led)[1] if led else None

    def _statuses(self) -> Mapping[str, dict[str, dict[str, list[dict[str, str]]]]]:
        for name in WORKERS:
            try:
                with self.client(name, 10.0) as client:
                    return client.connectors("status")
            except RestError:
                continue
        return {}
