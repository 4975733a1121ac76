"""
What the libraries behind the connectors may load by name: a list of ours, which only the worker's file extends.

Libraries import whatever class, dialect or driver a property names, and hand it the other properties. The properties come from
a config, or from the answer of a service. So each name is looked up here first. `connector.library.implementations.allowed` is
the worker's setting. Used by `iceberg/guard.py` and `databases.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kconnect.api import ConfigError
from kconnect.connectors.host_files import ALLOWED_PATHS, LINKS
from kconnect.own_places import FUNCTIONS, PLUGIN_PATH

IMPLEMENTATIONS = "connector.library.implementations.allowed"
UNSAFE = "connector.client.config.override.unsafe.allowlist"
"""The worker's list of what configs may have though it reaches further than they should."""


class Informed:
    """A connector or a task that the framework tells the worker's limits, before it is asked or started."""

    worker_settings: tuple[str, ...] = (ALLOWED_PATHS, LINKS, PLUGIN_PATH, FUNCTIONS, IMPLEMENTATIONS, UNSAFE)
    worker: Mapping[str, str] = {}


class Libraries:
    """`worker` is what a connector or a task is told of its worker's settings."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        self._allowed = {name.strip() for name in worker.get(IMPLEMENTATIONS, "").split(",")} - {""}

    def allows(self, name: str) -> bool:
        """Whether the worker's file has this name."""
        return name in self._allowed

    def check(self, setting: str, name: str, ours: Collection[str], what: str, shown: str | None = None) -> None:
        """
        Raise ConfigError if a name is neither among `ours` nor in the worker's file. `what` says what it names, and `shown`
        stands for the value in the error.
        """
        if name in ours or self.allows(name):
            return
        rule = f"{what} must be one of: {', '.join(sorted(ours))}. To allow {name}, add it to the worker's {IMPLEMENTATIONS}"
        raise ConfigError(setting, name if shown is None else shown, rule)
