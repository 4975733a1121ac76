"""
The framework's settings of sink connectors, and the checks of one against another; the rest is in `common.py`.

`SINK_CONFIG` is read through `connector.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import ConfigDef, Width
from kconnect.core.settings.common import (
    COMMON,
    HIGH,
    common_keys,
)
from kconnect.core.settings.errors import DEAD_LETTER_KEYS, DLQ_TOPIC
from kconnect.core.settings.setting import LIST, STRING, Shown
from kconnect.errors import ConfigError
from kconnect.java import regex as java_regex

_PATIENCE_S = 0.2
"""The leader asks this too, and some patterns would keep it busy for ever."""
TOPICS, TOPICS_REGEX = "topics", "topics.regex"
GROUP_ID = "consumer.override.group.id"
REPLAYS_GROUP = "kconnect-dlq-"
"""The groups of dead letter queues, whose offsets say what was replayed (`dlq/memory.py`), begin with it."""


@dataclass(frozen=True)
class Distinct:
    """A list of names, none of them empty, each once."""

    def __call__(self, name: str, value: Any) -> None:
        if any(not entry for entry in value or ()):
            raise ConfigError(f"Configuration '{name}' values must not be empty.")
        if len(set(value or ())) != len(value or ()):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")

    def __str__(self) -> str:
        return "distinct, non-empty names"


TOPIC_NAMES = LIST(
    TOPICS,
    [],
    Distinct(),
    doc="The topics to read, separated by commas. Give either this or `topics.regex`.",
    importance=HIGH,
    shown=Shown(COMMON, 4, Width.LONG, "Topics"),
)
TOPIC_PATTERN = STRING(
    TOPICS_REGEX,
    "",
    java_regex.ValidRegex(),
    doc="A Java pattern of the topics to read, which must match the whole name.",
    importance=HIGH,
    shown=Shown(COMMON, 4, Width.LONG, "Topics regex"),
)

SINK_CONFIG = ConfigDef(
    *common_keys(),
    TOPIC_NAMES.key,
    TOPIC_PATTERN.key,
    *DEAD_LETTER_KEYS,
)


def subscription(config: Mapping[str, str | None], if_late: bool = True) -> Callable[[str], bool] | None:
    """
    Return what says whether a sink of that config reads a topic; None where only its start can tell, for a provider has the
    answer. `if_late` is the answer for a pattern that takes too long.
    """
    topics, pattern = TOPIC_NAMES.read(config), TOPIC_PATTERN.read(config)
    if any("${" in text for text in (*topics, pattern)):
        return None
    return lambda topic: topic in topics or bool(pattern and _matches(pattern, topic, if_late))


def topics_errors(parsed: Mapping[str, Any]) -> dict[str, str]:
    """Return contradictions in a sink's choice of topics: setting -> message."""
    topics = [topic for topic in parsed.get(TOPICS) or () if topic]
    regex = (parsed.get(TOPICS_REGEX) or "").strip()
    dead_letters = (parsed.get(DLQ_TOPIC) or "").strip()
    if topics and regex:
        return dict.fromkeys(
            (TOPICS, TOPICS_REGEX), "topics and topics.regex are mutually exclusive options, but both are set."
        )
    if not topics and not regex:
        return dict.fromkeys((TOPICS, TOPICS_REGEX), "Must configure one of topics or topics.regex")
    # A sink that reads its own dead letters would never come to an end.
    if dead_letters in topics:
        return {
            TOPICS: f"The DLQ topic '{dead_letters}' may not be included in the list of topics "
            f"('topics=[{', '.join(topics)}]') consumed by the connector"
        }
    if dead_letters and regex and _matches(regex, dead_letters):
        return {
            TOPICS_REGEX: f"The DLQ topic '{dead_letters}' may not be matched by the regex for the topics "
            f"('topics.regex={regex}') consumed by the connector"
        }
    return {}


def _matches(pattern: str, topic: str, if_late: bool = True) -> bool:
    # What is no pattern has been told by the setting's validator.
    try:
        return java_regex.compile(pattern).matches(topic, _PATIENCE_S) is not None
    except TimeoutError:
        # Of a pattern that is too hard nobody says that it excludes something, unless somebody needs to be sure.
        return if_late
    except (java_regex.PatternSyntaxError, java_regex.UnsupportedPatternError):
        return False


def group_errors(config: Mapping[str, str | None], parsed: Mapping[str, Any], worker_group: str) -> dict[str, str]:
    """Return what is wrong with a sink's consumer group: setting -> message. The workers' own group must stay theirs."""
    # Clients are given it without the blanks around it.
    overridden = (config.get(GROUP_ID) or "").strip()
    if overridden == worker_group:
        return {GROUP_ID: f"Consumer group {overridden} conflicts with Connect worker group {worker_group}"}
    if overridden.startswith(REPLAYS_GROUP):
        return {GROUP_ID: f"Consumer groups named {REPLAYS_GROUP}… note which dead letters were replayed: name another"}
    name = parsed.get("name")
    if not overridden and f"connect-{name}" == worker_group:
        return {"name": f"Consumer group for sink connector named {name} conflicts with Connect worker group {worker_group}"}
    return {}
