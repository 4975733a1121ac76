"""
Answers of a Hive metastore, read within limits of size and time.

pyiceberg's client waits for each byte for as long as that takes, and makes lists and maps of however many come. The clients of
a catalog get a socket from here that does not. Called by `catalogs.py`. Read next: `answers.py`, for catalogs in REST.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

from pyiceberg.catalog import Catalog

from kconnect import normal_forms
from kconnect.connectors.iceberg import answers, ends

MOST_BYTES = 16 * 1024 * 1024
"""Of an answer: of a table the metastore knows the place of its metadata. A map takes fifteen times as much in memory."""
_PIECE = 64 * 1024
_DEEPEST = 64


def bounded(kind: type[Catalog]) -> type[Catalog]:
    """Return a class like that of a Hive catalog, whose answers have limits. ImportError if thrift is not installed."""
    client = _client_class()

    def create(properties: dict[str, str]) -> Any:
        original = kind._create_hive_client(properties)  # type: ignore[attr-defined]
        user = None if original._ugi is None else ":".join(original._ugi)
        return client(original._uri, user, original._kerberos_auth, original._kerberos_service_name)

    return type(f"Bounded{kind.__name__}", (kind,), {"_create_hive_client": staticmethod(create)})


def errors() -> tuple[type[Exception], ...]:
    """Return what the client raises, beside the errors of pyiceberg."""
    try:
        from thrift.Thrift import TException
    except ImportError:
        return ()
    return (TException,)


def _client_class() -> type[Any]:
    from hive_metastore.ThriftHiveMetastore import Client
    from pyiceberg.catalog.hive import _HiveClient
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.protocol.TProtocol import TProtocolException
    from thrift.transport.TSocket import TSocket
    from thrift.transport.TTransport import TBufferedTransport, TSaslClientTransport

    class Socket(TSocket):  # type: ignore[misc]
        """An answer begins with the last byte of what was asked."""

        def __init__(self, host: str | None, port: int | None, is_ended: Callable[[], bool]) -> None:
            super().__init__(host, port)
            self._is_ended = is_ended
            self._left, self._since = MOST_BYTES, 0.0
            self.setTimeout(answers.CONNECT_S * 1000)

        def open(self) -> None:
            self._require_not_ended()
            super().open()

        def write(self, buff: bytes) -> None:
            self._left, self._since = MOST_BYTES, time.monotonic()
            self.handle.settimeout(answers.SILENT_S)
            super().write(buff)

        def read(self, sz: int) -> bytes:
            rest_s = self._since + answers.WHOLE_S - time.monotonic()
            self._require_not_ended()
            if rest_s <= 0:
                raise TimeoutError(f"an answer of the catalog takes longer than {answers.WHOLE_S:g} s")
            self.handle.settimeout(min(rest_s, answers.SILENT_S))
            data: bytes = super().read(min(sz, _PIECE))
            self._left -= len(data)
            if self._left < 0:
                raise OSError(f"an answer of the catalog has more than {MOST_BYTES} bytes")
            return data

        def shut_down(self) -> None:
            if (handle := self.handle) is not None:
                with contextlib.suppress(OSError):
                    handle.shutdown(socket.SHUT_RDWR)

        def _require_not_ended(self) -> None:
            if self._is_ended():
                raise OSError("the task is to stop")

    class Protocol(TBinaryProtocol):  # type: ignore[misc]
        """A protocol whose unreadable answers are errors of the client's, and not of a record whose table was asked for."""

        _depth = 0

        def skip(self, ttype: int, *more: int) -> None:
            self._depth += 1
            if self._depth > _DEEPEST:
                raise TProtocolException(TProtocolException.DEPTH_LIMIT, f"it is nested more than {_DEEPEST} times")
            super().skip(ttype, *more)
            self._depth -= 1

        def readString(self) -> str:
            try:
                return str(super().readString())
            except UnicodeDecodeError as error:
                raise TProtocolException(TProtocolException.INVALID_DATA, f"a text is no UTF-8: {error.reason}") from None

    class Bounded(_HiveClient):
        def __init__(self, *arguments: Any) -> None:
            self._is_ended = False
            self._socket: Socket | None = None
            super().__init__(*arguments)
            ends.note(self)

        def end(self) -> None:
            self._is_ended = True
            if (bound := self._socket) is not None:
                bound.shut_down()

        def _init_thrift_transport(self) -> Any:
            place = normal_forms.split(self._uri)
            self._socket = bound = Socket(place.hostname, place.port, lambda: self._is_ended)
            if not self._kerberos_auth:
                return TBufferedTransport(bound)
            return TSaslClientTransport(bound, host=place.hostname, service=self._kerberos_service_name)

        def _client(self) -> Any:
            asking = Client(Protocol(self._transport))
            if self._ugi:
                asking.set_ugi(*self._ugi)
            return asking

    return Bounded
