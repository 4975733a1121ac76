"""
Answers of a REST catalog, read within limits of size and time.

pyiceberg reads answers whole, unpacks them whatever they become, and waits for each part of one without an end. Its session
gets connections that don't. Called by `catalogs.py`.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from typing import Any

import requests
from pyiceberg.catalog import Catalog
from requests.adapters import HTTPAdapter

from kconnect.connectors import limits
from kconnect.connectors.limits import BrokenError

CONNECT_S, SILENT_S, WHOLE_S = 10.0, 120.0, 300.0
"""How long a connection, a part of an answer and all of it may take: a commit of many files takes a catalog a while."""
MOST_BYTES = 256 * 1024 * 1024
"""Of an answer, unpacked: a table of ten thousand snapshots has some megabytes of metadata."""
_PIECE = 64 * 1024


def bounded(kind: type[Catalog]) -> type[Catalog]:
    """Return a class like that of a REST catalog, whose answers have limits."""

    def create(self: Any) -> requests.Session:
        session: requests.Session = super(made, self)._create_session()
        session.headers["Accept-Encoding"] = "gzip"
        for scheme in ("http://", "https://"):
            session.mount(scheme, Bounded())
        return session

    made: type[Catalog] = type(f"Bounded{kind.__name__}", (kind,), {"_create_session": create})
    return made


class Bounded(HTTPAdapter):
    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        begin = time.monotonic()
        waits = (CONNECT_S, SILENT_S) if timeout is None else timeout
        answer = super().send(request, stream=True, timeout=waits, verify=verify, cert=cert, proxies=proxies)
        try:
            answer._content = b"".join(_pieces(answer, begin + WHOLE_S))
        except BrokenError as error:
            answer.close()
            raise requests.exceptions.ContentDecodingError(f"its answer can't be read: {error}") from None
        except BaseException:
            answer.close()
            raise
        answer.raw.release_conn()
        return answer


def _pieces(answer: requests.Response, end: float) -> Iterator[bytes]:
    packed = answer.headers.get("Content-Encoding", "").strip().lower()
    raw = _raw(answer, end)
    if packed in ("gzip", "x-gzip", "deflate"):
        raw = limits.unpacked(raw, zlib.MAX_WBITS | 32)
    elif packed not in ("", "identity"):
        raise BrokenError(f"it is packed as {packed[:20]!a}, which was not asked for")
    size = 0
    for piece in raw:
        size += len(piece)
        if size > MOST_BYTES:
            raise requests.exceptions.ContentDecodingError(f"an answer of the catalog has more than {MOST_BYTES} bytes")
        yield piece


def _raw(answer: requests.Response, end: float) -> Iterator[bytes]:
    for piece in answer.raw.stream(_PIECE, decode_content=False):
        if time.monotonic() > end:
            raise requests.exceptions.ReadTimeout(f"an answer of the catalog takes longer than {WHOLE_S:g} s")
        yield piece
