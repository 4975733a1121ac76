"""
A connector's offsets (KIP-875): read, altered, reset; and those that a new one begins with, for `configs.py` (KIP-995).

While offsets are changed, nobody else writes about the connector, and that includes the leader itself: a connector that is
resumed meanwhile gets no tasks before this is over, so no task begins between two offsets. The order is the text's: the
connector must be STOPPED and nothing of it run any more, its old producers are fenced, its `alter_offsets` is asked, and only
then something is written. Made by `rest/connectors.py`. Read next: `offset_bodies.py` for what a request may say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.record import TopicPartition
from kconnect.core.herder import effects, offset_bodies, stored_offsets, views
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body, GroupInUseError, RefusedError, UnsupportedError
from kconnect.core.herder.offset_bodies import SourcePair
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.stored_offsets import Stored
from kconnect.core.settings.sink import TOPIC_NAMES
from kconnect.core.state.config import Properties
from kconnect.core.state.records import Entry, TargetState, Topic
from kconnect.errors import BadRequestError, ConflictError, ConnectError, NotFoundError, RequestTimeoutError

Message = dict[str, str]

_RELEASE_MS = 15_000
"""How long a request waits for tasks that are still stopping."""
_READ_MS = 30_000


@dataclass(frozen=True, slots=True)
class GetOffsets(Request[Body]):
    """`GET /connectors/{c}/offsets`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        desk, name = office.desk, self.name
        desk.require(name)
        kind = yield from office.classes.kind(name, patient=True)
        if kind == "sink":
            properties = desk.log.config.connectors[name].properties
            try:
                return views.sink_offsets((yield from ask(effects.ShowGroupOffsets(name, dict(properties)))))
            except ConnectError as error:
                text = f"Failed to retrieve consumer group offsets for sink connector {name}: {error}"
                raise ConnectError(text) from error
        properties = {} if kind == "unknown" else desk.log.config.connectors[name].properties
        try:
            # Another worker may have changed them a moment ago.
            yield from desk.look_to_end(Topic.OFFSET)
            return views.source_offsets((yield from stored_offsets.read(desk, name, properties, looks=True)).known())
        except ConnectError as error:
            raise ConnectError(f"Failed to retrieve offsets for source connector {name}: {error}") from error


@dataclass(frozen=True, slots=True)
class PlanMoves(Request[Body]):
    """`GET /kconnect/connectors/{c}/offsets/moves`: where a sink would go on, and what that means. Nothing is changed."""

    name: str
    to: str
    number: int

    def answer(self, office: Office) -> Procedure[Body]:
        desk, name = office.desk, self.name
        desk.require(name)
        kind = yield from office.classes.kind(name, patient=True)
        if kind != "sink":
            text = f"{name} is a {kind}: only a sink's offsets are numbers of records, which can be found by time or counted"
            raise BadRequestError(text)
        desk.require(name)
        config = dict(desk.log.config.connectors[name].properties)
        named = [topic for topic in TOPIC_NAMES.read(config) if "${" not in topic]
        topics = tuple(named or desk.log.status.topics_of(name))
        rows = yield from ask(effects.PlanMoves(name, config, topics, self.to, self.number))
        return {"name": name, "moves": rows}


@dataclass(frozen=True, slots=True)
class AlterOffsets(Request[Message]):
    """`PATCH /connectors/{c}/offsets`: pairs of partition and offset as JSON has them, None resets a partition."""

    name: str
    offsets: tuple[tuple[Any, Any], ...]
    writes = True

    def answer(self, office: Office) -> Procedure[Message]:
        return (yield from modify(office, self.name, self._alter))

    def _alter(self, desk: Desk, kind: str) -> Procedure[Message]:
        name = self.name
        config = dict(desk.log.config.connectors[name].properties)
        if kind == "sink":
            new_offsets = offset_bodies.sink_offsets(self.offsets)
            yield from released(desk, name, kind, "alter")
            answered = yield from _ask_connector(name, kind, config, _rows(new_offsets))
            yield from _change_group(desk, name, config, new_offsets)
        else:
            pairs = offset_bodies.source_offsets(self.offsets)
            yield from released(desk, name, kind, "alter")
            stored = yield from _stored(desk, name, config)
            answered = yield from _ask_connector(name, kind, config, pairs)
            yield from stored_offsets.write(desk, stored, pairs)
        return {"message": _message("altered", answered)}


