"""
The fold of the status topic: the last status of each connector and task, and the topics that each connector used.

Held by the herder, which uses it for REST's answers and for the leader's clean-up. Read next: `records.py`.
"""

from __future__ import annotations

from typing import Any

from kconnect.core.state import records
from kconnect.core.state.records import Broken, LogRecord, State, StatusRecord, UnitId, UnitStatus


class StatusState:
    def __init__(self) -> None:
        self.units: dict[UnitId, UnitStatus] = {}
        self.since: dict[UnitId, int] = {}
        """When each came into its state, in ms since 1970; compaction may have left only a later word of it."""
        self._topics: dict[str, dict[str, set[str]]] = {}
        self.topic_changes = 0
        """Counts the records about topics."""
        self._of: dict[str, set[UnitId]] = {}
        self.shown: dict[str, tuple[object, dict[str, Any]]] = {}
        """What was answered of a connector, and what else that depends on; until the next status of it."""
        self.listed: dict[frozenset[str], tuple[object, dict[str, Any]]] = {}
        """The same of all connectors at once, by what was asked for."""
        self.changes = 0
        """Counts all records."""
        self.unsaid: set[UnitId] = set()
        """Those of `units` whose status is in no topic: it was in one that is no more."""

    def begin_again(self) -> None:
        """Note that another topic is read from now on, which replaces the one before."""
        self.unsaid = set(self.units)

    def apply(self, record: LogRecord) -> StatusRecord | Broken:
        decoded = records.decode_status(record)
        self.changes += 1
        if isinstance(decoded, records.StatusChange):
            self.unsaid.discard(decoded.unit)
            self.shown.pop(decoded.unit.connector, None)
        match decoded:
            case records.StatusChange(unit, None):
                self.units.pop(unit, None)
                self.since.pop(unit, None)
                self._forget(unit)
            case records.StatusChange(unit, status) if status is not None:
                before = self.units.get(unit)
                if not _late(before, status, unit):
                    if before is None or before.state is not status.state:
                        self.since[unit] = record.at_ms
                    self.units[unit] = status
                    self._of.setdefault(unit.connector, set()).add(unit)
            case records.TopicUse(connector, topic, None, form):
                self.topic_changes += 1
                forms = self._topics.get(connector, {}).get(topic, set())
                forms.discard(form)
                if not forms:
                    self._topics.get(connector, {}).pop(topic, None)
            case records.TopicUse(connector, topic, _, form):
                self.topic_changes += 1
                self._topics.setdefault(connector, {}).setdefault(topic, set()).add(form)
            case _:
                pass
        return decoded

    def tasks_of(self, connector: str) -> list[UnitId]:
        return sorted(unit for unit in self._of.get(connector, ()) if not unit.is_connector)

    def topics_of(self, connector: str) -> list[str]:
        """
        Return the topics that a connector has used, by the names in the keys: a value that names another topic is wrong, and a
        reset could not remove it.
        """
        return sorted(self._topics.get(connector, ()))

    def connectors_with_topics(self) -> list[str]:
        return [connector for connector, topics in self._topics.items() if topics]

    def _forget(self, unit: UnitId) -> None:
        units = self._of.get(unit.connector)
        if units is not None:
            units.discard(unit)
            if not units:
                del self._of[unit.connector]


def _late(before: UnitStatus | None, status: UnitStatus, unit: UnitId) -> bool:
    """A task's old owner may say UNASSIGNED after the new owner said RUNNING (KAFKA-12525): generations tell."""
    return (
        not unit.is_connector
        and status.state is State.UNASSIGNED
        and before is not None
        and before.state is State.RUNNING
        and before.generation >= status.generation
        and before.worker_id != status.worker_id
    )
