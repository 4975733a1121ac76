"""Only a connector that names the queue has its chain run, and is asked for it once, also where it can't be had."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq.chains import chains, reporters
from kconnect.errors import ConnectError, NotFoundError
from tests.dlq.letters import letter

_ASKED: list[str] = []


_QUEUE = "errors.deadletterqueue.topic.name"
_INFOS = {
    name: {"info": {"name": name, "type": "sink", "config": {"topics": "orders", _QUEUE: queue}, "tasks": []}}
    for name, queue in (("sink", "orders-dead"), ("other", "other-dead"))
}


class _Worker(BaseHTTPRequestHandler):
    """A worker with two connectors, which are gone when somebody asks for the config of one."""

    def do_GET(self) -> None:
        _ASKED.append(self.path)
        listed = self.path.startswith("/connectors?")
        self.send_response(200 if listed else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(_INFOS if listed else {"error_code": 404, "message": "Connector not found"}).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    _ASKED.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Worker)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_connector_that_is_gone_is_asked_for_once_and_another_s_chain_never(url: str) -> None:
    known = reporters(Brokers("kafka:9092"), Target(url), "orders-dead")
    assert _ASKED == ["/connectors?expand=info", "/connectors/sink/topics"]
    _ASKED.clear()
    with chains(Brokers(), Target(url), known) as tried:
        for offset in range(3):
            with pytest.raises(NotFoundError, match="sink, which wrote the letter, no longer exists: name another"):
                tried.run(letter(offset))
        with pytest.raises(ConnectError, match="the connector other, which is gone, or has another queue now: name the topic"):
            tried.run(letter(connector_name="other"))
    assert _ASKED == ["/connectors/sink/config"]
    named = reporters(Brokers("kafka:9092"), Target(url), "orders-dead", "other")
    assert named.of(letter()).connector == "other", "the caller has named it"
    with pytest.raises(NotFoundError, match="There is no connector none"):
        reporters(Brokers("kafka:9092"), Target(url), "orders-dead", "none")


def test_a_worker_that_is_not_there_is_an_error(url: str) -> None:
    with pytest.raises(ConnectError):
        reporters(Brokers("kafka:9092"), Target(url.rpartition(":")[0] + ":1"), "orders-dead")
