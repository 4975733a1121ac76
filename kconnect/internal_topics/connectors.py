"""
What the config topic says of each connector: whether its tasks are whole, its states agree, and its class is named.

A part of `checking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from kconnect.core.state import records
from kconnect.core.state.records import Broken, TargetState, Topic
from kconnect.internal_topics.contents import Contents, Stored, decode
from kconnect.internal_topics.findings import Finding, Severity, listed
from kconnect.internal_topics.meaning import counted
from kconnect.internal_topics.view import View


def check(now: View, later: View, remaining: list[Stored], contents: Contents, exactly_once: bool) -> Iterator[Finding]:
    """`later` and `remaining` are what compaction leaves; `exactly_once` as in `checking.check`."""
    yield from _task_sets(now, later, contents)
    yield from _states(now, remaining)
    yield from _configs(now)
    yield from _fencing(now, exactly_once or bool(now.config.fencing))


def _task_sets(now: View, later: View, contents: Contents) -> Iterator[Finding]:
    heal = "A running worker makes the task configs again; if it does not, restart the connector or submit its config again."
    incomplete = {name: connector for name, connector in now.config.connectors.items() if connector.inconsistent}
    for name, connector in incomplete.items():
        written = _written_tasks(name, contents.of(Topic.CONFIG))
        missing = listed(task for task in range(connector.task_count) if task not in written)
        yield Severity.ERROR.finding(
            "commit-incomplete",
            Topic.CONFIG,
            f"The commit of {name} is for {counted(connector.task_count, 'task')}, but the config of task {missing} is missing "
            "before it: the connector runs no tasks.",
            heal,
            (name,),
        )
    unfinished = [name for name, connector in now.config.connectors.items() if connector.deferred]
    yield from Severity.WARNING.about(
        "tasks-uncommitted",
        Topic.CONFIG,
        unfinished,
        "Task configs of {names} have no commit after them, so they are not in effect: a leader ended between the two.",
        heal,
    )
    gets_lost = [
        name
        for name, connector in now.config.connectors.items()
        if name not in incomplete
        and (after := later.config.connectors.get(name)) is not None
        and (after.inconsistent or after.task_count != connector.task_count)
    ]
    yield from Severity.NOTE.about(
        "tasks-lost-by-compaction",
        Topic.CONFIG,
        gets_lost,
        "Once the topic is compacted, the task set<|s> of {names} can't be read any more: its latest records are not in the "
        "order config, tasks, commit.",
        heal,
    )
    outdated = [
        name
        for name, connector in now.config.connectors.items()
        if connector.applied is not None
        and connector.applied != connector.properties
        and name not in unfinished
        and now.config.target_state(name) is TargetState.STARTED
    ]
    yield from Severity.NOTE.about(
        "tasks-outdated", Topic.CONFIG, outdated, "The config of {names} has changed since <its|their> tasks were made.", heal
    )
    without = [
        name
        for name, connector in now.config.connectors.items()
        if connector.tasks_offset < 0 and not connector.inconsistent and now.config.target_state(name) is TargetState.STARTED
    ]
    yield from Severity.NOTE.about(
        "tasks-never-made",
        Topic.CONFIG,
        without,
        "No task configs were ever written for {names}.",
        "A worker writes them as soon as it runs the connector. If one runs it, look at the connector's status.",
    )


def _written_tasks(name: str, topic_records: list[Stored]) -> set[int]:
    """The tasks whose configs stand between the last commit of a connector and the one before."""
    written: set[int] = set()
    last: set[int] = set()
    for record in topic_records:
        match decode(record.log):
            case records.ConnectorConfig(of, None) if of == name:
                written = set()
            case records.TaskConfig(of, task) if of == name:
                written.add(task)
            case records.TasksCommit(of) if of == name:
                last, written = written, set()
            case _:
                pass
    return last


def _states(now: View, remaining: list[Stored]) -> Iterator[Finding]:
    stopped = [
        name
        for name, connector in now.config.connectors.items()
        if now.config.target_state(name) is TargetState.STOPPED and connector.task_count > 0
    ]
    yield from Severity.ERROR.about(
        "stopped-with-tasks",
        Topic.CONFIG,
        stopped,
        "{names} <is|are> STOPPED and still <has|have> tasks: Kafka Connect's workers don't start these tasks when the "
        "connector is resumed.",
        "Stop it once more with `kconnect stop`, which commits an empty set of tasks.",
    )
    for record in remaining:
        if record.role is not Topic.CONFIG or not (record.key or b"").startswith(b"target-state-"):
            continue
        decoded = decode(record.log)
        body: dict[str, Any] = {} if isinstance(decoded, Broken) else orjson.loads(record.value or b"{}")
        if not isinstance(decoded, records.TargetStateChange) or not isinstance(body.get("state.v2"), str):
            continue
        expected = "PAUSED" if body["state.v2"] == "STOPPED" else body["state.v2"]
        if body.get("state") != expected:
            yield Severity.WARNING.finding(
                "states-differ",
                Topic.CONFIG,
                f"The target state of {decoded.name} is {body['state.v2']} for workers since 3.5 and {body.get('state')} for "
                "older ones.",
                "Write it again: pause, resume or stop the connector.",
                (decoded.name,),
            )


def _configs(now: View) -> Iterator[Finding]:
    yield from Severity.ERROR.about(
        "no-class",
        Topic.CONFIG,
        [name for name, connector in now.config.connectors.items() if not connector.properties.get("connector.class")],
        "The config of {names} has no connector.class: no worker can start <it|them>.",
        "Submit the config again, or delete the connector.",
    )
    yield from Severity.WARNING.about(
        "other-name",
        Topic.CONFIG,
        [name for name, connector in now.config.connectors.items() if connector.properties.get("name", name) != name],
        "The config of {names} has a name that is not the connector's.",
        "Submit the config again.",
    )


def _fencing(now: View, exactly_once: bool) -> Iterator[Finding]:
    if not exactly_once:
        return
    sources = [
        name
        for name, connector in now.config.connectors.items()
        if connector.task_count and not (connector.properties.get("topics") or connector.properties.get("topics.regex"))
    ]
    yield from Severity.WARNING.about(
        "fencing-missing",
        Topic.CONFIG,
        [name for name in sources if name not in now.config.fencing],
        "The count of tasks of {names} that may have transactional producers is missing: exactly-once tasks don't start "
        "before the leader has written it.",
        "A leader with exactly.once.source.support=enabled writes it before it starts the tasks. If it does not, look at its "
        "log.",
    )
    pending = [name for name in sources if name in now.config.fencing and now.config.connectors[name].pending_fencing]
    yield from Severity.NOTE.about(
        "fencing-pending",
        Topic.CONFIG,
        pending,
        "The producers of the previous task set of {names} have not been fenced yet.",
        "The leader fences them before it starts the tasks.",
    )
