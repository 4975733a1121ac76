"""
Topics that a source connector's tasks create: `topic.creation.*` (KIP-158), checked and parsed.

`plugins/validation.py` shows `sections` and `warnings` to whoever submits a config; a task takes `TopicCreation.from_config`.
Kafka Connect finds such mistakes only when the connector starts. A topic has the settings of all groups whose patterns match
it; of what several say, that of the first in `topic.creation.groups` counts, and that of `default` last. Number of partitions
and replication factor that the first of them leaves out are those of `default`; settings that none has are the broker's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import NO_DEFAULT, ConfigDef, ConfigKey, ConfigValue, Type, Validator, Width, parse
from kconnect.core.settings.common import HIGH, LOW, IfGiven, key
from kconnect.core.settings.source import CREATION_GROUPS
from kconnect.core.settings.validation import Section
from kconnect.errors import ConfigError
from kconnect.java import regex as java_regex

_DISABLED = (
    "The worker's topic.creation.enable is false, so connectors can't define how topics are created: remove all "
    "topic.creation.* settings, or set it to true on all workers"
)
PREFIX, GROUPS, DEFAULT = "topic.creation.", "topic.creation.groups", "default"

_PATTERNS = ("include", "exclude")
_NUMBERS = ("replication.factor", "partitions")
_MATCH_S = 0.5
"""For a topic's name to be looked at by a pattern: it has 249 characters at most."""


