// What the worker's REST API takes and answers. Written by `python -m tests.docs.test_answers` from
// kconnect/rest/schemas.py and what is declared beside the operations: change it there.

/** Who did what, and how it ended. */
export type AuditLines = { lines: (string)[] };

/** How far a copy is. */
export type Backfill = { name: string; backfill: string; state: string; tasks: Record<string, unknown>; done: boolean; begin: Record<string, unknown> | null; ranges: number; ranges_done: number; rows: number; rows_in_all: number | null; left_out: (string)[]; rows_per_s: number | null; rest_s: number | null; why: string | null; held: BackfillHeld };

/** What the database can't clear away as long as the copy is taken; null where that is not known. */
export type BackfillHeld = { snapshot_s: number | null; transactions: number | null; log_bytes: number | null };

/** How it is read. */
export type BackfillRequest = { tasks?: number | null; rate?: number | null; into?: string | null; settings?: Record<string, string | number | boolean | null> | null };

/** What could not be read. */
export type BrokenPlace = { location: string; reason: string };

/** One of them. */
export type Change = { at: number; of: string | null; task: number | null; text: string };

/** What became of a connector. */
export type Changes = { name: string; since: number | null; restarts: number; changes: (Change)[] };

/** Who is in the cluster, and what runs where. Kafka Connect has no such resource. */
export type Cluster = { leader: string | null; generation: number; answered_by: string; workers: (ClusterWorker)[]; moving: ({ connector: string; task: number | null; from: string | null; to: string | null })[] };

/** A worker of the cluster. */
export type ClusterWorker = { worker_id: string; url: string | null; version: string | null; leaving: boolean; resting: boolean; drained: boolean; generation: number; connectors: number; tasks: number; hosts: (TaskHost)[] };

/** A connector's config. */
export type Config = Record<string, string | null>;

/** What validation found out about a config. */
export type ConfigInfos = { name: string; error_count: number; groups: (string)[]; configs: ({ definition: ConfigKeyInfo | null; value: ConfigValueInfo | null })[] };

/** A setting as a plugin declares it. */
export type ConfigKeyInfo = { name: string; type: "BOOLEAN" | "STRING" | "INT" | "SHORT" | "LONG" | "DOUBLE" | "LIST" | "CLASS" | "PASSWORD"; required: boolean; default_value: string | null; importance: "HIGH" | "MEDIUM" | "LOW"; documentation: string; group: string | null; order_in_group: number; width: "NONE" | "SHORT" | "MEDIUM" | "LONG"; display_name: string; dependents: (string)[] };

/** The settings of a plugin. */
export type ConfigKeys = (ConfigKeyInfo)[];

/** The settings to change; null removes one. Numbers and booleans become their text. */
export type ConfigPatch = Record<string, string | number | boolean | null>;

/** What validation found out about one setting. */
export type ConfigValueInfo = { name: string; value: string | null; recommended_values: (string)[]; errors: (string)[]; visible: boolean };

/** A connector: its config and its tasks. */
export type ConnectorInfo = { name: string; config: Config; tasks: (TaskId)[]; type: "source" | "sink" | "unknown" };

/** What a connector has committed. */
export type ConnectorOffsets = { offsets: ({ partition: Record<string, unknown> | null; offset: Record<string, unknown> | null })[] };

/** The state of a connector instance. */
export type ConnectorState = { state: "RUNNING" | "PAUSED" | "STOPPED" | "FAILED" | "UNASSIGNED" | "RESTARTING"; worker_id: string; version?: string | null; trace?: string };

/** The states of a connector and its tasks. */
export type ConnectorStateInfo = { name: string; connector: ConnectorState; tasks: (TaskState)[]; type: "source" | "sink" | "unknown" };

/** The topics that a connector has used, under its name. */
export type ConnectorTopics = Record<string, { topics: (string)[] }>;

/** The connectors. */
export type Connectors = (string)[] | Record<string, { status?: ConnectorStateInfo; info?: ConnectorInfo }>;

/** A connector to create. */
export type CreateConnectorRequest = { name: string; config: SubmittedConfig; initial_state?: "RUNNING" | "PAUSED" | "STOPPED" | null; initial_offsets?: ({ partition?: Record<string, unknown> | null; offset?: Record<string, unknown> | null })[] | null };

/** A connector that was created. */
export type CreatedConnector = { name: string; config: Config; tasks: (TaskId)[]; type: "source" | "sink" | "unknown"; offsets_status?: string };

/** Either `user` and `password`, or `token`. */
export type Credentials = { user?: string; password?: string; token?: string };

