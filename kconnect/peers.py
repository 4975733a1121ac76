"""
Who has connected to a listener of this machine: processes of this user alone are answered.

PySpark's daemon starts a process for each connection, before it asks for the secret: other users of the machine could have it
start processes without an end, until the machine, the container or the service has no more, and then it ends, with all task
hosts. The kernel's table of connections says whose the other end is. Used by `spark/daemon.py`. Read next: `doorman.py`, which
does the same for a JVM.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_ESTABLISHED = "01"


class Guarded(socket.socket):
    """A socket whose `accept` raises InterruptedError for a stranger, who is gone then."""

    def accept(self) -> tuple[socket.socket, Any]:
        accepted, address = super().accept()
        if is_ours(accepted):
            return accepted, address
        accepted.close()
        # As if there had been a signal, after which whoever accepts looks again.
        raise InterruptedError(errno.EINTR, "another user of this machine has connected")


def is_known() -> bool:
    """Whether this system tells whose a connection is: Linux does."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            return is_ours(accepted)


def is_ours(accepted: socket.socket) -> bool:
    """Whether the other end belongs to a process of this user. Not of one that has closed it: then it is nobody's any more."""
    if accepted.family == socket.AF_UNIX:
        credentials = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return bool(struct.unpack("3i", credentials)[1] == os.getuid())
    try:
        here, there = accepted.getsockname()[:2], accepted.getpeername()[:2]
    except OSError:
        return False
    both_ends = {(at, to) for at in _written(*there) for to in _written(*here)}
    for local, remote, state, user in _connections():
        if (local, remote) in both_ends and state == _ESTABLISHED:
            return user == os.getuid()
    return False


def _connections() -> Iterator[tuple[str, str, str, int]]:
    """Yield all of them: both ends, the state, and whose it is."""
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:
                next(file, None)
                for line in file:
                    _, local, remote, state, _, _, _, user, *_ = line.split()
                    yield local, remote, state, int(user)
        except (OSError, ValueError):
            continue


def _written(host: str, port: int) -> list[str]:
    """Return an address as the tables may have it: words of the machine's own order, IPv4 also as a part of IPv6."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host.partition("%")[0])
    forms = [packed]
    if family == socket.AF_INET:
        forms.append(bytes(10) + b"\xff\xff" + packed)
    elif packed.startswith(bytes(10) + b"\xff\xff"):
        forms.append(packed[12:])
    return [f"{''.join(f'{word:08X}' for (word,) in struct.iter_unpack('=I', form))}:{port:04X}" for form in forms]
