"""
Whether a client's `bootstrap.servers` lead anywhere at all. Brokers that are away come back; a name that nobody knows does not.

Asked by the clients of tasks, and before tasks are fenced: librdkafka itself would look for such a name for ever. What was
found is remembered, so that a host of thousands of tasks asks the name service once. Read next: `producer.py`, `consumer.py`.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from kconnect.errors import ConnectError

LEADERS_MS = 5_000
"""
How often clients ask who leads which partition, unless a setting says otherwise. Kafka takes a broker that vanished without a
word out of its answers after 9 s (`broker.session.timeout.ms`). librdkafka then takes back what is on its way there, and sends
it to the new leader. Without asking it would wait for the request's time to be over: half a minute, or a minute.
"""
_MOST_PORTS = 65535
_FOUND: set[str] = set()
"""The values of which an address was found in this process."""


def require(client: Mapping[str, Any]) -> None:
    """ConnectError if none of `bootstrap.servers` can be resolved. While the name service itself is away, that isn't known."""
    servers = client.get("bootstrap.servers")
    if servers is None or servers in _FOUND:
        return
    problems = [_problem(part.strip()) for part in str(servers).split(",")]
    if all(problems):
        raise ConnectError(
            f"No broker can be found at bootstrap.servers={servers}: {'; '.join(filter(None, problems))}. Set the client's "
            "bootstrap.servers to host:port of some brokers, or repair the name service, and restart the task."
        )
    _FOUND.add(str(servers))


def _problem(server: str) -> str | None:
    address = server.rpartition("://")[2]
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        host, port = address, ""
    host = host.removeprefix("[").removesuffix("]")
    if not host or (port and not 0 < int(port) <= _MOST_PORTS):
        return f"'{server}' is not host:port"
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return None if error.errno == socket.EAI_AGAIN else f"the name '{host}' can't be resolved ({error.strerror})"
    except (UnicodeError, ValueError):
        return f"'{host}' is not the name of a host"
    return None
