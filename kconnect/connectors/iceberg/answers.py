"""
Answers of a REST catalog, read within limits of size and time.

pyiceberg reads answers whole, unpacks them whatever they become, and waits for each part of one without an end. Its sessions
get connections that don't: the catalog's before it asks for a token by it, and those that pyiceberg makes beside it. Called by
`catalogs.py`.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from typing import Any

import requests
import urllib3
from pyiceberg.catalog import Catalog
from requests.adapters import BaseAdapter

from kconnect import deadlines
from kconnect.connectors import limits
from kconnect.connectors.iceberg import ends
from kconnect.connectors.iceberg.guard import Rules, is_login, watch_redirects
from kconnect.connectors.interrupts import Kept
from kconnect.connectors.limits import BrokenError

CONNECT_S, SILENT_S, WHOLE_S = 10.0, 120.0, 300.0
"""How long a connection, a part of an answer and all of it may take: a commit of many files takes a catalog a while."""
MOST_BYTES = 256 * 1024 * 1024
"""Of an answer, unpacked: a table of ten thousand snapshots has some megabytes of metadata."""
MOST_OF_LOGIN = 1024 * 1024
"""Of an answer with a token, unpacked."""
_PIECE = 64 * 1024


def bounded(kind: type[Catalog]) -> type[Catalog]:
    """Return a class like that of a REST catalog, whose answers have limits."""

    def configure(self: Any, session: requests.Session) -> None:
        # What is done first with a session, and before a token is asked for by it.
        bound(session)
        super(bounded_kind, self)._config_headers(session)
        session.headers["Accept-Encoding"] = "gzip"

    bounded_kind: type[Catalog] = type(f"Bounded{kind.__name__}", (kind,), {"_config_headers": configure})
    return bounded_kind


def bound(session: requests.Session) -> None:
    """Have all connections of a session read answers within limits, those that are mounted later, too: AWS's sign requests."""
    mount = session.mount
    session.mount = lambda prefix, adapter: mount(prefix, Bounded(adapter))  # type: ignore[method-assign]
    for prefix, adapter in list(session.adapters.items()):
        session.mount(prefix, adapter)


class Session(requests.Session):
    """A session that pyiceberg makes beside its catalog's. It is redirected to nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        bound(self)
        watch_redirects(self, Rules("rest", {}, {}))
        self.headers["Accept-Encoding"] = "gzip"


class Requests:
    """Stands in for the module `requests` where pyiceberg asks without its catalog's session."""

    Session = Session

    @staticmethod
    def post(url: str, **more: Any) -> requests.Response:
        with Session() as session:
            return session.post(url, **more)


def bind() -> None:
    """Have pyiceberg ask for tokens (`auth` of the hosts' environment), and for signatures, by such sessions."""
    from pyiceberg.catalog.rest import auth

    auth.requests = Requests  # type: ignore[assignment, attr-defined]
    with contextlib.suppress(ImportError):
        from pyiceberg.io import fsspec

        fsspec.requests = Requests  # type: ignore[assignment, attr-defined]


class Bounded(BaseAdapter):
    """Asks by another adapter, and reads what it gives."""

    def __init__(self, adapter: BaseAdapter) -> None:
        super().__init__()
        self._kept = Kept()
        self._adapter = self._kept.watch(adapter)
        self._is_ended = False
        ends.note(self)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        if self._is_ended:
            raise requests.exceptions.ConnectionError("the task is to stop")
        waits = (CONNECT_S, SILENT_S) if timeout is None else timeout
        # The time is also that of the head, and of what is between the parts of a body.
        with deadlines.within(WHOLE_S, self._kept.shut_down, _late):
            answer: requests.Response = self._adapter.send(request, True, waits, verify, cert, proxies)
            try:
                answer._content = b"".join(_pieces(answer, MOST_OF_LOGIN if is_login(request) else MOST_BYTES))
            except BaseException as error:
                answer.close()
                if isinstance(error, BrokenError):
                    raise requests.exceptions.ContentDecodingError(f"its answer can't be read: {error}") from None
                if isinstance(error, urllib3.exceptions.HTTPError):
                    raise requests.exceptions.ConnectionError(f"its answer broke off: {error}") from None
                raise
        answer.raw.release_conn()
        # As JSON is: to guess it, or to believe the service, may take minutes.
        answer.encoding = "utf-8"
        return answer

    def end(self) -> None:
        self._is_ended = True
        self._kept.shut_down()

    def close(self) -> None:
        self._adapter.close()


def _late() -> Exception:
    return requests.exceptions.ReadTimeout(f"an answer of the catalog takes longer than {WHOLE_S:g} s")


def _pieces(answer: requests.Response, most: int) -> Iterator[bytes]:
    packed = answer.headers.get("Content-Encoding", "").strip().lower()
    raw = answer.raw.stream(_PIECE, decode_content=False)
    if packed in ("gzip", "x-gzip", "deflate"):
        raw = limits.unpacked(raw, zlib.MAX_WBITS | 32)
    elif packed not in ("", "identity"):
        raise BrokenError(f"it is packed as {packed[:20]!a}, which was not asked for")
    size = 0
    for piece in raw:
        size += len(piece)
        if size > most:
            raise requests.exceptions.ContentDecodingError(f"an answer of the catalog has more than {most} bytes")
        yield piece
