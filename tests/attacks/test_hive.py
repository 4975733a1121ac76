"""Attacks by whoever answers as a Hive metastore. pyiceberg asks one by thrift, which is installed where Hive is used."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kconnect.api import SinkRecord
from kconnect.connectors.iceberg import answers, catalogs, hive, settings
from kconnect.connectors.iceberg.task import IcebergSinkTask
from tests.support import wait_until

_STRING, _STRUCT, _MAP, _LIST = 11, 12, 13, 15


def text(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


TABLE = struct.pack(">bh", _STRUCT, 0)
"""The begin of a table, as an answer."""
_NONE = struct.pack(">bh", _STRUCT, 2) + struct.pack(">bh", _STRING, 1) + text(b"no") + b"\0\0"


class Metastore:
    """A metastore with one database, s, that answers with `parts` when it is asked for a table."""

    def __init__(self, parts: Callable[[], Iterator[bytes]]) -> None:
        self._parts = parts
        self.asked: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Metastore:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._listener.accept()[0],), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        # What was asked for has its name, and the number of the call, at its begin; no other call comes over a connection.
        with contextlib.suppress(OSError, struct.error), connection:
            asked = connection.recv(65536)
            length = struct.unpack_from(">i", asked, 4)[0]
            name, number = asked[8 : 8 + length], asked[8 + length : 12 + length]
            self.asked.append(name)
            connection.sendall(struct.pack(">I", 0x80010002) + text(name) + number)
            if name == b"get_all_databases":
                connection.sendall(struct.pack(">bhbi", _LIST, 0, _STRING, 1) + text(b"s") + b"\0")
            else:
                for part in self._parts():
                    connection.sendall(part)
            connection.recv(1)


def given(metastore: Metastore) -> dict[str, str]:
    catalog = {"type": "hive", "uri": metastore.uri, "warehouse": "s3://lake"}
    return {
        "name": "lake",
        "topics": "t",
        "iceberg.tables": "s.t",
        **{f"iceberg.catalog.{name}": value for name, value in catalog.items()},
    }


def endless(part: bytes) -> Callable[[], Iterator[bytes]]:
    def parts() -> Iterator[bytes]:
        yield TABLE
        while True:
            yield part

    return parts


def entries() -> Iterator[bytes]:
    yield TABLE + struct.pack(">bhbbi", _MAP, 9, _STRING, _STRING, 2**31 - 1)
    number = 0
    while True:
        yield b"".join(text(b"k%d" % each) + text(b"v") for each in range(number, number + 1000))
        number += 1000


def dripping() -> Iterator[bytes]:
    yield TABLE
    while True:
        yield struct.pack(">bh", _STRING, 500) + text(b"x")
        time.sleep(0.05)


def silent() -> Iterator[bytes]:
    yield b""


UNREADABLE = {
    "a length below zero": TABLE + struct.pack(">bhi", _STRING, 1, -5) + bytes(20),
    "a text of two gigabytes": TABLE + struct.pack(">bhi", _STRING, 1, 2**31 - 1) + bytes(1000),
    "no text": TABLE + struct.pack(">bh", _STRING, 1) + text(b"\xff") + bytes(20),
    "very deep": TABLE + struct.pack(">bh", _STRUCT, 77) * 100_000,
}


def load(metastore: Metastore) -> Any:
    config = given(metastore)
    catalog = catalogs.made_catalog(settings.CONFIG.parse(config), config, {})
    assert catalogs.lets_in(catalog)
    return catalog.load_table("s.t")


@pytest.mark.parametrize(
    "parts", [entries, endless(struct.pack(">bh", _STRING, 500) + text(bytes(1000)))], ids=["map", "fields"]
)
def test_answers_have_a_size(monkeypatch: pytest.MonkeyPatch, parts: Callable[[], Iterator[bytes]]) -> None:
    monkeypatch.setattr(hive, "MOST_BYTES", 1024 * 1024)
    with Metastore(parts) as metastore, pytest.raises(OSError, match="has more than 1048576 bytes"):
        load(metastore)


@pytest.mark.parametrize("parts", [dripping, silent])
def test_answers_have_an_end(monkeypatch: pytest.MonkeyPatch, parts: Callable[[], Iterator[bytes]]) -> None:
    monkeypatch.setattr(answers, "WHOLE_S", 0.5)
    with Metastore(parts) as metastore, pytest.raises(catalogs.errors(), match=r"takes longer than 0\.5 s|read timeout"):
        load(metastore)


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_answer_that_can_not_be_read_is_no_records_fault(answer: bytes) -> None:
    with Metastore(lambda: iter([answer])) as metastore, pytest.raises(catalogs.errors()) as raised:
        load(metastore)
    assert catalogs.passes(raised.value)


def test_a_task_that_waits_can_be_stopped() -> None:
    """The metastore says nothing: the task is stopped all the same."""
    ended = threading.Event()
    task = IcebergSinkTask()

    with Metastore(silent) as metastore:

        def run() -> None:
            with contextlib.suppress(Exception):
                task.start(given(metastore))
                task.put([SinkRecord("t", 0, None, None, None, {"id": 1}, 0)])
            ended.set()

        threading.Thread(target=run, daemon=True).start()
        wait_until(lambda: b"get_table" in metastore.asked)
        task.interrupt()
        assert ended.wait(20)


def test_an_ordinary_answer_is_read() -> None:
    """The control: there is no such table."""
    with Metastore(lambda: iter([_NONE])) as metastore:
        config = given(metastore)
        assert not catalogs.made_catalog(settings.CONFIG.parse(config), config, {}).table_exists("s.t")