@dataclass(frozen=True, slots=True)
class ResetOffsets(Request[Message]):
    """`DELETE /connectors/{c}/offsets`: all of them."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[Message]:
        return (yield from modify(office, self.name, self._reset))

    def _reset(self, desk: Desk, kind: str) -> Procedure[Message]:
        name = self.name
        config = dict(desk.log.config.connectors[name].properties)
        yield from released(desk, name, kind, "reset")
        if kind == "sink":
            group_offsets = yield from _committed(name, config)
            answered = yield from _ask_connector(
                name, kind, config, [((topic, number), None) for topic, number, _ in group_offsets]
            )
            yield from _change_group(desk, name, config, None)
        else:
            stored = yield from _stored(desk, name, config)
            pairs: list[SourcePair] = [(stored_offset.partition, None) for stored_offset in stored.known()]
            answered = yield from _ask_connector(name, kind, config, pairs)
            yield from stored_offsets.write(desk, stored, pairs)
        return {"message": _message("reset", answered)}


def modify(
    office: Office, name: str, work: Callable[[Desk, str], Procedure[Message]], what: str = "offsets can be modified"
) -> Procedure[Message]:
    """`work` gets the connector's kind; it is the leader's. `what` is to be done once the connector is stopped."""
    desk = office.desk

    def alone() -> Procedure[Message]:
        yield from desk.await_lead()
        desk.require(name)
        _require_stopped(desk, name, what)
        kind = yield from office.classes.kind(name, patient=True)
        if kind == "unknown":
            raise ConnectError(unknown_class(name, desk.log.config.connectors[name].properties.get("connector.class")))
        return (yield from work(desk, kind))

    return (yield from desk.exclusively(name, alone()))


def initial(
    desk: Desk, name: str, config: Properties, kind: str, offsets: tuple[tuple[Any, Any], ...], last: Sequence[Entry]
) -> Procedure[str]:
    """
    Write the offsets that a new connector begins with (KIP-995), and no others, then `last`, which creates it. Offsets that an
    earlier connector of that name has left are deleted. The leader calls this. Return the text for the answer.
    """
    if kind == "sink":
        new_offsets = offset_bodies.sink_offsets(offsets)
        yield from released(desk, name, kind, "alter")
        group_offsets = yield from _committed(name, config)
        replaced = {**{TopicPartition(topic, number): None for topic, number, _ in group_offsets}, **new_offsets}
        answered = yield from _ask_connector(name, kind, config, _rows(replaced))
        yield from _change_group(desk, name, config, replaced, exists=False)
        yield from desk.write_as_leader(last)
    else:
        pairs = offset_bodies.source_offsets(offsets)
        yield from released(desk, name, kind, "alter")
        stored = yield from _stored(desk, name, config)
        deletions: list[tuple[Any, Any]] = [(stored_offset.partition, None) for stored_offset in stored.known()]
        pairs = offset_bodies.source_offsets([*deletions, *pairs])
        answered = yield from _ask_connector(name, kind, config, pairs)
        yield from stored_offsets.write(desk, stored, pairs, last)
    return _message("altered", answered)


# --- what must be true before -----------------------------------------------------------------------------------------


def _require_stopped(desk: Desk, name: str, what: str) -> None:
    """
    Raise BadRequestError unless the connector is STOPPED. This is checked first, before what was sent and the connector's
    class.
    """
    config = desk.log.config
    if config.target_state(name) is not TargetState.STOPPED or config.connectors[name].task_count:
        raise BadRequestError(
            f"Connectors must be in the STOPPED state before their {what}. This can be done for the specified "
            f"connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
        )


def released(desk: Desk, name: str, kind: str, verb: str) -> Procedure[None]:
    """Wait until no host says that it runs a task of the connector, which could write offsets. Its instance can't."""
    held = desk.log.assignment.held

    def running() -> list[str]:
        units = {unit for host in held.values() for unit in host.units or ()}
        return [str(unit) for unit in sorted(units) if unit.connector == name and not unit.is_connector]

    try:
        yield from desk.wait_at_most(_RELEASE_MS, lambda: not running(), "")
    except ConflictError:
        if kind == "sink":
            raise ConnectError(_zombies(name, verb)) from None
        raise ConflictError(
            f"Failed to {verb} offsets for source connector {name} because its tasks haven't stopped completely yet: "
            f"{', '.join(running())} still runs. If the connector is in a stopped state, this operation can be safely retried."
        ) from None


