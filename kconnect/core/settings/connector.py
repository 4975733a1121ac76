"""
The settings that the framework itself reads from a connector's config: one table for sources, one for sinks.

Read by `validation.py` (for REST) and by the units in `worker/`. Names, defaults, groups, orders and messages are Kafka
Connect 4.3's. Transforms and predicates add keys of their own by alias. Read next: `validation.py`.
"""

from __future__ import annotations

import re
from typing import Any

from kconnect.api.config import NO_DEFAULT, ConfigDef, ConfigKey, Importance, NonEmptyString, OneOf, Range, Type, Width
from kconnect.api.errors import ConfigError

COMMON, TRANSFORMS, PREDICATES, ERRORS = "Common", "Transforms", "Predicates", "Error Handling"
TOPIC_CREATION, EXACTLY_ONCE, OFFSETS_TOPIC = "Topic Creation", "Exactly Once Support", "offsets.topic"

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def _name(name: str, value: Any) -> None:
    if value is None:
        raise ConfigError(name, None, "String may not be null")
    if value == "":
        raise ConfigError(name, value, "String may not be empty")
    controls = [str(ord(character)) for character in value if ord(character) < 32 or 127 <= ord(character) < 160]
    if controls:
        listed = ", ".join(controls)
        raise ConfigError(name, value, f"String may not contain control sequences but had the following ASCII chars: {listed}")


def _unique(name: str, value: Any) -> None:
    if value is not None and len(set(value)) != len(value):
        raise ConfigError(name, f"[{', '.join(value)}]", "Duplicate alias provided.")


def _regex(name: str, value: Any) -> None:
    try:
        re.compile(value or "")
    except re.error as error:
        raise ConfigError(name, value, f"Invalid regex: {error}") from None


def _version(name: str, value: Any) -> None:
    """Ranges are understood once several versions of a plugin can be installed; any text is one for now."""


def _key(
    name: str,
    type: Type,
    default: Any,
    importance: Importance,
    group: str,
    order: int,
    width: Width,
    display_name: str,
    validator: Any = None,
    doc: str = "",
) -> ConfigKey:
    return ConfigKey(name, type, default, importance, doc, validator, group, order, width, display_name)


_S, _I, _L, _B, _LIST, _C = Type.STRING, Type.INT, Type.LONG, Type.BOOLEAN, Type.LIST, Type.CLASS

_COMMON_KEYS = (
    _key("name", _S, NO_DEFAULT, _HIGH, COMMON, 1, Width.MEDIUM, "Connector name", _name, "Unique in the cluster."),
    _key(
        "connector.class",
        _S,
        NO_DEFAULT,
        _HIGH,
        COMMON,
        2,
        Width.LONG,
        "Connector class",
        None,
        "The connector's class: a Java or Python path, its simple name, or that name without `Connector`.",
    ),
    _key("connector.plugin.version", _S, None, _MEDIUM, COMMON, 3, Width.MEDIUM, "Connector version", _version),
    _key(
        "tasks.max",
        _I,
        1,
        _HIGH,
        COMMON,
        4,
        Width.SHORT,
        "Tasks max",
        Range.at_least(1),
        "The most tasks that this connector may have.",
    ),
    _key(
        "tasks.max.enforce",
        _B,
        True,
        _LOW,
        COMMON,
        5,
        Width.SHORT,
        "Enforce tasks max",
        None,
        "Whether a connector that makes more tasks than tasks.max fails.",
    ),
    _key("key.converter", _C, None, _LOW, COMMON, 6, Width.SHORT, "Key converter class"),
    _key("key.converter.plugin.version", _S, None, _LOW, COMMON, 7, Width.SHORT, "Key converter version", _version),
    _key("value.converter", _C, None, _LOW, COMMON, 8, Width.SHORT, "Value converter class"),
    _key("value.converter.plugin.version", _S, None, _LOW, COMMON, 9, Width.SHORT, "Value converter version", _version),
    _key("header.converter", _C, None, _LOW, COMMON, 10, Width.SHORT, "Header converter class"),
    _key(
        "header.converter.plugin.version", _S, None, _LOW, COMMON, 11, Width.SHORT, "Header converter version", _version
    ),
    _key("transforms", _LIST, [], _LOW, TRANSFORMS, 12, Width.LONG, "Transforms", _unique, "Aliases, in their order."),
    _key("predicates", _LIST, [], _LOW, PREDICATES, 13, Width.LONG, "Predicates", _unique, "Aliases."),
    _key(
        "config.action.reload",
        _S,
        "restart",
        _LOW,
        COMMON,
        14,
        Width.MEDIUM,
        "Reload Action",
        OneOf(("none", "restart")),
    ),
    _key("errors.retry.timeout", _L, 0, _MEDIUM, ERRORS, 1, Width.MEDIUM, "Retry Timeout for Errors"),
    _key("errors.retry.delay.max.ms", _L, 60_000, _MEDIUM, ERRORS, 2, Width.MEDIUM, "Maximum Delay Between Retries"),
    _key(
        "errors.tolerance", _S, "none", _MEDIUM, ERRORS, 3, Width.SHORT, "Error Tolerance", OneOf(("none", "all"))
    ),
    _key("errors.log.enable", _B, False, _MEDIUM, ERRORS, 4, Width.SHORT, "Log Errors"),
    _key("errors.log.include.messages", _B, False, _MEDIUM, ERRORS, 5, Width.SHORT, "Log Error Details"),
)

