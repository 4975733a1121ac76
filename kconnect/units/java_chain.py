"""
The chain of a task whose connector is Java's: all of it runs in Java, so that a record crosses over once, as bytes. And the
converters of a task in Python, if one of them is Java's.

Called by `source_task.py` and `sink_task.py`. A built-in converter, transform or predicate that stands for one of Connect's
runs as Connect's own class here, which gives the same result without a crossing. Read next: `kconnect/jvm/chain.py`; for tasks
in Python, `converters.py` and `transforms.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kconnect.converters.json import INFER
from kconnect.core.settings import aliases, worker
from kconnect.core.settings.aliases import Alias
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins import chain
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.units import converters

if TYPE_CHECKING:
    from kconnect.jvm.chain import Chain

log = logging.getLogger(__name__)


def is_java(part: type[Any]) -> bool:
    """Whether a plugin's type stands for a class of Java."""
    return hasattr(part, "java_class")


def has_java_converter(config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> bool:
    """Whether a converter of a task is Java's: then all of them have to be."""
    parts = (converters.part(which, config, settings, plugins) for which, _ in chain.CONVERTERS)
    return any(part.find(plugins).java for part in parts)


def is_mixed(config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> bool:
    """Whether a part of a chain is in Python only, so that it can't be in Java as a whole. To infer schemas is such a part."""
    if any(_infers(which, config, settings, plugins) for which in ("key", "value")):
        return True
    found: list[PluginDesc] = []
    for part in chain.parts(plugins, config, worker.converters(settings)):
        # One that can't be found has better words where it is looked for.
        with suppress(ConnectError):
            found.append(part.find(plugins))
    return any(each.java_class is None for each in found)


def refuse_inference(config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> None:
    """Raise ConfigError if a converter is to infer schemas beside one that is in Java only: Connect's own would not do it."""
    for which in ("key", "value"):
        if _infers(which, config, settings, plugins):
            asked = converters.part(which, config, settings, plugins)
            rule = "schemas can't be inferred beside a converter that is in Java only. Name another key or header converter"
            raise ConfigError(f"{asked.setting}.{INFER}", "true", rule)


def _infers(which: str, config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> bool:
    """Whether a converter is Connect's JsonConverter with a setting that only ours has."""
    with suppress(ConnectError):
        asked = converters.part(which, config, settings, plugins)
        asks = converters.given(asked, config, settings).get(INFER, "").strip().lower() == "true"
        return asks and not asked.find(plugins).java
    return False


class JavaChain:
    """
    `chain` has each part configured once; `close` when the task ends. Without `transforms` it has the converters only, for a
    task in Python.
    """

    def __init__(self, config: Mapping[str, str], settings: WorkerSettings, plugins: Registry, transforms: bool = True) -> None:
        """ConfigError, naming the setting, if a part can't be had in Java or does not take its settings."""
        from kconnect.jvm.chain import Chain

        self._plugins = plugins
        self._beside = "the connector is" if transforms else "another converter is"

        def converter(which: str) -> Any:
            asked = converters.part(which, config, settings, plugins)
            given = {**converters.given(asked, config, settings), "converter.type": which}
            more = () if which == "header" else (which == "key",)
            return self._configured(asked, asked.find(plugins), given, *more)

        self.chain: Chain = Chain(*map(converter, ("key", "value", "header")))
        try:
            known = aliases.predicates(config)
            for alias in aliases.transforms(config) if transforms else ():
                self._add(alias, known)
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        try:
            self.chain.close()
        except ConnectError:
            log.exception("Closing the converters and transforms failed")

    def _add(self, alias: Alias, known: Mapping[str, Alias]) -> None:
        transform = self._alias(alias, chain.transform(alias))
        if alias.predicate is None:
            self.chain.add(alias.name, transform, None, False)
            return
        if alias.predicate not in known:
            raise ConfigError(f"{alias.prefix}predicate", alias.predicate, "there is no predicate of that alias")
        predicate = self._alias(known[alias.predicate], chain.predicate(known[alias.predicate]))
        self.chain.add(alias.name, transform, predicate, alias.negate)

    def _alias(self, alias: Alias, part: chain.Part) -> Any:
        if not alias.type:
            raise ConfigError(f'Missing required configuration "{alias.prefix}type" which has no default value.')
        try:
            return self._configured(part, part.find(self._plugins), alias.properties)
        except ConnectError as error:
            raise ConfigError(f"{alias.prefix.rstrip('.')} ({alias.type}) can't be used: {error}") from error

    def _configured(self, part: chain.Part, found: PluginDesc, given: Mapping[str, str], *more: bool) -> Any:
        from kconnect.jvm import classes

        if found.java_class is None:
            raise ConfigError(
                part.setting, part.name, f"this plugin is in Python, and {self._beside} in Java. Name one in Java"
            )
        made = classes.load(part.kind, *found.java_class)()
        made.configure(dict(given), *more)
        made.monitor(*part.tag)
        return made
