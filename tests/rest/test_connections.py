"""How many connections a server keeps, which ones it closes, and how it reads requests that are written in odd ways."""

from __future__ import annotations

import logging
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from kconnect.core.herder.requests.connectors import ListConnectors
from kconnect.rest.app import RestSettings, build
from kconnect.rest.connections import Connection, OnceAMinute, limit
from kconnect.rest.server import Server
from kconnect.tls import contexts
from kconnect.tls.settings import Settings
from tests.support import wait_until

from .herder import MemoryHerder
from .test_server import LOCAL, InFlight
from .test_tls import HTTPS, caller, pem


@pytest.fixture
def serve(herder: MemoryHerder) -> Iterator[Callable[..., Server]]:
    with ExitStack() as stack:

        def start(connections: int, listener: str = LOCAL) -> Server:
            app = build(herder, RestSettings("http://worker-1:8083/"))
            server = Server(app, [listener], tls=contexts.server(Settings(pem())), connections=connections)
            stack.callback(server.stop)
            server.start()
            return server

        yield start


def connected(server: Server, many: int, stack: ExitStack) -> list[socket.socket]:
    return [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60)) for _ in range(many)]


def is_closed(raw: socket.socket) -> bool:
    raw.setblocking(False)
    try:
        return raw.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("listener", [LOCAL, HTTPS])
