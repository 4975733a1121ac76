"""What becomes of bytes on each kind of link: `tests/rig/systems/proxy.py`, between real sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from kconnect.local.broker import free_port
from tests.rig.systems.proxy import Link, Proxy
from tests.support import wait_until

LIMIT_S = 60.0
SILENCE_S = 0.3


class Echo:
    """Sends back what it gets, and keeps it."""

    def __init__(self) -> None:
        self.received = b""
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65536):
                    self.received += data
                    connection.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    made = Echo()
    yield made
    made.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    made = Proxy(echo.port).start()
    yield made
    made.close()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), LIMIT_S)


def says(connection: socket.socket, text: bytes) -> bytes:
    connection.sendall(text)
    return answer(connection, len(text))


def answer(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length and (data := connection.recv(65536)):
        found += data
    return found


def is_silent(connection: socket.socket) -> bool:
    connection.settimeout(SILENCE_S)
    try:
        return connection.recv(1) == b"never"
    except TimeoutError:
        return True
    finally:
        connection.settimeout(LIMIT_S)


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_open(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert says(connection, b"x" * 1_000_000) == b"x" * 1_000_000


def test_the_end_of_one_side_is_the_end_of_the_other_after_all_has_arrived(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as connection:
        connection.sendall(b"y" * 50_000)
        connection.shutdown(socket.SHUT_WR)
        wait_until(lambda: len(echo.received) == 50_000, LIMIT_S)
    assert echo.received == b"y" * 50_000


def test_cut_closes_what_is_open_and_refuses_what_is_new(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert says(connection, b"before") == b"before"
        proxy.set(Link.CUT)
        assert is_closed(connection)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.set(Link.OPEN)
    with connect(proxy) as connection:
        assert says(connection, b"after") == b"after"


def test_half_open_accepts_and_swallows(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as old:
        assert says(old, b"before") == b"before"
        proxy.set(Link.HALF_OPEN)
        with connect(proxy) as new:
            for connection in (old, new):
                connection.sendall(b"lost")
                assert is_silent(connection)
            proxy.set(Link.OPEN)
            assert is_closed(old)
            assert is_closed(new)
    assert echo.received == b"before"


def test_one_way_there(proxy: Proxy, echo: Echo) -> None:
    proxy.set(Link.ONLY_THERE)
    with connect(proxy) as connection:
        connection.sendall(b"heard")
        wait_until(lambda: echo.received == b"heard", LIMIT_S)
        assert is_silent(connection)


def test_one_way_back(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as connection:
        assert says(connection, b"before") == b"before"
        proxy.set(Link.ONLY_BACK)
        connection.sendall(b"unheard")
        assert is_silent(connection)
    assert echo.received == b"before"


def test_slow_takes_its_time_and_keeps_the_order(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        proxy.set(Link.SLOW)
        began = time.monotonic()
        connection.sendall(b"a" * 100_000)
        assert connection.recv(1) == b"a"
        # A least time, which no slow machine can spoil: 100 ms each way.
        assert time.monotonic() - began >= 0.2
        proxy.set(Link.OPEN)
        connection.sendall(b"b")
        assert answer(connection, 100_000) == b"a" * 99_999 + b"b"


def test_a_target_that_refuses(proxy: Proxy) -> None:
    proxy.target_port = free_port()
    with connect(proxy) as connection:
        assert is_closed(connection)
