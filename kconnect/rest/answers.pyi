"""
What a worker's REST API takes and answers, for type checkers.

Written by `python -m tests.docs.test_client_types` from `schemas.py` and what is declared beside the operations: change it
there.
"""

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired

class AuditLines(TypedDict):
    lines: list[str]

class Backfill(TypedDict):
    name: str
    backfill: str
    state: str
    tasks: dict[str, Any]
    done: bool
    begin: dict[str, Any] | None
    ranges: int
    ranges_done: int
    rows: int
    rows_in_all: int | None
    left_out: list[str]
    rows_per_s: float | None
    rest_s: int | None
    why: str | None
    held: BackfillHeld

class BackfillHeld(TypedDict):
    snapshot_s: float | None
    transactions: float | None
    log_bytes: float | None

class BackfillRequest(TypedDict):
    tasks: NotRequired[int | None]
    rate: NotRequired[int | None]
    into: NotRequired[str | None]
    settings: NotRequired[dict[str, str | float | bool | None] | None]

class BrokenPlace(TypedDict):
    location: str
    reason: str

class Change(TypedDict):
    at: int
    of: str | None
    task: int | None
    text: str

class Changes(TypedDict):
    name: str
    since: int | None
    restarts: int
    changes: list[Change]

class Cluster(TypedDict):
    leader: str | None
    generation: int
    answered_by: str
    workers: list[ClusterWorker]
    moving: list[ClusterMovingItem]

ClusterMovingItem = TypedDict(
    "ClusterMovingItem",
    {
        "connector": str,
        "task": int | None,
        "from": str | None,
        "to": str | None,
    },
)

class ClusterWorker(TypedDict):
    worker_id: str
    url: str | None
    version: str | None
    leaving: bool
    resting: bool
    drained: bool
    generation: int
    connectors: int
    tasks: int
    hosts: list[TaskHost]

Config: TypeAlias = dict[str, str | None]

class ConfigInfos(TypedDict):
    name: str
    error_count: int
    groups: list[str]
    configs: list[ConfigInfosConfigsItem]

class ConfigInfosConfigsItem(TypedDict):
    definition: ConfigKeyInfo | None
    value: ConfigValueInfo | None

class ConfigKeyInfo(TypedDict):
    name: str
    type: Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
    required: bool
    default_value: str | None
    importance: Literal["HIGH", "MEDIUM", "LOW"]
    documentation: str
    group: str | None
    order_in_group: int
    width: Literal["NONE", "SHORT", "MEDIUM", "LONG"]
    display_name: str
    dependents: list[str]

ConfigKeys: TypeAlias = list[ConfigKeyInfo]

ConfigPatch: TypeAlias = dict[str, str | float | bool | None]

class ConfigValueInfo(TypedDict):
    name: str
    value: str | None
    recommended_values: list[str]
    errors: list[str]
    visible: bool

class ConnectorInfo(TypedDict):
    name: str
    config: Config
    tasks: list[TaskId]
    type: Literal["source", "sink", "unknown"]

class ConnectorOffsets(TypedDict):
    offsets: list[ConnectorOffsetsOffsetsItem]

class ConnectorOffsetsOffsetsItem(TypedDict):
    partition: dict[str, Any] | None
    offset: dict[str, Any] | None

class ConnectorState(TypedDict):
    state: Literal["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"]
    worker_id: str
    version: NotRequired[str | None]
    trace: NotRequired[str]

class ConnectorStateInfo(TypedDict):
    name: str
    connector: ConnectorState
    tasks: list[TaskState]
    type: Literal["source", "sink", "unknown"]

ConnectorTopics: TypeAlias = dict[str, ConnectorTopicsValueValue]

class ConnectorTopicsValueValue(TypedDict):
    topics: list[str]

Connectors: TypeAlias = list[str] | dict[str, ConnectorsValueValue]

class ConnectorsValueValue(TypedDict):
    status: NotRequired[ConnectorStateInfo]
    info: NotRequired[ConnectorInfo]

