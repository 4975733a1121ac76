"""
What is left in the topics of connectors, tasks, workers and hosts that are gone.

A part of `checking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconnect.core.state import records
from kconnect.core.state.records import State, Topic
from kconnect.internal_topics.contents import Contents, Stored, decode
from kconnect.internal_topics.findings import Finding, Severity
from kconnect.internal_topics.view import View


def of_connectors(now: View, remaining: list[Stored]) -> Iterator[Finding]:
    """`remaining` is what compaction leaves."""
    names_by_remnant: dict[str, list[str]] = {}
    for name, remnants in now.gone().items():
        for what in remnants:
            names_by_remnant.setdefault(what.split(" of task ")[0], []).append(name)
    yield from Severity.WARNING.about(
        "gone-target-state",
        Topic.CONFIG,
        names_by_remnant.get("target state", ()),
        "There <is a target state|are target states> of {names}, which <is|are> gone: a new connector of that name starts in "
        "that state.",
        "Create and delete a connector of that name, which removes the state; or set the state when you create one.",
    )
    yield from Severity.WARNING.about(
        "gone-status",
        Topic.STATUS,
        names_by_remnant.get("status", ()),
        "There are statuses of {names}, which <is|are> gone.",
        "The leader removes them after the next rebalance: restart a worker.",
    )
    yield from Severity.WARNING.about(
        "gone-topic-use",
        Topic.STATUS,
        names_by_remnant.get("topics used", ()),
        "There are records of topics that {names} used, which <is|are> gone.",
        "Workers remove such records when they lose the tasks in a rebalance: restart a worker.",
    )
    yield from Severity.NOTE.about(
        "gone-offsets",
        Topic.OFFSET,
        names_by_remnant.get("offsets", ()),
        "There are offsets of {names}, which <is|are> gone: Connect keeps them on purpose. A new connector of that name "
        "continues from there.",
        "To start over, create the connector STOPPED and reset it with `kconnect offsets reset`.",
    )
    yield from Severity.NOTE.about(
        "gone-schemas",
        Topic.SCHEMAS,
        names_by_remnant.get("inferred schemas", ()),
        "There are inferred schemas of {names}, which <is|are> gone. A new connector of that name goes on with them.",
        "To have them inferred anew, create the connector STOPPED and forget them with `kconnect schemas NAME --forget`.",
    )
    tasks = {
        decoded.name
        for record in remaining
        if record.role is Topic.CONFIG and isinstance(decoded := decode(record.log), records.TaskConfig | records.TasksCommit)
    }
    yield from Severity.NOTE.about(
        "gone-tasks",
        Topic.CONFIG,
        sorted(tasks - now.config.connectors.keys()),
        "Task configs or commits of {names}, which <is|are> gone, remain: nothing ever removes them. Kafka Connect before "
        "3.7.1 shows tasks of such connectors once the topic is compacted.",
    )
    surplus = [
        str(unit)
        for unit in sorted(now.status.units)
        if (connector := now.config.connectors.get(unit.connector))
        and not unit.is_connector
        and unit.task >= connector.task_count
    ]
    yield from Severity.WARNING.about(
        "surplus-status",
        Topic.STATUS,
        surplus,
        "There <is the status of a task|are statuses of tasks> that the connector does not have: {names}.",
        "The leader removes them after the next rebalance: restart a worker.",
    )


def of_workers(now: View, contents: Contents) -> Iterator[Finding]:
    yield from _statuses(now, contents)
    yield from _assignment(now, contents)


def _statuses(now: View, contents: Contents) -> Iterator[Finding]:
    if contents.members != ():
        return
    running = [str(unit) for unit, status in now.status.units.items() if status.state in (State.RUNNING, State.RESTARTING)]
    yield from Severity.NOTE.about(
        "no-workers",
        Topic.STATUS,
        sorted(running),
        f"The group {contents.group} has no live worker, but by their last status these run: {{names}}.",
    )


def _assignment(now: View, contents: Contents) -> Iterator[Finding]:
    facts, config = contents.topics.get(Topic.ASSIGNMENT), contents.topics.get(Topic.CONFIG)
    if facts is None or config is None:
        return
    state, end = now.assignment, max(config.ends.values(), default=0)
    ahead = {
        *(entry.worker for entry in state.assignments.values() if entry.config_offset > end),
        *(entry.worker for entry in state.placements.values() if entry.config_offset > end),
        *(tasks.name for tasks in state.generated.values() if tasks.config_offset > end),
    }
    yield from Severity.ERROR.about(
        "assignment-ahead",
        Topic.ASSIGNMENT,
        sorted(ahead),
        f"{facts.name} refers to records of {config.name} that do not exist, for {{names}}: it belongs to an earlier config "
        "topic of that name, which was deleted or restored. Workers wait for these records.",
        f"Stop the workers and delete {facts.name}: a worker creates it again.",
    )
    if contents.members is not None:
        members = {_worker_of(member) for member in contents.members}
        former = sorted(state.workers() - members)
        yield from Severity.NOTE.about(
            "workers-gone",
            Topic.ASSIGNMENT,
            former,
            f"{facts.name} still has records of workers that are not members of the group {contents.group}: {{names}}.",
            "The leader removes them once it has handed over the units of these workers."
            if members
            else "That is normal while there is no live worker; the next leader takes over their units.",
        )
    held_units = {unit for host in state.held.values() for unit in host.units or ()}
    doubly = sorted(str(unit) for unit in held_units if len(state.holders(unit)) > 1)
    yield from Severity.WARNING.about(
        "held-twice",
        Topic.ASSIGNMENT,
        doubly,
        "{names} <is|are> held by more than one host.",
        "During a handover this is normal. If it stays, look at `kconnect cluster`, and end the host that should not run it.",
    )
    deleted = sorted({unit.connector for unit in held_units} - now.config.connectors.keys())
    yield from Severity.NOTE.about(
        "held-gone",
        Topic.ASSIGNMENT,
        deleted,
        "Hosts say that they run {names}, which <is|are> gone.",
        "A live host stops it by itself; the leader removes a dead one.",
    )


def _worker_of(member: str) -> str:
    """Members are named by their URLs, which is what their client ids are; workers by `host:port`."""
    return member.split("://", 1)[-1].rstrip("/")
