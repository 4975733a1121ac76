"""
What `kconnect offsets` says of a Kafka Connect that can't do it: 3.5 shows offsets but does not change them, 3.4 has neither
them nor `stop`. The answers are those of such workers, from a server of the standard library.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.cli.calls import Called, call

NAMED = {"name": "snk", "config": {"connector.class": "x", "topics": "t"}, "tasks": [], "type": "sink"}
ENTRY = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 5}}


class Handler(BaseHTTPRequestHandler):
    version = "3.5.2"

    def do_GET(self) -> None:
        state = {"state": "RUNNING" if self.version < "3.5" else "STOPPED", "worker_id": "w"}
        known: dict[str, Any] = {
            "/": {"version": self.version, "commit": "c", "kafka_cluster_id": "k"},
            "/connectors": ["snk"],
            "/connectors/snk": NAMED,
            "/connectors/snk/config": NAMED["config"],
            "/connectors/snk/status": {"name": "snk", "connector": state, "tasks": [], "type": "sink"},
        }
        if self.version >= "3.5":
            known["/connectors/snk/offsets"] = {"offsets": [ENTRY]}
        if self.path in known:
            self._answer(200, known[self.path])
        else:
            self._answer(404, {"error_code": 404, "message": "HTTP 404 Not Found"})

    def do_PATCH(self) -> None:
        self._answer(405, {"error_code": 405, "message": "HTTP 405 Method Not Allowed"})

    do_DELETE = do_PATCH

    def _answer(self, status: int, body: Any) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> Iterator[Any]:
    handler = type("Older", (Handler,), {"version": request.param})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def offsets(*arguments: str) -> Called:
        return call("offsets", *arguments, env={"KCONNECT_URL": f"http://127.0.0.1:{server.server_port}"})

    yield offsets
    server.shutdown()
    server.server_close()


NEEDS = "(version {}) can't change offsets: that needs Kafka Connect 3.6 or newer"


@pytest.mark.parametrize("asked", ["3.5.2"], indirect=True)
def test_3_5_shows_offsets_but_does_not_change_them(asked: Any) -> None:
    assert asked("get", "snk").out.split()[-4:] == ["snk", "t", "0", "5"]
    for arguments in (("set", "snk", "t/0=1"), ("reset", "snk", "--yes")):
        done = asked(*arguments)
        assert (done.status, NEEDS.format("3.5.2") in done.err) == (4, True), done


@pytest.mark.parametrize("asked", ["3.4.1"], indirect=True)
def test_3_4_has_no_offsets(asked: Any) -> None:
    for arguments in (("get", "snk"), ("set", "snk", "t/0=1", "--stop"), ("export", "--all")):
        done = asked(*arguments)
        assert (done.status, NEEDS.format("3.4.1") in done.err) == (4, True), done
    assert asked("get", "nobody").status == 4
