"""A database that takes a login and then says nothing holds no task for ever: who stops it ends the wait."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from kconnect.connectors import interrupts
from kconnect.connectors.patterns import LateError
from kconnect.connectors.sql import listing
from kconnect.connectors.sql.source_task import SqlSourceTask
from kconnect.connectors.sql.task import SqlSinkTask

LONG_S = 120.0


class Silent:
    """A server that speaks PostgreSQL's protocol up to the login."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.asked = threading.Event()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                stream, _ = self._socket.accept()
                self._open.append(stream)
                threading.Thread(target=self._answer, args=(stream,), daemon=True).start()

    def _answer(self, stream: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error):
            while True:
                size, code = struct.unpack(">ii", _all(stream, 8))
                _all(stream, size - 8)
                if code == 196608:
                    break
                # Neither TLS nor GSS.
                stream.sendall(b"N")
            # Logged in, and ready.
            stream.sendall(b"R" + struct.pack(">ii", 8, 0) + b"Z" + struct.pack(">i", 5) + b"I")
            if stream.recv(1):
                self.asked.set()

    def close(self) -> None:
        for each in (self._socket, *self._open):
            each.close()


def _all(stream: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            raise OSError("it has hung up")
        data += part
    return data


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    monkeypatch.setattr(interrupts, "GRACE_S", 0.1)
    made = Silent()
    yield made
    made.close()


def _ends(server: Silent, waits: threading.Thread, stop: threading.Thread) -> None:
    waits.start()
    assert server.asked.wait(LONG_S)
    # The control: it waits.
    time.sleep(0.5)
    assert waits.is_alive()
    stop.start()
    for each in (waits, stop):
        each.join(LONG_S)
        assert not each.is_alive()


def test_a_source_that_is_stopped_waits_no_longer(server: Silent) -> None:
    task = SqlSourceTask()
    config = {"connection.url": f"postgresql://u:p@127.0.0.1:{server.port}/d", "mode": "bulk", "query": "select 1", "name": "c"}
    task.initialize(_Context())  # type: ignore[arg-type]
    task.start({**config, "topic.prefix": "t"})
    errors: list[Exception] = []

    def poll() -> None:
        try:
            task.poll()
        except Exception as error:  # noqa: BLE001 - whatever the driver says
            errors.append(error)

    _ends(server, threading.Thread(target=poll, daemon=True), threading.Thread(target=task.stop, daemon=True))


def test_a_sink_that_is_stopped_waits_no_longer(server: Silent) -> None:
    task = SqlSinkTask()
    config = {"connection.url": f"postgresql://u:p@127.0.0.1:{server.port}/d", "name": "c", "connection.attempts": "1"}

    def start() -> None:
        with contextlib.suppress(Exception):
            task.start(config)

    _ends(server, threading.Thread(target=start, daemon=True), threading.Thread(target=task.interrupt, daemon=True))


def test_no_name_of_a_table_keeps_a_pattern_busy() -> None:
    with pytest.raises(LateError):
        listing._matches(listing.TableName(None, "a" * 60 + "!"), ["(a|aa)+"])


class _Context:
    class offsets:
        @staticmethod
        def offsets(partitions: list[object]) -> list[None]:
            return [None] * len(partitions)
