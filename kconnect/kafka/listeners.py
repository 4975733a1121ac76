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
import time
from collections.abc import Iterator, Mapping
from typing import Any

_CONNECT_S, _PROBE_S = 1.0, 2.0
"""For a connection, and for all of a probe: a task waits for it."""
_MOST_SERVERS = 3
_LARGEST = 1 << 20
_VERSIONS, _METADATA = 18, 3
_CORRELATION = 7


def mismatch(client: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a client's `security.protocol`, if one of its `bootstrap.servers` proves it."""
    protocol = str(client.get("security.protocol", "plaintext")).lower()
    for server in str(client.get("bootstrap.servers", "")).split(",")[:_MOST_SERVERS]:
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        if not port.isdecimal() or len(port) > 5:
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
        except TimeoutError:
            return None
        except OSError:
            return False
    return None


@contextlib.contextmanager
def _connected(address: tuple[str, int], tls: bool) -> Iterator[_Stream]:
    """Open one probe's connection. Raise TimeoutError once the probe has taken too long, whatever comes and how."""
    end = time.monotonic() + _PROBE_S
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(_opened(address, end))
        stream.settimeout(_left(end))
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            # Nothing is sent that anybody may not read, and no answer is believed.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            stream = stack.enter_context(context.wrap_socket(stream))
        yield _Stream(stream, end)


def _opened(address: tuple[str, int], end: float) -> socket.socket:
    for family, kind, number, _, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        stream = socket.socket(family, kind, number)
        try:
            stream.settimeout(min(_CONNECT_S, _left(end)))
            stream.connect(place)
        except OSError:
            stream.close()
        else:
            return stream
    raise OSError(f"nobody listens at {address[0]}:{address[1]}")


def _left(end: float) -> float:
    if (left_s := end - time.monotonic()) <= 0:
        raise TimeoutError
    return left_s


class _Stream:
    """A connection until its time is over."""

    def __init__(self, stream: socket.socket, end: float) -> None:
        self._stream, self._end = stream, end

    def send(self, data: bytes) -> None:
        self._stream.settimeout(_left(self._end))
        self._stream.sendall(data)

    def receive(self, size: int) -> bytes:
        """Return `size` bytes, or fewer if the other side closes the connection."""
        received = bytearray()
        while len(received) < size:
            self._stream.settimeout(_left(self._end))
            if not (part := self._stream.recv(size - len(received))):
                break
            received += part
        return bytes(received)


def _ask(stream: _Stream, kind: int, body: bytes, version: int = 0) -> bool:
    """Return whether there is an answer to a request, by the form of its head."""
    head = struct.pack(">hhih", kind, version, _CORRELATION, -1)
    stream.send(struct.pack(">i", len(head) + len(body)) + head + body)
    answer = stream.receive(8)
    size, correlation = struct.unpack(">ii", answer) if len(answer) == 8 else (0, 0)
    if correlation != _CORRELATION or not 4 < size <= _LARGEST:
        return False
    return len(stream.receive(size - 4)) == int(size) - 4
