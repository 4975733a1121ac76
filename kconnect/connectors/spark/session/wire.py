"""
How a task host and its Spark application speak: a head in JSON and rows in Arrow's format of streams, over one socket.

Each request has a number, and its answer the same one; answers come in any order. Used by both sides: `application.py` in the
host, `main.py` in the application.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_SIZES = struct.Struct(">IQ")
_CHUNK = 2**20


class ClosedError(Exception):
    """The other side is gone."""


def send(line: socket.socket, head: dict[str, Any], rows: bytes | memoryview = b"") -> None:
    """Send a message. From one thread at a time; OSError if the other side is gone."""
    text = json.dumps(head).encode()
    line.sendall(_SIZES.pack(len(text), len(rows)) + text)
    if len(rows):
        line.sendall(rows)


def receive(line: socket.socket) -> tuple[dict[str, Any], bytearray]:
    """Return the next message. ClosedError if there is none."""
    sizes = _exactly(line, _SIZES.size)
    length, rows_length = _SIZES.unpack(sizes)
    head: dict[str, Any] = json.loads(bytes(_exactly(line, length)))
    return head, _exactly(line, rows_length)


def _exactly(line: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view, done = memoryview(buffer), 0
    while done < size:
        try:
            count = line.recv_into(view[done : done + _CHUNK])
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not count:
            raise ClosedError("it has closed the connection")
        done += count
    return buffer
