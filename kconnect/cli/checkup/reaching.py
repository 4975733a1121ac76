"""Whether a port of another machine can be reached, and if not, what of it fails: the name, the way, or the port."""

from __future__ import annotations

import socket

DNS, REACHED = "dns", "connection"


class Unreachable(Exception):
    """`stage` is DNS or REACHED; the text says what happened."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage


def reach(host: str, port: int, limit_s: float) -> None:
    """Connect, and hang up. Unreachable if no address of that name accepts it within `limit_s` seconds."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Unreachable(DNS, f"The name {host} is not known here ({reason})") from None
    last: OSError | None = None
    for family, kind, protocol, _, address in addresses:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.settimeout(limit_s / len(addresses))
                probe.connect(address)
            return
        except OSError as error:
            last = error
    raise Unreachable(REACHED, f"{host}:{port} {_why(last)}") from None


def problem(host: str, port: int, limit_s: float) -> str | None:
    try:
        reach(host, port, limit_s)
    except Unreachable as error:
        return str(error)
    return None


def _why(error: OSError | None) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refuses connections: nothing listens there"
    if isinstance(error, TimeoutError):
        return "does not answer: the machine is down, or a firewall is in between"
    return f"can't be reached ({error.strerror if error is not None else 'no address'})"