/** A record that failed. What its headers do not tell is null; a source's has `source_partition` and `source_offset` in place of the original ones. */
export type DeadLetter = { partition: number; offset: number; time: string | null; timestamp: number | null; topic: string | null; original_partition: number | null; original_offset: number | null; source_partition: string | null; source_offset: string | null; connector: string | null; task: number | null; stage: string | null; class: string | null; exception: string | null; message: string | null; cause: string | null; stacktrace: string | null; replays: number; replayed: boolean | null; origin: "proven" | "claimed" | "false" | null; key: string | null; value: string | null; headers: ({ name: string; value: string | null; value_bytes?: string })[]; key_bytes?: string; value_bytes?: string };

/** Letters of a queue, in the order of their times. */
export type DeadLetters = { queue: string; offsets: Record<string, (number)[]>; more: boolean; replays_unknown: string | null; letters: (DeadLetter)[] };

/** How many workers the load wants. */
export type Demand = { workers: number; workers_now: number; cores: number | null; cores_per_worker: number; target: number };

/** Why a request was refused, or failed. */
export type Error = { error_code: number; message: string | null };

/** Something that is wrong, or will be. */
export type Finding = { severity: "error" | "warning" | "note"; kind: string; topic: string; text: string; remedy: string; names: (string)[] };

/** Whether a worker is up. */
export type Health = { status: "healthy" | "starting" | "unhealthy"; message: string };

/** The last hour of a connector's numbers. What was so at a point is so until the next one. */
export type History = { name: string; at: (number)[]; in_per_s: (number | null)[]; out_per_s: (number | null)[]; lag: (number | null)[]; errors: (number | null)[]; dead_letters: (number | null)[]; call_ms: (number | null)[] };

/** A field, at any depth. */
export type InferredField = { field: string; type: string };

/** Of one topic's keys or values. */
export type InferredSchema = { topic: string; part: "key" | "value"; version: number; at: number; content: string | null; fields: (InferredField)[] };

/** What a sink's tasks have inferred of JSON that has no schemas (schemas.infer). */
export type InferredSchemas = { name: string; schemas: (InferredSchema)[] };

/** A topic. */
export type InternalTopic = { role: string; topic: string; there: boolean; partitions: number; replication: number; records: number };

/** The internal topics, and what is wrong with them. */
export type InternalTopics = { topics: (InternalTopic)[]; findings: (Finding)[] };

/** That a worker lives. */
export type Live = { status: "live" };

/** A line, with the trace that belongs to it. */
export type LogLine = { timestamp: string; level: "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR" | "FATAL"; logger: string; worker: string; process: string; connector: string | null; task: number | null; text: string };

/** Lines of logs, in the order of their times. */
export type LogLines = { lines: (LogLine)[]; next: number; more: boolean };

/** The level of a logger. */
export type LoggerLevel = { level: "OFF" | "FATAL" | "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE" | "ALL"; last_modified: number | null };

/** Names of loggers. */
export type LoggerNames = (string)[];

/** The loggers, by name; `root` is the one above all. */
export type Loggers = Record<string, LoggerLevel>;

/** Who a browser's user is. */
export type Login = { needed: boolean; methods: ("basic" | "token")[]; user: string | null; role: string | null };

/** What was done. */
export type Message = { message: string };

/** A partition. */
export type Move = { topic: string; partition: number; now: number | null; then: number; again: number; skipped: number };

/** Where a sink would go on. */
export type Moves = { name: string; moves: (Move)[] };

/** Offsets to alter, in the form in which they are read. */
export type OffsetsRequest = { offsets: ({ partition?: Record<string, unknown> | null; offset?: Record<string, unknown> | null })[] };

/** An OpenAPI 3.1 document. */
export type OpenAPI = Record<string, unknown>;

/** Connectors at a glance, or what has changed of them. */
export type Overview = { at: string; whole: boolean; connectors: (OverviewRow)[]; deleted: (string)[] };

/** A connector at a glance. What does not apply, or is not known, is null. Hosts report numbers every ten seconds. */
export type OverviewRow = { name: string; type: "source" | "sink" | "unknown"; class: string | null; state: string; target_state: string; tasks: Record<string, number>; since: number | null; topics: (string)[]; labels: Record<string, string>; why: string | null; retrying_since: number | null; moved_at: number | null; in_per_s: number | null; out_per_s: number | null; lag: number | null; errors: number | null; skipped: number | null; dead_letters: number | null };

/** What only kconnect knows of a connector. */
export type OwnConnector = { name: string; retrying: { since: number; reason: string } | null; tasks: ({ id: number; host: { worker_id: string; host: number; node: string | null; pid: number | null } | null; memory: { used: number; max: number | null } | null; retrying: { since: number; reason: string } | null; cpu_s: number | null; since: number | null })[]; advice: (string)[]; config: Record<string, string | null> };

