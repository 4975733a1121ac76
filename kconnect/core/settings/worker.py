"""
The settings of a worker: one table, read from Connect's own `connect-distributed.properties`.

`WorkerSettings.from_properties` is called by `worker/main.py`, and again in the Spark driver and the task hosts with
the `raw` texts of the first. Names, types and defaults are Kafka Connect 4.3's, except where a comment says why not.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kconnect.api.config import ConfigValue, Importance, NonEmptyString, OneOf, Range
from kconnect.core.settings import browsers, gates, internal_topics, opentelemetry, references, secrets
from kconnect.core.settings.common import IfGiven
from kconnect.core.settings.host_paths import ALLOWED_PATHS, LINKS
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.overrides import Policy, policy_name
from kconnect.core.settings.setting import BOOLEAN, CLASS, DOUBLE, INT, LIST, LONG, SHORT, STRING, table
from kconnect.core.settings.topic_creation import check_partitions, check_replication_factor
from kconnect.core.settings.unsafe import IMPLEMENTATIONS, UNSAFE_ALLOWLIST
from kconnect.errors import ConfigError

_HOUR = 3_600_000


_HOSTS = re.compile(r"([1-9]\d{0,3})(?:-([1-9]\d{0,3}))?", re.ASCII)


def host_range(value: str) -> tuple[int, int] | None:
    """Return the fewest and the most hosts that `task.hosts` names; None for -1. ConfigError if it names none."""
    if value.strip() == "-1":
        return None
    found = _HOSTS.fullmatch(value.strip())
    least, most = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= least <= most:
        rule = "Must be a number of task hosts, a range such as 1-4, or -1 for one for each core of the machine"
        raise ConfigError("task.hosts", value, rule)
    return least, most


def _hosts(_: str, value: Any) -> None:
    host_range(value)


def _policy(name: str, value: Any) -> None:
    policy_name(value or "")


def _sandbox_memory(name: str, value: Any) -> None:
    if value != -1 and value < 64 * 2**20:
        raise ConfigError(name, value, "Must be at least 67108864, which Python itself needs, or -1 for no limit")


def _host_memory(name: str, value: Any) -> None:
    if value != -1 and value < 128 * 2**20:
        rule = "Must be at least 134217728, of which a host itself needs some 100 MB, or -1 for no limit"
        raise ConfigError(name, value, rule)


def _folders(name: str, value: Any) -> None:
    if not all(folder.startswith("/") for folder in value or ()):
        raise ConfigError(name, value, "Must be absolute paths, because a worker's processes run in different directories")


def _formats(name: str, value: Any) -> None:
    if not value or not set(value) <= _RECORD_FORMATS:
        raise ConfigError(name, value, f"Must be one or both of: {', '.join(sorted(_RECORD_FORMATS))}")


def _mac_algorithms(name: str, value: Any) -> None:
    if not value or not set(value) <= MAC_DIGESTS.keys():
        raise ConfigError(name, value, f"Must be one or more of: {', '.join(MAC_DIGESTS)}")


def _authentication_methods(name: str, value: Any) -> None:
    if not value or not set(value) <= _AUTHENTICATION_METHODS:
        raise ConfigError(
            name,
            value,
            f"Must be one or both of: {', '.join(sorted(_AUTHENTICATION_METHODS))}. To run without authentication, leave out "
            "rest.authentication.file",
        )


MAC_DIGESTS = {
    "HmacMD5": "md5",
    "HmacSHA1": "sha1",
    "HmacSHA224": "sha224",
    "HmacSHA256": "sha256",
    "HmacSHA384": "sha384",
    "HmacSHA512": "sha512",
}
"""Java's names of the algorithms for keys and signatures that workers may use, and Python's of their digests."""
_RECORD_FORMATS = {"apache", "kip-558"}
_AUTHENTICATION_METHODS = {"basic", "token"}
_HIGH, _MEDIUM = Importance.HIGH, Importance.MEDIUM

_LAKE_PYTHON, _LAKE_SPARK = "lake.python", "lake.spark."
_FOR_PLUGINS = ("plugin.path", "python.transform.path", ALLOWED_PATHS, LINKS, IMPLEMENTATIONS, UNSAFE_ALLOWLIST, _LAKE_PYTHON)
"""What plugins may ask for by naming it in `worker_settings`, as all that begins with `_LAKE_SPARK`. No secrets."""

_OF_CLIENTS = ("producer.", "consumer.", "admin.")
_LOGIN = re.compile(r"(sasl|ssl|security)\.")
_FOR_CLIENTS = frozenset(
    (
        *("bootstrap.servers", "group.id", "key.converter", "value.converter", "exactly.once.source.support"),
        *("config.storage.topic", "offset.storage.topic", "status.storage.topic"),
        *("session.timeout.ms", "heartbeat.interval.ms", "handover.grace.ms", "offset.flush.interval.ms"),
        *("reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "metadata.max.age.ms"),
        *("connector.client.config.override.policy", "connector.client.config.override.allowlist", UNSAFE_ALLOWLIST),
    )
)
"""Settings of the worker file, beside those with a client's prefix, that `kafka/submitted.py` compares configs with."""

