"""
Which plugins a connector's config asks for, and in which version: the one place that decides (KIP-891).

Validation, the sandbox, the placement of units and the hosts ask here, so that what one of them has found good is what the
others use. Read next: `environments.py`, for the directories that they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconnect.core.settings import aliases
from kconnect.core.settings.aliases import Alias
from kconnect.core.settings.common import MOST_ALIASES
from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins.scan import INSTALLED

if TYPE_CHECKING:
    from kconnect.plugins.registry import PluginDesc, Registry

Config = Mapping[str, "str | None"]

VERSION = "plugin.version"
"""The end of a version's setting; never a setting of the plugin's own."""

_BESIDE = "into."

CONVERTERS = (("key", "converter"), ("value", "converter"), ("header", "header_converter"))


def missing_converters(registry: Registry, named: Mapping[str, str]) -> Iterator[ConfigError]:
    """
    Yield what is wrong with a worker's own converters, `named` as `settings.worker.converters` names them. A worker starts all
    the same: `kconnect plugin reload` may find them later, and connectors may have others.
    """
    for part, kind in CONVERTERS:
        setting = f"{part}.converter"
        try:
            registry.find(named[setting], kind, named.get(f"{setting}.{VERSION}"))
        except ConnectError as error:
            yield ConfigError(setting, named[setting], str(error))


@dataclass(frozen=True)
class Part:
    """
    A plugin as a config asks for it. `setting` names its class; it is the worker's if the part is `inherited`. Without a
    `version` the copy in `beside`, a plugin directory, is taken if there is one, or else the newest.
    """

    setting: str
    kind: str
    name: str
    version: str | None
    beside: str | None = None
    inherited: bool = False

    @property
    def tag(self) -> tuple[str, str]:
        """The tags of a part of a task's chain in the metrics that plugins make, as in Connect: its kind and its alias."""
        of_alias = self.setting.endswith(".type")
        name = self.setting.removesuffix(".type").partition(".")[2] if of_alias else self.setting.partition(".")[0]
        return self.kind.removeprefix("header_"), name

    def find(self, plugins: Registry) -> PluginDesc:
        """The errors are those of `Registry.find`; ConfigError if the settings are the worker's."""
        try:
            return plugins.find(self.name, self.kind, self.version, self.beside)
        except ConnectError as error:
            raise self._told(error) from error

    def load(self, plugins: Registry) -> type[Any]:
        """Import its class. The errors are those of `Registry.load`; ConfigError if the settings are the worker's."""
        try:
            return plugins.load(self.name, self.kind, self.version, self.beside)
        except ConnectError as error:
            raise self._told(error) from error

    def _told(self, error: ConnectError) -> ConnectError:
        """
        Return the error for an inherited part: without a word about the worker, the reader would look for the setting in the
        connector's config.
        """
        if not self.inherited:
            return error
        version = "" if self.version is None else f" with {self.setting}.{VERSION}={self.version}"
        return ConfigError(f"The worker's {self.setting}={self.name}{version} can't be used: {error}")


def connector(config: Config) -> Part:
    return Part("connector.class", "connector", config.get("connector.class") or "", config.get(f"connector.{VERSION}"))


def converter(plugins: Registry, config: Config, worker: Mapping[str, str], which: str) -> Part:
    """
    `which` is key, value or header; `worker` has the worker's own, as `core.settings.worker.converters` gives them.

    One that the connector names comes, without a version, from the connector's own directory if that has it: it was made to
    go with it. A version without a class says nothing: it is the worker's that counts then.
    """
    setting, kind = f"{which}.converter", dict(CONVERTERS)[which]
    class_name = config.get(setting)
    if not class_name:
        return Part(setting, kind, worker.get(setting) or "", worker.get(f"{setting}.{VERSION}"), inherited=True)
    beside = None
    with suppress(ConnectError):
        location = connector(config).find(plugins).location
        # What is installed beside kconnect has nothing to do with each other.
        beside = None if location == INSTALLED else location
    return Part(setting, kind, class_name, config.get(f"{setting}.{VERSION}"), beside)


def transform(alias: Alias) -> Part:
    return Part(f"{alias.prefix}type", "transformation", alias.type or "", alias.version)


def predicate(alias: Alias) -> Part:
    return Part(f"{alias.prefix}type", "predicate", alias.type or "", alias.version)


def beside(config: Config) -> dict[str, str | None]:
    """Return the config of a sink that a source has beside it (`units/beside.py`); it is empty if there is none."""
    if f"{_BESIDE}connector.class" not in config:
        return {}
    return {name.removeprefix(_BESIDE): value for name, value in config.items() if name.startswith(_BESIDE)}


def parts(plugins: Registry, config: Config, worker: Mapping[str, str]) -> Iterator[Part]:
    """
    All of a chain: the connector, its converters, its transforms and predicates in their order, and those of a sink beside it.
    Never raises.
    """
    yield connector(config)
    yield from _steps(plugins, config, worker)
    yield from _steps(plugins, sink, worker) if (sink := beside(config)) else ()


def _steps(plugins: Registry, config: Config, worker: Mapping[str, str]) -> Iterator[Part]:
    for which, _ in CONVERTERS:
        yield converter(plugins, config, worker, which)
    for setting, part in (("transforms", transform), ("predicates", predicate)):
        for name in aliases.names(setting, config)[:MOST_ALIASES]:
            prefix = f"{setting}.{name}."
            yield part(Alias(name, prefix, config.get(f"{prefix}type"), config.get(f"{prefix}{VERSION}"), {}))
