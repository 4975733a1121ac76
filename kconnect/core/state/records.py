"""
The bytes of the internal topics: every key, value version and tombstone, in one file.

`decode_config`, `decode_status`, `decode_offset` and `decode_assignment` turn a `LogRecord` into one of the dataclasses
below, or into `Broken`; the functions named after what they write (`connector_config`, `target_state`, ...) give an
`Entry` to be written. The folds in `config.py`, `status.py`, `offsets.py` and `assignment.py` call the former, the herder
and the task hosts the latter. Config, offset and status records are byte-compatible with Apache Kafka Connect 2.x to 4.x;
the assignment topic is ours. Read next: `config.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson


class Topic(enum.Enum):
    """The internal topics, by role; only the shells know their names."""

    CONFIG = "config"
    OFFSET = "offset"
    STATUS = "status"
    ASSIGNMENT = "assignment"


class TargetState(enum.Enum):
    """What the user wants of a connector."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(enum.Enum):
    """What a connector or task is doing, as status records and REST say it. STOPPED is for connectors only."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    RESTARTING = "RESTARTING"


class LogRecord(NamedTuple):
    """One record as read from an internal topic."""

    topic: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Entry(NamedTuple):
    """One record to be written to an internal topic; a None value is a tombstone."""

    topic: Topic
    key: bytes
    value: bytes | None


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


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that nobody can use: `key` names it in the log, `reason` never quotes the value."""

    topic: Topic
    key: str
    reason: str


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
        key = _text_key(record)
        if key.startswith("target-state-"):
            return _target_state(key[len("target-state-") :], record.value)
        if key.startswith("connector-"):
            name = key[len("connector-") :]
            return ConnectorConfig(name, None if record.value is None else _properties(_object(record.value)))
        if key.startswith("task-"):
            name, task = _split_task(key[len("task-") :])
            return TaskConfig(name, task, _properties(_object(record.value)))
        if key.startswith("commit-"):
            return TasksCommit(key[len("commit-") :], _integer(_object(record.value), "tasks"))
        if key.startswith("restart-connector-"):
            body = _object(record.value)
            flags = (body.get("include-tasks"), body.get("only-failed"))
            return RestartRequest(key[len("restart-connector-") :], flags[0] is True, flags[1] is True)
        if key.startswith("tasks-fencing-"):
            return TasksFencing(key[len("tasks-fencing-") :], _integer(_object(record.value), "task-count"))
        if key == "session-key":
            body = _object(record.value)
            return SessionKey(_text(body, "key"), _text(body, "algorithm"), _integer(body, "creation-timestamp"))
        if key.startswith("logger-cluster-"):
            return LoggerLevel(key[len("logger-cluster-") :], _text(_object(record.value), "level"))
        raise _Bad("unknown kind of key")
    except _Bad as bad:
        return _broken(record, bad)


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


def session_key(value: SessionKey) -> Entry:
    body = {"key": value.key, "algorithm": value.algorithm, "creation-timestamp": value.created_ms}
    return _entry(Topic.CONFIG, "session-key", body)


def restart_request(name: str, include_tasks: bool, only_failed: bool) -> Entry:
    value = {"include-tasks": include_tasks, "only-failed": only_failed}
    return _entry(Topic.CONFIG, f"restart-connector-{name}", value)


def _target_state(name: str, value: bytes | None) -> TargetStateChange:
    if value is None:
        return TargetStateChange(name, None)
    body = _object(value)
    # A `state.v2` of the wrong type falls back to `state`, one with an unknown text does not: so does Connect 3.5 to 4.3.
    text = body.get("state.v2")
    if not isinstance(text, str):
        text = body.get("state")
    try:
        return TargetStateChange(name, TargetState(text))
    except ValueError:
        raise _Bad("unknown target state") from None


