"""
Whether a worker could listen where its file says, or already does.

A part of `kconnect doctor`. Nothing is accepted: a port is taken for a moment, and given back.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from kconnect.cli.checkup import run
from kconnect.cli.checkup.machine import PLACE
from kconnect.cli.findings import ERROR, OK, Finding
from kconnect.rest.client import ConnectClient, RestError

_ANY = ("", "0.0.0.0", "::")


def check(listeners: Iterable[str]) -> Iterator[Finding]:
    """`listeners` as a worker file has them: `http://host:port`."""
    for listener in listeners:
        parts = urlsplit(listener.strip())
        if parts.port:
            yield _listener(parts.scheme.lower(), parts.hostname or "", parts.port)


def _listener(scheme: str, host: str, port: int) -> Finding:
    where = f"{host or '*'}:{port}"
    try:
        _take("" if host in _ANY else host, port)
    except PermissionError:
        return Finding(ERROR, "port", PLACE, f"A worker may not listen on {where}", "choose a port above 1023 in listeners")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            remedy = "name an address of this machine in listeners"
            return Finding(ERROR, "port", PLACE, f"A worker can't listen on {where} ({error.strerror})", remedy)
        return _taken(scheme, "localhost" if host in _ANY else host, port, where)
    return Finding(OK, "port", PLACE, f"The port of {where} is free for a worker")


def _taken(scheme: str, host: str, port: int, where: str) -> Finding:
    try:
        with ConnectClient(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}", run.LIMIT_S) as client:
            _ask(client)
    except RestError as error:
        # Who asks for a name, or for a certificate, is a worker for all that can be told.
        if error.status in (401, 403) or (scheme == "https" and error.status is None):
            return Finding(OK, "port", PLACE, f"Something that may be a worker listens on {where}")
        message = f"Another program listens on {where}, the address of the worker"
        return Finding(ERROR, "port", PLACE, message, "stop it, or choose another port in listeners")
    return Finding(OK, "port", PLACE, f"A worker listens on {where}")


def _ask(client: ConnectClient) -> None:
    """RestError if it is no worker."""
    try:
        client.health()
    except RestError as error:
        # Connect before 3.9 has none.
        if error.status != 404:
            raise
        root = client.root()
        if not isinstance(root, dict) or not {"version", "commit"} <= root.keys():
            raise


def _take(host: str, port: int) -> None:
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = next(
        (candidate for candidate in addresses if candidate[0] == socket.AF_INET), addresses[0]
    )
    with socket.socket(family, kind, protocol) as probe:
        # As servers do it: connections of the last worker that linger are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
