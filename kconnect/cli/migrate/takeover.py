"""
Whether kconnect's workers can take the place of Kafka Connect's on the same topics, and how far that has come.

Pure: `examine` gets what the brokers hold and the worker file's settings, which `cli/migrate/topics.py` has read. Nothing is
written. Read next: `internal_topics/checking.py` for what is checked in the topics themselves.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kconnect.core.settings import references
from kconnect.core.settings.worker import WorkerSettings, converters
from kconnect.core.state.records import Topic
from kconnect.errors import ConfigError, ConnectError
from kconnect.internal_topics.contents import Contents
from kconnect.internal_topics.findings import Finding, Severity, listed
from kconnect.internal_topics.view import View
from kconnect.plugins import chain
from kconnect.plugins.registry import Registry

_THEIRS = (Topic.CONFIG, Topic.OFFSET, Topic.STATUS)


class Alive(enum.Enum):
    """The kind of workers in the group. Both at once can't be: the group's coordinator refuses the second kind."""

    NOBODY = "nobody"
    CONNECT = "connect"
    KCONNECT = "kconnect"
    UNKNOWN = "unknown"
    """There is no right to see the group."""


@dataclass(frozen=True)
class Takeover:
    """`problems` hinder it, `warnings` don't."""

    alive: Alive
    members: tuple[str, ...]
    connectors: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def examine(contents: Contents, findings: list[Finding], settings: WorkerSettings, plugins: Registry) -> Takeover:
    """`findings` are those of `checking.check`."""
    configs = {name: connector.properties for name, connector in View(contents.records).config.connectors.items()}
    problems = [f"the topic {contents.missing[role]} does not exist" for role in _THEIRS if role in contents.missing]
    problems += [_words(finding) for finding in findings if finding.severity is Severity.ERROR]
    warnings = [_words(finding) for finding in findings if finding.severity is Severity.WARNING]
    if settings.unknown_keys:
        unknown = listed(settings.unknown_keys)
        warnings.append(f"kconnect does not know these settings of the worker file, and ignores them: {unknown}")
    try:
        providers = references.declared(settings.raw)
    except ConfigError as error:
        providers = {}
        problems.append(str(error))
    for provider in providers.values():
        problems += _missing(plugins, provider.class_name, "config_provider", f"config.providers.{provider.name}.class")
    for name, config in sorted(configs.items()):
        problems += _of_connector(name, config, plugins, settings, providers.keys())
    return Takeover(_alive(contents.members), contents.members or (), len(configs), tuple(problems), tuple(warnings))


def _alive(members: tuple[str, ...] | None) -> Alive:
    if members is None:
        return Alive.UNKNOWN
    if not members:
        return Alive.NOBODY
    # kconnect's members are called by their workers' URLs.
    return Alive.KCONNECT if all("://" in member for member in members) else Alive.CONNECT


def _of_connector(
    name: str, config: Mapping[str, str | None], plugins: Registry, settings: WorkerSettings, providers: Collection[str]
) -> Iterator[str]:
    for part in chain.parts(plugins, config, converters(settings)):
        try:
            part.find(plugins)
        except ConnectError as error:
            yield f"{name}: {part.setting}={part.name} is not installed for kconnect ({_short(error)})"
    declared = set(providers)
    named = {ref.provider for text in config.values() for ref in references.find(text or "")}
    for provider in sorted(named - declared):
        yield (
            f"{name}: its config refers to the config provider {provider}, which config.providers of the worker file does not "
            "name"
        )


def _missing(plugins: Registry, class_name: str, kind: str, setting: str) -> Iterator[str]:
    try:
        plugins.find(class_name, kind)
    except ConnectError as error:
        yield f"the worker file's {setting}={class_name} is not installed for kconnect ({_short(error)})"


def _short(error: Exception) -> str:
    """Without the list of all that there is."""
    return str(error).split(", available")[0].splitlines()[0]


def _words(finding: Finding) -> str:
    return f"{finding.topic.value} topic: {finding.text}" + (f" {finding.remedy}" if finding.remedy else "")
