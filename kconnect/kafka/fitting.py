"""
Settings of a client that don't fit together, in the names of whoever set them.

librdkafka says so only when a client is made, in names of its own. So `require` makes one, without brokers, and throws it
away: `clients.py` calls it where a task's settings are put together, and through it `plugins/validation.py` when a config is
submitted. What librdkafka does not look at, and Kafka's Java clients do, is in `doubts`. Read next: `translation.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.errors import ConfigError
from kconnect.kafka import group_protocol

_GOOD: set[int] = set()
"""Hashes of settings with which a client could be made in this process."""
_MOST_GOOD = 10_000

_NOT_TRIED = frozenset(
    (
        *("bootstrap.servers", "metadata.broker.list", "client.id", "max.poll.records"),
        *("logger", "error_cb", "debug", "log.connection.close"),
    )
)
"""Brokers are not to be reached, and who is asked or told makes no difference."""
_NAMES = frozenset(("group.id", "transactional.id", "group.instance.id"))
"""Whether there is one makes a difference, and which one does not: a host of a thousand tasks has a thousand."""
_BY_PLUGIN = ("GSSAPI", "OAUTHBEARER")
"""Logins for which a client runs a command, or asks somebody for a token, as soon as it is made."""

_ALIASES = (
    ("acks", "request.required.acks"),
    ("compression.type", "compression.codec"),
    ("delivery.timeout.ms", "message.timeout.ms"),
    ("fetch.max.wait.ms", "fetch.wait.max.ms"),
    ("linger.ms", "queue.buffering.max.ms"),
    ("max.in.flight.requests.per.connection", "max.in.flight"),
    ("max.partition.fetch.bytes", "fetch.message.max.bytes"),
    ("max.request.size", "message.max.bytes"),
    ("request.timeout.ms", "socket.timeout.ms"),
    ("retries", "message.send.max.retries"),
    ("sasl.jaas.config", "sasl.username"),
    ("sasl.jaas.config", "sasl.password"),
    ("sasl.mechanism", "sasl.mechanisms"),
)
"""Java's name of a setting, and librdkafka's for the same."""
_JAVAS = {librdkafkas: javas for javas, librdkafkas in _ALIASES}
_NAME = re.compile(r"""[`"]([a-z_.]+)[`"]|\b([a-z]+(?:\.[a-z_]+)+)\b""")
_TWICE = re.compile(r"\b([a-z.]+) and \1\b")

Origin = Callable[[str], "tuple[str, str] | None"]
"""Where a client's setting, by Java's name or librdkafka's, was set: as the user wrote the name there, and the value."""


def require(kind: str, client: Mapping[str, Any], origin: Origin) -> None:
    """
    Raise ConfigError if a `consumer`, `producer` or `admin` client can't be made with these settings of librdkafka's, in the
    names that `origin` knows them by.
    """
    tried = _tried(client)
    mark = hash((kind, frozenset((name, name in _NAMES or str(value)) for name, value in tried.items())))
    if mark in _GOOD:
        return
    try:
        _make(kind, tried)
    except ck.KafkaException as error:
        raise refusal(error, client, origin) from None
    if len(_GOOD) >= _MOST_GOOD:
        _GOOD.clear()
    _GOOD.add(mark)


def refusal(error: ck.KafkaException, client: Mapping[str, Any], origin: Origin) -> ConfigError:
    """Return librdkafka's refusal to make a client, in the user's names."""
    text = (
        str(error.args[0].str()).strip().removeprefix("Failed to create consumer: ").removeprefix("Failed to create producer: ")
    )
    matches = dict.fromkeys(match[1] or match[2] for match in _NAME.finditer(text))
    # Some texts quote values, too.
    names = [name for name in matches if "." in name or any(alias in client for alias in same(name))]
    rule = _NAME.sub(lambda match: f" {_JAVAS.get(match[1] or match[2], match[1] or match[2])} ", text)
    # Java's name may be that of two of librdkafka's.
    rule = _TWICE.sub(r"\1", " ".join(rule.split()).rstrip("."))
    settings_by_name = {name: origin(name) for name in names}
    # What the connector has set is what its owner can change.
    users = sorted(filter(None, settings_by_name.values()), key=lambda setting: ".override." not in setting[0])
    if not users:
        return ConfigError(f"The Kafka client can't be made with its settings: {rule}. Correct these settings")
    first, value = users[0]
    other_texts = [
        _said(name, setting, client) for name, setting in settings_by_name.items() if setting is None or setting[0] != first
    ]
    beside = f". {_sentence(other_texts)}" if other_texts else ""
    return ConfigError(first, value, f"{rule}{beside}. Change one of them, or remove it")


def doubts(client: Mapping[str, Any], origin: Origin) -> Iterator[ConfigError]:
    """
    Yield what librdkafka does not refuse of a consumer's settings, and Kafka's Java clients do. It is refused when a config is
    submitted; a config that is stored runs with it.
    """
    for name in group_protocol.unfit(client):
        setting = origin(name)
        # What the worker file says is about all sinks, and the connector's owner can't change it.
        if setting is not None and ".override." in setting[0]:
            yield ConfigError(*setting, f"it has no effect: {group_protocol.reason(name)}. Remove it, or change the protocol")
    if group_protocol.is_new(client):
        return
    session_ms, heartbeat_ms = int(client["session.timeout.ms"]), int(client["heartbeat.interval.ms"])
    if heartbeat_ms >= session_ms:
        name, value = origin("heartbeat.interval.ms") or ("heartbeat.interval.ms", str(heartbeat_ms))
        session_text = _said("session.timeout.ms", origin("session.timeout.ms"), client)
        rule = "Heartbeat must be set lower than the session timeout"
        yield ConfigError(name, value, f"{rule}, best to a third of it: {session_text}. Lower this one, or raise the other")


def _said(name: str, setting: tuple[str, str] | None, client: Mapping[str, Any]) -> str:
    if setting is not None:
        return f"{setting[0]} is {setting[1]}"
    value = next((client[alias] for alias in same(name) if alias in client), None)
    return f"{_JAVAS.get(name, name)} is {str(value).lower() if isinstance(value, bool) else value} unless it is set"


def _sentence(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def same(name: str) -> Iterator[str]:
    """Yield the names that mean the same setting, the last one that a client was given first."""
    javas = _JAVAS.get(name, name)
    yield from dict.fromkeys((name, javas, *(librdkafkas for aliased, librdkafkas in _ALIASES if aliased == javas)))


def _tried(client: Mapping[str, Any]) -> dict[str, Any]:
    tried = {name: value for name, value in client.items() if name not in _NOT_TRIED}
    mechanism = str(tried.get("sasl.mechanism", tried.get("sasl.mechanisms", "GSSAPI"))).upper()
    if mechanism in _BY_PLUGIN:
        tried = {name: value for name, value in tried.items() if not name.startswith("sasl.") and name != "security.protocol"}
    return {**tried, "log_level": 0}


def _make(kind: str, client: dict[str, Any]) -> None:
    if kind == "consumer":
        ck.Consumer(client).close()
    else:
        ck.Producer(client)
