"""
The fold of the assignment topic: who leads, what each worker should run and where, and what really runs.

Held by the herder and by each task host. Only records that were read back from the log count; nobody relies on having written
one. Read next: `cluster/handover.py`, which decides from this state, and `cluster/host.py`, which obeys it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kconnect.core.state import assignment_records
from kconnect.core.state.records import Broken, LogRecord, UnitId


class AssignmentState:
    def __init__(self) -> None:
        self.leader: assignment_records.Leader | None = None
        self.assignments: dict[str, assignment_records.Assignment] = {}
        self.placements: dict[str, assignment_records.Placement] = {}
        self.held: dict[tuple[str, int], assignment_records.Held] = {}
        self.generated: dict[str, assignment_records.GeneratedTasks] = {}
        self.generations_of_tasks = 0
        """How often a connector instance has been read to have made task configs."""
        self.topic_resets: dict[str, tuple[int, int]] = {}
        """
        The latest word that the topics which a connector has used were forgotten: its number, see `TopicsReset`, and where it
        stands in the log, for two workers that are asked at once may choose the same number.
        """
        self.failed_fencings: dict[str, assignment_records.FencingFailed] = {}
        """By connector; see `FencingFailed`."""
        self.drained: set[str] = set()
        """Workers that are to run nothing, whether they are there or not."""
        self.newer: assignment_records.NewerFormat | None = None
        """Set once a record was met that a newer kconnect wrote: this worker must not lead."""

    def apply(self, record: LogRecord) -> assignment_records.AssignmentRecord | assignment_records.NewerFormat | Broken:
        decoded = assignment_records.decode_assignment(record)
        match decoded:
            case assignment_records.Leader():
                self.leader = decoded
            case assignment_records.Assignment(worker, units):
                _put(self.assignments, worker, decoded if units is not None else None)
            case assignment_records.Placement(worker, hosts):
                _put(self.placements, worker, decoded if hosts is not None else None)
            case assignment_records.Held(worker, host, units):
                _put(self.held, (worker, host), decoded if units is not None else None)
            case assignment_records.GeneratedTasks(name, configs):
                _put(self.generated, name, decoded if configs is not None else None)
                self.generations_of_tasks += 1
            case assignment_records.FencingFailed(name, error):
                _put(self.failed_fencings, name, decoded if error is not None else None)
            case assignment_records.TopicsReset(name, number):
                _put(self.topic_resets, name, None if number is None else (number, record.offset))
            case assignment_records.Drained(worker, is_drained):
                (self.drained.add if is_drained else self.drained.discard)(worker)
            case assignment_records.NewerFormat():
                self.newer = decoded
        return decoded

    @property
    def generation(self) -> int:
        """The highest generation that anybody wrote; the next decision of a leader takes the one after it."""
        leader = 0 if self.leader is None else self.leader.generation
        return max([leader, *(assignment.generation for assignment in self.assignments.values())])

    @property
    def term(self) -> int:
        """
        The generation that statuses have. Connect writes its group's there, and its workers write neither FAILED nor UNASSIGNED
        where they still know of a higher one. Each leader takes a rebalance of the group, so terms stay below the generations
        of a Connect that takes over; generations of assignments, one a decision, would not.
        """
        return 0 if self.leader is None else self.leader.term

    def holders(self, unit: UnitId) -> list[assignment_records.Held]:
        """The hosts, of any worker, that say they run `unit`."""
        return [held for held in self.held.values() if held.units is not None and unit in held.units]

    def is_at_work(self, connector: str, workers: Collection[str]) -> bool:
        """Whether a host of one of `workers` runs anything of the connector, or may yet start it."""
        held = (unit for held in self.held.values() if held.worker in workers for unit in held.units or ())
        placed = (units for worker in workers if (p := self.placements.get(worker)) for units in (p.hosts or {}).values())
        return any(unit.connector == connector for unit in (*held, *(unit for units in placed for unit in units)))

    def hosts_of(self, worker: str) -> list[assignment_records.Held]:
        return [held for (owner, _), held in sorted(self.held.items()) if owner == worker]

    def workers(self) -> set[str]:
        """Every worker of which the topic still knows something."""
        return {*self.assignments, *self.placements, *(worker for worker, _ in self.held)}


def _put(target: dict[Any, Any], key: object, value: object | None) -> None:
    if value is None:
        target.pop(key, None)
    else:
        target[key] = value