class CreateConnectorRequest(TypedDict):
    name: str
    config: SubmittedConfig
    initial_state: NotRequired[Literal["RUNNING", "PAUSED", "STOPPED"] | None]
    initial_offsets: NotRequired[list[CreateConnectorRequestInitialOffsetsItem] | None]

class CreateConnectorRequestInitialOffsetsItem(TypedDict):
    partition: NotRequired[dict[str, Any] | None]
    offset: NotRequired[dict[str, Any] | None]

class CreatedConnector(TypedDict):
    name: str
    config: Config
    tasks: list[TaskId]
    type: Literal["source", "sink", "unknown"]
    offsets_status: NotRequired[str]

class Credentials(TypedDict):
    user: NotRequired[str]
    password: NotRequired[str]
    token: NotRequired[str]

DeadLetter = TypedDict(
    "DeadLetter",
    {
        "partition": int,
        "offset": int,
        "time": str | None,
        "timestamp": int | None,
        "topic": str | None,
        "original_partition": int | None,
        "original_offset": int | None,
        "source_partition": str | None,
        "source_offset": str | None,
        "connector": str | None,
        "task": int | None,
        "stage": str | None,
        "class": str | None,
        "exception": str | None,
        "message": str | None,
        "cause": str | None,
        "stacktrace": str | None,
        "replays": int,
        "replayed": bool | None,
        "origin": Literal["proven", "claimed", "false"] | None,
        "key": str | None,
        "value": str | None,
        "headers": list[DeadLetterHeadersItem],
        "key_bytes": NotRequired[str],
        "value_bytes": NotRequired[str],
    },
)

class DeadLetterHeadersItem(TypedDict):
    name: str
    value: str | None
    value_bytes: NotRequired[str]

class DeadLetters(TypedDict):
    queue: str
    offsets: dict[str, list[int]]
    more: bool
    replays_unknown: str | None
    letters: list[DeadLetter]

class Demand(TypedDict):
    workers: int
    workers_now: int
    cores: float | None
    cores_per_worker: int
    target: float

class Error(TypedDict):
    error_code: int
    message: str | None

class Finding(TypedDict):
    severity: Literal["error", "warning", "note"]
    kind: str
    topic: str
    text: str
    remedy: str
    names: list[str]

class Health(TypedDict):
    status: Literal["healthy", "starting", "unhealthy"]
    message: str

class History(TypedDict):
    name: str
    at: list[int]
    in_per_s: list[float | None]
    out_per_s: list[float | None]
    lag: list[float | None]
    errors: list[float | None]
    dead_letters: list[float | None]
    call_ms: list[float | None]

class InferredField(TypedDict):
    field: str
    type: str

class InferredSchema(TypedDict):
    topic: str
    part: Literal["key", "value"]
    version: int
    at: int
    content: str | None
    fields: list[InferredField]

class InferredSchemas(TypedDict):
    name: str
    schemas: list[InferredSchema]

class InternalTopic(TypedDict):
    role: str
    topic: str
    there: bool
    partitions: int
    replication: int
    records: int

class InternalTopics(TypedDict):
    topics: list[InternalTopic]
    findings: list[Finding]

class Live(TypedDict):
    status: Literal["live"]

class LogLine(TypedDict):
    timestamp: str
    level: Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]
    logger: str
    worker: str
    process: str
    connector: str | None
    task: int | None
    text: str

class LogLines(TypedDict):
    lines: list[LogLine]
    next: int
    more: bool

class LoggerLevel(TypedDict):
    level: Literal["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"]
    last_modified: int | None

LoggerNames: TypeAlias = list[str]

Loggers: TypeAlias = dict[str, LoggerLevel]

class Login(TypedDict):
    needed: bool
    methods: list[Literal["basic", "token"]]
    user: str | None
    role: str | None

class Message(TypedDict):
    message: str

class Move(TypedDict):
    topic: str
    partition: int
    now: int | None
    then: int
    again: int
    skipped: int

class Moves(TypedDict):
    name: str
    moves: list[Move]

class OffsetsRequest(TypedDict):
    offsets: list[OffsetsRequestOffsetsItem]

