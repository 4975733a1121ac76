"""
A REST catalog of Iceberg, as a child process: the server that Apache Iceberg tests its own clients with, from Maven Central.

Used by the tests of the Iceberg sink. It keeps its catalog in SQLite, and tables in a folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from kconnect.jvm import jars, java, lock, repository
from kconnect.local.broker import free_port
from kconnect.local.guard import Guard
from tests.support import wait_until

_VERSION = "1.9.2"
_NEEDS = (
    f"org.apache.iceberg:iceberg-core:{_VERSION}",
    "org.eclipse.jetty:jetty-server:11.0.25",
    "org.eclipse.jetty:jetty-servlet:11.0.25",
    "org.xerial:sqlite-jdbc:3.49.1.0",
)
_CLASSIFIED = ("iceberg-open-api", "test-fixtures"), ("iceberg-core", "tests")
"""What Ivy does not fetch: jars beside an artefact's own."""


class IcebergRest:
    """From `start` to `stop`; whoever started it takes it along when it ends."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._directory = Path(tempfile.mkdtemp(prefix="kconnect-iceberg-"))
        self.warehouse = f"file://{self._directory}/warehouse"
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    def start(self) -> IcebergRest:
        settings = {
            "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
            "CATALOG_URI": f"jdbc:sqlite:{self._directory}/catalog.db",
            "CATALOG_WAREHOUSE": self.warehouse,
            "CATALOG_REST_PORT": str(self.port),
        }
        command = [java.checked(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dmark={self._directory}"]
        command += ["-cp", _classes(), "org.apache.iceberg.rest.RESTCatalogServer"]
        with open(self._directory / "log", "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **settings},
                start_new_session=True,
            )
        self._guard = Guard(self._process.pid, f"-Dmark={self._directory}")
        wait_until(self._answers, 120, f"the REST catalog did not start; its log is {self._directory / 'log'}")
        return self

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, (self._directory / "log").read_text()[-2000:]
        try:
            urllib.request.urlopen(f"{self.url}/v1/config", timeout=10).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._guard is not None:
            self._guard.release()
        shutil.rmtree(self._directory, ignore_errors=True)


def _classes() -> str:
    """PySpark's jars have Hadoop's."""
    own = jars.resolve("iceberg-rest", _NEEDS)
    with lock.hold(jars.cache_dir() / "iceberg-rest-classified.lock"):
        files = []
        for artefact, classifier in _CLASSIFIED:
            name = f"{artefact}-{_VERSION}-{classifier}.jar"
            file = jars.cache_dir() / name
            if not file.exists():
                address = f"{repository.CENTRAL}org/apache/iceberg/{artefact}/{_VERSION}/{name}"
                urllib.request.urlretrieve(address, file.with_suffix(".new"))
                file.with_suffix(".new").rename(file)
            files.append(str(file))
    return os.pathsep.join([*files, f"{own}/*", f"{jars.of_pyspark('hadoop-client-api').parent}/*"])
