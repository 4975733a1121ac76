"""
Connections to the cluster whose answers are read within limits of size and time.

opensearch-py reads an answer whole, unpacks it, and waits for each part of it anew. Made by opensearch-py's client, for
`service.py`.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from opensearchpy import Urllib3HttpConnection

from kconnect import deadlines
from kconnect.connectors import limits
from kconnect.connectors.interrupts import Kept as Kept
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

    noted = kept or Kept()

    class Bounded(Urllib3HttpConnection):
        def _create_urllib3_pool(self) -> None:
            super()._create_urllib3_pool()
            pool: Any = self.pool
            pool.urlopen = _reading(pool.urlopen, most, seconds, noted)
            pool.ConnectionCls = noted.noting(pool.ConnectionCls)

    return Bounded


def _reading(urlopen: Callable[..., Any], most: int, seconds: float, sockets: Kept) -> Callable[..., Any]:
    def read(*arguments: Any, **more: Any) -> Any:
        # The time is also that of the head, and of what is between the parts of a body.
        with deadlines.within(seconds, sockets.shut_down, _late):
            return whole(*arguments, **more)

    def whole(*arguments: Any, **more: Any) -> Any:
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
            raise _late()
        yield piece


def _late() -> TooMuchError:
    return TooMuchError(f"its answer takes longer than {settings.TIMEOUT} allows")
