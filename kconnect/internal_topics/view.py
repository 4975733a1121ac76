"""
What a worker that starts now would read out of the internal topics, once brokers have compacted them.

`kconnect topics compact-view` shows it, `checking.py` asks it. The folds are the worker's own, `core/state/`. Read next:
`checking.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kconnect.core.state import records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Broken, Topic, UnitId
from kconnect.core.state.schema_records import InferredSchema
from kconnect.core.state.status import StatusState
from kconnect.internal_topics.contents import Contents, Stored, compacted, decode
from kconnect.internal_topics.masking import Mask


class View:
    """The folds of some records. `broken` are those that nobody can use, with what is wrong."""

    def __init__(self, found: Iterable[Stored]) -> None:
        self.config, self.status, self.offset, self.assignment = ConfigState(), StatusState(), OffsetState(), AssignmentState()
        self.broken: list[tuple[Stored, Broken]] = []
        self.targets: dict[str, Stored] = {}
        """The target states that were written, also of connectors that are gone."""
        self.offsets_of: set[str] = set()
        self.schemas: dict[tuple[str, str, str], set[int]] = {}
        """Which tasks have said what schema they inferred, by connector, part and topic."""
        folds: dict[Topic, Callable[[records.LogRecord], Any]] = {
            Topic.CONFIG: self.config.apply,
            Topic.STATUS: self.status.apply,
            Topic.OFFSET: self.offset.apply,
            Topic.ASSIGNMENT: self.assignment.apply,
            Topic.SCHEMAS: decode,
        }
        for record in found:
            decoded = folds[record.role](record.log)
            match decoded:
                case Broken():
                    self.broken.append((record, decoded))
                case records.TargetStateChange(name, None):
                    self.targets.pop(name, None)
                case records.TargetStateChange(name):
                    self.targets[name] = record
                case records.SourceOffset(name, _, offset) if offset is not None:
                    self.offsets_of.add(name)
                case InferredSchema((name, part, topic, task), body):
                    tasks = self.schemas.setdefault((name, part, topic), set())
                    (tasks.discard if body is None else tasks.add)(task)
                case _:
                    pass

    def gone(self) -> dict[str, list[str]]:
        """Return what is left of connectors that don't exist, by their names."""
        remnants: dict[str, list[str]] = {}
        existing = self.config.connectors
        for unit in sorted(self.status.units):
            if unit.connector not in existing:
                remnants.setdefault(unit.connector, []).append("status" if unit.is_connector else f"status of task {unit.task}")
        for name in self.status.connectors_with_topics():
            if name not in existing:
                remnants.setdefault(name, []).append("topics used")
        for name in self.targets:
            if name not in existing:
                remnants.setdefault(name, []).append("target state")
        for name in sorted(self.offsets_of):
            if name not in existing and self.offset.of(name):
                remnants.setdefault(name, []).append("offsets")
        for name in sorted({name for (name, *_), tasks in self.schemas.items() if tasks and name not in existing}):
            remnants.setdefault(name, []).append("inferred schemas")
        return remnants


def summary(contents: Contents, mask: Mask, is_wanted: Callable[[str], bool]) -> dict[str, Any]:
    """Return a summary of the connectors of which `is_wanted` is true, as JSON can hold it, secrets hidden."""
    remaining = compacted(contents.records)
    view = View(remaining)
    names = [name for name in view.config.connectors if is_wanted(name)]
    return {
        "topics": {role.value: _topic(contents, role, remaining) for role in Topic if role in contents.topics},
        "connectors": {name: _connector(view, name, mask) for name in sorted(names)},
        "gone": {name: remnants for name, remnants in sorted(view.gone().items()) if is_wanted(name)},
        **({"workers": _workers(view)} if Topic.ASSIGNMENT in contents.topics else {}),
    }


def _topic(contents: Contents, role: Topic, remaining: Sequence[Stored]) -> dict[str, Any]:
    facts = contents.topics[role]
    return {
        "name": facts.name,
        "partitions": facts.partitions,
        "records": len(contents.of(role)),
        "left_after_compaction": sum(record.role is role for record in remaining),
    }


def _connector(view: View, name: str, mask: Mask) -> dict[str, Any]:
    connector = view.config.connectors[name]
    ids = view.config.task_ids(name)
    configs = {task: view.config.task_config(UnitId(name, task)) for task in ids}
    status = view.status.units
    return {
        "target_state": view.config.target_state(name).value,
        "config": mask.properties(connector.properties),
        "tasks": "incomplete" if connector.inconsistent else len(ids),
        "task_configs": {str(task): mask.properties(config or {}) for task, config in configs.items()},
        "status": {
            str(unit): {
                "state": status[unit].state.value,
                "worker_id": status[unit].worker_id,
                "generation": status[unit].generation,
                "version": status[unit].version,
                **({"trace": mask.text(trace)} if (trace := status[unit].trace) else {}),
            }
            for unit in (UnitId(name), *view.status.tasks_of(name))
            if unit in status
        },
        "offsets": [
            {"partition": mask.data(stored.partition), "offset": mask.data(stored.offset)} for stored in view.offset.of(name)
        ],
        "topics": view.status.topics_of(name),
        **({"fencing": view.config.fencing[name]} if name in view.config.fencing else {}),
    }


def _workers(view: View) -> dict[str, Any]:
    leader = view.assignment.leader
    return {
        "leader": None if leader is None else leader.worker,
        "generation": view.assignment.generation,
        "term": view.assignment.term,
        "assigned": {
            worker: sorted(map(str, assignment.units or ()))
            for worker, assignment in sorted(view.assignment.assignments.items())
        },
        "held": {
            f"{worker} host {host}": sorted(map(str, host_units.units or ()))
            for (worker, host), host_units in sorted(view.assignment.held.items())
        },
    }
