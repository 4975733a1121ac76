"""
The bytes of the config, status and offset topics: every key, value version and tombstone, in one file.

`decode_config`, `decode_status` and `decode_offset` turn a `LogRecord` into one of the dataclasses below, or into `Broken`. The
folds in `config.py`, `status.py` and `offsets.py` call them. The other functions are named after what they write
(`connector_config`, `target_state`, ...), and return an `Entry` to write. The herder and the task hosts call them. The records
are byte-compatible with Apache Kafka Connect 2.x to 4.x. Read next: `config.py`; for the topic that only kconnect has,
`assignment_records.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from kconnect.core.state import bodies


class Topic(enum.Enum):
    """The internal topics, by role; only the shells know their names."""

    CONFIG = "config"
    OFFSET = "offset"
    STATUS = "status"
    ASSIGNMENT = "assignment"
    SCHEMAS = "schemas"


FOLDED = (Topic.CONFIG, Topic.OFFSET, Topic.STATUS, Topic.ASSIGNMENT)
"""Those that each worker follows. That of schemas is read by tasks, and by a worker when it is asked."""
OWN = frozenset((Topic.ASSIGNMENT, Topic.SCHEMAS))
"""Those that Connect has not."""


class TargetState(enum.Enum):
    """The state that the user wants of a connector."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(enum.Enum):
    """The state of a connector or task, as status records and REST say it. STOPPED is for connectors only."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    RESTARTING = "RESTARTING"


class LogRecord(NamedTuple):
    """A record as read from an internal topic."""

    topic: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    at_ms: int = 0
    """When it was written, in ms since 1970; 0 if nobody asked."""
    trace: bytes | None = None
    """The header `traceparent` of the record, if somebody reads such headers. Nothing is decided by it."""


class Entry(NamedTuple):
    """A record to be written to an internal topic; a None value is a tombstone."""

    topic: Topic
    key: bytes
    value: bytes | None
    trace: bytes | None = None
    """The W3C trace context of what has it written, which becomes the header `traceparent`."""


class UnitId(NamedTuple):
    """
    A connector instance (task is -1, as in Connect's group protocol) or one of its tasks.

    A tuple, because thousands are hashed and compared for each record that a large cluster writes.
    """

    connector: str
    task: int = -1

    @property
    def is_connector(self) -> bool:
        return self.task < 0

    def __str__(self) -> str:
        return self.connector if self.task < 0 else f"{self.connector}-{self.task}"


Units = frozenset[UnitId]


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that nobody can use: `key` names it in the log, `reason` never quotes the value."""

    topic: Topic
    key: str
    reason: str

    @staticmethod
    def of(record: LogRecord, bad: bodies.BadRecord) -> Broken:
        key = "(no key)" if record.key is None else record.key[:200].decode("utf-8", "backslashreplace")
        return Broken(record.topic, key, str(bad))


# --- config topic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    name: str
    properties: Mapping[str, str | None] | None


@dataclass(frozen=True, slots=True)
class TaskConfig:
    name: str
    task: int
    properties: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TasksCommit:
    name: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TargetStateChange:
    name: str
    state: TargetState | None


@dataclass(frozen=True, slots=True)
class RestartRequest:
    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class TasksFencing:
    name: str
    tasks: int


@dataclass(frozen=True, slots=True)
class SessionKey:
    key: str = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    namespace: str
    level: str


ConfigRecord = (
    ConnectorConfig | TaskConfig | TasksCommit | TargetStateChange | RestartRequest | TasksFencing | SessionKey | LoggerLevel
)


def decode_config(record: LogRecord) -> ConfigRecord | Broken:
    """Decode one record of the config topic; the order of the prefixes is Connect's dispatch order."""
    try:
        key = bodies.text_key(record.key)
        if key.startswith("target-state-"):
            return _target_state(key[len("target-state-") :], record.value)
        if key.startswith("connector-"):
            name = key[len("connector-") :]
            return ConnectorConfig(name, None if record.value is None else bodies.properties(bodies.json_object(record.value)))
        if key.startswith("task-"):
            name, task = bodies.split_task(key[len("task-") :])
            return TaskConfig(name, task, bodies.properties(bodies.json_object(record.value)))
        if key.startswith("commit-"):
            return TasksCommit(key[len("commit-") :], bodies.integer(bodies.json_object(record.value), "tasks"))
        if key.startswith("restart-connector-"):
            body = bodies.json_object(record.value)
            flags = (body.get("include-tasks"), body.get("only-failed"))
            return RestartRequest(key[len("restart-connector-") :], flags[0] is True, flags[1] is True)
        if key.startswith("tasks-fencing-"):
            return TasksFencing(key[len("tasks-fencing-") :], bodies.integer(bodies.json_object(record.value), "task-count"))
        if key == "session-key":
            body = bodies.json_object(record.value)
            key_text, algorithm = bodies.text(body, "key"), bodies.text(body, "algorithm")
            return SessionKey(key_text, algorithm, bodies.integer(body, "creation-timestamp"))
        if key.startswith("logger-cluster-"):
            return LoggerLevel(key[len("logger-cluster-") :], bodies.text(bodies.json_object(record.value), "level"))
        raise bodies.BadRecord("unknown kind of key")
    except bodies.BadRecord as bad:
        return Broken.of(record, bad)


def connector_config(name: str, properties: Mapping[str, str | None]) -> Entry:
    return _entry(Topic.CONFIG, f"connector-{name}", {"properties": dict(properties)})


def connector_deleted(name: str) -> tuple[Entry, Entry]:
    return (
        Entry(Topic.CONFIG, f"connector-{name}".encode(), None),
        Entry(Topic.CONFIG, f"target-state-{name}".encode(), None),
    )


def task_configs(name: str, configs: Iterable[Mapping[str, str | None]]) -> tuple[Entry, ...]:
    """The task records and then the commit: readers apply nothing before the commit, and a commit with a gap not at all."""
    tasks = [_entry(Topic.CONFIG, f"task-{name}-{n}", {"properties": dict(config)}) for n, config in enumerate(configs)]
    return (*tasks, _entry(Topic.CONFIG, f"commit-{name}", {"tasks": len(tasks)}))


def target_state(name: str, state: TargetState) -> Entry:
    """Workers that predate STOPPED (before 3.5) read `state` and see PAUSED; newer ones read `state.v2` (KIP-875)."""
    old = TargetState.PAUSED if state is TargetState.STOPPED else state
    return _entry(Topic.CONFIG, f"target-state-{name}", {"state": old.value, "state.v2": state.value})


def tasks_fencing(name: str, tasks: int) -> Entry:
    return _entry(Topic.CONFIG, f"tasks-fencing-{name}", {"task-count": tasks})


def session_key(value: SessionKey) -> Entry:
    body = {"key": value.key, "algorithm": value.algorithm, "creation-timestamp": value.created_ms}
    return _entry(Topic.CONFIG, "session-key", body)


def restart_request(name: str, include_tasks: bool, only_failed: bool) -> Entry:
    value = {"include-tasks": include_tasks, "only-failed": only_failed}
    return _entry(Topic.CONFIG, f"restart-connector-{name}", value)


def logger_level(value: LoggerLevel) -> Entry:
    return _entry(Topic.CONFIG, f"logger-cluster-{value.namespace}", {"level": value.level})


def _target_state(name: str, value: bytes | None) -> TargetStateChange:
    if value is None:
        return TargetStateChange(name, None)
    body = bodies.json_object(value)
    # A `state.v2` of the wrong type falls back to `state`, one with an unknown text does not: so does Connect 3.5 to 4.3.
    text = body.get("state.v2")
    if not isinstance(text, str):
        text = body.get("state")
    try:
        return TargetStateChange(name, TargetState(text))
    except ValueError:
        raise bodies.BadRecord("unknown target state") from None


# --- status topic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """`generation` is the leader's term, see `AssignmentState.term`; a None `version` is not known (KIP-891)."""

    state: State
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class StatusChange:
    unit: UnitId
    status: UnitStatus | None


@dataclass(frozen=True, slots=True)
class TopicUse:
    """`form` tells which of the two key forms it came in (KIP-558's own text, or Apache Kafka's)."""

    connector: str
    topic: str
    task: int | None
    form: str


StatusRecord = StatusChange | TopicUse


def decode_status(record: LogRecord) -> StatusRecord | Broken:
    try:
        key = bodies.text_key(record.key)
        if key.startswith("status-connector-"):
            return StatusChange(UnitId(key[len("status-connector-") :]), _unit_status(record.value))
        if key.startswith("status-task-"):
            name, task = bodies.split_task(key[len("status-task-") :])
            return StatusChange(UnitId(name, task), _unit_status(record.value))
        for prefix, form in (("status-topic-", "apache"), ("topic-", "kip-558")):
            if key.startswith(prefix):
                # A topic's name holds no colon, a connector's may: the first one ends the topic.
                topic, colon, connector = key[len(prefix) :].partition(":connector-")
                if not colon or not topic or ":" in topic:
                    raise bodies.BadRecord("not of the form <topic>:connector-<connector>")
                if record.value is None:
                    return TopicUse(connector, topic, None, form)
                body = bodies.json_object(record.value).get("topic")
                if not isinstance(body, dict):
                    raise bodies.BadRecord("no `topic` object in the value")
                return TopicUse(connector, topic, bodies.integer(body, "task"), form)
        raise bodies.BadRecord("unknown kind of key")
    except bodies.BadRecord as bad:
        return Broken.of(record, bad)


def status(unit: UnitId, value: UnitStatus | None) -> Entry:
    """A status record in Connect 4.1's field order, or its tombstone."""
    kind = f"status-connector-{unit.connector}" if unit.is_connector else f"status-task-{unit}"
    if value is None:
        return Entry(Topic.STATUS, kind.encode(), None)
    body = {
        "state": value.state.value,
        "trace": value.trace,
        "worker_id": value.worker_id,
        "generation": value.generation,
        "version": value.version,
    }
    return _entry(Topic.STATUS, kind, body)


def topic_use(connector: str, topic: str, task: int, now_ms: int, forms: Iterable[str]) -> tuple[Entry, ...]:
    """
    A topic-usage record in each of `forms`: Kafka's workers read `status-topic-...`, the KIP's text says `topic-...`
    with the time in seconds under `timestamp`.
    """
    values: dict[str, tuple[str, dict[str, Any]]] = {
        "apache": (f"status-topic-{topic}:connector-{connector}", {"discoverTimestamp": now_ms}),
        "kip-558": (f"topic-{topic}:connector-{connector}", {"timestamp": now_ms // 1000}),
    }
    common = {"name": topic, "connector": connector, "task": task}
    chosen = [values[form] for form in forms]
    return tuple(_entry(Topic.STATUS, key, {"topic": {**common, **when}}) for key, when in chosen)


def topic_unused(connector: str, topic: str) -> tuple[Entry, Entry]:
    """Tombstones of both forms, whichever was written."""
    return (
        Entry(Topic.STATUS, f"status-topic-{topic}:connector-{connector}".encode(), None),
        Entry(Topic.STATUS, f"topic-{topic}:connector-{connector}".encode(), None),
    )


def _unit_status(value: bytes | None) -> UnitStatus | None:
    if value is None:
        return None
    body = bodies.json_object(value)
    try:
        state = State(body.get("state"))
    except ValueError:
        raise bodies.BadRecord("unknown state") from None
    trace, version = body.get("trace"), body.get("version")
    return UnitStatus(
        state,
        bodies.text(body, "worker_id"),
        bodies.integer(body, "generation"),
        trace if isinstance(trace, str) else None,
        version if isinstance(version, str) else None,
    )


# --- offset topic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """`key` is kept as it was read: an update must go to the same bytes, or compaction keeps both."""

    connector: str
    partition: Any
    offset: dict[str, Any] | None
    key: bytes


def decode_offset(record: LogRecord) -> SourceOffset | Broken:
    try:
        if record.key is None:
            raise bodies.BadRecord("no key")
        pair = bodies.parsed(record.key)
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise bodies.BadRecord("key is not [connector, partition]")
        if pair[1] is not None and not isinstance(pair[1], dict):
            raise bodies.BadRecord("the partition in the key is not an object")
        return SourceOffset(pair[0], pair[1], None if record.value is None else bodies.json_object(record.value), record.key)
    except bodies.BadRecord as bad:
        return Broken.of(record, bad)


def offset_key(connector: str, partition: Mapping[str, Any] | None) -> bytes:
    """The key of a partition that was never stored; the order of its fields becomes part of the key."""
    return orjson.dumps([connector, None if partition is None else dict(partition)])


def source_offset(key: bytes, offset: Mapping[str, Any] | None) -> Entry:
    return Entry(Topic.OFFSET, key, None if offset is None else orjson.dumps(dict(offset)))


def _entry(topic: Topic, key: str, body: Any) -> Entry:
    return Entry(topic, key.encode(), orjson.dumps(body))
