"""
Settings of Kafka clients: from what users write, in Java's names, to what librdkafka takes.

`internal` and `topics` serve the worker, the Spark driver and the hosts; `producer` and `consumer` the clients of a task:
the worker's own connection settings, its `producer.` or `consumer.` ones, and the connector's `producer.override.` or
`consumer.override.` ones, in rising order. Java settings that librdkafka lacks are dropped with one warning a process.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import confluent_kafka as ck

from kconnect.api.errors import ConfigError
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic

log = logging.getLogger(__name__)

Client = dict[str, Any]

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_NOT_FOR_CLIENTS = frozenset(
    (
        "partitioner.class",
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "metric.reporters",
        "interceptor.classes",
        "max.block.ms",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "group.protocol",
        "ssl.truststore.type",
        "ssl.keystore.type",
        "ssl.truststore.password",
        # librdkafka's own, and no text may set it: it loads a native library into the process, even when only tried.
        "plugin.library.paths",
    )
)
"""Settings of Java objects, and those that are the framework's business."""

_UNDOTTED = frozenset(("acks", "retries", "debug", "partitioner"))
"""The other names without a dot are confluent-kafka's, for callbacks and the like."""

_SHARED = re.compile(
    r"bootstrap\.servers|client\.dns\.lookup|security\.protocol|(sasl|ssl)\..*|(send|receive)\.buffer\.bytes|"
    r"reconnect\.backoff(\.max)?\.ms|retry\.backoff(\.max)?\.ms|connections\.max\.idle\.ms|"
    r"socket\.connection\.setup\.timeout\.ms|metadata\.max\.age\.ms"
)
_STRATEGIES = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    # librdkafka has no eager sticky one; Kafka's docs name the cooperative one as its successor.
    "StickyAssignor": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_SECRET = re.compile(r"password|secret|jaas|\.pem$|ssl\.keystore\.key|token", re.IGNORECASE)


def topics(settings: WorkerSettings) -> dict[Topic, str]:
    """The names of the internal topics."""
    return {
        Topic.CONFIG: settings.config_storage_topic,
        Topic.OFFSET: settings.offset_storage_topic,
        Topic.STATUS: settings.status_storage_topic,
        Topic.ASSIGNMENT: settings.assignment_storage_topic,
    }


def internal(settings: WorkerSettings, name: str) -> Client:
    """Connection settings of one of the worker's own clients; `name` ends its client id."""
    given = settings.raw.get("client.id")
    client_id = "-".join(part for part in (settings.group_id, given, name) if part)
    return {**_base(client_id), **translate(_shared(settings))}


def producer(settings: WorkerSettings, connector: str, task: int, config: Mapping[str, str | None]) -> Client:
    """The producer of a source task."""
    asked = _asked(settings, "producer.", config)
    tuned: Client = {
        **_base(f"connector-producer-{connector}-{task}"),
        # Java's default partitioner: another one would put keys where no Java client looks for them.
        "partitioner": "murmur2_random",
        "acks": "all",
        "enable.idempotence": _idempotence(asked),
        # As Connect: never give up on what can be retried; a task that can't reach its brokers waits.
        "message.timeout.ms": 2147483647,
        "message.max.bytes": 1048576,
        # Batches are what makes it quick: with 5 ms and 16 KB, Java's defaults, a record costs three times as much CPU.
        "linger.ms": 20,
        "queue.buffering.max.kbytes": int(asked.pop("buffer.memory", 32 * 1024 * 1024)) // 1024,
        # Above what fits into the bytes, so that these alone are the bound.
        "queue.buffering.max.messages": 1_000_000,
    }
    return {**tuned, **translate(asked)}


