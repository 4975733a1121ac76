"""
The dialer: makes the connections of httpx, so that they have one time limit for all of an answer, can be ended from another
thread, and go to addresses that were looked at.

httpx limits each wait, and not the sum of them: a service that sends a byte each second would never be late. A name is resolved
once, here: what was checked is what is dialled, while TLS and the header Host keep the name. Made by `service.py`.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore
import httpx

# What httpcore's own backend makes of a socket; it is not among its public names.
from httpcore._backends.sync import SyncStream

_PIECE = 16 * 1024
"""So much is written before the time is looked at again."""


class Dialer(httpcore.NetworkBackend):
    """Connections of one client. `allows` says of an address whether it may be dialled; None: all may."""

    def __init__(self, allows: Callable[[str], bool] | None = None) -> None:
        self._allows = allows
        self._deadline = float("inf")
        self._handles: set[socket.socket] = set()
        """A second one of each socket that is open, which can be shut down while another thread reads from the first."""
        self._lock = threading.Lock()
        self._ended = False
        self.refused = ""
        """The name whose address may not be dialled, since the last `begin`."""

    def attach(self, client: httpx.Client) -> None:
        """Make the connections of this client, those to proxies included. It has none yet."""
        # httpx has no setting for it, but makes each of its pools anew from this attribute.
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                transport._pool._network_backend = self

    def begin(self, seconds: float) -> None:
        """Limit all that is sent and read until the next call."""
        self._deadline, self.refused = time.monotonic() + seconds, ""

    def hurry(self, seconds: float) -> None:
        """Limit what is left of it."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def interrupt(self) -> None:
        """End what is under way, and make no connection any more. Called from another thread."""
        with self._lock:
            self._ended = True
            for handle in self._handles:
                _shut(handle)

    def left(self, timeout: float | None, late: type[Exception]) -> float:
        """The seconds that a wait may take. Raise `late` if there are none."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise late("its time is over")
        return seconds if timeout is None else min(timeout, seconds)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from None
        if self._allows is not None:
            addresses = [info for info in addresses if self._allows(str(info[4][0]))]
            if not addresses:
                self.refused = host
                raise httpcore.ConnectError("its address is not one of the internet")
        problem: Exception = httpcore.ConnectError("the name has no address")
        for family, kind, protocol, _, address in addresses:
            seconds = self.left(timeout, httpcore.ConnectTimeout)
            try:
                return self._connected(socket.socket(family, kind, protocol), address, seconds, socket_options or ())
            except TimeoutError as error:
                problem = httpcore.ConnectTimeout(str(error))
            except OSError as error:
                problem = httpcore.ConnectError(str(error))
        raise problem

    def _connected(
        self, new_socket: socket.socket, address: Any, seconds: float, options: Iterable[Any]
    ) -> httpcore.NetworkStream:
        handle = new_socket.dup()
        try:
            self._keep(handle)
            for option in options:
                new_socket.setsockopt(*option)
            new_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            new_socket.settimeout(seconds)
            new_socket.connect(address)
        except BaseException:
            self.forget(handle)
            new_socket.close()
            raise
        return _Stream(SyncStream(new_socket), handle, self)

    def _keep(self, handle: socket.socket) -> None:
        with self._lock:
            self._handles.add(handle)
            if self._ended:
                raise ConnectionAbortedError("the task is to stop")

    def forget(self, handle: socket.socket) -> None:
        with self._lock:
            self._handles.discard(handle)
        handle.close()


def _shut(handle: socket.socket) -> None:
    with contextlib.suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


class _Stream(httpcore.NetworkStream):
    """A connection within the time of its dialer."""

    def __init__(self, inner: httpcore.NetworkStream, handle: socket.socket, dialer: Dialer) -> None:
        self._inner, self._handle, self._dialer = inner, handle, dialer

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._dialer.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[begin : begin + _PIECE], self._dialer.left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._dialer.forget(self._handle)
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = self._dialer.left(timeout, httpcore.ConnectTimeout)
        # A handshake has many waits, of which each could take all of the time.
        watch = threading.Timer(seconds, _shut, (self._handle,))
        watch.daemon = True
        watch.start()
        try:
            inner = self._inner.start_tls(ssl_context, server_hostname, seconds)
        except BaseException:
            self._dialer.forget(self._handle)
            raise
        finally:
            watch.cancel()
        return _Stream(inner, self._handle, self._dialer)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
