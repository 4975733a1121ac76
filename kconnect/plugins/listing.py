"""
Which connectors there are, for `GET /connector-plugins`: whether one is a source or a sink only its class can say.

Held by `sandbox.py`. A process that is thrown away afterwards asks all that are not known yet, in forks of its own: 200 plugins
cost no 200 starts of Python, none sees what another has imported, and none waits for one that hangs. What can't be asked is
left out, with a warning. Read next: `listing_child.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import asdict
from typing import Any

from kconnect.java import versions
from kconnect.plugins.child import ChildEndedError
from kconnect.plugins.registry import PluginDesc, Registry

log = logging.getLogger(__name__)

_TYPES = ("sink", "source", "transformation", "predicate", "converter", "header_converter")
_ONE_S = 15.0
"""What one connector may take."""
_ENDING_S = 5.0
"""What the child may take to say what it has found."""

Described = MutableMapping[tuple[str, str], dict[str, Any]]
"""What connectors say of themselves: `class`, `type`, `version`; by Python path and version of the package."""


class Listing:
    """
    Thread-safe. `described` is filled here, and may be by others; `seconds` limits a listing. `ask` gives what the child
    answers to a request before a deadline (of `time.monotonic`); TimeoutError or ChildEndedError if it does not.

    One that hung, failed or ended its process is not asked again, or every listing would wait for it.
    """

    def __init__(
        self,
        registry: Registry,
        described: Described,
        seconds: float,
        ask: Callable[[dict[str, Any], float], dict[str, Any]],
    ) -> None:
        self._registry, self._described, self._seconds, self._ask = registry, described, seconds, ask
        self._refused: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def rows(self, connectors_only: bool) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins`, each class with its versions in increasing order."""
        connectors = [plugin for plugin in self._registry.plugins if plugin.kind == "connector"]
        with self._lock:
            for connector in connectors:
                if connector.type:
                    self._described.setdefault(_key(connector), known(connector))
            unknown = [
                connector for connector in connectors if not {_key(connector)} & (self._described.keys() | self._refused)
            ]
            if unknown:
                self._learn(unknown)
        rows = []
        for plugin in self._registry.plugins:
            kind = plugin.kind
            if kind == "connector":
                described = self._described.get(_key(plugin))
                if described is None:
                    continue
                kind = described["type"]
            elif connectors_only or kind not in _TYPES:
                continue
            rows.append(({"class": plugin.class_name, "type": kind}, plugin.version))
        rows.sort(key=lambda row: (_TYPES.index(row[0]["type"]), row[0]["class"], versions.key(row[1])))
        return [row if version == versions.UNDEFINED else {**row, "version": version} for row, version in rows]

    def _learn(self, plugins: Sequence[PluginDesc]) -> None:
        # The monotonic clock is the machine's: the child's own start is part of the time.
        limit_s, until = min(_ONE_S, self._seconds / 2), time.monotonic() + self._seconds
        request = {"plugins": [asdict(plugin) for plugin in plugins], "until": until, "each": limit_s}
        try:
            answer = self._ask(request, until + _ENDING_S)
        except (TimeoutError, ChildEndedError) as error:
            log.warning(
                "Connector plugins could not be asked for their types and versions; the next request tries again: %r",
                error,
            )
            return
        for plugin, description in zip(plugins, answer["found"], strict=True):
            if description is None:
                log.warning(
                    "The connector plugin %s in version %s is not listed yet: it could not be asked in time", *_key(plugin)
                )
            elif "error" in description:
                self._refused.add(_key(plugin))
                log.warning(
                    "The connector plugin %s in version %s is not listed until plugins are reloaded: %s",
                    *_key(plugin),
                    description["error"],
                )
            else:
                self._described[_key(plugin)] = description
                self._compare(plugin, description["version"])

    def _compare(self, plugin: PluginDesc, version: str) -> None:
        if version != plugin.version and plugin.version != versions.UNDEFINED:
            log.warning(
                "The connector plugin %s reports the version %s; kconnect uses and lists the version of its package, %s",
                plugin.python_path,
                version,
                plugin.version,
            )


def known(plugin: PluginDesc) -> dict[str, Any]:
    """Return what the metadata of a plugin tell of it."""
    return {"class": plugin.class_name, "type": plugin.type, "version": plugin.version}


def _key(plugin: PluginDesc) -> tuple[str, str]:
    return plugin.python_path, plugin.version