_CLIENT_KEYS = frozenset(("security.providers", "enable.metrics.push", "auto.include.jmx.reporter"))
"""Kafka client settings that Connect's worker file may hold besides, and that have no meaning here."""

_REST_ONLY = ("listeners.https.", "admin.listeners.https.")

_PREFIXES = (
    "producer.",
    "consumer.",
    "admin.",
    "config.storage.",
    "offset.storage.",
    "status.storage.",
    "assignment.storage.",
    "metrics.storage.",
    "schema.storage.",
    "log.storage.",
    "config.providers.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "listeners.https.",
    "admin.listeners.https.",
    "ssl.",
    "sasl.",
    "metrics.context.",
    "lake.spark.",
    "spark.",
)

# In any case: Connect's own example file says HTTP.
_LISTENER = re.compile(r"https?://([^/:@\s]*|\[[0-9a-f:]+\]):\d+/?", re.IGNORECASE)

_ENVIRONMENT = "CONNECT_"
_NOT_SETTINGS = ("CONNECT_LOG4J_", "CONNECT_KAFKA_")
"""Variables that the known container images read themselves, for logging and the JVM's options."""


class WorkerSettings:
    """
    Each setting under its name with underscores (`settings.group_id`), and `raw`, all texts as given. Those that begin with an
    underscore are read through a property of a similar name, which knows what their absence means.

    Its text shows names only: a worker file holds secrets.
    """

    _bootstrap_servers = LIST("bootstrap.servers", doc="host:port of some brokers, separated by commas")
    group_id = STRING("group.id", validator=NonEmptyString(), doc="the name of the cluster, the same for all its workers")
    config_storage_topic = STRING(
        "config.storage.topic", validator=NonEmptyString(), doc="topic of connector configs and target states"
    )
    offset_storage_topic = STRING("offset.storage.topic", validator=NonEmptyString(), doc="topic of source offsets")
    status_storage_topic = STRING("status.storage.topic", validator=NonEmptyString(), doc="topic of statuses and topic usage")
    key_converter = CLASS("key.converter", doc="converter of keys, for connectors that name none")
    value_converter = CLASS("value.converter", doc="converter of values, for connectors that name none")
    header_converter = CLASS("header.converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter")
    key_converter_plugin_version = STRING("key.converter.plugin.version", None)
    value_converter_plugin_version = STRING("value.converter.plugin.version", None)
    header_converter_plugin_version = STRING("header.converter.plugin.version", None)
    config_storage_replication_factor = SHORT("config.storage.replication.factor", 3, IfGiven(check_replication_factor))
    offset_storage_replication_factor = SHORT("offset.storage.replication.factor", 3, IfGiven(check_replication_factor))
    offset_storage_partitions = INT("offset.storage.partitions", 25, IfGiven(check_partitions))
    status_storage_replication_factor = SHORT("status.storage.replication.factor", 3, IfGiven(check_replication_factor))
    status_storage_partitions = INT("status.storage.partitions", 5, IfGiven(check_partitions))
    _assignment_storage_topic = STRING(
        "assignment.storage.topic", None, doc="topic of assignments; default <config.storage.topic>-assignments"
    )
    _assignment_storage_replication_factor = SHORT(
        "assignment.storage.replication.factor",
        None,
        IfGiven(check_replication_factor),
        doc="default: that of the config topic",
    )
    _metrics_storage_topic = STRING(
        "metrics.storage.topic", None, doc="topic of hosts' metrics for /metrics; default <config.storage.topic>-metrics"
    )
    _metrics_storage_replication_factor = SHORT(
        "metrics.storage.replication.factor", None, IfGiven(check_replication_factor), doc="default: that of the config topic"
    )
    _schema_storage_topic = STRING(
        "schema.storage.topic", None, doc="topic of inferred schemas; default <config.storage.topic>-schemas"
    )
    _schema_storage_replication_factor = SHORT(
        "schema.storage.replication.factor", None, IfGiven(check_replication_factor), doc="default: that of the config topic"
    )
    _log_storage_topic = STRING(
        "log.storage.topic",
        None,
        doc="topic of the last lines of logs, for `kconnect logs`; default <config.storage.topic>-logs, empty: none",
    )
    _log_storage_replication_factor = SHORT(
        "log.storage.replication.factor", None, IfGiven(check_replication_factor), doc="default: that of the config topic"
    )
    metrics_report_interval_ms = LONG(
        "metrics.report.interval.ms", 10_000, Range.at_least(100), "how often hosts report metrics that have changed"
    )
    listeners = LIST("listeners", ["http://:8083"], doc="URLs that REST listens on; a blank host is every interface")
    rest_advertised_host_name = STRING("rest.advertised.host.name", None)
    rest_advertised_port = INT("rest.advertised.port", None)
    rest_advertised_listener = STRING("rest.advertised.listener", None, IfGiven(OneOf(("http", "https"), ignore_case=True)))
    admin_listeners = LIST("admin.listeners", None)
    rest_hosts_allowed = LIST(
        "rest.hosts.allowed",
        [],
        browsers.check_host_names,
        "more host names under which browsers may use REST without a login, such as a proxy's; *.example.com: all that end so; "
        "*: all",
    )
    access_control_allow_origin = STRING(
        browsers.ORIGINS, "", browsers.check_origins, "origins whose web pages may send requests; * for all"
    )
    access_control_allow_methods = STRING(
        "access.control.allow.methods",
        "",
        doc="the methods that they may use; default GET,POST,HEAD",
    )
    response_http_headers_config = STRING(
        "response.http.headers.config", "", browsers.check_header_rules, "[set|add|setDate|addDate] [name]:[value], …"
    )
    console_enable = BOOLEAN("console.enable", True, doc="whether the worker has a web console, at /console")
    rest_extension_classes = LIST("rest.extension.classes", [], browsers.no_extensions)
    plugin_path = LIST("plugin.path", None, doc="directories whose child directories each hold one plugin")
    python_transform_path = LIST(
        "python.transform.path",
        [],
        _folders,
        "folders whose Python functions connectors may use as transforms; default none, because such functions can do whatever "
        "the worker can",
    )
    connector_files_allowed_paths = LIST(
        ALLOWED_PATHS,
        [],
        _folders,
        "folders of this machine that connectors' configs may name files in; default: all that the worker's user may read or "
        "write",
    )
    _connector_files_links_follow = BOOLEAN(
        LINKS,
        False,
        doc="whether links in the folders of stores and lakes are followed out of these, as far as "
        f"{ALLOWED_PATHS} allows; who may put files there may put links there",
    )
    connector_library_implementations_allowed = LIST(
        IMPLEMENTATIONS,
        [],
        doc="classes, dialects and drivers that connectors' configs, or services that they ask, may have a library load, "
        "beyond those of the connectors in the box",
    )
    _lake_python = STRING(
        _LAKE_PYTHON,
        None,
        doc="the Python that SparkSink's application runs on, as kconnect lake setup makes it; settings that begin with "
        "lake.spark. are its Spark's",
    )
    _sandbox_memory_max_bytes = LONG(
        "sandbox.memory.max.bytes",
        2 * 2**30,
        IfGiven(_sandbox_memory),
        "memory that plugin code may use while it is asked about a config; -1: no limit",
    )
    _task_host_memory_max_bytes = LONG(
        "task.host.memory.max.bytes",
        None,
        IfGiven(_host_memory),
        "resident memory of a task host's process, which ends when it uses more; -1: no limit; default: 75 % of the machine's "
        "memory, or the container's, and less while that runs out",
    )
    plugin_discovery = STRING(
        "plugin.discovery", "hybrid_warn", OneOf(("ONLY_SCAN", "SERVICE_LOAD", "HYBRID_WARN", "HYBRID_FAIL"), ignore_case=True)
    )
    java_host_heap_max_bytes = LONG(
        "java.host.heap.max.bytes",
        512 * 2**20,
        Range.at_least(2**24),
        "heap of the JVM in a host, or a sandbox, with Java plugins; buffers of Kafka's clients are not in it",
    )
    _java_host_opts = STRING(
        "java.host.opts", "", doc="more options for that JVM, as for the program java, with blanks between them"
    )
    config_providers = references.PROVIDER_NAMES
    _connector_client_config_override_policy = STRING(
        "connector.client.config.override.policy", "All", _policy, importance=_MEDIUM
    )
    _connector_client_config_override_allowlist = LIST("connector.client.config.override.allowlist", [])
    _connector_client_config_override_unsafe_allowlist = LIST(
        UNSAFE_ALLOWLIST, [], doc="client settings that connectors may set even though they run code or read files"
    )
    _connector_internal_topics_allowed = BOOLEAN(
        internal_topics.SETTING,
        False,
        doc="whether connectors, previews and replays may use the worker's internal topics and Kafka's own as data",
    )
    topic_creation_enable = BOOLEAN("topic.creation.enable", True)
    topic_tracking_enable = BOOLEAN("topic.tracking.enable", True)
    topic_tracking_allow_reset = BOOLEAN("topic.tracking.allow.reset", True)
    topic_tracking_record_formats = LIST(
        "topic.tracking.record.formats",
        ["kip-558", "apache"],
        _formats,
        "forms of topic-usage records to write: kip-558 is the KIP's own, apache is what Kafka's workers read",
    )
    _exactly_once_source_support = STRING(
        "exactly.once.source.support",
        "disabled",
        OneOf(("DISABLED", "ENABLED", "PREPARING"), ignore_case=True),
        importance=_HIGH,
    )
    offset_flush_interval_ms = LONG("offset.flush.interval.ms", 60_000, Range.at_least(1), "how often tasks commit offsets")
    offset_flush_timeout_ms = LONG(
        "offset.flush.timeout.ms", 5_000, Range.at_least(1), "how long a source task then waits for its sends"
    )
    task_shutdown_graceful_timeout_ms = LONG("task.shutdown.graceful.timeout.ms", 5_000, Range.at_least(0))
    session_timeout_ms = INT(
        "session.timeout.ms", 10_000, Range.at_least(1), "after this silence a worker counts as dead", _HIGH
    )
    heartbeat_interval_ms = INT("heartbeat.interval.ms", 3_000, Range.at_least(1), importance=_HIGH)
    rebalance_timeout_ms = INT("rebalance.timeout.ms", 60_000, Range.at_least(1), importance=_HIGH)
    # Connect waits five minutes for a lost worker's return; here lost work moves at once unless one asks for a delay.
    scheduled_rebalance_max_delay_ms = INT("scheduled.rebalance.max.delay.ms", 0, Range.between(0, 2**31 - 1))
    rebalance_load_moves_per_hour = INT(
        "rebalance.load.moves.per.hour",
        6,
        Range.between(0, 100_000),
        "how many tasks may move in an hour so that workers take more like amounts of CPU; 0: none",
    )
    handover_grace_ms = LONG(
        "handover.grace.ms", 2_000, Range.at_least(0), "how long a departed worker's hosts may take to stop"
    )
    task_hosts = STRING(
        "task.hosts",
        "-1",
        IfGiven(_hosts),
        "Spark tasks that this worker's units are spread over, or a range, such as 1-4; -1: one for each core",
    )
    driver_rest_after_ms = LONG(
        "driver.rest.after.ms",
        300_000,
        Range.at_least(-1),
        "after so long without a connector to run the Spark of each worker ends, until there is one; -1: never",
    )
    sink_rest_after_ms = LONG(
        "sink.rest.after.ms",
        300_000,
        Range.at_least(-1),
        "after so long without a record the lone task of a sink connector leaves its group, until there is one; -1: never",
    )
    access_log_file = STRING(
        "access.log.file",
        None,
        doc="a file for REST's access log, one line for each request; default none",
    )
    audit_log_file = STRING(
        "audit.log.file",
        None,
        doc="a file for REST's audit log, one line for each request that may change something; default none",
    )
    rest_authentication_file = STRING(
        "rest.authentication.file",
        None,
        doc="a file of users, roles and hashes of passwords or tokens, as `kconnect user` prints them; default none: whoever "
        "reaches REST may do everything",
        importance=_HIGH,
    )
    rest_authentication_methods = LIST(
        "rest.authentication.methods",
        ["basic", "token"],
        _authentication_methods,
        "how users may prove who they are: basic is a name with a password, token a bearer token; both by default",
    )
    log_format = STRING(
        "log.format",
        "text",
        OneOf(("text", "json")),
        "format of the log: for people, or one JSON object on each line",
    )
    opentelemetry_enabled = BOOLEAN(
        "opentelemetry.enabled",
        False,
        doc="whether the worker and its hosts send traces, metrics and logs to a collector of OpenTelemetry",
    )
    opentelemetry_endpoint = STRING(
        "opentelemetry.endpoint",
        "http://localhost:4318",
        opentelemetry.check_endpoint,
        "the base URL of a collector that takes OTLP over HTTP; /v1/traces, /v1/metrics and /v1/logs follow it",
    )
    opentelemetry_headers = LIST(
        opentelemetry.HEADERS,
        [],
        opentelemetry.check_headers,
        "headers of the requests to the collector, as name=value with commas between them; a value may be percent-encoded",
    )
    opentelemetry_signals = LIST(
        "opentelemetry.signals", ["traces", "metrics", "logs"], opentelemetry.check_signals, "what is sent"
    )
    opentelemetry_traces_sample_ratio = DOUBLE(
        "opentelemetry.traces.sample.ratio",
        0.01,
        opentelemetry.check_ratio,
        "the share of batches that have a trace; requests that change something always have one",
    )
    opentelemetry_record_headers = BOOLEAN(
        "opentelemetry.record.headers",
        False,
        doc="whether source tasks give the records of a traced batch its trace context, in the header traceparent",
    )
    opentelemetry_metrics_interval_ms = LONG(
        "opentelemetry.metrics.interval.ms", 60_000, Range.at_least(100), "how often metrics are sent"
    )
    # The worker's own Kafka clients; `kafka/clients.py` carries these over, with all of `ssl.*` and `sasl.*`.
    client_id = STRING("client.id", "")
    client_dns_lookup = STRING(
        "client.dns.lookup",
        "use_all_dns_ips",
        OneOf(("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
        importance=_MEDIUM,
    )
    security_protocol = STRING(
        "security.protocol",
        "PLAINTEXT",
        OneOf(("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"), ignore_case=True),
        importance=_MEDIUM,
    )
    metadata_max_age_ms = LONG("metadata.max.age.ms", 300_000, Range.at_least(0))
    send_buffer_bytes = INT("send.buffer.bytes", 131_072, Range.at_least(-1), importance=_MEDIUM)
    receive_buffer_bytes = INT("receive.buffer.bytes", 32_768, Range.at_least(-1), importance=_MEDIUM)
    reconnect_backoff_ms = LONG("reconnect.backoff.ms", 50, Range.at_least(0))
    reconnect_backoff_max_ms = LONG("reconnect.backoff.max.ms", 1_000, Range.at_least(0))
    retry_backoff_ms = LONG("retry.backoff.ms", 100, Range.at_least(0))
    retry_backoff_max_ms = LONG("retry.backoff.max.ms", 1_000, Range.at_least(0))
    request_timeout_ms = INT("request.timeout.ms", 40_000, Range.at_least(0), importance=_MEDIUM)
    connections_max_idle_ms = LONG("connections.max.idle.ms", 540_000, importance=_MEDIUM)
    socket_connection_setup_timeout_ms = LONG("socket.connection.setup.timeout.ms", 10_000, Range.at_least(0))
    socket_connection_setup_timeout_max_ms = LONG("socket.connection.setup.timeout.max.ms", 30_000, Range.at_least(0))
    metadata_recovery_strategy = STRING(
        "metadata.recovery.strategy", "rebootstrap", OneOf(("REBOOTSTRAP", "NONE"), ignore_case=True)
    )
    metadata_recovery_rebootstrap_trigger_ms = LONG("metadata.recovery.rebootstrap.trigger.ms", 300_000, Range.at_least(0))
    # What Connect's group protocol needs: read, so that its worker files can be used as they are, but without effect.
    connect_protocol = STRING("connect.protocol", "sessioned", OneOf(("eager", "compatible", "sessioned")))
    worker_sync_timeout_ms = INT("worker.sync.timeout.ms", 3_000, importance=_MEDIUM)
    worker_unsync_backoff_ms = INT("worker.unsync.backoff.ms", 300_000, importance=_MEDIUM)
    # How workers sign what they ask of each other (KIP-507).
    inter_worker_key_ttl_ms = INT("inter.worker.key.ttl.ms", _HOUR, Range.between(0, 2**31 - 1))
    inter_worker_key_generation_algorithm = STRING(
        "inter.worker.key.generation.algorithm", "HmacSHA256", OneOf(tuple(MAC_DIGESTS))
    )
    inter_worker_key_size = INT(
        "inter.worker.key.size", None, IfGiven(Range.between(64, 65_536)), "in bits; default: the algorithm's own"
    )
    inter_worker_signature_algorithm = STRING("inter.worker.signature.algorithm", "HmacSHA256", OneOf(tuple(MAC_DIGESTS)))
    inter_worker_verification_algorithms = LIST("inter.worker.verification.algorithms", ["HmacSHA256"], _mac_algorithms)
    metrics_sample_window_ms = LONG("metrics.sample.window.ms", 30_000, Range.at_least(0))
    metrics_num_samples = INT("metrics.num.samples", 2, Range.at_least(1))
    metrics_recording_level = STRING("metrics.recording.level", "INFO", OneOf(("INFO", "DEBUG")))
    # Connect's default is JMX's, which there is none of without a JVM.
    metric_reporters = LIST("metric.reporters", [])

    def __init__(self, raw: dict[str, str], values: Mapping[str, Any]) -> None:
        self.raw = raw
        self.values = values
        self.passed_over: dict[str, str] = {}
        """What a Kafka Connect of today would refuse, and is passed over here, as before: in its words, and what to do."""
        if "" in (places := values.get("plugin.path") or ()):
            # Else it would be the current directory.
            self.values = {**values, "plugin.path": [place for place in places if place]}
            self.passed_over["Configuration 'plugin.path' values must not be empty."] = "take out the comma that is too many"
        for server in values.get("bootstrap.servers") or ():
            if not re.fullmatch(r".+:\d+", server):
                # librdkafka tries Kafka's usual port.
                self.passed_over[f"Invalid url in bootstrap.servers: {server}."] = f"write it as {server.rstrip(':')}:9092"
        self.unknown_keys = _unknown(raw)

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, str], environ: Mapping[str, str], host_name: str = "localhost"
    ) -> WorkerSettings:
        """
        Read a worker file's properties, overridden by `CONNECT_*` variables. ConfigError with all that is wrong.

        `CONNECT_GROUP_ID` sets `group.id`; two underscores stand for one, three for a dash, as in the known images.
        `host_name` is advertised where neither a setting nor a listener names a host.
        """
        raw = with_environment(properties, environ)
        values = WORKER_CONFIG.validate(raw)
        errors = [error for value in values for error in _telling(value)]
        errors += _listener_errors(raw)
        errors += _authentication_errors(raw)
        errors += _spark_errors(raw)
        if errors:
            missing = [value.name for value in values if value.errors and value.name not in raw]
            near = {name: difflib.get_close_matches(name, missing, 1, 0.8) for name in _unknown(raw)}
            errors += [f"The setting {name} is unknown; did you mean {match[0]}?" for name, match in near.items() if match]
            listed = "\n".join(f"  {error}" for error in dict.fromkeys(errors))
            raise ConfigError(f"The worker's configuration is invalid:\n{listed}")
        settings = cls(raw, {value.name: value.value for value in values})
        if not settings.rest_advertised_host_name and settings._advertised()[1] is None:
            # Written down, because the driver and the hosts read these texts on other machines.
            return cls.from_properties({**raw, "rest.advertised.host.name": host_name}, {})
        return settings

    def __repr__(self) -> str:
        return f"WorkerSettings({', '.join(sorted(self.raw))})"

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self._bootstrap_servers)

    @property
    def assignment_storage_topic(self) -> str:
        return self._assignment_storage_topic or f"{self.config_storage_topic}-assignments"

    @property
    def assignment_storage_replication_factor(self) -> int:
        configured = self._assignment_storage_replication_factor
        return self.config_storage_replication_factor if configured is None else configured

    @property
    def metrics_storage_topic(self) -> str:
        return self._metrics_storage_topic or f"{self.config_storage_topic}-metrics"

    @property
    def metrics_storage_replication_factor(self) -> int:
        configured = self._metrics_storage_replication_factor
        return self.config_storage_replication_factor if configured is None else configured

    @property
    def schema_storage_topic(self) -> str:
        return self._schema_storage_topic or f"{self.config_storage_topic}-schemas"

    @property
    def schema_storage_replication_factor(self) -> int:
        configured = self._schema_storage_replication_factor
        return self.config_storage_replication_factor if configured is None else configured

    @property
    def log_storage_topic(self) -> str:
        """Empty if lines of logs are to be in no topic."""
        topic = self._log_storage_topic
        return f"{self.config_storage_topic}-logs" if topic is None else topic

    @property
    def log_storage_replication_factor(self) -> int:
        configured = self._log_storage_replication_factor
        return self.config_storage_replication_factor if configured is None else configured

    @property
    def advertised_url(self) -> str:
        """The URL at which others reach this worker: `http://host:port/`."""
        scheme, host, port = self._advertised()
        host = self.rest_advertised_host_name or host or "localhost"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.rest_advertised_port or port}/"

    def _advertised(self) -> tuple[str, str | None, int]:
        """Scheme, host and port that the listeners give; no host for one that listens on every interface."""
        listeners = [urlsplit(listener) for listener in self.listeners]
        scheme = (self.rest_advertised_listener or "").lower()
        if not scheme:
            scheme = "http" if any(listener.scheme == "http" for listener in listeners) else "https"
        listener = next((candidate for candidate in listeners if candidate.scheme == scheme), listeners[0])
        host = listener.hostname if listener.hostname not in ("", "0.0.0.0", "::") else None
        return scheme, host, listener.port or 8083

    @property
    def override_policy(self) -> Policy:
        """The policy for what connectors may set of their Kafka clients."""
        return Policy(
            policy_name(self._connector_client_config_override_policy),
            tuple(self._connector_client_config_override_allowlist),
            tuple(self._connector_client_config_override_unsafe_allowlist),
        )

    @property
    def internal_topics(self) -> InternalTopics:
        """The topics that are no data."""
        names = (
            *(self.config_storage_topic, self.offset_storage_topic, self.status_storage_topic),
            *(self.assignment_storage_topic, self.metrics_storage_topic, self.schema_storage_topic, self.log_storage_topic),
        )
        return InternalTopics(
            frozenset(filter(None, names)), self.offset_storage_topic, self._connector_internal_topics_allowed
        )

    @property
    def exactly_once_enabled(self) -> bool:
        """Whether source tasks write in transactions (KIP-618)."""
        return self._exactly_once_source_support.lower() == "enabled"

    @property
    def sandbox_memory(self) -> int | None:
        """The memory limit of the checking process, in bytes; None if there is none."""
        most = self._sandbox_memory_max_bytes
        return None if most == -1 else most

    @property
    def java(self) -> tuple[int, list[str]]:
        """Bytes of heap, and options, of a JVM for Java plugins."""
        opened = gates.opened(self._connector_client_config_override_unsafe_allowlist)
        return self.java_host_heap_max_bytes, [*opened, *shlex.split(self._java_host_opts)]

    @property
    def host_memory(self) -> int | None:
        """The memory limit of a host that tasks share, in bytes; None if there is none of our own, see `guards_memory`."""
        most = self._task_host_memory_max_bytes
        return None if most == -1 else most

    @property
    def guards_memory(self) -> bool:
        """Whether a host ends that takes more than its share while the machine runs out of memory."""
        return self._task_host_memory_max_bytes is None

    @property
    def worker_id(self) -> str:
        return self.advertised_url.split("://", 1)[1].rstrip("/")

    @property
    def spark(self) -> dict[str, str]:
        return {name: value for name, value in self.raw.items() if name.startswith("spark.")}

    def topic_settings(self, prefix: str) -> dict[str, str]:
        """Return the settings of an internal topic beyond its numbers; `prefix` is such as `offset.storage.`."""
        numbers = {"topic", "partitions", "replication.factor", "cleanup.policy"}
        return {key: value for key, value in self.with_prefix(prefix).items() if key not in numbers}

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The texts of all settings that begin with `prefix`, without it."""
        return {name[len(prefix) :]: value for name, value in self.raw.items() if name.startswith(prefix)}


WORKER_CONFIG = table(WorkerSettings)


def with_environment(properties: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """A worker file's properties with the `CONNECT_*` variables on top."""
    return {**properties, **_overrides(environ)}


