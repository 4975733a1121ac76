"""
The connections of the HTTP server: how many there may be, which ones are closed, and what is read of them as a request.

Whoever connects takes one of the process's files, so there is a limit far below what the process may open: Kafka's clients and
the sandbox need the rest. Beyond it, the connection is closed whose client has been silent for longest. `server.py` accepts
here; uvicorn answers. Read next: `line.py`.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import resource
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from kconnect.rest.line import Line

log = logging.getLogger("kconnect.rest.connections")

_HEAD_S = 30
"""For a TLS handshake, and for a request's head, from its first byte on."""
_PAUSE_S = 0.1
_AT_ONCE = 64
"""So many connections are accepted before others have their turn."""
_MOST = 4096
_MOST_UNREAD = 128 * 2**20
"""In bytes. So much of all answers together may wait for clients that do not read them."""
_UNREAD, _LITTLE = 16 * 2**10, 4 * 2**10
"""In bytes. An answer of which more waits is counted until less does: of all others together it is little."""
_MOST_AHEAD = 64 * 2**10
"""In bytes. So much may come of the next requests before one is answered: no client that means well sends as much."""
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class OnceAMinute(logging.Filter):
    """Anybody can cause these warnings: one a minute of each text, but for what is filled in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._next: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING:
            return True
        now = self._clock()
        if now < self._next.get(record.msg, now):
            return False
        self._next[record.msg] = now + 60
        return True


log.addFilter(OnceAMinute())


def limit(servers: int = 1) -> int:
    """
    Return how many connections each of so many servers may have. Together they may use half of the files that the process may
    open.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if files == resource.RLIM_INFINITY else max(1, min(_MOST, files // 2 // servers))


class Connections:
    """
    The connections of one server, on its event loop. A connection whose request is being answered is not closed to make room.
    While all are being answered, new connections wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[Connection, None] = {}
        """In the order in which they were last heard of."""
        self._addresses: Counter[str] = Counter()
        """How many of them each client's address has."""
        self._unread: dict[Connection, int] = {}
        """How many bytes waited for its client at most, of each whose client does not read, the longest first."""
        self.line = Line()

    async def accept(self, listening: socket.socket, tls: ssl.SSLContext | None, make: Callable[[], Connection]) -> None:
        """Accept connections for ever. asyncio's own servers log an error a thousand times when there are no files left."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
                await self._take_in(accepted, peer, tls, make)
                for _ in range(_AT_ONCE):
                    accepted, peer = listening.accept()
                    accepted.setblocking(False)
                    await self._take_in(accepted, peer, tls, make)
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno in _NO_FILES:
                    log.warning("No connection can be accepted: %s. Raise the limit of open files (ulimit -n).", error.strerror)
                    self._close_the_idlest()
                await asyncio.sleep(_PAUSE_S)

    async def _take_in(
        self, accepted: socket.socket, peer: tuple[Any, ...], tls: ssl.SSLContext | None, make: Callable[[], Connection]
    ) -> None:
        while len(self._open) >= self._most and not self._close_the_idlest():
            await asyncio.sleep(_PAUSE_S)
        connection = make()
        connection.peer = str(peer[0])
        connection.begin(self, accepted, tls)
        self.heard(connection)

    def heard(self, connection: Connection) -> None:
        if connection in self._open:
            del self._open[connection]
        else:
            self._addresses[connection.peer] += 1
        self._open[connection] = None

    def lost(self, connection: Connection) -> None:
        self.read(connection)
        if connection in self._open:
            del self._open[connection]
            self._addresses[connection.peer] -= 1
            if not self._addresses[connection.peer]:
                del self._addresses[connection.peer]

    def not_read(self, connection: Connection) -> None:
        """
        Count the answer of a connection whose client does not read it. Of all that are not read, cut off the longest of the
        address that has most, until the others have room: who asks for much, and reads no answer, would take all memory.
        """
        self._unread[connection] = connection.unread
        while sum(self._unread.values()) > _MOST_UNREAD:
            # By now some has been read.
            self._unread = {waiting: waiting.unread for waiting in self._unread}
            of_addresses: Counter[str] = Counter()
            for waiting, size in self._unread.items():
                of_addresses[waiting.peer] += size
            if of_addresses.total() <= _MOST_UNREAD or len(self._unread) == 1:
                return
            ((most, _),) = of_addresses.most_common(1)
            slowest = next(waiting for waiting in self._unread if waiting.peer == most)
            log.warning("Clients do not read the answers that they ask for: those that wait for longest are cut off")
            self.lost(slowest)
            slowest.cut()

    def read(self, connection: Connection) -> None:
        """Count a connection's answer no more: its client has read it."""
        self._unread.pop(connection, None)

    def _close_the_idlest(self) -> bool:
        """Close one that nobody is answering, if there is one: of the address that has most, as long as it has any."""
        most = max(self._addresses.values(), default=0)
        idlest = None
        for connection in self._open:
            if not connection.is_being_answered:
                if self._addresses[connection.peer] == most:
                    idlest = connection
                    break
                idlest = idlest or connection
        if idlest is None:
            return False
        log.warning(
            "There are %d connections, and no files for more: closing those that have been idle for longest",
            len(self._open),
        )
        self.lost(idlest)
        idlest.cut()
        return True


class Connection(H11Protocol):
    """
    Uvicorn's, with a parser that bounds what it reads of headers, which its other one doesn't. It closes what is silent after
    a request only; here also what has not said all of one in time.
    """

    def __init__(self, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self.logger = log
        self.conn = _Parser(h11.SERVER)
        self._all: Connections | None = None
        self.peer = ""
        """The address of the client."""
        self._held = b""
        """What has come of a request that waits in line."""
        self._is_paused = False
        self._opening: asyncio.Task[Any] | None = None
        self._head_until: float | None = None
        """When the request that has begun must have said its head."""

    @property
    def is_being_answered(self) -> bool:
        """
        Whether a request is being answered. False while the client keeps the server waiting: for the rest of its request, or
        for reading the response.
        """
        cycle = self.cycle
        return cycle is not None and not (cycle.more_body or cycle.response_complete or self.flow.write_paused)

    def begin(self, all_of_them: Connections, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Take over what was accepted. TLS may fail; whoever wanted it then has been told."""
        self._all = all_of_them
        limit = None if tls is None else _HEAD_S
        opening = self.loop.connect_accepted_socket(lambda: self, accepted, ssl=tls, ssl_handshake_timeout=limit)

        def opened(task: asyncio.Task[Any]) -> None:
            if task.cancelled() or task.exception() is not None:
                accepted.close()
                all_of_them.lost(self)

        self._opening = self.loop.create_task(opening)
        self._opening.add_done_callback(opened)

    def cut(self) -> None:
        """Without the goodbyes, which a silent client would not answer."""
        if self.transport is not None:
            self.transport.abort()
        elif self._opening is not None:
            self._opening.cancel()

    @property
    def unread(self) -> int:
        """Return how many bytes of an answer wait for the client."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._all is not None:
            self._all.not_read(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._all is not None:
            self._all.read(self)
        if not self.transport.is_closing():
            self.handle_events()

    def handle_events(self) -> None:
        """Go on with what has come, once the client has read the answer before: the next one would wait beside it."""
        flow = self.flow
        assert isinstance(flow, _Flow)
        was_behind = flow.is_behind
        if flow.write_paused:
            flow.is_behind = True
        else:
            super().handle_events()
            flow.is_behind = self.conn.their_state is h11.DONE and bool(self.conn.trailing_data[0])
        if flow.is_behind:
            flow.pause_reading()
            if len(self.conn.trailing_data[0]) > _MOST_AHEAD:
                log.warning("A client sends ever more requests without waiting for an answer: it is cut off")
                self.transport.abort()
        elif was_behind:
            flow.resume_reading()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport)
        transport.set_write_buffer_limits(_UNREAD, _LITTLE)
        self._close_at(self.loop.time() + self.timeout_keep_alive)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._all is not None:
            self._all.lost(self)

    def data_received(self, data: bytes) -> None:
        if self._all is None:
            self._take(data)
            return
        self._all.heard(self)
        if self._held:
            self._held += data
        elif self._is_between_requests:
            self._held = data
            if not self._all.line.enter(self.peer, data, self._take_held):
                self._is_paused = True
                self.transport.pause_reading()
        else:
            self._take(data)

    @property
    def _is_between_requests(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _take_held(self) -> None:
        data, self._held = self._held, b""
        if self.transport.is_closing():
            return
        if self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()
        self._take(data)

    def _take(self, data: bytes) -> None:
        super().data_received(data)
        now = self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_until = None
        elif self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self._head_until = None
            self._close_at(now + self.timeout_keep_alive)
        else:
            # What comes by and by does not put it off. The rest of a refused body has no longer either.
            self._head_until = self._head_until or now + _HEAD_S
            self._close_at(self._head_until)

    def _close_at(self, when: float) -> None:
        self._unset_keepalive_if_required()
        if not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_at(when, self.timeout_keep_alive_handler)


class _Flow(FlowControl):
    """Uvicorn's, which reads on whenever somebody asks for a request's body, though the next requests have come already."""

    is_behind = False
    """Whether requests have come that are not handled yet: no more is read then, or a client would fill memory with them."""

    def resume_reading(self) -> None:
        if not self.is_behind:
            super().resume_reading()


class _Parser(h11.Connection):
    """Refuses what one reader takes for one request and another for two; reads `GET http://host/path` as any other."""

    def next_event(self) -> Any:
        event = super().next_event()
        if not isinstance(event, h11.Request):
            return event
        named = {name for name, _ in event.headers}
        if {b"content-length", b"transfer-encoding"} <= named:
            raise h11.RemoteProtocolError("Content-Length beside Transfer-Encoding", 400)
        scheme, _, rest = event.target.partition(b"://")
        if scheme.lower() not in (b"http", b"https"):
            return event
        # RFC 9112, 3.2.2: the host that it names counts, not the header's.
        host = re.split(rb"[/?]", rest, maxsplit=1)[0]
        path = rest[len(host) :]
        headers = [(name, value) for name, value in event.headers.raw_items() if name.lower() != b"host"]
        return h11.Request(
            method=event.method,
            headers=[(b"Host", host), *headers],
            target=path if path.startswith(b"/") else b"/" + path,
            http_version=event.http_version,
        )
