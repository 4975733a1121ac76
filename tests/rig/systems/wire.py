"""
What passes between processes of this machine: a look at every frame of the loopback interface, for tests of encryption.

Needs root. `Wire.saw` tells which of some texts were in a frame between two programs of the given name: on real machines a
driver and its Python process, or an executor and its own, are always on one. A text that is cut by two frames is found as long
as its parts come one after the other between the same ports.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterable

import psutil

_LARGEST = 1 << 18
_EVERY_PROTOCOL = 3
_HEADERS = 66


def may_look() -> bool:
    """Return whether this user may open a packet socket."""
    return os.geteuid() == 0


class Wire:
    """Looks at what programs called `program` send each other, from its start to `stop`. Use it in a `with`."""

    def __init__(self, texts: Iterable[bytes], program: str) -> None:
        self._texts, self._program = tuple(texts), program
        self._found: set[bytes] = set()
        self._tails: dict[bytes, bytes] = {}
        self._stopped = threading.Event()
        self.frames = 0
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY_PROTOCOL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Wire:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def saw(self) -> set[bytes]:
        """Return the texts that were seen so far."""
        return set(self._found)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._socket.close()

    def _look(self) -> None:
        longest = max(map(len, self._texts))
        while not self._stopped.is_set():
            try:
                frame = self._socket.recv(_LARGEST)
            except TimeoutError:
                continue
            self.frames += 1
            # Ethernet, IPv4 and TCP with its usual options; what is longer only adds some bytes before the data.
            ports, data = frame[34:38], frame[_HEADERS:]
            joined = self._tails.get(ports, b"") + data
            texts = {text for text in self._texts if text in joined} - self._found
            if texts and self._is_between_programs(ports):
                self._found |= texts
            self._tails[ports] = joined[-longest:]

    def _is_between_programs(self, ports: bytes) -> bool:
        wanted = {int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big")}
        owners = {c.laddr.port: c.pid for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port in wanted and c.pid}
        names = set()
        for pid in owners.values():
            with contextlib.suppress(psutil.Error):
                names.add(psutil.Process(pid).name())
        return len(set(owners.values())) == 2 and names == {self._program}
