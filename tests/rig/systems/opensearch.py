"""
An OpenSearch of one node, as a child process: the server's own classes from Maven Central, started in a JVM by JPype.

Used by the tests of the OpenSearch sink and by the shop. Its data stay until `stop`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from kconnect.jvm import jars
from kconnect.local.broker import free_port
from tests.support import wait_until

_SERVER = (
    "org.opensearch:opensearch:2.19.1",
    "org.opensearch.plugin:transport-netty4-client:2.19.1",
    "org.apache.logging.log4j:log4j-core:2.21.0",
)


class OpenSearch:
    """From `start` to `stop`; whoever started it takes it along when it ends."""

    def __init__(self, heap: str = "512m") -> None:
        self._heap = heap
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._directory = Path(tempfile.mkdtemp(prefix="kconnect-opensearch-"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> OpenSearch:
        (self._directory / "config").mkdir()
        self.begin()
        # A small disk is no reason to refuse documents here.
        self.call("PUT", "/_cluster/settings", {"persistent": {"cluster.routing.allocation.disk.threshold_enabled": False}})
        return self

    def begin(self) -> None:
        """Start it, with what it had."""
        classes = jars.class_path(jars.resolve("opensearch", _SERVER))
        arguments = [classes, str(self._directory), str(self.port), self._heap]
        command = [sys.executable, "-m", "tests.rig.systems.opensearch", *arguments]
        with open(self._directory / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, cwd=Path(__file__).parents[3]
            )
        wait_until(self._answers, 240, f"OpenSearch did not start; its log is {self._directory / 'log'}")

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, (self._directory / "log").read_text()[-2000:]
        try:
            return bool(self.call("GET", "/_cluster/health")["status"] != "red")
        except (OSError, KeyError):
            return False

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process = None

    def stop(self) -> None:
        self.end()
        shutil.rmtree(self._directory, ignore_errors=True)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """What it answers, errors too."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return json.loads(error.read() or b"null")

    def documents(self, index: str) -> dict[str, dict[str, Any]]:
        """All of an index, by their ids, as they are at this moment."""
        self.call("POST", f"/{index}/_refresh")
        found: dict[str, dict[str, Any]] = {}
        after: list[Any] = []
        while True:
            query = {"size": 10_000, "sort": [{"_id": "asc"}], "query": {"match_all": {}}}
            hits = self.call("POST", f"/{index}/_search", {**query, **({"search_after": after} if after else {})})
            some = hits.get("hits", {}).get("hits", [])
            if not some:
                return found
            found |= {each["_id"]: each["_source"] for each in some}
            after = some[-1]["sort"]


def main(classes: str, directory: str, port: str, heap: str) -> None:
    """In a process of its own: a node, until the standard input ends."""
    import jpype

    from kconnect.jvm import java

    options = [f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    jpype.startJVM(java.library(), *options, classpath=[classes])
    named = jpype.JClass("java.lang.Class")
    settings = jpype.JClass("org.opensearch.common.settings.Settings").builder()
    given = {
        "path.home": directory,
        "http.port": port,
        "transport.port": "0",
        "network.host": "127.0.0.1",
        "discovery.type": "single-node",
        "cluster.name": "trial",
        "node.name": "one",
        "http.type": "netty4",
        "transport.type": "netty4",
    }
    for name, value in given.items():
        settings.put(name, value)
    maps = jpype.JClass("java.util.HashMap")()
    supplier = jpype.JProxy("java.util.function.Supplier", dict={"get": lambda: "one"})
    environment = jpype.JClass("org.opensearch.node.InternalSettingsPreparer").prepareEnvironment(
        settings.build(), maps, None, supplier
    )
    # The constructor that takes plugins of the class path is there for the server's own tests only.
    node = jpype.JClass("org.opensearch.node.Node").class_
    kinds = [jpype.JClass("org.opensearch.env.Environment").class_, jpype.JClass("java.util.Collection").class_, jpype.JBoolean]
    constructor = node.getDeclaredConstructor(*[getattr(kind, "class_", kind) for kind in kinds])
    constructor.setAccessible(True)
    plugins = jpype.JClass("java.util.ArrayList")()
    plugins.add(named.forName("org.opensearch.transport.Netty4Plugin"))
    made = constructor.newInstance(environment, plugins, jpype.JBoolean(False))
    made.start()
    sys.stdin.buffer.read()
    made.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
