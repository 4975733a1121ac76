"""
The HTTP server: sockets bound first, then uvicorn in a thread of its own, with and without TLS.

`worker/rest.py` starts it before the herder, so that the advertised port is known, and stops it last. The application
comes from `app.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import re
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from kconnect.errors import ConfigError, ConnectError
from kconnect.rest import access_log
from kconnect.rest.connections import Connection, Connections, limit

log = logging.getLogger("kconnect.rest")

_BACKLOG = 1024
_STARTUP_LIMIT = 30.0
_KEEP_ALIVE_S = 75
_GOODBYE_S = 0.5


class Listener(NamedTuple):
    """An entry of the worker setting `listeners`; an empty host stands for every address of the machine."""

    url: str
    host: str
    port: int
    tls: bool = False
    setting: str = "listeners"


def parse_listener(url: str, setting: str = "listeners") -> Listener:
    """Parse `http://host:port` or `https://host:port`; raises ConfigError for anything else."""
    match = re.fullmatch(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)/?", url.strip())
    if match is None:
        text = "Listener doesn't have the right format (protocol://hostname:port)."
        raise ConfigError(setting, url, text)
    protocol, host, port = match[1].lower(), match[2], int(match[3])
    if protocol not in ("http", "https"):
        raise ConfigError(setting, url, f"The protocol {protocol} is not known; use http:// or https://.")
    if port > 65535:
        raise ConfigError(setting, url, "The port must be at most 65535.")
    return Listener(url.strip(), host, port, protocol == "https", setting)


class Server:
    """
    Serves an ASGI application on some listeners.

    `bind` takes the ports, `start` serves; each raises one clear sentence when it can't. A caller that must know the
    port before it can build the application leaves `app` out here and gives it to `start`.

    Args:
        listeners: URLs as in the worker setting of that name; port 0 takes any free one.
        access_log_file: where the access log goes, besides its logger.
        stop_limit: how long `stop` lets running requests finish, in seconds.
        tls: for the https listeners; needed if there are any.
        setting: where the listeners come from, for errors.
        connections: how many there may be at once; by default as many as suit the files that the process may open.
    """

    def __init__(
        self,
        app: ASGIApp | None,
        listeners: list[str],
        access_log_file: str | Path | None = None,
        stop_limit: int = 5,
        tls: ssl.SSLContext | None = None,
        setting: str = "listeners",
        connections: int | None = None,
    ) -> None:
        if not listeners:
            raise ConfigError(setting, "", "At least one listener is needed, such as http://:8083.")
        self._app = app
        self._listeners = [parse_listener(url, setting) for url in listeners]
        if tls is None and any(listener.tls for listener in self._listeners):
            raise RuntimeError("an https listener needs a TLS context")
        self._tls = tls
        self._access_log_file = access_log_file
        self._stop_limit = stop_limit
        self._most = limit() if connections is None else connections
        self._sockets: list[socket.socket] = []
        self._uvicorns: list[_Uvicorn] = []
        self._thread: threading.Thread | None = None

    @property
    def ports(self) -> list[int]:
        """The real ports, one a listener; known once bound."""
        if not self._sockets:
            raise RuntimeError("the server is not bound: call bind() or start() first")
        return [int(bound.getsockname()[1]) for bound in self._sockets]

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
        wrapped = access_log.AccessLog(app, file)
        # uvicorn has one TLS context for all its sockets: so one for each protocol, in one event loop.
        connections = Connections(self._most)
        self._uvicorns = [
            _Uvicorn(self._config(wrapped), self._tls if secure else None, sockets, connections)
            for secure in (False, True)
            if (sockets := [sock for listener, sock in zip(self._listeners, self._sockets) if listener.tls is secure])
        ]

        async def serve_all() -> None:
            await asyncio.gather(*(server.serve(server.given) for server in servers))

        servers = self._uvicorns

        def serve() -> None:
            try:
                asyncio.run(serve_all())
            except BaseException:
                log.exception("The REST server ended unexpectedly")
            finally:
                for server in servers:
                    server.ready.set()
                if file is not None:
                    file.close()

        self._thread = threading.Thread(target=serve, name="rest", daemon=True)
        self._thread.start()
        ends_at = time.monotonic() + _STARTUP_LIMIT
        if not all(server.ready.wait(max(0.0, ends_at - time.monotonic())) and server.started for server in servers):
            self.stop()
            raise ConnectError("The REST server did not start; the log says why.")
        for listener, port in zip(self._listeners, self.ports):
            log.info("REST server listening on %s://%s:%d", "https" if listener.tls else "http", listener.host or "*", port)

    def stop(self) -> None:
        """Accept nothing more, let running requests finish within the limit, then cut them off. May be called twice."""
        if self._thread is not None:
            for server in self._uvicorns:
                server.exit()
            self._thread.join(self._stop_limit + 5)
            if self._thread.is_alive():
                log.warning("The REST server did not stop within its limit; it ends with the process")
        self._uvicorns, self._thread = [], None
        self._close_sockets()

    def _config(self, app: ASGIApp) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            http=Connection,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=self._stop_limit,
        )

    def _close_sockets(self) -> None:
        for bound in self._sockets:
            bound.close()
        self._sockets = []


class _Uvicorn(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, tls: ssl.SSLContext | None, given: list[socket.socket], connections: Connections
    ) -> None:
        super().__init__(config)
        config.load()
        # Its own settings are names of files, which a key from a keystore is not in.
        self._tls = tls
        self._connections = connections
        self._accepting: list[asyncio.Task[None]] = []
        self.given = given
        self.ready = threading.Event()
        self._exiting = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def exit(self) -> None:
        """Stop the server. Called from another thread."""
        self.should_exit = True
        if self._loop is not None:
            # It may have ended by itself.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._exiting.set)

    async def main_loop(self) -> None:
        """uvicorn's own looks ten times a second whether it is to exit; once is for the answers' date."""
        while not await self.on_tick(0):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._exiting.wait(), 1.0)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup([])
        accepting = [self._connections.accept(listening, self._tls, self._connection) for listening in self.given]
        self._accepting = [asyncio.create_task(listening) for listening in accepting]
        self.ready.set()

    def _connection(self) -> Connection:
        return Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._accepting:
            task.cancel()
        # A socket must not be closed while it is waited for.
        await asyncio.wait(self._accepting)
        # Before uvicorn closes them once more: asyncio's TLS could not be told to abort after that.
        self._cut_goodbyes()
        cutting = asyncio.create_task(self._keep_cutting())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _keep_cutting(self) -> None:
        while True:
            await asyncio.sleep(_GOODBYE_S)
            self._cut_goodbyes()

    def _cut_goodbyes(self) -> None:
        """TLS waits for the client's answer to its goodbye, and a client that keeps an idle connection gives none."""
        for connection in list(self.server_state.connections):
            transport = connection.transport
            if transport.is_closing() and transport.get_write_buffer_size() == 0:
                transport.abort()


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
        addresses = socket.getaddrinfo(listener.host, listener.port, type=socket.SOCK_STREAM)
        # As in Java, one address; IPv4 first, for that is what most clients make of `localhost`.
        family, _, _, _, where = min(addresses, key=lambda address: address[0] != socket.AF_INET)
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
    scheme = "https" if listener.tls else "http"
    if error.errno == errno.EADDRINUSE:
        example = f"{scheme}://:{listener.port + 1 if listener.port < 65535 else 8083}"
        return (
            f"Port {listener.port} is in use by another program, so the worker cannot listen on {listener.url}. "
            f"Stop that program, or give the worker setting '{listener.setting}' a free port, such as {example}."
        )
    if error.errno == errno.EACCES:
        return (
            f"This user may not take port {listener.port}, so the worker cannot listen on {listener.url}. "
            f"Give the worker setting '{listener.setting}' a port from 1024 on, such as {scheme}://:8083."
        )
    return (
        f"The worker cannot listen on {listener.url}: {error.strerror or error}. Give the worker setting '{listener.setting}' "
        f"an address of this machine, or leave the host out to listen on all, such as {scheme}://:8083."
    )