class OffsetsRequestOffsetsItem(TypedDict):
    partition: NotRequired[dict[str, Any] | None]
    offset: NotRequired[dict[str, Any] | None]

OpenAPI: TypeAlias = dict[str, Any]

class Overview(TypedDict):
    at: str
    whole: bool
    connectors: list[OverviewRow]
    deleted: list[str]

OverviewRow = TypedDict(
    "OverviewRow",
    {
        "name": str,
        "type": Literal["source", "sink", "unknown"],
        "class": str | None,
        "state": str,
        "target_state": str,
        "tasks": dict[str, int],
        "since": int | None,
        "topics": list[str],
        "labels": dict[str, str],
        "why": str | None,
        "retrying_since": int | None,
        "moved_at": int | None,
        "in_per_s": float | None,
        "out_per_s": float | None,
        "lag": float | None,
        "errors": float | None,
        "skipped": float | None,
        "dead_letters": float | None,
    },
)

class OwnConnector(TypedDict):
    name: str
    retrying: OwnConnectorRetrying | None
    tasks: list[OwnConnectorTasksItem]
    advice: list[str]
    config: dict[str, str | None]

class OwnConnectorRetrying(TypedDict):
    since: int
    reason: str

class OwnConnectorTasksItem(TypedDict):
    id: int
    host: OwnConnectorTasksItemHost | None
    memory: OwnConnectorTasksItemMemory | None
    retrying: OwnConnectorTasksItemRetrying | None
    cpu_s: float | None
    since: int | None

class OwnConnectorTasksItemHost(TypedDict):
    worker_id: str
    host: int
    node: str | None
    pid: int | None

class OwnConnectorTasksItemMemory(TypedDict):
    used: int
    max: int | None

class OwnConnectorTasksItemRetrying(TypedDict):
    since: int
    reason: str

OwnConnectors: TypeAlias = dict[str, OwnConnectorsValueValue]

class OwnConnectorsValueValue(TypedDict):
    retrying: OwnConnectorsValueValueRetrying | None
    tasks: list[OwnConnectorsValueValueTasksItem]

class OwnConnectorsValueValueRetrying(TypedDict):
    since: int
    reason: str

class OwnConnectorsValueValueTasksItem(TypedDict):
    id: int
    host: OwnConnectorsValueValueTasksItemHost | None
    memory: OwnConnectorsValueValueTasksItemMemory | None
    retrying: OwnConnectorsValueValueTasksItemRetrying | None
    cpu_s: float | None
    since: int | None

class OwnConnectorsValueValueTasksItemHost(TypedDict):
    worker_id: str
    host: int
    node: str | None
    pid: int | None

class OwnConnectorsValueValueTasksItemMemory(TypedDict):
    used: int
    max: int | None

class OwnConnectorsValueValueTasksItemRetrying(TypedDict):
    since: int
    reason: str

class PlacedUnit(TypedDict):
    task: int | None
    state: str
    worker_id: str | None
    host: PlacedUnitHost | None
    waits_for: str | None

class PlacedUnitHost(TypedDict):
    worker_id: str
    host: int
    node: str | None
    pid: int | None

class Placement(TypedDict):
    name: str
    connector: PlacedUnit
    tasks: list[PlacedUnit]

PluginPlace = TypedDict(
    "PluginPlace",
    {
        "class": str,
        "type": str,
        "version": str | None,
        "location": str,
    },
)

class PluginPlaces(TypedDict):
    plugins: list[PluginPlace]
    broken: list[BrokenPlace]

Plugins: TypeAlias = list[PluginsValueItem]

PluginsValueItem = TypedDict(
    "PluginsValueItem",
    {
        "class": str,
        "type": Literal["sink", "source", "transformation", "predicate", "converter", "header_converter"],
        "version": NotRequired[str],
    },
)

class Preview(TypedDict):
    kind: Literal["source", "sink"]
    records: list[PreviewOutcome]

PreviewOutcome = TypedDict(
    "PreviewOutcome",
    {
        "in": PreviewRecord,
        "steps": list[PreviewStep],
        "out": PreviewRecord | None,
        "key_bytes": str | None,
        "value_bytes": str | None,
        "error": PreviewOutcomeError | None,
    },
)

