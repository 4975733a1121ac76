"""
The two protocols by which a sink's tasks share a consumer group: `group.protocol=classic`, and `consumer` (KIP-848).

With the newer one brokers assign partitions, and decide how long a session is. Called by `clients.py`, which makes settings fit
the protocol, by `fitting.py`, which refuses what does not, and by `consumer.py`, whose client can end for reasons that the
classic protocol gets over by itself. Read next: `refusals.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

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


def heartbeats(statistics: str) -> int | None:
    """
    Return how many heartbeats a client of the newer protocol has sent to its group's coordinator, by its statistics. None while
    it has not been connected to one for long.

    Brokers before 4.0 do not know these heartbeats. The client then sends none, without an error, and looks for another
    coordinator, for ever (librdkafka 2.16).
    """
    coordinator = orjson.loads(statistics)["brokers"].get("GroupCoordinator")
    if coordinator is None or coordinator["state"] != "UP" or coordinator["stateage"] < _UP_US:
        return None
    # Of all that is sent, heartbeats alone are not counted by name.
    sent = coordinator["req"].get("ConsumerGroupHeartbeat")
    return int(coordinator["tx"] - sum(coordinator["req"].values()) if sent is None else sent)