SOURCE_CONFIG = ConfigDef(
    *_COMMON_KEYS,
    _key("topic.creation.groups", _LIST, [], _LOW, TOPIC_CREATION, 1, Width.LONG, "Topic Creation Groups", _unique),
    _key(
        "exactly.once.support",
        _S,
        "requested",
        _MEDIUM,
        EXACTLY_ONCE,
        2,
        Width.SHORT,
        "Exactly once support",
        OneOf(("REQUIRED", "REQUESTED"), ignore_case=True),
    ),
    _key(
        "transaction.boundary",
        _S,
        "poll",
        _MEDIUM,
        EXACTLY_ONCE,
        3,
        Width.SHORT,
        "Transaction Boundary",
        OneOf(("INTERVAL", "POLL", "CONNECTOR"), ignore_case=True),
    ),
    _key(
        "transaction.boundary.interval.ms", _L, None, _LOW, EXACTLY_ONCE, 4, Width.SHORT, "Transaction boundary interval"
    ),
    _key("offsets.storage.topic", _S, None, _LOW, OFFSETS_TOPIC, 1, Width.LONG, "Offsets topic", NonEmptyString()),
)

SINK_CONFIG = ConfigDef(
    *_COMMON_KEYS,
    _key("topics", _LIST, [], _HIGH, COMMON, 4, Width.LONG, "Topics", None, "Topics to read, separated by commas."),
    _key("topics.regex", _S, "", _HIGH, COMMON, 4, Width.LONG, "Topics regex", _regex, "Topics to read, by pattern."),
    _key("errors.deadletterqueue.topic.name", _S, "", _MEDIUM, ERRORS, 6, Width.MEDIUM, "Dead Letter Queue Topic Name"),
    _key(
        "errors.deadletterqueue.topic.replication.factor",
        Type.SHORT,
        3,
        _MEDIUM,
        ERRORS,
        7,
        Width.MEDIUM,
        "Dead Letter Queue Topic Replication Factor",
    ),
    _key(
        "errors.deadletterqueue.context.headers.enable",
        _B,
        False,
        _MEDIUM,
        ERRORS,
        8,
        Width.MEDIUM,
        "Enable Error Context Headers",
    ),
)


def topics_errors(topics: list[str], topics_regex: str) -> dict[str, str]:
    """What is wrong with a sink's choice of topics: setting -> message."""
    topics = [topic for topic in topics if topic]
    if topics and topics_regex:
        both = "topics and topics.regex are mutually exclusive options, but both are set."
        return {"topics": both, "topics.regex": both}
    if not topics and not topics_regex:
        neither = "Must configure one of topics or topics.regex"
        return {"topics": neither, "topics.regex": neither}
    return {}