def for_hosts(raw: Mapping[str, str]) -> dict[str, str]:
    """
    Return those of a worker's settings that its Spark driver and task hosts may read: the keys to REST stay in the worker.
    """
    return {name: text for name, text in raw.items() if not name.startswith(_REST_ONLY)}


def for_plugins(raw: Mapping[str, str]) -> dict[str, str]:
    """Return those of a worker's settings that plugins may know."""
    of_spark = [name for name in raw if name.startswith(_LAKE_SPARK) and not secrets.is_secret(name)]
    return {name: raw[name] for name in (*_FOR_PLUGINS, *of_spark) if name in raw}


def for_clients(raw: Mapping[str, str]) -> dict[str, str]:
    """
    Return those of a worker's settings that decide what connectors may set of their Kafka clients: no login, and no secret.
    """
    return {
        name: text
        for name, text in raw.items()
        if (name in _FOR_CLIENTS or name.startswith(_OF_CLIENTS))
        and not _LOGIN.match(name.removeprefix(next(filter(name.startswith, _OF_CLIENTS), "")))
        and not secrets.is_secret(name)
    }


def converters(settings: WorkerSettings) -> dict[str, str]:
    """The worker's own converters, the defaults of connectors: their classes and, where given, their versions, by setting."""
    classes = {
        "key.converter": settings.key_converter,
        "value.converter": settings.value_converter,
        "header.converter": settings.header_converter,
    }
    versions = {f"{setting}.plugin.version": settings.raw.get(f"{setting}.plugin.version") for setting in classes}
    return {**classes, **{setting: version for setting, version in versions.items() if version}}


