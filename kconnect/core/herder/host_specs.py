"""
Which spec a unit's host has to have: where its plugins come from, and whether it is to be alone. Held by `placing.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kconnect.core.settings.operation import Operation
from kconnect.core.state.assignment_records import PLAIN, HostSpec
from kconnect.core.state.config import ConfigState, Properties
from kconnect.core.state.records import TargetState, UnitId

Directories = Callable[[Mapping[str, "str | None"]], tuple[str, ...]]
"""The directories of `plugin.path` that the plugins of a connector's config come from; never raises."""


class _Read(NamedTuple):
    config: Properties
    directories: tuple[str, ...]
    operation: Operation


class HostSpecs:
    """`directories` is asked once for each version of a config."""

    def __init__(self, directories: Directories) -> None:
        self._directories = directories
        self._read: dict[tuple[str, bool], _Read] = {}

    def of(self, config: ConfigState, unit: UnitId) -> HostSpec:
        """
        Return the spec of the host that a unit needs; its connector must exist. A task's spec follows from the config which its
        task set was made from, since its host starts it with no other.
        """
        connector = config.connectors[unit.connector]
        applied = connector.properties if unit.is_connector or connector.applied is None else connector.applied
        read = self._of_config((unit.connector, unit.is_connector), applied)
        if unit.is_connector or not read.operation.dedicated:
            return HostSpec(read.directories)
        return HostSpec(read.directories, unit, read.operation.memory)

    def shared(self, config: ConfigState) -> Counter[HostSpec]:
        """Return the specs by which connectors share hosts, but for the plain one, and how many connectors have each."""
        running = [name for name in config.connectors if config.target_state(name) is not TargetState.STOPPED]
        specs = Counter(self.of(config, UnitId(name)) for name in running)
        del specs[PLAIN]
        return specs

    def forget(self) -> None:
        """Other plugins are there: all configs are to be read anew."""
        self._read.clear()

    def keep(self, config: ConfigState) -> None:
        """Forget the connectors that are gone."""
        if len(self._read) > 2 * len(config.connectors):
            self._read = {key: read for key, read in self._read.items() if key[0] in config.connectors}

    def _of_config(self, key: tuple[str, bool], config: Properties) -> _Read:
        parsed = self._read.get(key)
        # The fold puts a new mapping in the place of one that was overwritten, and changes none.
        if parsed is None or parsed.config is not config:
            parsed = self._read[key] = _Read(config, self._directories(config), Operation.of(config))
        return parsed