def test_silent_connections_keep_nobody_out(
    serve: Callable[..., Server], listener: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kconnect.rest.connections._HEAD_S", 600)
    monkeypatch.setattr("kconnect.rest.server._KEEP_ALIVE_S", 600)
    server = serve(4, listener)
    with ExitStack() as stack:
        silent = connected(server, 12, stack)
        with caller() as client:
            assert client.get(f"{listener[:-2]}:{server.port}/health").status_code == 200
        wait_until(lambda: sum(map(is_closed, silent)) >= 8, message="the idlest are not closed")
        assert not is_closed(silent[-1]), "the newest are kept"


def test_what_is_being_answered_is_not_closed(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    server = serve(2)
    herder.hold = True
    with ExitStack() as stack, InFlight(server, herder) as request:
        silent = connected(server, 6, stack)
        wait_until(lambda: sum(map(is_closed, silent)) >= 5, message="the idlest are not closed")
        herder.held[0].set_result(["late"])
        assert request.answer().json() == ["late"]


def test_while_all_are_being_answered_the_next_waits(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    server = serve(1)
    herder.hold = True
    answers: list[httpx.Response] = []
    with InFlight(server, herder) as request:
        url = f"http://127.0.0.1:{server.port}/health"
        second = threading.Thread(target=lambda: answers.append(httpx.get(url, timeout=60)))
        second.start()
        herder.held[0].set_result(["first"])
        assert request.answer().json() == ["first"]
        wait_until(lambda: len(herder.held) == 2, message="the second request was not read")
        herder.held[1].set_result(None)
        second.join(60)
    assert answers[0].status_code == 200


WITHOUT_FILES = """
import logging, resource, sys
from kconnect.rest.app import RestSettings, build
from kconnect.rest.server import Server
from tests.rest.herder import MemoryHerder
logging.basicConfig(level=logging.WARNING)
server = Server(build(MemoryHerder(), RestSettings("http://worker-1:8083/")), ["http://127.0.0.1:0"], connections=1000)
server.start()
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
print(server.port, flush=True)
sys.stdin.read()
"""


@pytest.mark.process
def test_a_process_without_files_goes_on_and_says_it_once() -> None:
    command = [sys.executable, "-c", WITHOUT_FILES]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, ExitStack() as stack:
        port = int(process.stdout.readline())
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
        status = httpx.get(f"http://127.0.0.1:{port}/health", timeout=60).status_code
        _, said = process.communicate()
    assert status == 200
    assert "No connection can be accepted: Too many open files." in said
    assert len(said.splitlines()) < 10


def test_the_limit_leaves_files_to_others() -> None:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert 0 < limit() <= files // 2
    assert limit(2) <= files // 4


def test_a_head_that_trickles_is_not_waited_for(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kconnect.rest.connections._HEAD_S", 1)
    with socket.create_connection(("127.0.0.1", serve(10).port), timeout=60) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nx: ")

        def cut_off() -> bool:
            raw.setblocking(True)
            try:
                raw.sendall(b"y")
            except OSError:
                return True
            return is_closed(raw)

        wait_until(cut_off, 60, "it is still read")


def test_a_warning_that_anybody_can_cause_comes_once_a_minute() -> None:
    now = 0.0
    once = OnceAMinute(lambda: now)

    def passes(text: str, level: int = logging.WARNING) -> bool:
        return once.filter(logging.LogRecord("x", level, "", 0, text, (), None))

    assert [passes("a %s"), passes("a %s"), passes("b"), passes("a %s", logging.ERROR)] == [True, False, True, True]
    now = 60.0
    assert passes("a %s")


def asking(server: Server, stack: ExitStack, pipelined: int = 1) -> socket.socket:
    """A client that asks for a large answer, and reads nothing of it yet."""
    raw = stack.enter_context(socket.socket())
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", server.port))
    raw.sendall(b"GET /connectors HTTP/1.1\r\nHost: x\r\n\r\n" * (pipelined - 1))
    raw.sendall(b"GET /connectors HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return raw


def whole(raw: socket.socket) -> bool:
    """Whether an answer comes whole, now that it is read."""
    raw.settimeout(60)
    with raw.makefile("rb") as file, suppress(ConnectionResetError):
        head, _, body = file.read().partition(b"\r\n\r\n")
        return f"content-length: {len(body)}\r\n".encode() in head.lower() + b"\r\n"
    return False


def test_answers_that_nobody_reads_do_not_take_all_memory(
    serve: Callable[..., Server], herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reaches a listener asks for what is large, on as many connections as there may be, and reads no answer."""
    monkeypatch.setattr("kconnect.rest.connections._MOST_UNREAD", 20 * 2**20)
    herder.configs.update({f"{number:04}" + "x" * 2000: {} for number in range(4000)})
    server = serve(100)
    with ExitStack() as stack:
        clients = []
        for number in range(1, 13):
            clients.append(asking(server, stack))
            wait_until(lambda number=number: len(herder.seen) == number, message="it was not asked")  # type: ignore[misc]
        url = f"http://127.0.0.1:{server.port}/connectors"
        assert len(httpx.get(url, timeout=60).content) > 8_000_000, "who reads is answered"
        are_whole = [whole(raw) for raw in clients]
    assert are_whole[-1], "the newest are kept"
    assert are_whole.count(False) >= 6, "of each there are some 4 to 8 MB that wait in the process"


def test_the_next_answer_is_not_made_before_one_is_read(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    herder.configs.update({f"{number:04}" + "x" * 2000: {} for number in range(4000)})
    server = serve(100)
    with ExitStack() as stack:
        greedy = asking(server, stack, pipelined=3)
        wait_until(lambda: herder.seen, message="it was not asked")
        assert httpx.get(f"http://127.0.0.1:{server.port}/", timeout=60).status_code == 200
        assert len([request for request in herder.seen if isinstance(request, ListConnectors)]) == 1
        greedy.settimeout(60)
        with greedy.makefile("rb") as file:
            assert file.read().count(b"HTTP/1.1 200") == 3, "all of them come to who reads"


def test_requests_that_come_before_one_is_answered_do_not_take_all_memory(serve: Callable[..., Server]) -> None:
    """A stranger sends requests as quickly as they are taken, and reads no answer."""
    server = serve(100)
    data, sent, stalls, largest = b"PUT /connectors/x/pause HTTP/1.1\r\nHost: x\r\n\r\n" * 2000, 0, 0, 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.setblocking(False)
        while sent < 32 * 2**20 and stalls < 20:
            try:
                sent += raw.send(data)
            except ConnectionError:
                break
            except BlockingIOError:
                stalls += 1
                assert httpx.get(f"http://127.0.0.1:{server.port}/health", timeout=60).status_code == 200
            for connection in list(server._uvicorns[0].server_state.connections):
                assert isinstance(connection, Connection)
                largest = max(largest, len(connection.conn.trailing_data[0]))
    assert sent > 2**16, "the control"
    assert largest < 2**19
    assert httpx.get(f"http://127.0.0.1:{server.port}/health", timeout=60).status_code == 200


# -- how a request is written -----------------------------------------------------------------------------------------


def answer(server: Server, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(sent)
        with raw.makefile("rb") as read:
            return read.read()


def test_a_body_of_two_lengths_is_refused_and_the_connection_closed(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    head = b"POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
    said = answer(serve(10), head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /connectors HTTP/1.1\r\nHost: x\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1 ") == 1, "what follows may be a body or a request"
    assert not herder.seen


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://worker-1:8083/connectors?expand=info", b"200"),
        (b"HTTPS://elsewhere/connectors/", b"200"),
        (b"http://worker-1:8083", b"200"),
        (b"http://worker-1:8083/nope", b"404"),
        (b"ftp://worker-1/connectors", b"404"),
    ],
)
def test_a_target_in_absolute_form(serve: Callable[..., Server], target: bytes, status: bytes) -> None:
    said = answer(serve(10), b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert said.split()[1] == status
