"""Whose chain is meant is asked once, also where the answer is that it can't be had."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq.chains import chains
from kconnect.errors import ConnectError, NotFoundError
from tests.dlq.letters import letter

_ASKED: list[str] = []


class _Nobody(BaseHTTPRequestHandler):
    """A worker that knows no connector."""

    def do_GET(self) -> None:
        _ASKED.append(self.path)
        self.send_response(404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"error_code":404,"message":"Connector not found"}')

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    _ASKED.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Nobody)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_connector_that_is_gone_is_asked_for_once(url: str) -> None:
    with chains(Brokers(), Target(url), "orders-dead") as tried:
        for offset in range(3):
            with pytest.raises(NotFoundError, match="sink, which wrote the letter, no longer exists: name another"):
                tried.run(letter(offset))
        with pytest.raises(NotFoundError, match="The connector other"):
            tried.run(letter(connector_name="other"))
    assert _ASKED == ["/connectors/sink/config", "/connectors/other/config"]


def test_a_worker_that_is_not_there_is_asked_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def away(_: _Nobody) -> None:
        asked.append("once")
        raise ConnectionResetError

    monkeypatch.setattr(_Nobody, "do_GET", away)
    monkeypatch.setattr(ThreadingHTTPServer, "handle_error", lambda *_: None)
    with chains(Brokers(), Target(url), "orders-dead") as tried:
        with pytest.raises(ConnectError):
            tried.run(letter(0))
        first = len(asked)
        assert first
        with pytest.raises(ConnectError):
            tried.run(letter(1))
    assert len(asked) == first
