"""
Java's client settings carried over to librdkafka's: one table of those that differ in name, form or unit.

`clients.py` calls `translate` with what users wrote for a client. A setting that librdkafka takes under the same name needs no
row. One that can't be carried over has a row with a sentence that says what happens instead; it is logged, once a process.
Keystores and logins, which are several settings at once, are in `logins.py`.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import confluent_kafka as ck

from kconnect import small_files
from kconnect.core.settings.client_choices import broken_rule, reset_age_ms
from kconnect.core.settings.client_config import unfit
from kconnect.errors import ConfigError
from kconnect.kafka import logins

log = logging.getLogger(__name__)

_SECRET = re.compile(r"password|secret|jaas|\.pem$|ssl\.keystore\.key|token", re.IGNORECASE)
_BOUNDS = re.compile(r"outside allowed range -?\d+\.\.(\d+)")
_RANGE = re.compile(r"outside allowed range (-?\d+)\.\.(-?\d+)")
_ITS_NAME = re.compile(r'(?<=onfiguration property )"[^"]+"')
_MOST_BYTES = 100_000_000
_UNDOTTED = frozenset(("acks", "retries", "debug", "partitioner"))
"""The other names without a dot are confluent-kafka's, for callbacks and the like."""


_OFTEN_WANTED = (
    *("bootstrap.servers", "security.protocol", "group.id", "client.id", "fetch.min.bytes", "isolation.level"),
    *("sasl.username", "sasl.password", "sasl.mechanism"),
)
"""Settings without a row, whose names are misspelled most easily."""


@dataclass(frozen=True)
class Row:
    """`to` gives librdkafka's settings for a value; None drops it, and `instead` says what happens then."""

    to: Callable[[str], Mapping[str, str]] | None
    instead: str = ""


def _renamed(name: str, convert: Callable[[str], str] = str) -> Row:
    return Row(lambda value: {name: convert(value)})


def _dropped(instead: str) -> Row:
    return Row(None, instead)


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{value} is not a whole number") from None


