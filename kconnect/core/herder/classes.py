"""
What connectors' classes say of themselves: whether they are sources or sinks, and their versions.

Plugin code answers that, in the sandbox, and it may hang. So a class is asked by itself, once for all who want to know:
requests wait for the answer, the leader and whoever tends the worker's own units go on without it. Held by `herder.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kconnect.core.herder import effects
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, Until, ask
from kconnect.core.state.records import UnitStatus

_AGAIN_MS = 30_000
"""A class that could not be asked is not asked again before, so that a list of its connectors waits for it once."""
_SOON_MS = 2_000
_PATIENCE_MS = 10_000
"""For what tells the type beside other things: a class that hangs would hold up the lists of all connectors."""

_Key = tuple[str, "str | None"]
ClassOfNewConfigs = Callable[[str], str]


def named(config: Mapping[str, str | None]) -> _Key:
    """Return the class that a config names, and its version; None for the newest."""
    return config.get("connector.class") or "", config.get("connector.plugin.version")


class Classes:
    """A class is that of a connector's config, in the version that this asks for."""

    def __init__(self, desk: Desk, class_of_new_configs: ClassOfNewConfigs = str) -> None:
        self._desk, self._class_of_new_configs = desk, class_of_new_configs
        self._known: dict[_Key, Body] = {}
        self._failed_at: dict[_Key, int] = {}
        self._asked_at: dict[_Key, int] = {}
        """Those that have not answered yet."""
        self.answers = 0
        """Counts answers and failures."""

    def known(self, config: Mapping[str, str | None]) -> Mapping[str, Any] | None:
        """`class`, `type` and `version`, if they are known by now; otherwise the class is asked, and the answer a change."""
        key = named(config)
        if key not in self._known and key not in self._asked_at:
            failed = self._failed_at.get(key)
            if failed is None or self._desk.now - failed >= _AGAIN_MS:
                self._asked_at[key] = self._desk.now
                self._desk.begin(self._ask(key))
        return self._known.get(key)

    def ask(self, config: Mapping[str, str | None], patient: bool = True) -> Procedure[Mapping[str, Any] | None]:
        """
        Wait for the description of the connector's class. Return None if the worker has no such class or its code fails. With
        `patient=False`, also return None if the answer takes long, and at once if there was no answer before.
        """
        key = named(config)
        description = self.known(config)
        if description is None and (patient or key not in self._failed_at):
            # Only then: a list of a thousand connectors asks as often, and each wait is a turn of the loop's.
            yield Until(lambda: key not in self._asked_at or (not patient and self._is_late(key)))
            description = self._known.get(key)
        return description

    def kind(self, name: str, patient: bool = False) -> Procedure[str]:
        """
        Return the type of a connector: `source`, `sink`, or `unknown` if this worker does not have the class, its code fails,
        or the answer takes long. With `patient`, wait for the answer.
        """
        connector = self._desk.log.config.connectors.get(name)
        if connector is None or connector.properties.get("connector.class") is None:
            return "unknown"
        described = yield from self.ask(connector.properties, patient=patient)
        return "unknown" if described is None else str(described["type"])

    def ask_again(self) -> None:
        """Other plugins are there: what was known counts until there is another answer, and what failed is tried again."""
        self._failed_at.clear()
        for key in self._known.keys() - self._asked_at.keys():
            self._asked_at[key] = self._desk.now
            self._desk.begin(self._ask(key))

    def _is_late(self, key: _Key) -> bool:
        return self._desk.now - self._asked_at[key] >= _PATIENCE_MS

    def settled(self, config: Mapping[str, str | None]) -> dict[str, str | None]:
        """
        Return a submitted config whose class means the same whatever is installed later: with the class's full name, where a
        name means another class in new configs than in stored ones. A connector keeps the class that it has by its name.
        """
        setting = "connector.class"
        named, stored = config.get(setting), self._desk.log.config.connectors.get(config.get("name") or "")
        if not named or (stored is not None and stored.properties.get(setting) == named):
            return dict(config)
        return {**config, setting: self._class_of_new_configs(named)}

    def is_expected_soon(self, config: Mapping[str, str | None]) -> bool:
        """Whether the answer is under way, and not for long yet."""
        asked = self._asked_at.get(named(config))
        return asked is not None and self._desk.now - asked < _SOON_MS

    def version_of(self, status: UnitStatus | None, config: Mapping[str, str | None]) -> tuple[bool, str | None]:
        """
        The version for the next status of a unit that need not have run yet, or of which none is known any more. False, and
        no version: the class is about to tell it.
        """
        if status is not None and status.version is not None:
            return True, status.version
        described = self.known(config)
        if self.is_expected_soon(config):
            return False, None
        return True, None if described is None else described["version"]

    def _ask(self, key: _Key) -> Procedure[None]:
        try:
            self._known[key] = yield from ask(effects.DescribePlugin(*key))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the plugin, nothing is known of it then
            if key not in self._failed_at:
                self._desk.say("WARNING", f"The connector class {key[0]} can't be asked, so its type is unknown: {error}")
            self._failed_at[key] = self._desk.now
        finally:
            del self._asked_at[key]
            self.answers += 1
            self._desk.changed()
