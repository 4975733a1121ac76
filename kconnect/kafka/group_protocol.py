"""
The two protocols by which a sink's tasks share a consumer group: `group.protocol=classic`, and `consumer` (KIP-848).

With the newer one brokers assign partitions, and decide how long a session is. Called by `clients.py`, which makes settings fit
the protocol, by `fitting.py`, which refuses what does not, and by `consumer.py`, whose client can end for reasons that the
classic protocol gets over by itself. Read next: `refusals.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import confluent_kafka as ck
import orjson

PROTOCOL, ASSIGNOR = "group.protocol", "group.remote.assignor"

CLASSIC_ONLY: Mapping[str, str] = MappingProxyType(
    {
        "session.timeout.ms": "brokers decide it, by their group.consumer.session.timeout.ms",
        "heartbeat.interval.ms": "brokers decide it, by their group.consumer.heartbeat.interval.ms",
        "partition.assignment.strategy": f"brokers assign partitions, by the assignor that {ASSIGNOR} names",
        "group.protocol.type": "there is one type only",
    }
)
"""Settings with which no client of the newer protocol can be made, and what stands for each of them there."""

_UP_US = 5_000_000
"""Longer than a client needs for its first heartbeat, once it is connected to its group's coordinator."""
_FATAL = "Fatal error: "
_CODES: Mapping[str, int] = MappingProxyType(
    {
        ck.KafkaError(code).str(): code
        for name, code in sorted(vars(ck.KafkaError).items())
        if isinstance(code, int) and name.strip("_").isupper()
    }
)


def is_new(client: Mapping[str, Any]) -> bool:
    """Whether a consumer with these settings of librdkafka's uses the newer protocol."""
    return str(client.get(PROTOCOL, "")).lower() == "consumer"


def unfit(client: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the settings that have no meaning in the client's protocol."""
    yield from CLASSIC_ONLY if is_new(client) else (ASSIGNOR,)


def reason(name: str) -> str:
    """Return why a setting that is `unfit` has no effect."""
    if name == ASSIGNOR:
        return f"members choose the assignor without {PROTOCOL}=consumer"
    return f"with {PROTOCOL}=consumer {CLASSIC_ONLY[name]}"


def apart(client: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a consumer's settings for another consumer, which reads without being a member of the group: what it asks for any
    broker knows.
    """
    return {name: value for name, value in client.items() if name not in (PROTOCOL, ASSIGNOR)}


def code_of(error: ck.KafkaError) -> int:
    """Return the code of an error. Where it is that the client can't go on, return the code of the reason."""
    text = error.str()
    if error.code() != ck.KafkaError._FATAL or not text.startswith(_FATAL):
        return error.code()
    reasons = [reason for reason in _CODES if text.startswith(f"{_FATAL}{reason}:")]
    return _CODES[max(reasons, key=len)] if reasons else error.code()


class Coordinator(NamedTuple):
    """A client's connection to its group's coordinator: whether it has been there for a while, and what was sent by it."""

    is_up: bool
    heartbeats: int
    """
    Brokers before 4.0 do not know these. The client then sends none, without an error, and looks for another coordinator, for
    ever (librdkafka 2.16).
    """
    unanswered: int
    """
    Requests whose time was over. The answer to a heartbeat may have had another assignment, which brokers do not repeat unless
    they are asked for all of it, and the client does not ask after this (librdkafka 2.16): partitions that were given to it are
    read by nobody then, and those that it was to give up go to nobody else.
    """


def coordinator(statistics: str) -> Coordinator | None:
    """Return what the statistics of a client of the newer protocol say of the coordinator; None while it knows none."""
    connection = orjson.loads(statistics)["brokers"].get("GroupCoordinator")
    if connection is None:
        return None
    # Of all that is sent, heartbeats alone are not counted by name.
    sent = connection["req"].get("ConsumerGroupHeartbeat")
    return Coordinator(
        connection["state"] == "UP" and connection["stateage"] >= _UP_US,
        connection["tx"] - sum(connection["req"].values()) if sent is None else sent,
        connection["req_timeouts"],
    )
