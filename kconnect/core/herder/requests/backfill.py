"""
The backfill of one of Debezium's connectors: begun, looked at, handed over, given up.

The connector that reads is one as any other. What is of a backfill's own is that Debezium's begins where the copy was taken: so
its steps, each of which a user could make by himself, are one request here. Each may be made again, so whoever lost the answer
asks once more. A table that is read again beside the stream is Debezium's own work (`rereads.py`). Made by `rest/backfill.py`.
Read next: `core/herder/backfills.py`, `kconnect/connectors/backfill`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.herder import backfills, effects, rereads
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PatchConfig
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets, ResetOffsets
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.state.records import State, TargetState, UnitId
from kconnect.errors import BadRequestError, ConflictError


@dataclass(frozen=True, slots=True)
class GetBackfill(Request[Body]):
    """`GET /kconnect/connectors/{c}/backfill`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        return (yield from _look(office, self.name))


@dataclass(frozen=True, slots=True)
class StartBackfill(Request[Body]):
    """`POST /kconnect/connectors/{c}/backfill`: makes the connector that reads, or lets the one that is there go on."""

    name: str
    tasks: int
    settings: Mapping[str, str | None] = field(default_factory=dict)
    """Of the connector that reads, before those that it has from Debezium's."""
    into: str | None = None
    """The sink straight into whose tables the copy goes."""
    writes = True

    def answer(self, office: Office) -> Procedure[Body]:
        desk, name = office.desk, self.name
        yield from desk.await_lead()
        desk.require(name)
        config = desk.log.config.connectors[name].properties
        debezium = backfills.require_debezium(config, name)
        reader = backfills.name_of(name)
        if reader in desk.log.config.connectors:
            backfills.require(desk, name)
            if desk.log.config.target_state(reader) is not TargetState.STARTED:
                # One that was being handed over would copy again, beside the stream.
                yield from self._check_fresh(office)
                yield from SetTargetState(reader, TargetState.STARTED).answer(office)
        else:
            yield from self._check_fresh(office)
            plugins = yield from ask(effects.ListPlugins(True))
            version = backfills.version_of(plugins, debezium, config.get("connector.plugin.version"))
            made = {
                **backfills.reading_config(name, config, self.tasks, version),
                **self._of_sink(office),
                **self.settings,
            }
            yield from CreateConnector(reader, made).answer(office)
        return (yield from _look(office, name))

    def _of_sink(self, office: Office) -> dict[str, str | None]:
        if self.into is None:
            return {}
        office.desk.require(self.into)
        return backfills.sink_config(self.into, office.desk.log.config.connectors[self.into].properties)

    def _check_fresh(self, office: Office) -> Procedure[None]:
        name = self.name
        if office.desk.log.config.target_state(name) is not TargetState.STOPPED:
            raise BadRequestError(f"{name} must be STOPPED, so that it does not begin before its copy: kconnect stop {name}")
        if (yield from _offsets(office, name)):
            raise BadRequestError(
                f"{name} has offsets already, so it has begun to read: a backfill is for one that has not. To end a handover "
                f"that was interrupted: kconnect backfill finish {name}; to begin anew: kconnect offsets reset {name}"
            )


