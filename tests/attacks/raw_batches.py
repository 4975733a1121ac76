"""
Records as somebody writes them who does not use a client: a batch in Kafka's format, sent over a socket.

Clients refuse to send some of what brokers take. Used by `test_letters.py`, `test_host.py` and `test_unreadable.py`.
"""

from __future__ import annotations

import socket
import struct
import zlib
from collections.abc import Sequence

Headers = Sequence[tuple[bytes, "bytes | None"]]


def _crc_row(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC = [_crc_row(byte) for byte in range(256)]
_PRODUCE, _VERSION = 0, 7


def _crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = _CRC[(value ^ byte) & 255] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def number(value: int) -> bytes:
    """A number as it is in a record."""
    value = (value << 1) ^ (value >> 63)
    data = b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def _text(data: bytes | None) -> bytes:
    return number(-1) if data is None else number(len(data)) + data


def record(place: int, value: bytes, headers: Headers = (), length: int | None = None) -> bytes:
    """A record as it is in a batch; `length` is what it says of its value."""
    pairs = b"".join(_text(name) + _text(data) for name, data in headers)
    of_value = _text(value) if length is None else number(length) + value
    body = b"\0" + number(0) + number(place) + _text(b"k") + of_value + number(len(headers)) + pairs
    return number(len(body)) + body


def produce(bootstrap: str, topic: str, records: Sequence[tuple[bytes, Headers]]) -> None:
    """Write values with their headers to partition 0, in one batch."""
    send(bootstrap, topic, b"".join(record(place, *given) for place, given in enumerate(records)), len(records))


def send(bootstrap: str, topic: str, data: bytes, count: int, codec: int = 0, at_ms: int = 1_700_000_000_000) -> None:
    """Write a batch of `count` records of a time to partition 0; `data` are these, packed by the codec."""
    head = struct.pack(">hiqqqhii", codec, count - 1, at_ms, at_ms, -1, -1, -1, count)
    tail = head + data
    batch = struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, _crc32c(tail)) + tail
    name = struct.pack(">h", len(topic)) + topic.encode()
    request = struct.pack(">hhih", _PRODUCE, _VERSION, 1, -1) + struct.pack(">hhii", -1, -1, 10_000, 1) + name
    request += struct.pack(">iii", 1, 0, len(batch)) + batch
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = answers.read(struct.unpack(">i", answers.read(4))[0])
    (code,) = struct.unpack_from(">h", answer, 4 + 4 + len(name) + 4 + 4)
    assert code == 0, f"The broker refuses the batch: {code}"


def unpacked(size: int) -> bytes:
    """A record of so many zeros, packed: a thousandth of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    # No attributes, the first time and offset, a key that is null, and then the value.
    head = b"\0\0\0\1" + number(size)
    parts = [packer.compress(number(len(head) + size + 1) + head)]
    parts += [packer.compress(bytes(1_000_000)) for _ in range(size // 1_000_000)]
    return b"".join([*parts, packer.compress(b"\0"), packer.flush()])