def check_partitions(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ConfigError(name, value, "Number of partitions must be positive, or -1 to use the broker's default")


def check_replication_factor(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ConfigError(
            name,
            value,
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, or -1 "
            "to use the broker's default",
        )


def _check_patterns(name: str, value: Any) -> None:
    for pattern in value or ():
        try:
            java_regex.compile(pattern)
        except (java_regex.PatternSyntaxError, java_regex.UnsupportedPatternError) as error:
            raise ConfigError(name, value, f"Invalid regex: {error}") from None


@dataclass(frozen=True)
class Group:
    """
    The settings by which matching topics are created. A number of -1 is the broker's default; `config` are settings of the
    topic itself.

    The group `default` has no patterns and matches every topic.
    """

    name: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    partitions: int
    replication_factor: int
    config: Mapping[str, str]

    def matches(self, topic: str) -> bool:
        """Whether one of `include` matches the whole name, and none of `exclude` does."""
        return self.name == DEFAULT or (_any_matches(self.include, topic) and not _any_matches(self.exclude, topic))


@dataclass(frozen=True)
class TopicSettings:
    """
    The settings of a topic to be created. `group` is the first group that matches its name; -1 stands for the broker's default.
    """

    topic: str
    group: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]


@dataclass(frozen=True)
class TopicCreation:
    """The groups in order of preference; the last is `default`."""

    groups: tuple[Group, ...]

    @classmethod
    def from_config(cls, config: Mapping[str, str]) -> TopicCreation | None:
        """
        Read the groups of a config. Return None if the config leaves topics to the broker. Raise ConfigError for the first
        setting that can't be used.
        """
        if not is_used(config):
            return None
        return cls(tuple(_group(name, table.parse(config), config) for name, table in _tables(config).items()))

    def group_of(self, topic: str) -> Group:
        return next(group for group in self.groups if group.matches(topic))

    def settings_of(self, topic: str) -> TopicSettings:
        """Return the settings by which to create a topic: no group overrides what one before it says."""
        config: dict[str, str] = {}
        for group in reversed([group for group in self.groups if group.matches(topic)]):
            config.update(group.config)
        first = self.group_of(topic)
        return TopicSettings(topic, first.name, first.partitions, first.replication_factor, config)


def is_used(config: Mapping[str, Any]) -> bool:
    """Whether there is any `topic.creation.*` setting; without one, topics are left to the broker."""
    return any(name.startswith(PREFIX) for name in config)


def sections(config: Mapping[str, str]) -> list[Section]:
    """The rows that `topic.creation.*` adds to a source's ConfigInfos: the groups in order of preference, `default` last."""
    if not is_used(config):
        return []
    return [Section("", table, table.validate(config)) for table in _tables(config).values()]


def refused(config: Mapping[str, str]) -> tuple[list[Section], list[tuple[str, str]]]:
    """The same where the worker has `topic.creation.enable=false`: rows, and messages about settings of the framework."""
    values = [
        ConfigValue(name, value, errors=[f"Invalid value {value} for configuration {name}: {_DISABLED}"])
        for name, value in config.items()
        if name.startswith(PREFIX) and name != GROUPS
    ]
    errors = [(GROUPS, f"Invalid value {config[GROUPS]} for configuration {GROUPS}: {_DISABLED}")] if GROUPS in config else []
    return [Section("", ConfigDef(), values)] if values else [], errors


def without_old_errors(infos: dict[str, Any], config: Mapping[str, str | None], before: Mapping[str, str | None]) -> None:
    """
    Take out of ConfigInfos what `refused` says of settings that the connector has had `before`: they are ignored there
    (KIP-158), and must not keep its other settings from being changed.
    """
    for row in infos["configs"]:
        value = row["value"]
        if value and value["name"].startswith(PREFIX) and before.get(value["name"]) == config.get(value["name"]):
            remaining = [error for error in value["errors"] if not error.endswith(_DISABLED)]
            infos["error_count"] -= len(value["errors"]) - len(remaining)
            value["errors"] = remaining


def warnings(kind: str, config: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences for the log about settings of a `source` or `sink` that have no effect."""
    if not is_used(config):
        return
    if kind == "sink":
        yield "topic.creation.* settings have no effect on a sink connector: remove them"
        return
    if DEFAULT in _aliases(config):
        yield f"{GROUPS} need not list the group {DEFAULT}, which always exists and is always the last one"
    listed = _listed(config)
    groups = _by_length(listed)
    for name in config:
        if not name.startswith(PREFIX) or name == GROUPS:
            continue
        group, setting = _split(name, groups)
        if group is None:
            yield f"{name} has no effect: no group of that name is in {GROUPS} ({', '.join(listed) or 'which is empty'})"
        elif group == DEFAULT and setting in _PATTERNS:
            yield f"{name} has no effect: the group {DEFAULT} is for all topics that no other group matches"
    for group in listed:
        if not (config.get(f"{PREFIX}{group}.include") or "").strip():
            yield f"The group {group} has no effect: set {PREFIX}{group}.include to the names of topics, or patterns of them"


def _aliases(config: Mapping[str, str]) -> list[str]:
    return [alias for alias in CREATION_GROUPS.read(config) if alias]


def _listed(config: Mapping[str, str]) -> list[str]:
    return [alias for alias in dict.fromkeys(_aliases(config)) if alias != DEFAULT]


def _by_length(listed: list[str]) -> dict[int, set[str]]:
    """Return the groups, `default` too, by the lengths of their names, the longest first."""
    by_length: dict[int, set[str]] = {}
    for group in sorted((*listed, DEFAULT), key=len, reverse=True):
        by_length.setdefault(len(group), set()).add(group)
    return by_length


def _split(name: str, groups: Mapping[int, Collection[str]]) -> tuple[str | None, str]:
    """
    Group and setting that a name means; of groups `a` and `a.b`, `topic.creation.a.b.partitions` is the latter's. `groups` are
    those of `_by_length`: who may create connectors may list thousands, so none is looked at for another's setting.
    """
    rest = name[len(PREFIX) :]
    for length, names in groups.items():
        if rest[length : length + 1] == "." and rest[:length] in names:
            return rest[:length], rest[length + 1 :]
    return None, rest


def _tables(config: Mapping[str, str]) -> dict[str, ConfigDef]:
    """A table for each group, with the full names of its settings; only those of the topic itself that are given."""
    listed = _listed(config)
    settings_by_group: dict[str, list[str]] = {name: [] for name in (*listed, DEFAULT)}
    groups = _by_length(listed)
    for name in config:
        if name.startswith(PREFIX) and name != GROUPS:
            group, setting = _split(name, groups)
            if group is not None and setting not in (*_PATTERNS, *_NUMBERS):
                settings_by_group[group].append(setting)
    return {
        group: ConfigDef(
            *_keys(group, config), *(_topic_key(group, setting, order) for order, setting in enumerate(settings, 5))
        )
        for group, settings in settings_by_group.items()
    }


def _keys(group: str, config: Mapping[str, str]) -> Iterator[ConfigKey]:
    prefix, title = f"{PREFIX}{group}.", f"Topic Creation: {group}"
    if group != DEFAULT:
        for order, (setting, doc) in enumerate(
            (
                ("include", "Topics of this group: names, or Java patterns that match the whole name, separated by commas."),
                ("exclude", "Topics that are not in this group, even if `include` matches them; written like `include`."),
            ),
            1,
        ):
            place, shown = (title, order), f"{setting.capitalize()} topics of {group}"
            yield key(prefix + setting, Type.LIST, [], HIGH, place, Width.LONG, shown, doc, _check_patterns)
    for order, (setting, type_, check, doc) in enumerate(
        (
            (_NUMBERS[0], Type.SHORT, check_replication_factor, "Replicas of a new topic; -1 is the broker's default."),
            (_NUMBERS[1], Type.INT, check_partitions, "Partitions of a new topic; -1 is the broker's default."),
        ),
        3,
    ):
        default = NO_DEFAULT if group == DEFAULT else _of_default(setting, type_, check, config)
        shown = f"{setting.replace('.', ' ').capitalize()} of {group}"
        yield key(prefix + setting, type_, default, HIGH, (title, order), Width.LONG, shown, doc, IfGiven(check))


def _topic_key(group: str, setting: str, order: int) -> ConfigKey:
    doc = "A setting of new topics, from those of the broker, which refuses unknown ones when a topic is created."
    place = (f"Topic Creation: {group}", order)
    return key(f"{PREFIX}{group}.{setting}", Type.STRING, None, LOW, place, Width.LONG, f"{setting} of {group}", doc)


def _of_default(setting: str, type_: Type, check: Validator, config: Mapping[str, str]) -> Any:
    """Return the value that another group takes from `default`; None if that value can't be used, which is reported there."""
    name = f"{PREFIX}{DEFAULT}.{setting}"
    try:
        value = parse(name, config.get(name), type_)
        IfGiven(check)(name, value)
    except ConfigError:
        return None
    return value


def _group(name: str, parsed: Mapping[str, Any], config: Mapping[str, str]) -> Group:
    prefix = f"{PREFIX}{name}."
    values = {full[len(prefix) :]: value for full, value in parsed.items()}
    return Group(
        name,
        include=tuple(values.get("include", ())),
        exclude=tuple(values.get("exclude", ())),
        partitions=values["partitions"],
        replication_factor=values["replication.factor"],
        config={setting: config[prefix + setting] for setting in values if setting not in (*_PATTERNS, *_NUMBERS)},
    )


def _any_matches(patterns: tuple[str, ...], topic: str) -> bool:
    return any(_matches(pattern, topic) for pattern in patterns)


def _matches(pattern: str, topic: str) -> bool:
    try:
        return java_regex.compile(pattern).matches(topic, _MATCH_S) is not None
    except java_regex.LateError:
        # A record may name its topic: one that keeps a pattern busy is one for the group `default`.
        return False