def tell(plugin: Any, known: Mapping[str, str]) -> None:
    """Give a plugin, before it is configured or started, what it asks for of `for_plugins`, as its `worker`."""
    asked = getattr(plugin, "worker_settings", ())
    if asked:
        groups = tuple(name for name in asked if name.endswith("."))
        plugin.worker = {name: known[name] for name in known if name in asked or name.startswith(groups)}


def _overrides(environ: Mapping[str, str]) -> dict[str, str]:
    by_setting = {}
    for variable, value in environ.items():
        if variable.startswith(_ENVIRONMENT) and not variable.startswith(_NOT_SETTINGS):
            by_setting[_setting_name(variable[len(_ENVIRONMENT) :])] = value
    return by_setting


def _setting_name(variable: str) -> str:
    signs = {"_": ".", "__": "_", "___": "-"}
    return re.sub("_{1,3}", lambda run: signs[run.group()], variable.lower())


def _authentication_errors(raw: Mapping[str, str]) -> Iterable[str]:
    """A slip here must not leave the worker open to everybody."""
    file = "rest.authentication.file"
    for name in raw:
        if name.startswith("rest.authentication.") and name not in WORKER_CONFIG.keys:
            names = ", ".join(key for key in WORKER_CONFIG.keys if key.startswith("rest.authentication."))
            yield f"The setting {name} is not known; those of authentication are: {names}"
    if file in raw and not raw[file].strip():
        yield str(ConfigError(file, raw[file], "Must name a file; leave it out to run without authentication"))
    if file not in raw and "rest.authentication.methods" in raw:
        yield f"rest.authentication.methods has no effect without {file}: name the file of users there, or leave both out"


