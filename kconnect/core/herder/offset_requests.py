"""
Altering and resetting a connector's offsets (KIP-875), as procedures of the leader.

Called by `answers.py`. While one goes on, nobody else writes about the connector, and that includes the leader itself: a
connector that is resumed meanwhile gets no tasks before this is over, so no task begins between two offsets. The order is the
text's: the connector must be STOPPED and nothing of it run any more, its old producers are fenced, its `alter_offsets` is
asked, and only then something is written. Read next: `offset_bodies.py` for what a request may say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconnect.api.record import TopicPartition
from kconnect.core.herder import effects, offset_bodies, stored_offsets
from kconnect.core.herder.effects import GroupInUseError, RefusedError, UnsupportedError
from kconnect.core.herder.offset_bodies import SourcePair
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.requests import ConfigMap
from kconnect.core.state.records import Entry, TargetState, Topic
from kconnect.errors import BadRequestError, ConflictError, ConnectError, NotFoundError, RequestTimeoutError

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

_RELEASE_MS = 15_000
"""How long a request waits for tasks that are still stopping."""
_READ_MS = 30_000


def alter(herder: Herder, name: str, offsets: tuple[tuple[Any, Any], ...], kind: str) -> Procedure:
    """By the leader, for a connector that is stopped. `offsets` is what was sent."""
    config = dict(herder.config.connectors[name].properties)
    if kind == "sink":
        wanted = offset_bodies.sink_offsets(offsets)
        yield from _released(herder, name, kind, "alter")
        answered = yield from _ask_connector(name, kind, config, _rows(wanted))
        yield from _change_group(herder, name, config, wanted)
    else:
        pairs = offset_bodies.source_offsets(offsets)
        yield from _released(herder, name, kind, "alter")
        stored = yield from _stored(herder, name, config)
        answered = yield from _ask_connector(name, kind, config, pairs)
        yield from stored_offsets.write(herder, stored, pairs)
    return {"message": _message("altered", answered)}


def reset(herder: Herder, name: str, kind: str) -> Procedure:
    """By the leader, for a connector that is stopped: all its offsets."""
    config = dict(herder.config.connectors[name].properties)
    yield from _released(herder, name, kind, "reset")
    if kind == "sink":
        known = yield from _committed(name, config)
        answered = yield from _ask_connector(name, kind, config, [((topic, number), None) for topic, number, _ in known])
        yield from _change_group(herder, name, config, None)
    else:
        stored = yield from _stored(herder, name, config)
        pairs: list[SourcePair] = [(known.partition, None) for known in stored.known()]
        answered = yield from _ask_connector(name, kind, config, pairs)
        yield from stored_offsets.write(herder, stored, pairs)
    return {"message": _message("reset", answered)}


def initial(
    herder: Herder, name: str, config: ConfigMap, kind: str, offsets: tuple[tuple[Any, Any], ...], last: Sequence[Entry]
) -> Procedure:
    """
    By the leader, for a connector that `last` creates (KIP-995): the offsets that it begins with, and no others, then `last`.
    What a connector of that name has left behind is forgotten. Gives the text for the answer.
    """
    if kind == "sink":
        wanted = offset_bodies.sink_offsets(offsets)
        yield from _released(herder, name, kind, "alter")
        known = yield from _committed(name, config)
        replaced = {**{TopicPartition(topic, number): None for topic, number, _ in known}, **wanted}
        answered = yield from _ask_connector(name, kind, config, _rows(replaced))
        yield from _change_group(herder, name, config, replaced, exists=False)
        yield from herder.write_as_leader(last)
    else:
        pairs = offset_bodies.source_offsets(offsets)
        yield from _released(herder, name, kind, "alter")
        stored = yield from _stored(herder, name, config)
        left: list[tuple[Any, Any]] = [(known.partition, None) for known in stored.known()]
        pairs = offset_bodies.source_offsets([*left, *pairs])
        answered = yield from _ask_connector(name, kind, config, pairs)
        yield from stored_offsets.write(herder, stored, pairs, last)
    return _message("altered", answered)


# --- what must be true before -----------------------------------------------------------------------------------------


def require_stopped(herder: Herder, name: str) -> None:
    """Before anything else is looked at, what was sent and the connector's class included."""
    config = herder.config
    if config.target_state(name) is not TargetState.STOPPED or config.connectors[name].task_count:
        raise BadRequestError(
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
            f"connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
        )


