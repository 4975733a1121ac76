"""What this worker's plugins are, and how they are configured. Made by `rest/plugins.py` and `rest/upkeep.py`."""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request


@dataclass(frozen=True, slots=True)
class ListPlugins(Request["list[Body]"]):
    """`GET /connector-plugins`."""

    connectors_only: bool = True

    def answer(self, office: Office) -> Procedure[list[Body]]:
        return (yield from ask(effects.ListPlugins(self.connectors_only)))


@dataclass(frozen=True, slots=True)
class GetPluginConfig(Request["list[Body]"]):
    """`GET /connector-plugins/{p}/config`; `version` may be a range, None is the newest."""

    plugin: str
    version: str | None = None

    def answer(self, office: Office) -> Procedure[list[Body]]:
        return (yield from ask(effects.PluginConfig(self.plugin, self.version)))


@dataclass(frozen=True, slots=True)
class ListPlaces(Request[Body]):
    """`GET /kconnect/plugins`: each plugin with where it is, and what could not be read."""

    def answer(self, office: Office) -> Procedure[Body]:
        return (yield from ask(effects.ListPlaces()))


@dataclass(frozen=True, slots=True)
class ReloadPlugins(Request[Body]):
    """`POST /kconnect/plugins/reload`: this worker looks at plugin.path anew."""

    hurries = True

    def answer(self, office: Office) -> Procedure[Body]:
        changes = yield from ask(effects.ReloadPlugins())
        office.classes.ask_again()
        office.placing.plugins_changed()
        return changes
