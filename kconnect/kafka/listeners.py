"""
What a broker's listener speaks, asked by a few bytes: a client that speaks something else is only hung up on.

A broker that is away, or a balancer without one, hangs up on a client, too. So `refusals.py` asks here before it says that a
task's `security.protocol` is wrong: None means that nothing is proved. Nobody logs in, and nothing is believed but the form of
an answer.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from typing import Any

_ANSWER_S = 1.0
_MOST_SERVERS = 3
_LARGEST = 1 << 20
_VERSIONS, _METADATA = 18, 3
_CORRELATION = 7


def mismatch(client: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a client's `security.protocol`, if one of its `bootstrap.servers` proves it."""
    protocol = str(client.get("security.protocol", "plaintext")).lower()
    for server in str(client.get("bootstrap.servers", "")).split(",")[:_MOST_SERVERS]:
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        if not port.isdecimal():
            continue
        address = (host.removeprefix("[").removesuffix("]"), int(port))
        encrypted = protocol.endswith("ssl")
        if _speaks_tls(address) if not encrypted else _answers(address, tls=False) is not None:
            speaks, asked = ("TLS", "SSL or SASL_SSL") if not encrypted else ("no TLS", "PLAINTEXT or SASL_PLAINTEXT")
            return f"the listener at {server.strip()} speaks {speaks}: set security.protocol to {asked}"
        if not protocol.startswith("sasl") and _answers(address, tls=encrypted) is False:
            asked = "SASL_SSL" if encrypted else "SASL_PLAINTEXT"
            return f"the listener at {server.strip()} wants a login: set security.protocol to {asked}, and sasl.*"
    return None


def _speaks_tls(address: tuple[str, int]) -> bool:
    with contextlib.suppress(OSError, ValueError), _connected(address, tls=True):
        return True
    return False


def _answers(address: tuple[str, int], tls: bool) -> bool | None:
    """Whether a broker says what topics there are to somebody who has not logged in; None if no broker answers."""
    with contextlib.suppress(OSError, ValueError, struct.error), _connected(address, tls) as stream:
        if not _ask(stream, _VERSIONS, b""):
            return None
        # Of no topic. Before a login, brokers hang up on this.
        try:
            return _ask(stream, _METADATA, struct.pack(">i", 0), version=1)
        except OSError:
            return False
    return None


@contextlib.contextmanager
def _connected(address: tuple[str, int], tls: bool) -> Iterator[socket.socket]:
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(socket.create_connection(address, _ANSWER_S))
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            # Nothing is sent that anybody may not read, and no answer is believed.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            stream = stack.enter_context(context.wrap_socket(stream))
        yield stream


def _ask(stream: socket.socket, kind: int, body: bytes, version: int = 0) -> bool:
    """Return whether there is an answer to a request, by the form of its head."""
    head = struct.pack(">hhih", kind, version, _CORRELATION, -1)
    stream.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    answer = _received(stream, 8)
    size, correlation = struct.unpack(">ii", answer) if len(answer) == 8 else (0, 0)
    if correlation != _CORRELATION or not 4 < size <= _LARGEST:
        return False
    return len(_received(stream, size - 4)) == int(size) - 4


def _received(stream: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size and (part := stream.recv(size - len(received))):
        received += part
    return received