PreviewOutcomeError = TypedDict(
    "PreviewOutcomeError",
    {
        "stage": str,
        "class": str,
        "message": str,
        "alias": str | None,
        "tolerated": bool,
    },
)

class PreviewRecord(TypedDict):
    topic: str
    partition: int | None
    timestamp: int | None
    key: Any
    value: Any
    headers: list[PreviewRecordHeadersItem]
    offset: NotRequired[int]
    original: NotRequired[dict[str, Any]]

class PreviewRecordHeadersItem(TypedDict):
    name: str
    value: Any

class PreviewRequest(TypedDict):
    config: SubmittedConfig
    records: NotRequired[list[dict[str, Any]] | None]
    topic: NotRequired[str | None]
    limit: NotRequired[int | None]
    partition: NotRequired[int | None]
    offset: NotRequired[int | None]
    newest: NotRequired[bool]

class PreviewStep(TypedDict):
    alias: str
    predicate: PreviewStepPredicate | None
    applied: bool
    record: PreviewRecord | None

class PreviewStepPredicate(TypedDict):
    alias: str
    type: str
    result: bool | None
    negate: bool

class Ready(TypedDict):
    status: Literal["ready", "not ready"]
    message: NotRequired[str]

class ReloadedPlugins(TypedDict):
    added: list[str]
    removed: list[str]
    installed: list[str]
    broken: list[ReloadedPluginsBrokenItem]

class ReloadedPluginsBrokenItem(TypedDict):
    location: str
    reason: str

class ReplayRequest(TypedDict):
    letters: list[ReplayRequestLettersItem]
    through_chain: NotRequired[bool]
    again: NotRequired[bool]
    to_topic: NotRequired[str | None]
    dry_run: NotRequired[bool]

class ReplayRequestLettersItem(TypedDict):
    partition: int
    offset: int

class Replayed(TypedDict):
    queue: str
    replayed: int
    letters: list[ReplayedLetter]

ReplayedLetter = TypedDict(
    "ReplayedLetter",
    {
        "partition": int,
        "offset": int,
        "from": str | None,
        "to": str | None,
        "to_partition": int | None,
        "left": str | None,
        "origin": Literal["proven", "claimed", "false"] | None,
        "outcome": PreviewOutcome | None,
    },
)

class Reread(TypedDict):
    name: str
    tables: list[str]

class RereadRequest(TypedDict):
    tables: list[str]
    where: NotRequired[str | None]

class Restarts(TypedDict):
    name: str
    tasks: list[int]
    all: bool
    text: str

class SetLoggerLevel(TypedDict):
    level: Literal[
        "OFF",
        "FATAL",
        "ERROR",
        "WARN",
        "INFO",
        "DEBUG",
        "TRACE",
        "ALL",
        "off",
        "fatal",
        "error",
        "warn",
        "info",
        "debug",
        "trace",
        "all",
    ]

SubmittedConfig: TypeAlias = dict[str, str | float | bool | None]

TaskConfigs: TypeAlias = list[SubmittedConfig]

class TaskHost(TypedDict):
    host: int
    node: str | None
    pid: int | None
    connectors: int
    tasks: int
    stuck: int
    directories: list[str]
    dedicated_to: TaskHostDedicatedTo | None
    usage: TaskHostUsage | None

class TaskHostDedicatedTo(TypedDict):
    connector: str
    task: int

class TaskHostUsage(TypedDict):
    memory: int
    memory_max: int | None
    cpu_s: float

class TaskId(TypedDict):
    connector: str
    task: int

class TaskState(TypedDict):
    id: int
    state: Literal["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"]
    worker_id: str
    version: NotRequired[str | None]
    trace: NotRequired[str]

Tasks: TypeAlias = list[TasksValueItem]

class TasksValueItem(TypedDict):
    id: TaskId
    config: Config

class Worker(TypedDict):
    version: str
    commit: str
    kafka_cluster_id: str
