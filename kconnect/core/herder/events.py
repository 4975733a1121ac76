"""
What can happen to a herder: the only inputs of `Herder.handle`, made by `worker/loop.py`. Read next: `effects.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.cluster.silence import Host, Silence
from kconnect.core.herder.request import Request
from kconnect.core.state.records import LogRecord, Topic, UnitId


@dataclass(frozen=True, slots=True)
class Read:
    """
    Records of the internal topics, in the order of each partition; and where partitions were found to end behind them,
    which may be past the last record, for transaction markers take offsets too.
    """

    records: tuple[LogRecord, ...]
    ends: Mapping[tuple[Topic, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Every internal topic was read to its end once, and the group is known to be that of this worker's cluster."""


@dataclass(frozen=True, slots=True)
class Remade:
    """
    An internal topic is no longer what this worker has read: it was deleted and made anew, or has lost its end. It is read from
    its beginning now, but for the config topic, of which nothing more comes. `id` is what Kafka calls it now, if that is known.
    """

    topic: Topic
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """A request has arrived. The answer goes to `ticket`, by `Reply` or `Refuse`."""

    ticket: int
    request: Request[Any]


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Whoever asked is no longer waiting. What was already written stays written."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Done:
    """The effect `id` was performed."""

    id: int
    result: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The effect `id` could not be performed. A write that failed may still have happened, unless it was fenced."""

    id: int
    error: Exception


@dataclass(frozen=True, slots=True)
class Owned:
    """This worker owns the assignment topic's partition in the group: it is to lead."""


@dataclass(frozen=True, slots=True)
class Lost:
    """This worker no longer owns the partition."""


@dataclass(frozen=True, slots=True)
class Members:
    """
    The group coordinator's answer: the live members, worker id -> advertised URL, and the owner of the partition, None while
    that is being settled. `conflict` names a member that should not be in the group; see `kafka/group.py`.
    """

    urls: Mapping[str, str]
    owner: str | None = None
    conflict: str | None = None


@dataclass(frozen=True, slots=True)
class HostsDead:
    """These hosts, as (worker, number, incarnation), were seen to be dead on this very machine."""

    hosts: frozenset[tuple[str, int, str]]


@dataclass(frozen=True, slots=True)
class HostsSilent:
    """
    These hosts, of any worker, and no others do not run what they have. `unread_since` is since when this worker has not been
    able to read the log, in milliseconds of the herder's clock, if that is so. `absent` is what no host has, though a worker is
    to run it.
    """

    hosts: Mapping[Host, Silence]
    unread_since: int | None = None
    absent: frozenset[UnitId] = frozenset()


@dataclass(frozen=True, slots=True)
class SparkEnded:
    """This worker's Spark driver, or its JVM, is gone: the hosts end with it, and others come once there is another."""

    reason: str | None = None
    """What it said last, without secrets."""


@dataclass(frozen=True, slots=True)
class HostAbsent:
    """A host of this worker has ended and is started again, or waits for a core, as its driver reports."""

    host: int
    reason: str
    """Without secrets."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class ShutDown:
    """The worker is asked to end: release its units, then say so with `effects.Bye`."""


Event = (
    Read
    | CaughtUp
    | Remade
    | Requested
    | Cancelled
    | Done
    | Failed
    | Owned
    | Lost
    | Members
    | HostsDead
    | HostsSilent
    | SparkEnded
    | HostAbsent
    | Tick
    | ShutDown
)
