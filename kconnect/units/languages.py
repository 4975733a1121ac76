"""
In which language the parts of a task's chain are: a fact of each plugin's description, asked here only.

Called by `chains.py`, which decides by it who runs a chain. A built-in converter, transform or predicate that stands for one of
Connect's can be in both: there it is Connect's own class, which gives the same result. Read next: `plugins/chain.py`, for the
parts that a config asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from kconnect.converters.json import INFER
from kconnect.core.settings import worker
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins import chain
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.units import converters

Config = Mapping[str, str]


def is_java(config: Config, plugins: Registry) -> bool:
    """Whether the connector itself, and so its tasks, are in Java."""
    return chain.connector(config).find(plugins).java


def has_java_converter(config: Config, settings: WorkerSettings, plugins: Registry) -> bool:
    """Whether a converter of a task is Java's: then all of them have to be."""
    parts = (converters.part(which, config, settings, plugins) for which, _ in chain.CONVERTERS)
    return any(part.find(plugins).java for part in parts)


def is_mixed(config: Config, settings: WorkerSettings, plugins: Registry) -> bool:
    """Whether a part of a chain is in Python only, so that it can't be in Java as a whole. To infer schemas is such a part."""
    if any(_infers(which, config, settings, plugins) for which in ("key", "value")):
        return True
    descriptions: list[PluginDesc] = []
    for part in chain.parts(plugins, config, worker.converters(settings)):
        # One that can't be found has better words where it is looked for.
        with suppress(ConnectError):
            descriptions.append(part.find(plugins))
    return any(description.java_class is None for description in descriptions)


def refuse_inference(config: Config, settings: WorkerSettings, plugins: Registry) -> None:
    """Raise ConfigError if a converter is to infer schemas beside one that is in Java only: Connect's own would not do it."""
    for which in ("key", "value"):
        if _infers(which, config, settings, plugins):
            asked = converters.part(which, config, settings, plugins)
            rule = "schemas can't be inferred beside a converter that is in Java only. Name another key or header converter"
            raise ConfigError(f"{asked.setting}.{INFER}", "true", rule)


def _infers(which: str, config: Config, settings: WorkerSettings, plugins: Registry) -> bool:
    """Whether a converter is Connect's JsonConverter with a setting that only ours has."""
    with suppress(ConnectError):
        asked = converters.part(which, config, settings, plugins)
        asks = converters.given(asked, config, settings).get(INFER, "").strip().lower() == "true"
        return asks and not asked.find(plugins).java
    return False