def _unknown(raw: Mapping[str, str]) -> list[str]:
    """Return the settings that have no effect because of their names."""
    known = (*WORKER_CONFIG.keys, *_CLIENT_KEYS)
    return [name for name in raw if name not in known and not name.startswith(_PREFIXES)]


def _telling(value: ConfigValue) -> list[str]:
    """Return a setting's errors, without what only follows from a value that can't be read: that there is none."""
    return [error for error in value.errors if not error.startswith("Invalid value null ")] or value.errors


_MASTER = re.compile(r"local.*|yarn|k8s://.+|spark://[^,/]+:\d+(,[^,/]+:\d+)*")
"""What Spark itself takes; another text it refuses in words that do not name the setting, a minute later."""


def _spark_errors(raw: Mapping[str, str]) -> Iterable[str]:
    master = raw.get("spark.master")
    if master is not None and not _MASTER.fullmatch(master.strip()):
        rule = "Must be local[N], spark://HOST:PORT, several of these as spark://HOST:PORT,HOST:PORT, yarn or k8s://HOST:PORT."
        yield str(ConfigError("spark.master", master, rule))
    for name, value in raw.items():
        # Spark would say so in words without the name, each time that it is started.
        is_switch = name.startswith(("spark.", _LAKE_SPARK)) and name.endswith(".enabled")
        if is_switch and value.strip().lower() not in ("true", "false"):
            yield str(ConfigError(name, value, "Must be true or false."))


def _listener_errors(raw: Mapping[str, str]) -> Iterable[str]:
    for name in ("listeners", "admin.listeners"):
        for listener in (raw.get(name) or "").split(","):
            listener = listener.strip()
            if not listener:
                continue
            if not _LISTENER.fullmatch(listener):
                yield str(ConfigError(name, listener, "Listener doesn't have the right format (protocol://hostname:port)."))
            elif int(listener.rstrip("/").rpartition(":")[2]) > 65535:
                yield str(ConfigError(name, listener, "The port must be at most 65535."))