# --- steps ------------------------------------------------------------------------------------------------------------


def _ask_connector(name: str, kind: str, config: Properties, pairs: Sequence[tuple[Any, Any]]) -> Procedure[bool]:
    try:
        return (yield from ask(effects.AskConnector(config.get("connector.class") or "", config, tuple(pairs))))
    except RefusedError as error:
        raise ConnectError(str(error)) from error
    except UnsupportedError as error:
        raise ConnectError(
            f"Failed to modify offsets for connector {name} because it doesn't support external modification of offsets"
        ) from error
    except RequestTimeoutError as error:
        raise ConnectError(f"Timed out while calling the 'alterOffsets' method for {kind} connector {name}") from error
    except ConnectError as error:
        raise ConnectError(f"Failed to modify offsets for {kind} connector {name}: {error}") from error


def _committed(name: str, config: Properties) -> Procedure[list[tuple[str, int, int]]]:
    try:
        return (yield from ask(effects.GroupOffsets(name, config)))
    except ConnectError as error:
        raise ConnectError(f"Failed to list offsets prior to resetting offsets for sink connector {name}: {error}") from error


def _change_group(
    desk: Desk,
    name: str,
    config: Properties,
    offsets: Mapping[TopicPartition, int | None] | None,
    exists: bool = True,
) -> Procedure[None]:
    verb = "reset" if offsets is None else "alter"
    # A group knows of no leaders: who was taken for dead while the connector was asked must not change it.
    yield from desk.await_lead()
    if exists and name not in desk.log.config.connectors:
        raise NotFoundError(f"Connector {name} not found")
    try:
        yield from ask(effects.AlterGroup(name, config, offsets))
    except GroupInUseError as error:
        raise ConnectError(_zombies(name, verb)) from error
    except ConnectError as error:
        whose = "sink connector" if offsets is None else "connector"
        raise ConnectError(f"Failed to {verb} consumer group offsets for {whose} {name}: {error}") from error


def _stored(desk: Desk, name: str, config: Properties) -> Procedure[Stored]:
    """Return the stored offsets of a source, once nobody can store any more."""
    tasks = desk.log.config.fencing.get(name, 0)
    if tasks:
        try:
            yield from ask(effects.Fence(name, config, tasks))
        except ConnectError as error:
            raise ConnectError(
                f"Failed to perform zombie fencing for source connector prior to modifying offsets: {error}"
            ) from error
    yield from _read_offsets(desk, name)
    try:
        return (yield from stored_offsets.read(desk, name, config, prepare=True))
    except RequestTimeoutError as error:
        raise ConnectError(_unread(name)) from error
    except ConnectError as error:
        raise ConnectError(f"Failed to modify offsets for source connector {name}: {error}") from error


def _read_offsets(desk: Desk, name: str) -> Procedure[None]:
    """Have everything read that the tasks have stored: by which keys, and for a reset, which partitions there are."""
    ends = yield from ask(effects.FindEnds(Topic.OFFSET))
    try:
        yield from desk.wait_at_most(_READ_MS, lambda: desk.log.has_read(ends), "")
    except ConflictError:
        raise ConnectError(_unread(name)) from None


def _rows(offsets: Mapping[TopicPartition, int | None]) -> list[tuple[Any, Any]]:
    return [((topic, number), offset) for (topic, number), offset in offsets.items()]


# --- texts ------------------------------------------------------------------------------------------------------------


def unknown_class(name: str, plugin: str | None) -> str:
    return (
        f"Failed to modify offsets for connector {name}: the worker must ask its class {plugin}, but does not have it, or its "
        "code fails. Install the plugin on all workers."
    )


def _unread(name: str) -> str:
    return (
        f"Timed out while trying to read to the end of the offsets topic prior to modifying offsets for source connector {name}"
    )


def _zombies(name: str, verb: str) -> str:
    return (
        f"Failed to {verb} consumer group offsets for connector {name} either because its tasks haven't stopped completely yet "
        f"or the connector was resumed before the request to {verb} its offsets could be successfully completed. If the "
        "connector is in a stopped state, this operation can be safely retried. If it doesn't eventually succeed, the Connect "
        "cluster may need to be restarted to get rid of the zombie sink tasks."
    )


def _message(verb: str, answered: bool) -> str:
    if answered:
        return f"The offsets for this connector have been {verb} successfully"
    return (
        f"The framework-managed offsets for this connector have been {verb} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {verb} in the system that the connector uses."
    )