def consumer(settings: WorkerSettings, connector: str, task: int, config: Mapping[str, str | None]) -> Client:
    """The consumer of a sink task; `max.poll.records`, if given, is for the caller to take out and heed."""
    asked = _asked(settings, "consumer.", config)
    tuned: Client = {
        **_base(f"connector-consumer-{connector}-{task}"),
        "group.id": f"connect-{connector}",
        "partition.assignment.strategy": "cooperative-sticky",
        "auto.offset.reset": "earliest",
        # The worker's, not the clients' 45 s: after kill -9 a task starts again at once, and would wait for its own ghost.
        "session.timeout.ms": settings.session_timeout_ms,
        "heartbeat.interval.ms": min(settings.heartbeat_interval_ms, settings.session_timeout_ms // 3),
        # Java's defaults, where librdkafka's differ.
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": True,
        # With the default of 1 s the consumer idles whenever its queue was full for a moment.
        "fetch.queue.backoff.ms": 5,
        "queued.max.messages.kbytes": 16384,
        "topic.metadata.refresh.interval.ms": 30_000,
    }
    forced = {"enable.auto.commit": False, "enable.auto.offset.store": False}
    return {**tuned, **translate(asked, "consumer"), **forced}


def translate(given: Mapping[str, str | None], kind: str = "producer") -> Client:
    """Java's names and values to librdkafka's. ConfigError, naming the setting, for a value that it refuses."""
    client: Client = {}
    for name, value in given.items():
        if value is None or name in _NOT_FOR_CLIENTS:
            continue
        if "." not in name and name not in _UNDOTTED:
            _warn_dropped(name)
            continue
        for new_name, new_value in _translate(name, value.strip(), given, kind).items():
            problem = _problem(new_name, new_value)
            if problem is None:
                client[new_name] = new_value
            elif problem.startswith("No such configuration property"):
                _warn_dropped(name)
            else:
                shown = "[hidden]" if _SECRET.search(name) else value
                raise ConfigError(name, shown, f"the Kafka client refuses it: {problem}")
    return client


def _translate(name: str, value: str, given: Mapping[str, str | None], kind: str) -> dict[str, str]:
    match name:
        case "sasl.jaas.config":
            options = dict(_JAAS_OPTION.findall(value))
            found = {f"sasl.{key}": options[key] for key in ("username", "password") if key in options}
            return {key: re.sub(r"\\(.)", r"\1", text) for key, text in found.items()}
        case "ssl.endpoint.identification.algorithm":
            return {name: value.lower() or "none"}
        case "ssl.truststore.location":
            if (given.get("ssl.truststore.type") or "JKS").upper() == "PEM" or value.endswith((".pem", ".crt")):
                return {"ssl.ca.location": value}
            raise ConfigError(
                name, value, "kconnect reads PEM files only: convert the truststore and set `ssl.truststore.type=PEM`"
            )
        case "ssl.keystore.location":
            kind_of_store = (given.get("ssl.keystore.type") or "JKS").upper()
            if kind_of_store == "PEM":
                return {"ssl.certificate.location": value, "ssl.key.location": value}
            if kind_of_store == "PKCS12" or value.endswith((".p12", ".pfx")):
                return {name: value}
            raise ConfigError(
                name, value, "kconnect reads PEM and PKCS12: convert the keystore and set `ssl.keystore.type`"
            )
        case "partition.assignment.strategy":
            names = [_STRATEGIES.get(part.strip().rsplit(".", 1)[-1], part.strip()) for part in value.split(",")]
            # Java may list both kinds, to move a group from one to the other; librdkafka takes one kind at a time.
            if "cooperative-sticky" in names:
                names = ["cooperative-sticky"]
            return {name: ",".join(names)}
        case "send.buffer.bytes" | "receive.buffer.bytes":
            return {_RENAMED[name]: "0" if value == "-1" else value}
        case "request.timeout.ms" if kind == "consumer":
            return {"socket.timeout.ms": value}
        case "metadata.max.age.ms":
            return {name: value, "topic.metadata.refresh.interval.ms": value}
        case "auto.offset.reset" if value.lower() == "none":
            return {name: "error"}
        case "security.protocol" | "isolation.level" | "auto.offset.reset" | "compression.type":
            return {name: value.lower()}
        case _:
            return {_RENAMED.get(name, name): value}


def _asked(settings: WorkerSettings, prefix: str, config: Mapping[str, str | None]) -> dict[str, str]:
    override = f"{prefix}override."
    own = {k[len(override) :]: v for k, v in config.items() if k.startswith(override) and v is not None}
    return {**_shared(settings), **settings.with_prefix(prefix), **own}


def _shared(settings: WorkerSettings) -> dict[str, str]:
    return {name: value for name, value in settings.raw.items() if _SHARED.fullmatch(name)}


def _base(client_id: str) -> Client:
    return {
        "client.id": client_id,
        "logger": _client_log(),
        "error_cb": _ErrorLog(client_id),
        # Brokers close idle connections as a matter of course.
        "log.connection.close": False,
    }


def _idempotence(asked: Mapping[str, str]) -> bool:
    """As in Java, on unless something else that was asked for rules it out."""
    return not (
        asked.get("acks", "all") not in ("all", "-1")
        or asked.get("retries") == "0"
        or int(asked.get("max.in.flight.requests.per.connection", 5)) > 5
    )


@cache
def _problem(name: str, value: str) -> str | None:
    """What librdkafka says about one setting; None if it takes it. No client comes to be: the second setting is wrong."""
    try:
        ck.Producer({name: value, "kconnect.stop": ""})
    except ck.KafkaException as error:
        text = str(error.args[0].str())
        return None if "kconnect.stop" in text else text
    return None


@cache
def _warn_dropped(name: str) -> None:
    log.warning("The setting %s is known to Java's Kafka clients only and has no effect", name)


@cache
def _client_log() -> logging.Logger:
    """Where librdkafka's own lines go; `logging` must not see the thousands of equal ones of an outage."""
    found = logging.getLogger("kconnect.kafka.client")
    found.addFilter(_Repeats())
    return found


class _Repeats(logging.Filter):
    """Lets a text pass once a minute. Texts that differ only in how long something took are the same."""

    _KEPT = 1000

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        return self.is_new(record.getMessage())

    def is_new(self, text: str) -> bool:
        text, now = re.sub(r"\(after \d+ms[^)]*\)", "", text), time.monotonic()
        if now - self._said.get(text, -math.inf) < 60:
            return False
        if len(self._said) >= self._KEPT:
            self._said.clear()
        self._said[text] = now
        return True


class _ErrorLog:
    """Logs what a client reports by itself. Errors of calls come elsewhere."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._repeats = _Repeats()

    def __call__(self, error: ck.KafkaError) -> None:
        if self._repeats.is_new(error.str()):
            log.warning("%s: %s", self._client_id, error.str())
