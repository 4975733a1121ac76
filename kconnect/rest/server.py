"""
The HTTP server: sockets bound first, then uvicorn in a thread of its own.

`worker/main.py` starts it before the herder, so that the advertised port is known, and stops it last. The application
comes from `app.py`.
"""

from __future__ import annotations

import errno
import logging
import re
import socket
import threading
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from kconnect.api.errors import ConfigError, ConnectError
from kconnect.rest import access_log

log = logging.getLogger("kconnect.rest")

_BACKLOG = 1024
_STARTUP_LIMIT = 30.0


class Listener(NamedTuple):
    """One entry of the worker setting `listeners`; an empty host is every address of the machine."""

    url: str
    host: str
    port: int


def parse_listener(url: str) -> Listener:
    """Parse `http://host:port`; raises ConfigError for anything else."""
    match = re.fullmatch(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)/?", url.strip())
    if match is None:
        text = "Listener doesn't have the right format (protocol://hostname:port)."
        raise ConfigError("listeners", url, text)
    protocol, host, port = match[1].lower(), match[2], int(match[3])
    if protocol == "https":
        raise ConfigError("listeners", url, "https is not supported yet; use http:// behind a proxy that does TLS.")
    if protocol != "http":
        raise ConfigError("listeners", url, f"The protocol {protocol} is not known; use http://.")
    if port > 65535:
        raise ConfigError("listeners", url, "The port must be at most 65535.")
    return Listener(url.strip(), host, port)


class Server:
    """
    Serves an ASGI application on some listeners.

    `bind` takes the ports, `start` serves; each raises one clear sentence when it can't. A caller that must know the
    port before it can build the application leaves `app` out here and gives it to `start`.

    Args:
        listeners: URLs as in the worker setting of that name; port 0 takes any free one.
        access_log_file: where the access log goes, besides its logger.
        stop_limit: how long `stop` lets running requests finish, in seconds.
    """

    def __init__(
        self,
        app: ASGIApp | None,
        listeners: list[str],
        access_log_file: str | Path | None = None,
        stop_limit: int = 5,
    ) -> None:
        if not listeners:
            raise ConfigError("listeners", "", "At least one listener is needed, such as http://:8083.")
        self._app = app
        self._listeners = [parse_listener(url) for url in listeners]
        self._access_log_file = access_log_file
        self._stop_limit = stop_limit
        self._sockets: list[socket.socket] = []
        self._uvicorn: _Uvicorn | None = None
        self._thread: threading.Thread | None = None

    @property
    def ports(self) -> list[int]:
        """The real ports, one a listener; known once bound."""
        if not self._sockets:
            raise RuntimeError("the server is not bound: call bind() or start() first")
        return [int(each.getsockname()[1]) for each in self._sockets]

    @property
    def port(self) -> int:
        """The real port of the first listener."""
        return self.ports[0]

    def bind(self) -> None:
        """Take the ports. Clients may connect from now on; they wait until `start`."""
        if self._sockets:
            return
        try:
            for listener in self._listeners:
                self._sockets.append(_bind(listener))
        except ConnectError:
            self._close_sockets()
            raise

    def start(self, app: ASGIApp | None = None) -> None:
        """Bind, where `bind` was not called before, and serve; returns when requests are answered."""
        app = app or self._app
        if app is None:
            raise RuntimeError("no application to serve: give it to Server() or start()")
        self.bind()
        try:
            file = None if self._access_log_file is None else access_log.open_file(self._access_log_file)
        except ConnectError:
            self._close_sockets()
            raise
        config = uvicorn.Config(
            access_log.AccessLog(app, file),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=self._stop_limit,
        )
        self._uvicorn = server = _Uvicorn(config)

        def serve() -> None:
            try:
                server.run(self._sockets)
            except BaseException:
                log.exception("The REST server ended unexpectedly")
            finally:
                server.ready.set()
                if file is not None:
                    file.close()

        self._thread = threading.Thread(target=serve, name="rest", daemon=True)
        self._thread.start()
        if not server.ready.wait(_STARTUP_LIMIT) or not server.started:
            self.stop()
            raise ConnectError("The REST server did not start; the log says why.")
        for listener, port in zip(self._listeners, self.ports):
            log.info("REST server listening on %s:%d", listener.host or "*", port)

    def stop(self) -> None:
        """Accept nothing more, let running requests finish within the limit, then cut them off. May be called twice."""
        if self._uvicorn is not None and self._thread is not None:
            self._uvicorn.should_exit = True
            self._thread.join(self._stop_limit + 5)
            if self._thread.is_alive():
                log.warning("The REST server did not stop within its limit; it ends with the process")
        self._uvicorn = self._thread = None
        self._close_sockets()

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()
        self._sockets = []


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _bind(listener: Listener) -> socket.socket:
    try:
        bound = _create(listener)
    except OSError as error:
        raise ConnectError(_cannot_bind(listener, error)) from None
    # Connections inherit it. asyncio sets it only where the protocol is given by number, which create_server doesn't:
    # without it every answer with a body waits 40 ms for the client's delayed ACK.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def _create(listener: Listener) -> socket.socket:
    if listener.host:
        found = socket.getaddrinfo(listener.host, listener.port, type=socket.SOCK_STREAM)
        # As in Java, one address; IPv4 first, for that is what most clients make of `localhost`.
        family, _, _, _, where = min(found, key=lambda each: each[0] != socket.AF_INET)
        return socket.create_server(where[:2], family=family, backlog=_BACKLOG)
    everywhere = ("", listener.port)
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(everywhere, family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
        except OSError as error:
            # A kernel may know IPv6 and still have it switched off.
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
    return socket.create_server(everywhere, backlog=_BACKLOG)


def _cannot_bind(listener: Listener, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        other = listener.port + 1 if listener.port < 65535 else 8083
        return (
            f"Port {listener.port} is in use by another program, so the worker cannot listen on {listener.url}. "
            f"Stop that program, or give the worker setting 'listeners' a free port, such as http://:{other}."
        )
    if error.errno == errno.EACCES:
        return (
            f"This user may not take port {listener.port}, so the worker cannot listen on {listener.url}. "
            "Give the worker setting 'listeners' a port from 1024 on, such as http://:8083."
        )
    return (
        f"The worker cannot listen on {listener.url}: {error.strerror or error}. Give the worker setting 'listeners' "
        "an address of this machine, or leave the host out to listen on all, such as http://:8083."
    )
