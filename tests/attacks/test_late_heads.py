"""
Attacks by services whose answers never get to what they say: a head without an end, interim answers for ever, the size of a
chunk digit by digit. Each byte comes in time, and is no part of a body that anybody could count.
"""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from obstore import exceptions
from opensearchpy import OpenSearchException

from kconnect import deadlines
from kconnect.api import ConfigError, RetriableError
from kconnect.connectors.iceberg import answers, catalogs
from kconnect.connectors.iceberg import settings as iceberg
from kconnect.connectors.objects import hadoop
from kconnect.connectors.objects import settings as objects
from kconnect.connectors.objects.hadoop import HadoopStore
from kconnect.connectors.search import settings as search
from kconnect.connectors.search.service import made_client
from kconnect.converters.avro import AvroConverter
from kconnect.kafka import listeners

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ANSWERS = {
    "interim": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "head": (OK, b"x"),
    "fields": (OK, b"x: y\r\n"),
    "size": (CHUNKED, b"0"),
    "size, to be closed": (OK + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
}
"""What comes first, and then for ever."""
LATE_S = 30.0
_PAUSE_MS = "1500"
"""So long a machine with much else to do may keep a service from its next byte: that there is none is another error."""


@contextlib.contextmanager
def endless(first: bytes, then: bytes) -> Iterator[int]:
    """Answer so whatever is asked, at the port that is given."""
    over = threading.Event()

    def answer(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.recv(65_536)
            connection.sendall(first)
            while not over.wait(0.02):
                connection.sendall(then)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)


def ask_registry(port: int) -> None:
    made = AvroConverter()
    made.configure({"schema.registry.url": f"http://127.0.0.1:{port}", "http.read.timeout.ms": _PAUSE_MS})
    with pytest.raises(RetriableError, match=r"http\.read\.timeout\.ms"):
        made.to_connect_data("t", b"\0\0\0\0\1x")


def ask_search(port: int) -> None:
    given = {"name": "n", "topics": "t", "connection.url": f"http://127.0.0.1:{port}", "read.timeout.ms": _PAUSE_MS}
    with pytest.raises(OpenSearchException, match=r"read\.timeout\.ms"):
        made_client(search.CONFIG.parse(given)).info()


def ask_name_node(port: int) -> None:
    given = {"name": "n", "topics": "t", "format.class": "JsonFormat", "flush.size": "1", "request.timeout.ms": "300"}
    store = HadoopStore(objects.CONFIG.parse({**given, "store": f"webhdfs://127.0.0.1:{port}/lake", "hdfs.user": "me"}), 2)
    with pytest.raises(exceptions.GenericError, match="timed out"):
        list(store.names(""))


def ask_catalog(port: int, **more: str) -> None:
    given = {"name": "n", "topics": "t", "iceberg.tables": "shop.orders", "iceberg.catalog.uri": f"http://127.0.0.1:{port}"}
    given |= {f"iceberg.catalog.{name}": value for name, value in more.items()}
    with pytest.raises(ConfigError, match="takes longer than"):
        catalogs.made_catalog(iceberg.CONFIG.parse(given), given, {})


def ask_for_a_token(port: int) -> None:
    ask_catalog(port, credential="id:secret")


@pytest.mark.parametrize("ask", [ask_registry, ask_search, ask_name_node, ask_catalog, ask_for_a_token])
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_never_gets_to_an_answer_is_late(monkeypatch: pytest.MonkeyPatch, answer: str, ask: Callable[[int], None]) -> None:
    """Whoever is the service keeps the task waiting, byte by byte, for ever, and nobody could stop it."""
    monkeypatch.setattr(hadoop, "_TIMES", 1)
    monkeypatch.setattr(answers, "WHOLE_S", 0.3)
    begin = time.monotonic()
    with endless(*ANSWERS[answer]) as port:
        ask(port)
    assert time.monotonic() - begin < LATE_S


def test_a_file_that_drips_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is a data node sends a file of which a byte comes each time somebody would wait no longer."""
    monkeypatch.setattr(hadoop, "_TIMES", 1)
    given = {"name": "n", "topics": "t", "format.class": "JsonFormat", "flush.size": "1", "request.timeout.ms": "300"}
    with endless(OK + b"Content-Length: 1000000\r\n\r\n", b"x") as port:
        store = HadoopStore(objects.CONFIG.parse({**given, "store": f"webhdfs://127.0.0.1:{port}/lake", "hdfs.user": "me"}), 2)
        with pytest.raises(exceptions.GenericError):
            store.get("a", io.BytesIO())


PROBED = {"answer": ("plaintext", struct.pack(">ii", 1 << 20, 7)), "handshake": ("ssl", b"\x16\x03\x03\x40\x00")}


@pytest.mark.parametrize("form", PROBED)
def test_a_probe_of_a_listener_that_drips_is_late(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Whoever is a broker that a config names answers a task's probe byte by byte: nothing is proved, and it is over soon."""
    monkeypatch.setattr(listeners, "_PROBE_S", 0.3)
    protocol, first = PROBED[form]
    with endless(first, b"\0") as port:
        begin = time.monotonic()
        assert listeners.mismatch({"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": protocol}) is None
        assert time.monotonic() - begin < LATE_S


def test_who_asks_once_more_is_ended_once_more() -> None:
    """Whoever is the service is asked anew by a library whose connection was ended: the new one ends, too."""
    ended = threading.Semaphore(0)
    with pytest.raises(TimeoutError), deadlines.within(0.01, ended.release, TimeoutError):
        for _ in range(2):
            assert ended.acquire(timeout=LATE_S)
