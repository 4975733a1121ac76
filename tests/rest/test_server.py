"""The real server, on real sockets, and the client against it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kconnect.errors import ConfigError, ConnectError
from kconnect.local.broker import free_port
from kconnect.rest.app import RestSettings, build
from kconnect.rest.client import ConnectClient, RestError
from kconnect.rest.server import Listener, Server, parse_listener
from tests.support import wait_until

from .conftest import FILE_SOURCE
from .herder import MemoryHerder

LOCAL = "http://127.0.0.1:0"


@pytest.fixture
def serve(herder: MemoryHerder) -> Iterator[Callable[..., Server]]:
    """Starts servers over the herder; what they leave running is stopped."""
    started: list[Server] = []

    def start(
        *listeners: str,
        access_log_file: Path | None = None,
        stop_limit: int = 5,
        request_timeout: float = 90.0,
    ) -> Server:
        app = build(herder, RestSettings("http://worker-1:8083/", request_timeout))
        server = Server(app, list(listeners or [LOCAL]), access_log_file, stop_limit)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()


def test_serves_and_stops(serve: Callable[..., Server]) -> None:
    server = serve()
    url = f"http://127.0.0.1:{server.port}"
    with ConnectClient(url) as client:
        assert client.connectors() == []
        server.stop()
        server.stop()
        with pytest.raises(RestError, match=f"No worker answers at {url} .*Check that it is running") as caught:
            client.connectors()
    assert (caught.value.status, caught.value.exit_code) == (None, 3)


def test_framework_errors_have_no_content_type_on_the_wire(serve: Callable[..., Server]) -> None:
    url = f"http://127.0.0.1:{serve().port}"
    for method, path in (("GET", "nope"), ("PUT", "connectors")):
        response = httpx.request(method, f"{url}/{path}", timeout=60)
        assert response.is_client_error
        assert "content-type" not in response.headers


def test_head_on_the_wire(serve: Callable[..., Server]) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{serve().port}", timeout=60) as client:
        for path in ("/connectors", "/connectors/nope", "/nope"):
            get, head = client.get(path), client.head(path)
            assert (head.status_code, head.content) == (get.status_code, b"")


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b""),
        (b"GET /health HTTP/1.1\r\nHost: ", b""),
        (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /hea", b"HTTP/1.1 200"),
    ],
    ids=["nothing", "half a request", "one and a half"],
)
def test_a_connection_that_falls_silent_is_closed(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, sent: bytes, answered: bytes
) -> None:
    monkeypatch.setattr("kconnect.rest.server._KEEP_ALIVE_S", 1)
    monkeypatch.setattr("kconnect.rest.connections._HEAD_S", 1)
    with socket.create_connection(("127.0.0.1", serve().port), timeout=60) as raw:
        raw.sendall(sent)
        with raw.makefile("rb") as answer:
            assert answer.read().startswith(answered)


def test_a_request_that_takes_longer_than_the_idle_limit_is_answered(
    serve: Callable[..., Server], herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kconnect.rest.server._KEEP_ALIVE_S", 1)
    herder.hold = True
    server = serve(request_timeout=2.0)
    assert httpx.get(f"http://127.0.0.1:{server.port}/connectors", timeout=60).json()["message"] == "Request timed out"


def test_a_body_that_does_not_arrive(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    head = b"PUT /connectors/x/config HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    server = serve(request_timeout=0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(head)
        with raw.makefile("rb") as answer:
            text = answer.read()
    assert text.startswith(b"HTTP/1.1 408")
    assert b'{"error_code":408,"message":"HTTP 408 Request Timeout"}' in text
    assert not herder.seen


def test_location_on_the_wire(serve: Callable[..., Server]) -> None:
    response = httpx.post(
        f"http://127.0.0.1:{serve().port}/connectors", json={"name": "my src", "config": FILE_SOURCE}, timeout=60
    )
    assert (response.status_code, response.headers["location"]) == (201, "http://worker-1:8083/connectors/my%20src")


@pytest.mark.parametrize("part", [b"y" * 65536, b"y\r\nx: " + b"y" * 1000], ids=["one header", "many headers"])
def test_headers_without_end_are_cut_off(serve: Callable[..., Server], part: bytes) -> None:
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nx: ")
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            # Far more than the buffers between the two hold, which take whatever a busy server has not read yet.
            for _ in range(2**27 // len(part)):
                client.sendall(part)
    assert httpx.get(f"http://127.0.0.1:{server.port}/connectors", timeout=60).status_code == 200


def test_several_listeners(serve: Callable[..., Server]) -> None:
    server = serve(LOCAL, LOCAL)
    assert len(set(server.ports)) == 2
    for port in server.ports:
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=60).status_code == 200


def test_blank_host_is_every_address(serve: Callable[..., Server]) -> None:
    server = serve("http://:0")
    assert httpx.get(f"http://127.0.0.1:{server.port}/", timeout=60).status_code == 200
    if socket.has_dualstack_ipv6():
        assert httpx.get(f"http://[::1]:{server.port}/", timeout=60).status_code == 200


@pytest.mark.parametrize("listener", [LOCAL, "http://:0"])
def test_answers_do_not_wait_for_delayed_acks(serve: Callable[..., Server], listener: str) -> None:
    """With Nagle's algorithm on the server's side, 25 requests on one connection take 25 times 40 ms."""
    with httpx.Client(base_url=f"http://127.0.0.1:{serve(listener).port}", timeout=60) as client:
        client.get("/connectors")
        wait_until(lambda: _timed(lambda: [client.get("/connectors") for _ in range(5)]) < 5 * 0.03, 120, "they wait for ACKs")


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def test_port_is_known_before_the_application(herder: MemoryHerder) -> None:
    server = Server(None, [LOCAL])
    server.bind()
    port = server.port
    server.start(build(herder, RestSettings(f"http://127.0.0.1:{port}/")))
    try:
        assert server.port == port
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=60).status_code == 200
    finally:
        server.stop()


def test_taken_port(serve: Callable[..., Server]) -> None:
    port = serve().port
    with pytest.raises(ConnectError) as caught:
        serve(LOCAL, f"http://127.0.0.1:{port}")
    assert str(caught.value) == (
        f"Port {port} is in use by another program, so the worker cannot listen on http://127.0.0.1:{port}. Stop that "
        f"program, or give the worker setting 'listeners' a free port, such as http://:{port + 1}."
    )


def test_failed_start_frees_the_other_ports(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    taken = serve().port
    free = free_port()
    with pytest.raises(ConnectError, match=f"Port {taken} "):
        serve(f"http://127.0.0.1:{free}", f"http://127.0.0.1:{taken}")
    assert serve(f"http://127.0.0.1:{free}").port == free


def test_address_of_another_machine(serve: Callable[..., Server]) -> None:
    with pytest.raises(ConnectError, match=r"cannot listen on http://192\.0\.2\.1:0: .*'listeners'"):
        serve("http://192.0.2.1:0")


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://:8083", "", 8083),
        ("http://localhost:0", "localhost", 0),
        (" HTTP://[::1]:8083/ ", "::1", 8083),
        ("http://my-host.example_1:80", "my-host.example_1", 80),
    ],
)
def test_listeners(url: str, host: str, port: int) -> None:
    assert parse_listener(url) == Listener(url.strip(), host, port)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("localhost:8083", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("http://localhost", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("http://:-1", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("http://:70000", "The port must be at most 65535."),
        ("ftp://:21", "The protocol ftp is not known; use http:// or https://."),
    ],
)
def test_listeners_refused(url: str, rule: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Server(None, [url])
    assert str(caught.value) == f"Invalid value {url} for configuration listeners: {rule}"


def test_no_listener() -> None:
    with pytest.raises(ConfigError, match="At least one listener is needed"):
        Server(None, [])


def test_access_log_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    server = serve(access_log_file=path)
    assert path.read_text() == ""
    httpx.get(f"http://127.0.0.1:{server.port}/connectors", timeout=60)
    server.stop()
    assert '"GET /connectors HTTP/1.1" 200 2 "-" "python-httpx/' in path.read_text()


def test_access_log_file_that_cannot_be_written(serve: Callable[..., Server], tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"access\.log\.file"):
        serve(access_log_file=tmp_path / "missing" / "access.log")


def test_stop_lets_a_running_request_finish(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    server = serve()
    herder.hold = True
    with InFlight(server, herder) as request:
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        herder.held[0].set_result(["late"])
        stopping.join(10)
        assert request.answer().json() == ["late"]


def test_stop_cuts_off_what_takes_longer_than_its_limit(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    server = serve(stop_limit=1)
    herder.hold = True
    with InFlight(server, herder) as request:
        server.stop()
        response = request.answer()
        assert (response.status_code, response.json()["message"]) == (500, "Worker is shutting down")
        assert herder.held[0].cancelled()


class InFlight:
    """A `GET /connectors` in a thread, entered once the herder has it."""

    def __init__(self, server: Server, herder: MemoryHerder) -> None:
        self._url = f"http://127.0.0.1:{server.port}/connectors"
        self._herder = herder
        self._answers: list[httpx.Response] = []
        self._thread = threading.Thread(target=lambda: self._answers.append(httpx.get(self._url, timeout=60)))

    def __enter__(self) -> InFlight:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._herder.held and time.monotonic() < deadline:
            threading.Event().wait(0.005)
        assert self._herder.held
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)

    def answer(self) -> httpx.Response:
        self._thread.join(60)
        return self._answers[0]