def _kibibytes(value: str) -> str:
    return str(max(1, _whole(value) // 1024))


def _instead_of(javas: str, ours: str, name: str) -> Row:
    """Return a row for the one value that librdkafka has another number for, or does not take though it means the same."""
    return _renamed(name, lambda value: ours if value == javas else value)


def _fetch_size(value: str) -> dict[str, str]:
    # librdkafka wants it to hold at least its largest request, which is a small one for a consumer, and at least 1000.
    size = _whole(value)
    size = max(size, 1000) if size >= 0 else size
    return {"fetch.max.bytes": str(size), "message.max.bytes": str(min(size, 1_000_000))}


def _fewest_bytes(value: str) -> str:
    # Beyond its bounds, librdkafka takes the setting and makes no consumer with it.
    if value.isdecimal() and int(value) > _MOST_BYTES:
        _warn_of_limit("fetch.min.bytes", str(_MOST_BYTES))
        return str(_MOST_BYTES)
    return "1" if value == "0" else value


def _reset(value: str) -> str:
    # By duration: `clients.py` takes that out for the task's consumer, which then seeks by itself.
    return "error" if value.lower() == "none" or reset_age_ms(value) is not None else value.lower()


def _level(codec: str) -> Row:
    # librdkafka has one level for whatever codec is chosen, and clips it to what that one knows.
    return Row(lambda value: {f"compression.level@{codec}": value})


def _strategy(value: str) -> dict[str, str]:
    names = [_STRATEGIES.get(part.strip().rsplit(".", 1)[-1], part.strip()) for part in value.split(",")]
    # Java may list both kinds, to move a group from one to the other; librdkafka takes one kind at a time.
    if "cooperative-sticky" in names:
        names = ["cooperative-sticky"]
    return {"partition.assignment.strategy": ",".join(names)}


_STRATEGIES = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    # librdkafka has no eager sticky one; Kafka's docs name the cooperative one as its successor.
    "StickyAssignor": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}

_CONVERTERS = _dropped("the connector's converters make and read the bytes")
_METRICS = _dropped("the worker's /metrics has the numbers, and no client has reporters of its own")
_NO_CLASSES = _dropped("Java classes can't run here; the client goes without")
_FRAMEWORK = _dropped("offsets are committed by the task, when its records are safe")
_TLS = _dropped("the client negotiates TLS 1.2 or newer by OpenSSL's own choice")
_CHECKED_BY_BROKERS = _dropped("brokers check tokens, and the client only fetches them")
_REFRESH = _dropped("the client renews logins by a schedule of its own")
_PARTITIONER = _dropped(
    "records with a key are partitioned by it, as Java does by default; others go to one partition after the other, in batches"
)

TABLE: Mapping[str, Row] = {
    "max.request.size": _renamed("message.max.bytes"),
    "buffer.memory": _renamed("queue.buffering.max.kbytes", _kibibytes),
    # Left to the system.
    "send.buffer.bytes": _instead_of("-1", "0", "socket.send.buffer.bytes"),
    "receive.buffer.bytes": _instead_of("-1", "0", "socket.receive.buffer.bytes"),
    # Never closed.
    "connections.max.idle.ms": _instead_of("-1", "0", "connections.max.idle.ms"),
    "batch.size": _instead_of("0", "1", "batch.size"),
    "retry.backoff.ms": _instead_of("0", "1", "retry.backoff.ms"),
    "fetch.min.bytes": _renamed("fetch.min.bytes", _fewest_bytes),
    "fetch.max.bytes": Row(_fetch_size),
    "fetch.max.wait.ms": _renamed("fetch.wait.max.ms"),
    "metadata.max.age.ms": Row(lambda v: {"metadata.max.age.ms": v, "topic.metadata.refresh.interval.ms": v}),
    "auto.offset.reset": _renamed("auto.offset.reset", _reset),
    "security.protocol": _renamed("security.protocol", str.lower),
    "isolation.level": _renamed("isolation.level", str.lower),
    "compression.type": _renamed("compression.type", str.lower),
    "compression.gzip.level": _level("gzip"),
    "compression.lz4.level": _level("lz4"),
    "compression.zstd.level": _level("zstd"),
    "partition.assignment.strategy": Row(_strategy),
    "partitioner.ignore.keys": Row(lambda v: {"partitioner": "random"} if v.lower() == "true" else {}),
    "partitioner.class": _PARTITIONER,
    "partitioner.adaptive.partitioning.enable": _PARTITIONER,
    "partitioner.availability.timeout.ms": _PARTITIONER,
    "ssl.endpoint.identification.algorithm": _renamed("ssl.endpoint.identification.algorithm", lambda v: v.lower() or "none"),
    "key.serializer": _CONVERTERS,
    "value.serializer": _CONVERTERS,
    "key.deserializer": _CONVERTERS,
    "value.deserializer": _CONVERTERS,
    "enable.auto.commit": _FRAMEWORK,
    "auto.commit.interval.ms": _FRAMEWORK,
    "group.protocol": _renamed("group.protocol", str.lower),
    "share.acquire.mode": _dropped("a sink's tasks read as a consumer group, not a share group"),
    "share.acknowledgement.mode": _dropped("a sink's tasks read as a consumer group, not a share group"),
    "exclude.internal.topics": _dropped("a sink reads what its topics or topics.regex name"),
    "interceptor.classes": _NO_CLASSES,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "max.block.ms": _dropped("a task waits for buffer space and brokers for as long as it runs"),
    "default.api.timeout.ms": _dropped("calls have limits of their own, and are retried"),
    "metadata.max.idle.ms": _dropped("topics are forgotten by metadata.max.age.ms"),
    "transaction.two.phase.commit.enable": _dropped("the framework controls transactions"),
    "socket.connection.setup.timeout.max.ms": _dropped("socket.connection.setup.timeout.ms holds for every attempt"),
    "config.providers": _dropped("the worker's own config providers resolve references"),
    "bootstrap.controllers": _dropped("the client asks the brokers of bootstrap.servers"),
    "security.providers": _NO_CLASSES,
    "sasl.client.callback.handler.class": _NO_CLASSES,
    "sasl.login.callback.handler.class": _NO_CLASSES,
    "sasl.login.class": _NO_CLASSES,
    "sasl.oauthbearer.jwt.retriever.class": _NO_CLASSES,
    "sasl.oauthbearer.jwt.validator.class": _NO_CLASSES,
    "sasl.kerberos.ticket.renew.jitter": _REFRESH,
    "sasl.kerberos.ticket.renew.window.factor": _REFRESH,
    "sasl.login.refresh.buffer.seconds": _REFRESH,
    "sasl.login.refresh.min.period.seconds": _REFRESH,
    "sasl.login.refresh.window.factor": _REFRESH,
    "sasl.login.refresh.window.jitter": _REFRESH,
    "sasl.login.connect.timeout.ms": _REFRESH,
    "sasl.login.read.timeout.ms": _REFRESH,
    "sasl.login.retry.backoff.ms": _REFRESH,
    "sasl.login.retry.backoff.max.ms": _REFRESH,
    "sasl.oauthbearer.clock.skew.seconds": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.expected.audience": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.expected.issuer": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.url": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.scope.claim.name": _CHECKED_BY_BROKERS,
    "sasl.oauthbearer.header.urlencode": _dropped("client id and secret are sent as they are"),
    "sasl.oauthbearer.assertion.template.file": _dropped("the settings sasl.oauthbearer.assertion.claim.* are used"),
    "sasl.oauthbearer.client.credentials.client.id": _renamed("sasl.oauthbearer.client.id"),
    "sasl.oauthbearer.client.credentials.client.secret": _renamed("sasl.oauthbearer.client.secret"),
    "ssl.client.auth": _dropped("it is a setting of listeners"),
    "ssl.protocol": _TLS,
    "ssl.enabled.protocols": _TLS,
    "ssl.provider": _NO_CLASSES,
    "ssl.engine.factory.class": _NO_CLASSES,
    "ssl.keymanager.algorithm": _TLS,
    "ssl.trustmanager.algorithm": _TLS,
    "ssl.secure.random.implementation": _TLS,
    # librdkafka's own.
    "delivery.report.only.error": _dropped("the task itself asks for the reports that it needs"),
    "test.mock.num.brokers": _dropped("records would go to brokers that do not exist"),
    # No text may set it, for it loads a native library into the process, even when it is only tried.
    "plugin.library.paths": _dropped("no native library is loaded into task hosts"),
}


def translate(settings: Mapping[str, str | None], kind: str = "producer") -> dict[str, Any]:
    """
    Settings of a `producer`, `consumer` or `admin` client as users write them, in librdkafka's terms.

    ConfigError, naming the setting, for a value that can't be used. Nulls count as not given.
    """
    texts = {name: value.strip() for name, value in settings.items() if value is not None}
    for name, value in texts.items():
        if reason := unfit(name, value):
            raise ConfigError(f"The Kafka client's setting {name} can't be used: {reason}")
        if rule := broken_rule(name, value):
            _warn_of_choice(name, value, rule)
    client: dict[str, Any] = dict(logins.of(texts))
    small_files.require({**client, **texts})
    for name, value in texts.items():
        if name in logins.NAMES:
            continue
        for new_name, new_value in _carried_over(name, value, kind).items():
            problem = _problem(new_name.partition("@")[0], new_value)
            if problem is None:
                client[new_name] = new_value
            elif (most := _most(new_value, problem)) is not None:
                _warn_of_limit(name, most)
                client[new_name] = most
            elif problem.startswith("No such configuration property"):
                _warn(name, "none of kconnect's Kafka clients knows it")
            else:
                raise ConfigError(name, _shown(name, value), f"the Kafka client refuses it: {_in_users_words(problem, name)}")
    return _with_level(_with_static_backoff(client))


def meant(name: str) -> str | None:
    """Return the name of a setting that somebody may have meant by one that no client knows, None if there is none."""
    if name in TABLE or name in logins.NAMES or not (_problem(name, "") or "").startswith("No such configuration property"):
        return None
    near = difflib.get_close_matches(name, (*_OFTEN_WANTED, *TABLE, *logins.NAMES), 1, 0.85)
    return near[0] if near else None


def _carried_over(name: str, value: str, kind: str) -> Mapping[str, str]:
    if name == "request.timeout.ms":
        # In librdkafka it is how long a broker may wait for its replicas; how long a client waits for a broker is the socket's.
        return {"socket.timeout.ms": value, **({name: value} if kind == "producer" else {})}
    row = TABLE.get(name)
    if row is None:
        if "." not in name and name not in _UNDOTTED:
            _warn(name, "it is not a setting of Kafka clients")
            return {}
        return {name: value}
    if row.to is None:
        _warn(name, row.instead)
        return {}
    try:
        return row.to(value)
    except ConfigError as error:
        raise ConfigError(name, _shown(name, value), str(error)) from None


def _with_static_backoff(client: dict[str, Any]) -> dict[str, Any]:
    """Have a first pause that is longer than the longest one be that one, as in Java; librdkafka makes no client then."""
    first, longest = client.get("reconnect.backoff.ms"), client.get("reconnect.backoff.max.ms")
    if first is None or longest is None or not longest.isdecimal() or not first.isdecimal() or int(first) <= int(longest):
        return client
    return {**client, "reconnect.backoff.ms": longest}


def _with_level(client: dict[str, Any]) -> dict[str, Any]:
    """The level of the codec that was chosen, if one was given; of the others nobody takes notice, as in Java."""
    codec = client.get("compression.type", client.get("compression.codec", "none"))
    levels = {name: client.pop(name) for name in [name for name in client if name.startswith("compression.level@")]}
    chosen = levels.get(f"compression.level@{codec}")
    return client if chosen is None else {**client, "compression.level": chosen}


def _shown(name: str, value: str) -> str:
    return "[hidden]" if _SECRET.search(name) else value


@lru_cache(maxsize=1000)
def _problem(name: str, value: str) -> str | None:
    """
    Return librdkafka's complaint about one setting; None if it takes it. No client is made, because the second setting is
    wrong.
    """
    try:
        ck.Producer({name: value, "kconnect.stop": ""})
    except ck.KafkaException as error:
        text = str(error.args[0].str()).strip()
        return None if "kconnect.stop" in text else text
    return None


def _in_users_words(problem: str, name: str) -> str:
    """Return what librdkafka says about a setting with the name that the user gave it."""
    bounds = _RANGE.search(problem)
    return f"it must be from {bounds[1]} to {bounds[2]}" if bounds is not None else _ITS_NAME.sub(f'"{name}"', problem)


def _most(value: str, problem: str) -> str | None:
    """The most that librdkafka takes, where a number is more than that: Java often takes all that an INT holds."""
    bounds = _BOUNDS.search(problem)
    return bounds[1] if bounds is not None and value.isdecimal() and int(value) > int(bounds[1]) else None


@cache
def _warn_of_limit(name: str, most: str) -> None:
    log.warning("The client setting %s is above the Kafka client's limit: %s is used", name, most)


@lru_cache(maxsize=1000)
def _warn_of_choice(name: str, value: str, rule: str) -> None:
    log.warning("The client setting %s=%s would be refused in a new config, and by Kafka's Java clients: %s", name, value, rule)


@cache
def _warn(name: str, instead: str) -> None:
    log.warning("The client setting %s has no effect: %s", name, instead)
