"""
What each record of the internal topics says, in a sentence: `kconnect topics dump` shows these.

`meaning` knows every kind of every topic, as `core/state/records.py`, `core/state/assignment_records.py` and
`core/state/schema_records.py` read them. Read next: those.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from kconnect.converters import inference
from kconnect.core.state import assignment_records as ours
from kconnect.core.state import records
from kconnect.core.state.records import Broken, TargetState, Topic, UnitId
from kconnect.core.state.schema_records import InferredSchema
from kconnect.internal_topics.contents import Decoded, Stored, decode
from kconnect.internal_topics.masking import Mask

_MOST_UNITS = 8


class Meaning(NamedTuple):
    """`connector` is None for what is of none. `value` is what a program may want of the record, with secrets hidden."""

    kind: str
    connector: str | None
    text: str
    value: Any


def meaning(record: Stored, mask: Mask) -> Meaning:
    decoded = decode(record.log)
    value = _value(record, decoded, mask)
    if record.value is None and not isinstance(decoded, Broken):
        kind, connector, text = _removed(decoded, mask)
    else:
        match record.role:
            case Topic.CONFIG:
                kind, connector, text = _config(record, decoded, mask)
            case Topic.STATUS:
                kind, connector, text = _status(decoded, mask)
            case Topic.OFFSET:
                kind, connector, text = _offset(decoded, mask)
            case Topic.ASSIGNMENT:
                kind, connector, text = _assignment(decoded, mask)
            case Topic.SCHEMAS:
                kind, connector, text = _schema(decoded)
    return Meaning(kind, connector, " ".join(mask.text(text).split()), value)


def connector_of(decoded: Decoded) -> str | None:
    """Return the connector that a record is of; None for a record of no connector."""
    match decoded:
        case records.StatusChange(unit):
            return unit.connector
        case records.TopicUse(connector) | records.SourceOffset(connector):
            return connector
        case ours.TopicsReset(connector) | ours.FencingFailed(connector):
            return connector
        case InferredSchema(key):
            return key.connector
        case records.LoggerLevel() | records.SessionKey():
            return None
        case _:
            return getattr(decoded, "name", None)


def time_text(at_ms: int) -> str:
    """Return a time in UTC, to the millisecond; `-` if the record has none."""
    if at_ms < 0:
        return "-"
    # Not by `fromtimestamp`, which knows the years up to 9999 only: whatever was written is shown.
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=at_ms)
    except OverflowError:
        return f"{at_ms} ms"
    return f"{at:%Y-%m-%d %H:%M:%S}.{at_ms % 1000:03d}"


def units_text(units: Iterable[UnitId]) -> str:
    """Counted, and the first of them by name."""
    listed = sorted(units)
    if not listed:
        return "nothing"
    connectors = sum(unit.is_connector for unit in listed)
    named = ", ".join(map(str, listed[:_MOST_UNITS])) + (", …" if len(listed) > _MOST_UNITS else "")
    return f"{counted(connectors, 'connector')}, {counted(len(listed) - connectors, 'task')}: {named}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _value(record: Stored, decoded: Decoded, mask: Mask) -> Any:
    if record.value is None:
        return None
    if isinstance(decoded, Broken):
        # Nobody knows what it is, so it may be a secret.
        return record.value.decode("utf-8", "backslashreplace") if mask.show and record.key != b"session-key" else None
    body = orjson.loads(record.value)
    if isinstance(decoded, records.SessionKey):
        return {name: value for name, value in body.items() if name != "key"}
    return mask.data(body)


Said = tuple[str, "str | None", str]


def _removed(decoded: Decoded, mask: Mask) -> Said:
    name = connector_of(decoded)
    match decoded:
        case records.ConnectorConfig():
            return "connector", name, f"connector {name} deleted"
        case records.TargetStateChange():
            return "target-state", name, f"target state of {name} removed"
        case records.StatusChange(unit):
            return "status", name, f"status of {_unit(unit)} removed"
        case records.TopicUse(_, topic):
            return "topic-use", name, f"use of the topic {topic} by {name} removed"
        case records.SourceOffset(_, partition):
            return "offset", name, f"offset of {name} for {_json(mask.data(partition))} deleted"
        case ours.Assignment(worker):
            return "assignment", None, f"assignment of worker {worker} removed"
        case ours.Placement(worker):
            return "placement", None, f"placement of worker {worker} removed"
        case ours.Held(worker, host):
            return "held", None, f"host {host} of worker {worker} holds nothing any more"
        case ours.GeneratedTasks():
            return "generated-tasks", name, f"generated task configs of {name} removed"
        case ours.FencingFailed():
            return "fencing-failed", name, f"failed fencing of {name} settled"
        case ours.Drained(worker):
            return "drained", None, f"worker {worker} is no longer drained"
        case ours.TopicsReset():
            return "topics-reset", name, f"count of the topic resets of {name} removed"
        case InferredSchema(key):
            return "schema", name, f"schema of the {key.part}s of {key.topic} that task {key.task} of {name} inferred removed"
    raise AssertionError(f"a tombstone of {type(decoded).__name__} was decoded")


def _config(record: Stored, decoded: Decoded, mask: Mask) -> Said:
    match decoded:
        case records.ConnectorConfig(name, properties):
            masked = mask.properties(properties or {})
            details = [
                counted(len(masked), "setting"),
                (masked.get("connector.class") or "no connector.class").rsplit(".", 1)[-1],
            ]
            if masked.get("tasks.max"):
                details.append(f"tasks.max {masked['tasks.max']}")
            return "connector", name, f"connector config of {name}: {', '.join(details)}"
        case records.TaskConfig(name, task, properties):
            return (
                "task",
                name,
                (f"config of task {task} of {name}: {counted(len(properties), 'setting')}; in effect once committed"),
            )
        case records.TasksCommit(name, tasks):
            return "commit", name, f"commit of {counted(tasks, 'task') if tasks else 'no tasks'} of {name}"
        case records.TargetStateChange(name, state):
            assert state is not None  # Tombstones are told elsewhere.
            more = " (workers older than 3.5 read PAUSED)" if state is TargetState.STOPPED else ""
            if "state.v2" not in orjson.loads(record.value or b"{}"):
                more = " (in the format of workers older than 3.5)"
            return "target-state", name, f"target state {state.value} of {name}{more}"
        case records.RestartRequest(name, include_tasks, only_failed):
            what = "its failed parts" if only_failed else "it"
            return "restart", name, f"restart of {name} requested: {what}, {'with' if include_tasks else 'without'} its tasks"
        case records.TasksFencing(name, tasks):
            return "fencing", name, f"{counted(tasks, 'task')} of {name} may have transactional producers (exactly-once)"
        case records.SessionKey(_, algorithm, created_ms):
            return "session-key", None, f"session key for {algorithm}, created {time_text(created_ms)}; the key is not shown"
        case records.LoggerLevel(namespace, level):
            return "logger", None, f"level {level} of the logger {namespace}, for the workers that were running"
    return _broken(record, decoded)


def _status(decoded: Decoded, mask: Mask) -> Said:
    match decoded:
        case records.StatusChange(unit, status):
            assert status is not None  # Tombstones are told elsewhere.
            text = f"{_unit(unit)} is {status.state.value} on {status.worker_id}, generation {status.generation}"
            if status.version:
                text += f", version {status.version}"
            if status.trace:
                text += f": {first_line(mask.text(status.trace))}"
            return "status", unit.connector, text
        case records.TopicUse(connector, topic, task, form):
            more = "" if form == "apache" else " (in the format of KIP-558's text)"
            return "topic-use", connector, f"task {task} of {connector} uses the topic {topic}{more}"
    return _broken(None, decoded)


def _offset(decoded: Decoded, mask: Mask) -> Said:
    match decoded:
        case records.SourceOffset(connector, partition, offset):
            where, at = _json(mask.data(partition)), _json(mask.data(offset))
            return "offset", connector, f"offset of {connector} for {where}: {at}"
    return _broken(None, decoded)


def _assignment(decoded: Decoded, mask: Mask) -> Said:
    match decoded:
        case ours.Leader(worker, url, generation, term):
            return "leader", None, f"worker {worker} leads, at {url}: generation {generation}, term {term}"
        case ours.Assignment(worker, units, generation, config_offset):
            of = f"generation {generation}, configs up to {config_offset}"
            return "assignment", None, f"worker {worker} is assigned {units_text(units or ())} ({of})"
        case ours.Placement(worker, hosts, generation, revision, _, leaving):
            spread = "; ".join(f"host {host}: {units_text(units)}" for host, units in sorted((hosts or {}).items()))
            going = " and rests" if decoded.resting else " and is without Spark" if decoded.down else ""
            going = " and is leaving" if leaving else going
            text = f"worker {worker} places {spread or 'nothing'} (generation {generation}, revision {revision}){going}"
            return "placement", None, text
        case ours.Held(worker, host, units, generation, revision):
            of = f"generation {generation}, revision {revision}"
            text = f"host {host} of worker {worker} holds {units_text(units or ())} ({of})"
            if decoded.process is not None:
                text += f", pid {decoded.process[1]} on {decoded.process[0]}"
            for word in ("waiting", "stuck", "blamed", "suspected"):
                if units_with := getattr(decoded, word):
                    text += f"; {word}: {', '.join(map(str, sorted(units_with)))}"
            return "held", None, text
        case ours.GeneratedTasks(name, configs, config_offset):
            config_count = counted(len(configs or ()), "task config")
            return "generated-tasks", name, f"{name} generated {config_count} from the configs up to {config_offset}"
        case ours.FencingFailed(connector, error):
            return "fencing-failed", connector, f"fencing of {connector} failed: {first_line(mask.text(error or ''))}"
        case ours.Drained(worker):
            return "drained", None, f"worker {worker} is drained"
        case ours.TopicsReset(connector, number):
            return "topics-reset", connector, f"topics used by {connector} were reset (reset {number})"
    return _broken(None, decoded)


def _schema(decoded: Decoded) -> Said:
    match decoded:
        case InferredSchema(key, body):
            assert body is not None  # Tombstones are told elsewhere.
            count = counted(inference.width(inference.of_plain(body["shape"])), "field")
            text = f"task {key.task} of {key.connector} has inferred the schema of the {key.part}s of {key.topic}: {count}"
            return "schema", key.connector, f"{text}, version {body.get('version')}"
    return _broken(None, decoded)


def _broken(record: Stored | None, decoded: Decoded) -> Said:
    match decoded:
        case ours.NewerFormat(key, format):
            return "newer", None, f"{key}: written by a newer kconnect, in format {format}; this one knows format {ours.FORMAT}"
        case Broken(_, key, reason):
            return "broken", None, f"broken, {reason}: {key or '(empty key)'}"
    raise AssertionError(f"no meaning for {type(decoded).__name__}")


def first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""


def _unit(unit: UnitId) -> str:
    return f"connector {unit.connector}" if unit.is_connector else f"task {unit.task} of {unit.connector}"


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