# --- status topic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """`generation` is that of the assignment at the time of writing; a None `version` is not known (KIP-891)."""

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
        key = _text_key(record)
        if key.startswith("status-connector-"):
            return StatusChange(UnitId(key[len("status-connector-") :]), _unit_status(record.value))
        if key.startswith("status-task-"):
            name, task = _split_task(key[len("status-task-") :])
            return StatusChange(UnitId(name, task), _unit_status(record.value))
        for prefix, form in (("status-topic-", "apache"), ("topic-", "kip-558")):
            if key.startswith(prefix):
                # A topic's name holds no colon, a connector's may: the first one ends the topic.
                topic, colon, connector = key[len(prefix) :].partition(":connector-")
                if not colon or not topic or ":" in topic:
                    raise _Bad("not of the form <topic>:connector-<connector>")
                if record.value is None:
                    return TopicUse(connector, topic, None, form)
                body = _object(record.value).get("topic")
                if not isinstance(body, dict):
                    raise _Bad("no `topic` object in the value")
                return TopicUse(connector, topic, _integer(body, "task"), form)
        raise _Bad("unknown kind of key")
    except _Bad as bad:
        return _broken(record, bad)


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
    body = _object(value)
    try:
        state = State(body.get("state"))
    except ValueError:
        raise _Bad("unknown state") from None
    trace, version = body.get("trace"), body.get("version")
    return UnitStatus(
        state,
        _text(body, "worker_id"),
        _integer(body, "generation"),
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
            raise _Bad("no key")
        pair = _json(record.key)
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise _Bad("key is not [connector, partition]")
        if pair[1] is not None and not isinstance(pair[1], dict):
            raise _Bad("the partition in the key is not an object")
        return SourceOffset(pair[0], pair[1], None if record.value is None else _object(record.value), record.key)
    except _Bad as bad:
        return _broken(record, bad)


def offset_key(connector: str, partition: Mapping[str, Any] | None) -> bytes:
    """The key of a partition that was never stored; the order of its fields becomes part of the key."""
    return orjson.dumps([connector, None if partition is None else dict(partition)])


def source_offset(key: bytes, offset: Mapping[str, Any] | None) -> Entry:
    return Entry(Topic.OFFSET, key, None if offset is None else orjson.dumps(dict(offset)))


# --- assignment topic -------------------------------------------------------------------------------------------------

FORMAT = 1
"""Version of the assignment topic's records. A worker that meets a newer one does not lead."""

Units = frozenset[UnitId]


@dataclass(frozen=True, slots=True)
class Leader:
    worker: str
    url: str
    generation: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """What `worker` is to run; None units: the worker left, its assignment is gone."""

    worker: str
    units: Units | None
    generation: int = 0
    config_offset: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """
    How a worker spreads its units over its hosts: host -> unit -> run. `revision` rises with each placement of one
    incarnation; `run` of a unit rises with each restart that was asked for. None hosts: the worker is gone.
    A worker that is `leaving` gives its units away and takes no new ones.
    """

    worker: str
    hosts: Mapping[int, Mapping[UnitId, int]] | None
    generation: int = 0
    revision: int = 0
    incarnation: str = ""
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """
    What a host really runs, or is about to run. It has read the assignment of `generation` and the placement of
    `revision` when it says so. `process` is [node, pid, start time]: who is on the same node can see whether it lives.
    `sequence` rises with each declaration of one incarnation, so that the host knows which of its own it has read back.
    """

    worker: str
    host: int
    units: Units | None
    generation: int = 0
    revision: int = 0
    incarnation: str = ""
    worker_incarnation: str = ""
    process: tuple[str, int, float] | None = None
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class GeneratedTasks:
    """Task configs as a connector instance made them, with the config offset that it had seen; None: connector gone."""

    name: str
    configs: tuple[Mapping[str, str | None], ...] | None
    config_offset: int = 0


AssignmentRecord = Leader | Assignment | Placement | Held | GeneratedTasks


@dataclass(frozen=True, slots=True)
class NewerFormat:
    """A record of the assignment topic that a newer kconnect wrote."""

    key: str
    format: int


def decode_assignment(record: LogRecord) -> AssignmentRecord | NewerFormat | Broken:
    try:
        key = _text_key(record)
        body = None if record.value is None else _object(record.value)
        if body is not None and _integer(body, "format") > FORMAT:
            return NewerFormat(key, _integer(body, "format"))
        if key == "leader":
            if body is None:
                raise _Bad("tombstone")
            return Leader(_text(body, "worker"), _text(body, "url"), _integer(body, "generation"))
        if key.startswith("assignment-"):
            worker = key[len("assignment-") :]
            if body is None:
                return Assignment(worker, None)
            units = _units(body.get("units"))
            return Assignment(worker, units, _integer(body, "generation"), _integer(body, "config_offset"))
        if key.startswith("placement-"):
            worker = key[len("placement-") :]
            if body is None:
                return Placement(worker, None)
            hosts = {int(host): _runs(units) for host, units in _dict(body.get("hosts")).items()}
            numbers = (_integer(body, "generation"), _integer(body, "revision"))
            return Placement(worker, hosts, *numbers, _text(body, "incarnation"), body.get("leaving") is True)
        if key.startswith("held-"):
            worker, host = _split_task(key[len("held-") :])
            if body is None:
                return Held(worker, host, None)
            process = body.get("process")
            return Held(
                worker,
                host,
                _units(body.get("units")),
                _integer(body, "generation"),
                _integer(body, "revision"),
                _text(body, "incarnation"),
                _text(body, "worker_incarnation"),
                (str(process[0]), int(process[1]), float(process[2])) if process else None,
                _integer(body, "sequence"),
            )
        if key.startswith("tasks-"):
            name = key[len("tasks-") :]
            if body is None:
                return GeneratedTasks(name, None)
            configs = body.get("configs")
            if not isinstance(configs, list):
                raise _Bad("`configs` is not a list")
            made = tuple(_properties({"properties": config}) for config in configs)
            return GeneratedTasks(name, made, _integer(body, "config_offset"))
        raise _Bad("unknown kind of key")
    except _Bad as bad:
        return _broken(record, bad)
    except (ValueError, TypeError, IndexError) as error:
        return _broken(record, _Bad(type(error).__name__))


def leader(value: Leader) -> Entry:
    return _ours("leader", {"worker": value.worker, "url": value.url, "generation": value.generation})


def assignment(value: Assignment) -> Entry:
    body = None
    if value.units is not None:
        body = {
            "units": _pack(value.units),
            "generation": value.generation,
            "config_offset": value.config_offset,
        }
    return _ours(f"assignment-{value.worker}", body)


def placement(value: Placement) -> Entry:
    body = None
    if value.hosts is not None:
        hosts: dict[str, dict[str, dict[str, int]]] = {}
        for host, units in value.hosts.items():
            packed: dict[str, dict[str, int]] = hosts.setdefault(str(host), {})
            for unit, run in sorted(units.items()):
                packed.setdefault(unit.connector, {})[str(unit.task)] = run
        body = {
            "hosts": hosts,
            "generation": value.generation,
            "revision": value.revision,
            "incarnation": value.incarnation,
            "leaving": value.leaving,
        }
    return _ours(f"placement-{value.worker}", body)


def held(value: Held) -> Entry:
    body = None
    if value.units is not None:
        body = {
            "units": _pack(value.units),
            "generation": value.generation,
            "revision": value.revision,
            "incarnation": value.incarnation,
            "worker_incarnation": value.worker_incarnation,
            "process": value.process,
            "sequence": value.sequence,
        }
    return _ours(f"held-{value.worker}-{value.host}", body)


def generated_tasks(value: GeneratedTasks) -> Entry:
    body = None
    if value.configs is not None:
        body = {"configs": [dict(config) for config in value.configs], "config_offset": value.config_offset}
    return _ours(f"tasks-{value.name}", body)


def _pack(units: Units) -> dict[str, list[int]]:
    packed: dict[str, list[int]] = {}
    for unit in sorted(units):
        packed.setdefault(unit.connector, []).append(unit.task)
    return packed


def _units(packed: Any) -> Units:
    return frozenset(UnitId(name, task) for name, tasks in _dict(packed).items() for task in tasks)


def _runs(packed: Any) -> dict[UnitId, int]:
    return {UnitId(name, int(task)): run for name, tasks in _dict(packed).items() for task, run in tasks.items()}


# --- shared -----------------------------------------------------------------------------------------------------------


class _Bad(Exception):
    """The record in hand can't be used; the text says why and quotes nothing of the value."""


def _broken(record: LogRecord, bad: _Bad) -> Broken:
    key = "(no key)" if record.key is None else record.key[:200].decode("utf-8", "backslashreplace")
    return Broken(record.topic, key, str(bad))


def _entry(topic: Topic, key: str, body: Any) -> Entry:
    return Entry(topic, key.encode(), orjson.dumps(body))


def _ours(key: str, body: dict[str, Any] | None) -> Entry:
    value = None if body is None else orjson.dumps({"format": FORMAT, **body})
    return Entry(Topic.ASSIGNMENT, key.encode(), value)


def _text_key(record: LogRecord) -> str:
    if record.key is None:
        raise _Bad("no key")
    try:
        return record.key.decode()
    except UnicodeDecodeError:
        raise _Bad("key is not UTF-8") from None


def _json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        raise _Bad("not JSON") from None


def _object(value: bytes | None) -> dict[str, Any]:
    if value is None:
        raise _Bad("a tombstone has no meaning here")
    return _dict(_json(value))


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Bad("not a JSON object where one is needed")
    return value


def _properties(body: dict[str, Any]) -> dict[str, str | None]:
    properties = body.get("properties")
    if not isinstance(properties, dict):
        raise _Bad("no `properties` object in the value")
    if not all(value is None or isinstance(value, str) for value in properties.values()):
        raise _Bad("a property is neither text nor null")
    return properties


def _integer(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Bad(f"`{name}` is not an integer")
    return value


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise _Bad(f"`{name}` is not text")
    return value


def _split_task(text: str) -> tuple[str, int]:
    """Names may contain dashes, so the number is what follows the last one."""
    name, dash, number = text.rpartition("-")
    if not dash or not number.isascii() or not number.isdigit():
        raise _Bad("no task number after the last dash")
    return name, int(number)
