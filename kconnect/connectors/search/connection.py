"""
Connections to the cluster whose answers are read within limits of size and time.

opensearch-py reads an answer whole, unpacks it, and waits for each part of it anew. Made by opensearch-py's client, for
`service.py`.
"""

from __future__ import annotations

import contextlib
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from opensearchpy import Urllib3HttpConnection

from kconnect.connectors import interrupts, limits
from kconnect.connectors.limits import BrokenError, TooMuchError
from kconnect.connectors.search import settings

_PIECE = 64 * 1024
_DEEPEST = 500
"""Python reads no JSON that is nested much more."""


def bounded(most: int, seconds: float, kept: Kept | None = None) -> type[Urllib3HttpConnection]:
    """
    Return the class of connections whose answers have at most so many bytes, and take so many seconds at most. They are noted
    in `kept`.
    """

    class Bounded(Urllib3HttpConnection):
        def _create_urllib3_pool(self) -> None:
            super()._create_urllib3_pool()
            pool: Any = self.pool
            pool.urlopen = _reading(pool.urlopen, most, seconds)
            if kept is not None:
                pool.ConnectionCls = kept.noting(pool.ConnectionCls)

    return Bounded


class Kept:
    """The connections that there are, so that they can be ended from another thread."""

    def __init__(self) -> None:
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()

    def noting(self, kind: Any) -> Any:
        """Return a class like this one, of whose connections each is noted."""
        connections = self._connections

        class Noted(kind):  # type: ignore[misc]
            def connect(self) -> None:
                super().connect()
                connections.add(self)

        return Noted

    def shut_down(self) -> None:
        """End them all."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError, AttributeError):
                interrupts.shut_down(connection.sock.fileno())


def _reading(urlopen: Callable[..., Any], most: int, seconds: float) -> Callable[..., Any]:
    def read(*arguments: Any, **more: Any) -> Any:
        begin = time.monotonic()
        response = urlopen(*arguments, **more, preload_content=False)
        try:
            # What `data` gives from now on.
            response._body = b"".join(_pieces(response, most, begin + seconds))
            limits.check_depth(response._body, "the limit", _DEEPEST)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response

    return read


def _pieces(response: Any, most: int, end: float) -> Iterator[bytes]:
    packed = response.headers.get("content-encoding", "").strip().lower()
    raw = _raw(response, end)
    if packed in ("gzip", "deflate"):
        raw = limits.unpacked(raw, zlib.MAX_WBITS | 32)
    elif packed not in ("", "identity"):
        raise BrokenError(f"its answer is packed as {packed[:20]!r}, which was not asked for")
    size = 0
    for piece in raw:
        size += len(piece)
        if size > most:
            raise TooMuchError(f"its answer has more than {most} bytes, and {settings.MAX_BYTES} is {most}")
        yield piece


def _raw(response: Any, end: float) -> Iterator[bytes]:
    for piece in response.stream(_PIECE, decode_content=False):
        if time.monotonic() > end:
            raise TooMuchError(f"its answer takes longer than {settings.TIMEOUT} allows")
        yield piece