def _released(herder: Herder, name: str, kind: str, verb: str) -> Procedure:
    """Wait until no host says that it runs a task of the connector, which could write offsets. Its instance can't."""
    held = herder.assignment.held

    def running() -> list[str]:
        units = {unit for host in held.values() for unit in host.units or ()}
        return [str(unit) for unit in sorted(units) if unit.connector == name and not unit.is_connector]

    try:
        yield from herder.wait_at_most(_RELEASE_MS, lambda: not running(), "")
    except ConflictError:
        if kind == "sink":
            raise ConnectError(_zombies(name, verb)) from None
        raise ConflictError(
            f"Failed to {verb} offsets for source connector {name} because its tasks haven't stopped completely yet: "
            f"{', '.join(running())} still runs. If the connector is in a stopped state, this operation can be safely retried."
        ) from None


# --- steps ------------------------------------------------------------------------------------------------------------


def _ask_connector(name: str, kind: str, config: ConfigMap, pairs: Sequence[tuple[Any, Any]]) -> Procedure:
    try:
        return (yield effects.AskConnector(config.get("connector.class") or "", config, tuple(pairs)))
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


def _committed(name: str, config: ConfigMap) -> Procedure:
    try:
        return (yield effects.GroupOffsets(name, config))
    except ConnectError as error:
        raise ConnectError(f"Failed to list offsets prior to resetting offsets for sink connector {name}: {error}") from error


def _change_group(
    herder: Herder,
    name: str,
    config: ConfigMap,
    offsets: Mapping[TopicPartition, int | None] | None,
    exists: bool = True,
) -> Procedure:
    verb = "reset" if offsets is None else "alter"
    # A group knows of no leaders: who was taken for dead while the connector was asked must not change it.
    yield from herder.await_lead()
    if exists and name not in herder.config.connectors:
        raise NotFoundError(f"Connector {name} not found")
    try:
        yield effects.AlterGroup(name, config, offsets)
    except GroupInUseError as error:
        raise ConnectError(_zombies(name, verb)) from error
    except ConnectError as error:
        whose = "sink connector" if offsets is None else "connector"
        raise ConnectError(f"Failed to {verb} consumer group offsets for {whose} {name}: {error}") from error


def _stored(herder: Herder, name: str, config: ConfigMap) -> Procedure:
    """What is stored of a source, once nobody can store anything any more."""
    tasks = herder.config.fencing.get(name, 0)
    if tasks:
        try:
            yield effects.Fence(name, config, tasks)
        except ConnectError as error:
            raise ConnectError(
                f"Failed to perform zombie fencing for source connector prior to modifying offsets: {error}"
            ) from error
    yield from _read_offsets(herder, name)
    try:
        return (yield from stored_offsets.read(herder, name, config, prepare=True))
    except RequestTimeoutError as error:
        raise ConnectError(_unread(name)) from error
    except ConnectError as error:
        raise ConnectError(f"Failed to modify offsets for source connector {name}: {error}") from error


def _read_offsets(herder: Herder, name: str) -> Procedure:
    """Have everything read that the tasks have stored: by which keys, and for a reset, which partitions there are."""
    ends = yield effects.FindEnds(Topic.OFFSET)
    try:
        yield from herder.wait_at_most(_READ_MS, lambda: herder.has_read_up_to(ends), "")
    except ConflictError:
        raise ConnectError(_unread(name)) from None


def _rows(offsets: Mapping[TopicPartition, int | None]) -> list[tuple[Any, Any]]:
    return [((topic, number), offset) for (topic, number), offset in offsets.items()]


# --- texts ------------------------------------------------------------------------------------------------------------


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


def _message(done: str, answered: bool) -> str:
    if answered:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector uses."
    )
