"""
What the framework does with a plugin's config before any data flows, for tests of plugins: validation, with the answer of REST,
and `configure`.

Called by authors' tests through `kconnect.testing`, and by `source.py`, `sink.py` and `checks.py` here. It runs the same code
as `PUT /connector-plugins/{plugin}/config/validate`, in this process instead of a sandbox. Read next: `checks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from kconnect.api.config import ConfigDef
from kconnect.api.config_provider import ConfigProvider
from kconnect.api.connector import Connector, SinkConnector, SourceConnector
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.predicate import Predicate
from kconnect.api.transformation import Transformation
from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins.asking import Asking
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.scan import INSTALLED
from kconnect.plugins.validation import Validation

P = TypeVar("P")

NAME = "test"
"""The name of a connector whose config has no name, and the topic of a sink whose config has no topic."""

KINDS: dict[type[Any], str] = {
    SourceConnector: "connector",
    SinkConnector: "connector",
    Transformation: "transformation",
    Predicate: "predicate",
    Converter: "converter",
    HeaderConverter: "header_converter",
    ConfigProvider: "config_provider",
}


def path_of(plugin: type[Any]) -> str:
    """`module:Class`, as an entry point names it."""
    return f"{plugin.__module__}:{plugin.__qualname__}"


def kind_of(plugin: type[Any]) -> str:
    """The kind of a plugin's class, in the registry's words. Raises ConnectError if the class is not a plugin."""
    for base, kind in KINDS.items():
        if isinstance(plugin, type) and issubclass(plugin, base):
            return kind
    bases = ", ".join(base.__name__ for base in KINDS)
    raise ConnectError(f"{plugin!r} is not a plugin: derive it from one of kconnect.api's {bases}")


def completed(connector: type[Connector], config: Mapping[str, str]) -> dict[str, str]:
    """A connector's config, completed with what REST and users would have added: its name and class, and a sink's topic."""
    bad = [name for name, value in config.items() if not isinstance(name, str) or not isinstance(value, str)]
    if bad:
        raise ConfigError(f"Settings are texts, as in REST: write {bad[0]!r} and its value as str")
    full = {"name": NAME, "connector.class": path_of(connector), "tasks.max": "1", **config}
    if issubclass(connector, SinkConnector) and not config.get("topics") and not config.get("topics.regex"):
        full["topics"] = NAME
    return full


def config_infos(connector: type[Connector], config: Mapping[str, str]) -> dict[str, Any]:
    """
    The answer of `PUT /connector-plugins/{plugin}/config/validate` for a connector's config: ConfigInfos as a dict.

    `name`, `connector.class`, `tasks.max` and a sink's `topics` are added if they are missing. The worker counts as one with
    exactly-once sources. Errors of the plugin are raised unchanged.
    """
    worker = {"exactly_once": True, "overrides": {}, "converters": {}}
    asking = Asking(_With(connector), lambda stage: None, worker)
    providers = Providers(_installed(), {})
    full = completed(connector, config)
    return Validation(asking, path_of(connector), full, lambda texts: providers.resolve([texts])).infos()


def config_errors(connector: type[Connector], config: Mapping[str, str]) -> dict[str, list[str]]:
    """The messages of validation, by setting; empty if the config would be accepted."""
    values = (info["value"] for info in config_infos(connector, config)["configs"])
    return {value["name"]: value["errors"] for value in values if value["errors"]}


def accepted(connector: type[Connector], config: Mapping[str, str]) -> dict[str, str]:
    """The completed config. Raises ConfigError, with all errors, if validation finds any."""
    errors = config_errors(connector, config)
    if errors:
        listed = "; ".join(message for messages in errors.values() for message in messages)
        raise ConfigError(f"The config of {connector.__name__} would be refused: {listed}")
    return completed(connector, config)


def configured(plugin: type[P], config: Mapping[str, str] | None = None, is_key: bool = False) -> P:
    """
    A transform, predicate, converter, header converter or config provider, made and configured as the framework does it.

    `config` has the plugin's own settings, without a prefix. `is_key` is for converters. Raises ConfigError, with all errors,
    if validation by `config()` would refuse a setting.
    """
    kind = kind_of(plugin)
    if kind == "connector":
        raise ConnectError(f"{plugin.__name__} is a connector, which must be started: use SourceRunner or SinkRunner")
    instance_of_kind: Any = plugin()
    settings: dict[str, Any] = dict(config or {})
    if kind in ("converter", "header_converter"):
        settings = {"converter.type": "header" if kind == "header_converter" else "key" if is_key else "value", **settings}
    errors = [] if kind == "config_provider" else _errors(instance_of_kind, settings)
    if errors:
        raise ConfigError(f"The config of {plugin.__name__} would be refused: {'; '.join(errors)}")
    instance_of_kind.configure(settings, is_key) if kind == "converter" else instance_of_kind.configure(settings)
    instance: P = instance_of_kind
    return instance


def config_def_of(made: Any, given: Mapping[str, str] | None = None) -> ConfigDef:
    """The ConfigDef that a plugin declares. Raises ConnectError if it is something else."""
    definition = made.config_for(dict(given or {})) if hasattr(made, "config_for") else made.config()
    if not isinstance(definition, ConfigDef):
        raise ConnectError(f"{type(made).__name__}.config() returned {definition!r}, but must return a ConfigDef")
    return definition


def _errors(made: Any, given: Mapping[str, str]) -> list[str]:
    return [message for value in config_def_of(made, given).validate(given) for message in value.errors]


@cache
def _installed() -> Registry:
    return Registry.scan(())


def installed_version(plugin: type[Any]) -> str | None:
    """The version of the installed package whose entry points name this class; None if there is none."""
    try:
        return _installed().find(path_of(plugin), kind_of(plugin)).version
    except ConnectError:
        return None


class _With(Registry):
    """The installed plugins, and one class that need not be installed, nor be at the top level of a module."""

    def __init__(self, connector: type[Connector]) -> None:
        path, kind = path_of(connector), kind_of(connector)
        installed = [plugin for plugin in _installed().plugins if plugin.python_path != path]
        tested = PluginDesc(path.replace(":", "."), path, connector.__name__, kind, "undefined", INSTALLED)
        super().__init__([tested, *installed])
        self._own, self._path = connector, path

    def find(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> PluginDesc:
        # Another plugin of the same simple name must not be found instead.
        return super().find(name, kind, None if name == self._path else version, beside)

    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        return self._own if name == self._path else super().load(name, kind, version, beside)
