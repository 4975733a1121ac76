"""
What a worker makes of `suspects.py`: whom it lets share hosts, whom it runs no more, and what it says of these.

Held by `placing.py`, which asks it for each unit's spec and for those that must not be placed. Read next: `suspects.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.suspects import Suspects
from kconnect.core.settings import lent_logins
from kconnect.core.state import records
from kconnect.core.state.assignment_records import Held, HostSpec
from kconnect.core.state.records import Entry, State, UnitId, UnitStatus


class Quarantine:
    def __init__(self, desk: Desk, classes: Classes) -> None:
        self._desk, self._classes = desk, classes
        self._suspects = Suspects(desk.identity.incarnation, self._config_offset, self._names_brokers)

    def read(self, held: Held) -> None:
        """A held record of this worker's own hosts, in the order of the log."""
        desk = self._desk
        placement = desk.log.assignment.placements.get(desk.me)
        if placement is not None and placement.incarnation == desk.identity.incarnation:
            self._say(self._suspects.read(held, placement.spec(held.host), desk.now, desk.dead_hosts))

    def reconcile(self, runnable: Collection[UnitId]) -> None:
        """See what has changed: `runnable` are the worker's units that are to run, as far as this is not against it."""
        self._say(self._suspects.reconcile(runnable, self._desk.now, self._desk.dead_hosts))

    def spec(self, unit: UnitId, spec: HostSpec) -> HostSpec:
        """`spec`, in the group of the unit. One that has a host of its own needs no other."""
        group = self._suspects.groups.get(unit, 0)
        return replace(spec, group=group) if group and spec.unit is None else spec

    def holds(self, unit: UnitId) -> bool:
        """Whether `unit` is not to be placed: it ends its host whenever it runs."""
        return unit in self._suspects.verdicts

    def clear(self, units: Collection[UnitId]) -> set[UnitId]:
        """Release units for another try, because a user restarts them. Return those that were held."""
        quarantined = {unit for unit in units if self.holds(unit)}
        for unit in quarantined:
            self._suspects.clear(unit, self._desk.now)
        return quarantined

    def statuses(self) -> list[Entry]:
        """FAILED, for those that are held, once no host has them any more: these would have the last word."""
        desk = self._desk
        entries = []
        for unit, verdict in sorted(self._suspects.verdicts.items()):
            unit_status, connector = desk.log.status.units.get(unit), desk.log.config.connectors.get(unit.connector)
            is_written = unit_status is not None and (unit_status.state, unit_status.trace) == (State.FAILED, verdict.reason)
            if is_written or connector is None or desk.log.assignment.holders(unit):
                continue
            is_known, version = self._classes.version_of(unit_status, connector.properties)
            if not is_known:
                continue
            status = UnitStatus(State.FAILED, desk.me, desk.log.assignment.term, verdict.reason, version)
            entries.append(records.status(unit, status))
        return entries

    def _say(self, texts: list[str]) -> None:
        for text in texts:
            self._desk.say("WARNING", text)

    def _names_brokers(self, unit: UnitId) -> bool:
        connector = self._desk.log.config.connectors.get(unit.connector)
        return connector is not None and lent_logins.names_brokers(connector.properties)

    def _config_offset(self, unit: UnitId) -> int | None:
        connector = self._desk.log.config.connectors.get(unit.connector)
        if connector is None:
            return None
        return connector.offset if unit.is_connector else connector.tasks_offset
