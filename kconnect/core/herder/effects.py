"""
What a herder wants done: the only outputs of `Herder.handle`, performed in order by `worker/loop.py`.

Those with an `id` are answered by `events.Done` or `events.Failed` with that id. Read next: `herder.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kconnect.api.errors import ConflictError
from kconnect.core.herder.requests import ConfigMap
from kconnect.core.state.records import Entry, SessionKey


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
    """Result: dict with `class`, `type` (source or sink) and `version`."""

    plugin: str
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
class GroupOffsets:
    """Committed offsets of a sink's consumer group. Result: list of (topic, partition, offset)."""

    connector: str
    config: ConfigMap
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
class Bye:
    """Nothing of this worker runs any more: it may leave the group and end."""


Answerable = Write | TakeLead | NewSessionKey | Validate | DescribePlugin | ListPlugins | PluginConfig | GroupOffsets
Effect = Answerable | FindMembers | Reply | Refuse | Log | Bye
