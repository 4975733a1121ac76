"""
A real worker of Apache Kafka Connect, of any version, as a child process: what kconnect is compared with.

Made by `tests/conftest.py` for tests with a peer, by the rigs for parity and compatibility, and by benchmarks. Its jars come
from Maven Central, by `kconnect/jvm/jars.py`. Read next: `kconnect/testing/processes.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from kconnect.jvm import jars, java
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess


class ConnectProcess(WorkerProcess):
    """A worker of Apache Kafka Connect itself, of any version: the same file, run by Java with Kafka's options unless told."""

    java_options: ClassVar[tuple[str, ...]] = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")

    def __init__(
        self,
        directory: Path,
        bootstrap_servers: str,
        group: str = "kconnect",
        port: int = 0,
        properties: Mapping[str, str] | None = None,
        version: str = jars.KAFKA_VERSION,
    ) -> None:
        super().__init__(directory, bootstrap_servers, group, port, properties)
        self.version = version
        self.class_path: list[str] = []
        """Jars beside Connect's own, for what can't be a plugin there."""

    def _is_up(self) -> bool:
        # Before 3.9 there was no /health, and a list comes at once, empty. This is answered by who has read its topics.
        try:
            self.client.get_config("no-such-connector")
        except RestError as error:
            return "no-such-connector not found" in error.message
        return True

    def _command(self) -> list[str]:
        options = ("-Xms256M", "-Xmx2G", "-server", *self.java_options, "-Djava.awt.headless=true")
        # Connect sets the levels of Log4j's loggers, which its own artefacts leave to whoever packs them.
        loggers = map(str, sorted(jars.kafka().glob("log4j-*.jar")))
        classes = os.pathsep.join((jars.class_path(jars.connect(self.version)), *loggers, *self.class_path))
        return [java.checked(), *options, "-cp", classes, "org.apache.kafka.connect.cli.ConnectDistributed", str(self._file)]
