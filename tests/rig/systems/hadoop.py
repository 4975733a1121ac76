"""
HDFS of one name node and one data node, as a child process: the small cluster of Hadoop's own tests, from Maven Central.

Used by the tests of object stores. Its files stay from `begin` to `begin`, until `stop`.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import requests
from hdfs import InsecureClient
from hdfs.util import HdfsError

from kconnect.jvm import jars, java
from kconnect.local.broker import free_port
from kconnect.local.guard import Guard
from tests.support import wait_until

USER = "trial"
_NEEDS = ("org.apache.hadoop:hadoop-client-minicluster:3.4.2", "javax.xml.bind:jaxb-api:2.3.1")
_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"


class Hadoop:
    """From `start` to `stop`; whoever started it takes it along when it ends. Its user for tests has a folder, /trials."""

    def __init__(self) -> None:
        self.port, self._rpc = free_port(), free_port()
        self.url = f"webhdfs://127.0.0.1:{self.port}"
        self._directory = Path(tempfile.mkdtemp(prefix="kconnect-hadoop-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None
        self._read: dict[int, bytes] = {}

    def client(self, user: str = USER) -> Any:
        return InsecureClient(f"http://127.0.0.1:{self.port}", user=user, timeout=30)

    def start(self) -> Hadoop:
        self._begin("-format")
        owner = self.client(self.client().status("/")["owner"])
        owner.makedirs("/trials")
        owner.set_owner("/trials", USER)
        return self

    def begin(self) -> None:
        """Start it, with what it had."""
        self._begin()

    def _begin(self, *arguments: str) -> None:
        mark = f"-Dmark={self._directory}"
        command = [java.checked(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", mark]
        command += ["-cp", f"{jars.resolve('hadoop', _NEEDS)}/*", _MAIN, *arguments, "-nomr"]
        command += ["-nnport", str(self._rpc), "-nnhttpport", str(self.port), "-D", f"hdfs.minidfs.basedir={self._directory}"]
        with open(self._directory / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self._guard = Guard(self._process.pid, mark)
        wait_until(self._answers, 120, f"HDFS did not start; its log is {self._directory / 'log'}")

    def _answers(self) -> bool:
        """Once it takes files: it reads its own first."""
        assert self._process is not None and self._process.poll() is None, (self._directory / "log").read_text()[-2000:]
        try:
            owner = self.client(self.client().status("/")["owner"])
            owner.write("/ready", data=b"ready", overwrite=True)
        except (requests.RequestException, HdfsError):
            return False
        return True

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._guard is not None:
            self._guard.release()
            self._guard = None

    def stop(self) -> None:
        self.end()
        shutil.rmtree(self._directory, ignore_errors=True)

    def files(self, folder: str) -> dict[str, bytes]:
        """Names and bytes of all that readers see in it: those of Hadoop pass over names with a dot. One is read once."""
        client, found = self.client(), {}
        if client.status(folder, strict=False) is None:
            return {}
        for (place, _), _, files in client.walk(folder, status=True):
            for name, status in files:
                path, number = f"{place}/{name}", status["fileId"]
                if name.startswith("."):
                    continue
                if number not in self._read:
                    with client.read(path) as data:
                        self._read[number] = data.read()
                found[path] = self._read[number]
        return found