@dataclass(frozen=True, slots=True)
class FinishBackfill(Request[Body]):
    """`POST /kconnect/connectors/{c}/backfill/finish`: Debezium's connector goes on from the copy, and the backfill goes."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[Body]:
        desk, name = office.desk, self.name
        yield from desk.await_lead()
        state = yield from _look(office, name)
        desk.require(name)
        offsets = yield from _offsets(office, name)
        config, reading = (desk.log.config.connectors[each].properties for each in (name, backfills.name_of(name)))
        if state["done"] and (differing := backfills.changed(config, reading)):
            raise ConflictError(
                f"{name} and its backfill differ in {', '.join(differing)}: what was copied is not what {name} would go on "
                f"with. Change one back, or begin anew: kconnect backfill cancel {name}"
            )
        if not state["done"]:
            if not (offsets and (yield from self._is_given_up(office))):
                raise ConflictError(f"The backfill of {name} is not done: {state['ranges_done']} of {state['ranges']} ranges")
        elif state["begin"] is None:
            raise ConflictError(
                f"The backfill of {name} does not say where {name} is to begin, as one of an older version: begin it anew, by "
                f"kconnect backfill cancel {name}"
            )
        elif any(backfills.is_before(row["offset"] or {}, state["begin"]["offset"]) for row in offsets):
            raise ConflictError(
                f"{name} has offsets of its own, from before the copy, which it would go on from: kconnect offsets reset "
                f"{name}, then this once more"
            )
        elif not offsets:
            begin = state["begin"]
            yield from AlterOffsets(name, ((begin["partition"], begin["offset"]),)).answer(office)
        # In this order: as long as the backfill is there, this may be asked again.
        yield from SetTargetState(name, TargetState.STARTED).answer(office)
        yield from _remove(office, name)
        return state

    def _is_given_up(self, office: Office) -> Procedure[bool]:
        """Whether the backfill is as `_remove` leaves it before it deletes it: somebody has got so far, and was interrupted."""
        reader = backfills.name_of(self.name)
        config = office.desk.log.config
        is_stopped = config.target_state(reader) is TargetState.STOPPED
        has_gone_on = config.target_state(self.name) is TargetState.STARTED
        return is_stopped and has_gone_on and not (yield from _offsets(office, reader))


@dataclass(frozen=True, slots=True)
class CancelBackfill(Request[None]):
    """`DELETE /kconnect/connectors/{c}/backfill`: with what it has in the database."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from office.desk.await_lead()
        backfills.require(office.desk, self.name)
        yield from self._mark(office)
        yield from _remove(office, self.name)

    def _mark(self, office: Office) -> Procedure[None]:
        """
        Have the reading connector drop the replication slot, too, that it may have made for Debezium's already, unless that one
        has begun, or may begin.
        """
        config, reader = office.desk.log.config, backfills.name_of(self.name)
        captured = config.connectors.get(self.name)
        if captured is None or captured.properties.get("connector.class") != backfills.DEBEZIUM:
            return
        if config.target_state(self.name) is TargetState.STOPPED and not (yield from _offsets(office, self.name)):
            yield from StopConnector(reader).answer(office)
            yield from PatchConfig(reader, {"backfill.given.up": "true"}).answer(office)


@dataclass(frozen=True, slots=True)
class GetReread(Request[Body]):
    """`GET /kconnect/connectors/{c}/backfill/again`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        office.desk.require(self.name)
        backfills.require_debezium(office.desk.log.config.connectors[self.name].properties, self.name, (backfills.DEBEZIUM,))
        return {"name": self.name, "tables": rereads.tables_of((yield from _offsets(office, self.name)))}


@dataclass(frozen=True, slots=True)
class Reread(Request[Body]):
    """`POST /kconnect/connectors/{c}/backfill/again`: tables beside the stream, or with `where` some rows of them."""

    name: str
    tables: tuple[str, ...]
    where: str | None = None
    writes = True

    def answer(self, office: Office) -> Procedure[Body]:
        yield from _signal(office, self.name, lambda identity: rereads.begin(identity, self.tables, self.where))
        return {"name": self.name, "tables": list(self.tables)}


@dataclass(frozen=True, slots=True)
class StopReread(Request[None]):
    """`DELETE /kconnect/connectors/{c}/backfill/again`."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from _signal(office, self.name, rereads.end)


# --- steps ------------------------------------------------------------------------------------------------------------


def _signal(office: Office, name: str, made: Callable[[str], bytes]) -> Procedure[None]:
    """Send a signal to one of Debezium's connectors, which must run: it does not look for those of before."""
    desk = office.desk
    yield from desk.await_lead()
    desk.require(name)
    config = desk.log.config.connectors[name].properties
    backfills.require_debezium(config, name, (backfills.DEBEZIUM,))
    to = rereads.signals(config, name)
    status = desk.log.status.units.get(UnitId(name, 0))
    if status is None or status.state is not State.RUNNING:
        raise ConflictError(
            f"The task of {name} is not RUNNING, and hears only what it is told while it is: kconnect resume {name}"
        )
    # Whoever reads Debezium's log or offsets finds it by that.
    identity = f"kconnect-{desk.now}"
    yield from ask(effects.Signal(to.servers, to.topic, to.key.encode(), made(identity)))


def _look(office: Office, name: str) -> Procedure[Body]:
    backfills.require(office.desk, name)
    offsets = yield from _offsets(office, backfills.name_of(name))
    reports = yield from ask(effects.ReadReports())
    backfills.require(office.desk, name)
    return backfills.progress(office.desk, name, offsets, reports)


def _offsets(office: Office, name: str) -> Procedure[list[dict[str, Any]]]:
    return list((yield from GetOffsets(name).answer(office))["offsets"])


def _remove(office: Office, name: str) -> Procedure[None]:
    """Delete the backfill and its offsets, with which another one would take itself for done."""
    reader = backfills.name_of(name)
    yield from StopConnector(reader).answer(office)
    yield from ResetOffsets(reader).answer(office)
    yield from DeleteConnector(reader).answer(office)
