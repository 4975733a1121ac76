"""
What a herder wants done: the only outputs of `Herder.handle`, performed in order by `worker/loop.py`.

Those with an `id` are answered by `events.Done` or `events.Failed` with that id. Read next: `herder.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api.record import TopicPartition
from kconnect.core.herder.requests import ConfigMap
from kconnect.core.state.records import Entry, LoggerLevel, SessionKey, Topic
from kconnect.errors import ConflictError, ConnectError


@dataclass(frozen=True, slots=True)
class Write:
    """
    Append entries, in order. As leader: in one transaction that fails when another leader has fenced this one.

    Result: `dict[tuple[Topic, int], int]`, the highest offset written in each partition.
    """

    entries: tuple[Entry, ...]
    as_leader: bool = False
    id: int = 0


class FencedError(ConflictError):
    """How a `Write` as leader fails when another worker leads by now: nothing of it was written, or ever will be."""


@dataclass(frozen=True, slots=True)
class TakeLead:
    """
    Fence the leader before (`init_transactions` of `connect-cluster-<group.id>`), then find the ends of the config and
    assignment topics. Result: `dict[tuple[Topic, int], int]`, the offset after the last record of each partition.
    """

    id: int = 0


@dataclass(frozen=True, slots=True)
class FindMembers:
    """Ask the group's coordinator who is in; the answer comes as `events.Members`."""


@dataclass(frozen=True, slots=True)
class NewSessionKey:
    """
    Make a session key if `current` is missing, too old, or not of the kind that the settings ask for.

    Result: `SessionKey`, or None if `current` may stay.
    """

    current: SessionKey | None
    id: int = 0


@dataclass(frozen=True, slots=True)
class Validate:
    """Validate a connector's config in the sandbox. Result: ConfigInfos as REST gives it."""

    plugin: str
    config: ConfigMap
    id: int = 0


@dataclass(frozen=True, slots=True)
class DescribePlugin:
    """`version` may be a range; None is the newest. Result: dict with `class`, `type` (source or sink) and `version`."""

    plugin: str
    version: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class ListPlugins:
    """Result: the body of `GET /connector-plugins`."""

    connectors_only: bool
    id: int = 0


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """Result: the body of `GET /connector-plugins/{plugin}/config`."""

    plugin: str
    version: str | None
    id: int = 0


@dataclass(frozen=True, slots=True)
class ReloadPlugins:
    """Look at plugin.path anew. Result: the body of `POST /kconnect/plugins/reload`."""

    id: int = 0


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """Committed offsets of a sink's consumer group. Result: list of (topic, partition, offset)."""

    connector: str
    config: ConfigMap
    id: int = 0


@dataclass(frozen=True, slots=True)
class ReadReports:
    """What hosts last said of their units' numbers. Result: a collection of `Report`, empty if nothing is known."""

    id: int = 0


@dataclass(frozen=True, slots=True)
class AskConnector:
    """
    Have a connector's `alter_offsets` look at new offsets, in the sandbox (KIP-875). `offsets` are pairs: of source
    partition and offset, or of (topic, partition) and an int; None as an offset resets it. Result: what it returned.
    """

    plugin: str
    config: ConfigMap
    offsets: tuple[tuple[Any, Any], ...]
    id: int = 0


class RefusedError(ConnectError):
    """How an `AskConnector` fails when the connector itself says no; the text is the connector's."""


class UnsupportedError(ConnectError):
    """How an `AskConnector` fails when the connector's offsets can't be changed from outside at all."""


@dataclass(frozen=True, slots=True)
class AlterGroup:
    """Change committed offsets of a sink's consumer group, or, with None as `offsets`, delete the group."""

    connector: str
    config: ConfigMap
    offsets: Mapping[TopicPartition, int | None] | None
    id: int = 0


class GroupInUseError(ConnectError):
    """How an `AlterGroup` fails when the group has members: nothing was changed."""


@dataclass(frozen=True, slots=True)
class FindEnds:
    """
    Find where a topic ends, behind what transactions still hide. Result: `dict[tuple[Topic, int], int]`, the offset after the
    last record of each partition.
    """

    topic: Topic
    id: int = 0


@dataclass(frozen=True, slots=True)
class ReadOwnOffsets:
    """
    Read a source connector's own offset topic; with `prepare`, create it if it is missing. Result: `OffsetState`, or None if
    its offsets are in the worker's topic alone. A RequestTimeoutError if its end is not reached in time.
    """

    connector: str
    config: ConfigMap
    prepare: bool = False
    id: int = 0


@dataclass(frozen=True, slots=True)
class WriteOwnOffsets:
    """Write to a source connector's own offset topic; of exactly-once sources, in one transaction."""

    connector: str
    config: ConfigMap
    entries: tuple[Entry, ...]
    id: int = 0


@dataclass(frozen=True, slots=True)
class Fence:
    """Fence the transactional producers of a source connector's first `tasks` tasks (KIP-618)."""

    connector: str
    config: ConfigMap
    tasks: int
    id: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    ticket: int
    value: Any


@dataclass(frozen=True, slots=True)
class Refuse:
    ticket: int
    error: Exception


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the worker's log; `level` is a name of the `logging` module's."""

    level: str
    message: str


@dataclass(frozen=True, slots=True)
class SetLevel:
    """Somebody has set a log level for the whole cluster (KIP-976): apply it to this process."""

    change: LoggerLevel


@dataclass(frozen=True, slots=True)
class Bye:
    """Nothing of this worker runs any more: it may leave the group and end."""


Answerable = (
    Write
    | TakeLead
    | NewSessionKey
    | Validate
    | DescribePlugin
    | ListPlugins
    | PluginConfig
    | ReloadPlugins
    | GroupOffsets
    | ReadReports
    | AskConnector
    | AlterGroup
    | FindEnds
    | ReadOwnOffsets
    | WriteOwnOffsets
    | Fence
)
Effect = Answerable | FindMembers | Reply | Refuse | Log | SetLevel | Bye
