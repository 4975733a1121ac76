"""
Databases that speak PostgreSQL's or MySQL's protocol up to a login, and then answer the first statement as a test likes.

Used by `test_silent_databases.py`.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterable


class Database:
    """
    A server at a free port. `answers` gives the pieces of its answer to the first statement, or those to the first ones
    `in_turns`; without any it is silent.
    """

    url: str

    def __init__(self, answers: Iterable[bytes] = (), in_turns: bool = False) -> None:
        self._in_turns = in_turns
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.asked = threading.Event()
        self._answers = answers
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
            self.log_in(stream)
            if stream.recv(65_536):
                self.asked.set()
                for number, piece in enumerate(self._answers):
                    if number and self._in_turns:
                        stream.recv(65_536)
                    stream.sendall(piece)

    def log_in(self, stream: socket.socket) -> None:
        raise NotImplementedError

    def close(self) -> None:
        for stream in (self._socket, *self._open):
            stream.close()


class PostgreSQL(Database):
    @property
    def url(self) -> str:  # type: ignore[override]
        return f"postgresql://u:p@127.0.0.1:{self.port}/d"

    def log_in(self, stream: socket.socket) -> None:
        while True:
            size, code = struct.unpack(">ii", _all(stream, 8))
            _all(stream, size - 8)
            if code == 196608:
                break
            # Neither TLS nor GSS.
            stream.sendall(b"N")
        # Logged in, and ready.
        stream.sendall(message(b"R", bytes(4)) + message(b"Z", b"I"))


class MySQL(Database):
    @property
    def url(self) -> str:  # type: ignore[override]
        return f"mysql+pymysql://u:p@127.0.0.1:{self.port}/d"

    def log_in(self, stream: socket.socket) -> None:
        greeting = b"\x0a8.0.0\0" + bytes(4) + b"a" * 8 + b"\0" + struct.pack("<H", 0xF7FF) + b"\x21" + struct.pack("<H", 2)
        stream.sendall(packet(0, greeting + struct.pack("<HB", 0x0008, 21) + bytes(10) + b"b" * 12 + b"\0"))
        # The login, and SET NAMES, of whose answer the driver reads one packet.
        for number in (2, 1):
            _all(stream, int.from_bytes(_all(stream, 4)[:3], "little"))
            stream.sendall(packet(number, OK))


OK = b"\0\0\0\2\0\0\0"


def message(kind: bytes, body: bytes = b"") -> bytes:
    """Return a message of PostgreSQL's."""
    return kind + struct.pack(">i", len(body) + 4) + body


def packet(number: int, body: bytes) -> bytes:
    """Return a packet of MySQL's."""
    return len(body).to_bytes(3, "little") + bytes([number % 256]) + body


def without_end(piece: bytes) -> Iterable[bytes]:
    return itertools.repeat(piece * max(1, 65536 // len(piece)))


READY = message(b"Z", b"I")


def columns(count: int = 1, form: int = 0, kind: int = 25) -> bytes:
    """Return what rows have, in a form (1: binary), and of a type by its number."""
    return message(b"T", struct.pack(">h", count) + count * (b"a\0" + struct.pack(">ihihih", 0, 0, kind, -1, -1, form)))


def cells(*values: bytes) -> bytes:
    return message(b"D", struct.pack(">h", len(values)) + b"".join(struct.pack(">i", len(each)) + each for each in values))


ROWS = columns()
ROW = message(b"D", struct.pack(">hi", 1, 1000) + b"x" * 1000)
NULLS = message(b"D", struct.pack(">h", 1) + b"\xff" * 4)
EMPTY = message(b"C", b"BEGIN\0")
NOTIFICATION = message(b"A", bytes(4) + b"channel\0payload\0")

_COLUMN = b"\3def" + b"\0" * 3 + b"\1a\0\x0c" + struct.pack("<HIBHB", 33, 100, 0xFD, 0, 0) + b"\0\0"


def of_mysql(*bodies: bytes, then: bytes) -> Iterable[bytes]:
    """Return some packets, and then the same one without end."""
    begin = b"".join(packet(number + 1, body) for number, body in enumerate(bodies))
    # They are numbered, and the numbers begin again after 255.
    rest = b"".join(packet(len(bodies) + 1 + number, then) for number in range(256))
    return itertools.chain([begin], itertools.repeat(rest))


def rows_of_mysql() -> Iterable[bytes]:
    return of_mysql(b"\1", _COLUMN, b"\xfe\0\0\2\0", then=b"\xfc\x10\x27" + b"x" * 10_000)


def columns_of_mysql() -> Iterable[bytes]:
    return of_mysql(b"\xfe" + b"\xff" * 7 + b"\x7f", then=_COLUMN)


def _all(stream: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            raise OSError("it has hung up")
        data += part
    return data
