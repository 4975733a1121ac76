"""
What a herder wants done: the only outputs of `Herder.handle`, begun in order by `worker/loop.py`.

`Effect[T]` is one that gives a T. A procedure has it with `yield from ask(effect)` (`procedures.py`); then it has an `id`, and
is answered by `events.Done` or `events.Failed` with that id. An effect is declared here and performed where a method says so
(`performing.py`): in `worker/world.py`, and in the rig's cluster in memory. Read next: `herder.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kconnect.api.record import TopicPartition
from kconnect.core.metrics.report import Report
from kconnect.core.state.config import Properties
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LoggerLevel, SessionKey, Topic
from kconnect.errors import ConflictError, ConnectError

T = TypeVar("T")

Offsets = dict[tuple[Topic, int], int]
"""By topic and partition."""
Body = dict[str, Any]
"""An answer of REST's, as JSON has it."""


@dataclass(frozen=True, slots=True)
class Effect(Generic[T]):
    """
    The base of all. `id` tells whom to answer; 0: nobody waits. `ticket` is that of the request which it is asked for by, as in
    `events.Requested`; 0: by none. Nothing is decided by it.
    """

    id: int = field(default=0, kw_only=True)
    ticket: int = field(default=0, kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class Write(Effect[Offsets]):
    """
    Append entries, in order. As leader: in one transaction that fails when another leader has fenced this one.

    Gives the highest offset written in each partition.
    """

    entries: tuple[Entry, ...]
    as_leader: bool = False


class FencedError(ConflictError):
    """The failure of a `Write` as leader when another worker leads by now: nothing of it was written, or ever will be."""


class LeadRefusedError(ConnectError):
    """The brokers do not let this worker write as the leader: no other try of a `TakeLead` mends that."""


@dataclass(frozen=True, slots=True)
class TakeLead(Effect[Offsets]):
    """
    Fence the leader before (`init_transactions` of `connect-cluster-<group.id>`), then find the ends of the config and
    assignment topics. Gives the offset after the last record of each partition.
    """


@dataclass(frozen=True, slots=True)
class FindMembers(Effect[None]):
    """Ask the group's coordinator who is in; the answer comes as `events.Members`."""


@dataclass(frozen=True, slots=True)
class NewSessionKey(Effect[SessionKey | None]):
    """Make a session key if `current` is missing, too old, or not of the kind that is set; None if it may stay."""

    current: SessionKey | None


@dataclass(frozen=True, slots=True)
class Validate(Effect[Body]):
    """Validate a connector's config in the sandbox. Gives ConfigInfos as REST does."""

    plugin: str
    config: Properties


@dataclass(frozen=True, slots=True)
class DescribePlugin(Effect[Body]):
    """`version` may be a range; None is the newest. Gives `class`, `type` (source or sink) and `version`."""

    plugin: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ListPlugins(Effect[list[Body]]):
    """Gives the body of `GET /connector-plugins`."""

    connectors_only: bool


@dataclass(frozen=True, slots=True)
class PluginConfig(Effect[list[Body]]):
    """Gives the body of `GET /connector-plugins/{plugin}/config`."""

    plugin: str
    version: str | None


@dataclass(frozen=True, slots=True)
class ReloadPlugins(Effect[Body]):
    """Look at plugin.path anew. Gives the body of `POST /kconnect/plugins/reload`."""


@dataclass(frozen=True, slots=True)
class GroupOffsets(Effect[list[tuple[str, int, int]]]):
    """Committed offsets of a sink's consumer group: (topic, partition, offset)."""

    connector: str
    config: Properties


@dataclass(frozen=True, slots=True)
class ShowGroupOffsets(GroupOffsets):
    """The same, for who only looks at them."""


@dataclass(frozen=True, slots=True)
class ReadReports(Effect[Collection[Report]]):
    """Read the hosts' last reports of their units' numbers; empty if nothing is known."""


@dataclass(frozen=True, slots=True)
class ReadCores(Effect["float | None"]):
    """Read how many cores the task hosts of all workers take, or those of one; None while that is not known."""

    worker: str | None = None


@dataclass(frozen=True, slots=True)
class ReadHistory(Effect[Body]):
    """The last hour of a connector's numbers, as `core/metrics/history.py` gives it."""

    connector: str


@dataclass(frozen=True, slots=True)
class PlanMoves(Effect["list[Body]"]):
    """
    Plan where a sink would go on: `to` and `number` as `kafka/moves.py` has them. A row has `topic`, `partition`, `now`,
    `then`, `again` and `skipped`.
    """

    connector: str
    config: Properties
    topics: tuple[str, ...]
    to: str
    number: int


@dataclass(frozen=True, slots=True)
class ReadChanges(Effect[str]):
    """
    Look what became of a connector, in a process of its own. Gives the answer of `GET /kconnect/connectors/{c}/changes` as
    JSON.
    """

    connector: str


@dataclass(frozen=True, slots=True)
class ReadSchemas(Effect[Sequence[object]]):
    """The schemas that a connector's tasks have inferred, as REST gives them: what orjson writes."""

    connector: str


@dataclass(frozen=True, slots=True)
class ForgetSchemas(Effect[int]):
    """Take back what was said of a connector's schemas. Gives of how many topics' keys and values that was."""

    connector: str


@dataclass(frozen=True, slots=True)
class Preview(Effect[str]):
    """Try a chain on records, in a process of its own. Gives the answer of `POST /kconnect/preview` as JSON."""

    config: Mapping[str, str]
    records: tuple[Any, ...] | None
    sample: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ListPlaces(Effect[Body]):
    """List the places of this worker's plugins, as `GET /kconnect/plugins` answers."""


@dataclass(frozen=True, slots=True)
class CheckTopics(Effect[str]):
    """Look what is wrong with the internal topics, in a process of its own. Gives `GET /kconnect/topics`' answer as JSON."""


@dataclass(frozen=True, slots=True)
class Signal(Effect[None]):
    """
    Send a connector a signal, by a topic that its config names. BadRequestError if that is none of this cluster's, or of the
    worker's own.
    """

    servers: str
    """Where the connector looks for the topic."""
    topic: str
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class DeadLetters(Effect[str]):
    """
    Read or replay dead letters, in a process of its own. `configs` are those of the connectors with the same queue, `wanted` is
    what `dlq/child.py` takes. Gives the answer as JSON.
    """

    connector: str
    configs: Mapping[str, Mapping[str, str]]
    wanted: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AskConnector(Effect[bool]):
    """
    Have a connector's `alter_offsets` look at new offsets, in the sandbox (KIP-875). `offsets` are pairs: of source
    partition and offset, or of (topic, partition) and an int; None as an offset resets it. Gives what it returned.
    """

    plugin: str
    config: Properties
    offsets: tuple[tuple[Any, Any], ...]


class RefusedError(ConnectError):
    """The failure of an `AskConnector` when the connector itself refuses; the text is the connector's."""


class UnsupportedError(ConnectError):
    """The failure of an `AskConnector` when the connector's offsets can't be changed from outside at all."""


@dataclass(frozen=True, slots=True)
class AlterGroup(Effect[None]):
    """Change committed offsets of a sink's consumer group, or, with None as `offsets`, delete the group."""

    connector: str
    config: Properties
    offsets: Mapping[TopicPartition, int | None] | None


class GroupInUseError(ConnectError):
    """The failure of an `AlterGroup` when the group has members: nothing was changed."""


@dataclass(frozen=True, slots=True)
class FindEnds(Effect[Offsets]):
    """Find where a topic ends, behind what transactions still hide: the offset after the last record of each partition."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class ReadOwnOffsets(Effect[OffsetState | None]):
    """
    Read a source connector's own offset topic; with `prepare`, create it if it is missing. None if its offsets are
    in the worker's topic alone. A RequestTimeoutError if its end is not reached in time.
    """

    connector: str
    config: Properties
    prepare: bool = False


@dataclass(frozen=True, slots=True)
class ShowOwnOffsets(ReadOwnOffsets):
    """The same, for who only looks at them."""


@dataclass(frozen=True, slots=True)
class WriteOwnOffsets(Effect[None]):
    """Write to a source connector's own offset topic; of exactly-once sources, in one transaction."""

    connector: str
    config: Properties
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Fence(Effect[None]):
    """Fence the transactional producers of a source connector's first `tasks` tasks (KIP-618)."""

    connector: str
    config: Properties
    tasks: int


@dataclass(frozen=True, slots=True)
class Reply(Effect[None]):
    ticket: int
    value: Any


@dataclass(frozen=True, slots=True)
class Refuse(Effect[None]):
    ticket: int
    error: Exception


@dataclass(frozen=True, slots=True)
class Log(Effect[None]):
    """A line for the worker's log; `level` is a name of the `logging` module's."""

    level: str
    message: str


@dataclass(frozen=True, slots=True)
class SetLevel(Effect[None]):
    """Apply a log level to this process that was set for the whole cluster (KIP-976)."""

    change: LoggerLevel


@dataclass(frozen=True, slots=True)
class KeepSpark(Effect[None]):
    """Have this worker's Spark running, as it is from the start, or not at all until this is asked for again."""

    is_wanted: bool


@dataclass(frozen=True, slots=True)
class Bye(Effect[None]):
    """Let the worker leave the group and end: nothing of it runs any more."""