/** What only kconnect knows of the connectors, by name. Kafka Connect has no such resource. */
export type OwnConnectors = Record<string, { retrying: { since: number; reason: string } | null; tasks: ({ id: number; host: { worker_id: string; host: number; node: string | null; pid: number | null } | null; memory: { used: number; max: number | null } | null; retrying: { since: number; reason: string } | null; cpu_s: number | null; since: number | null })[] }>;

/** A task, or the connector's instance. */
export type PlacedUnit = { task: number | null; state: string; worker_id: string | null; host: { worker_id: string; host: number; node: string | null; pid: number | null } | null; waits_for: string | null };

/** Where a connector should run, and where it runs. */
export type Placement = { name: string; connector: PlacedUnit; tasks: (PlacedUnit)[] };

/** A plugin. */
export type PluginPlace = { class: string; type: string; version: string | null; location: string };

/** A worker's plugins, with where they are. */
export type PluginPlaces = { plugins: (PluginPlace)[]; broken: (BrokenPlace)[] };

/** The plugins, by type, class and version. */
export type Plugins = ({ class: string; type: "sink" | "source" | "transformation" | "predicate" | "converter" | "header_converter"; version?: string })[];

/** What a chain made of records. */
export type Preview = { kind: "source" | "sink"; records: (PreviewOutcome)[] };

/** One record's way through the chain. */
export type PreviewOutcome = { in: PreviewRecord; steps: (PreviewStep)[]; out: PreviewRecord | null; key_bytes: string | null; value_bytes: string | null; error: { stage: string; class: string; message: string; alias: string | null; tolerated: boolean } | null };

/** A record. A sink's has an `offset`, too, and, if a step has changed where it is from, its `original` place. */
export type PreviewRecord = { topic: string; partition: number | null; timestamp: number | null; key: unknown; value: unknown; headers: ({ name: string; value: unknown })[]; offset?: number; original?: Record<string, unknown> };

/** A config, and either `records` or the `topic` from which some are taken. Of a topic nothing is committed. */
export type PreviewRequest = { config: SubmittedConfig; records?: (Record<string, unknown>)[] | null; topic?: string | null; limit?: number | null; partition?: number | null; offset?: number | null; newest?: boolean };

/** What a transform did. */
export type PreviewStep = { alias: string; predicate: { alias: string; type: string; result: boolean | null; negate: boolean } | null; applied: boolean; record: PreviewRecord | null };

/** Whether a worker is ready; if not, what it waits for. */
export type Ready = { status: "ready" | "not ready"; message?: string };

/** What has changed in plugin.path. Kafka Connect has no such resource. */
export type ReloadedPlugins = { added: (string)[]; removed: (string)[]; installed: (string)[]; broken: ({ location: string; reason: string })[] };

/** Which letters, and how. */
export type ReplayRequest = { letters: ({ partition: number; offset: number })[]; through_chain?: boolean; again?: boolean; to_topic?: string | null; dry_run?: boolean };

/** What a replay did. */
export type Replayed = { queue: string; replayed: number; letters: (ReplayedLetter)[] };

/** What became of a letter, or would. */
export type ReplayedLetter = { partition: number; offset: number; from: string | null; to: string | null; to_partition: number | null; left: string | null; origin: "proven" | "claimed" | "false" | null; outcome: PreviewOutcome | null };

/** Tables that are read again beside the change stream. */
export type Reread = { name: string; tables: (string)[] };

/** What is read again. */
export type RereadRequest = { tables: (string)[]; where?: string | null };

/** What a change of settings would restart. */
export type Restarts = { name: string; tasks: (number)[]; all: boolean; text: string };

/** A level to set. */
export type SetLoggerLevel = { level: "OFF" | "FATAL" | "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE" | "ALL" | "off" | "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "all" };

/** A connector's config. Numbers and booleans become their text. */
export type SubmittedConfig = Record<string, string | number | boolean | null>;

/** The configs of a connector's tasks, in the order of their numbers. */
export type TaskConfigs = (SubmittedConfig)[];

/** A process that runs connectors and tasks. */
export type TaskHost = { host: number; node: string | null; pid: number | null; connectors: number; tasks: number; stuck: number; directories: (string)[]; dedicated_to: { connector: string; task: number } | null; usage: { memory: number; memory_max: number | null; cpu_s: number } | null };

/** A task. */
export type TaskId = { connector: string; task: number };

/** The state of a task. */
export type TaskState = { id: number; state: "RUNNING" | "PAUSED" | "STOPPED" | "FAILED" | "UNASSIGNED" | "RESTARTING"; worker_id: string; version?: string | null; trace?: string };

/** A connector's tasks. */
export type Tasks = ({ id: TaskId; config: Config })[];

/** A worker. */
export type Worker = { version: string; commit: string; kafka_cluster_id: string };
