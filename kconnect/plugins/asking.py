"""
Asks plugin classes for objects and tables of settings, saying beforehand what is about to be asked.

Made by `sandbox_child.py` and `listing_child.py`, inside the disposable processes; `validation.py` asks through it too. What is
said beforehand is how a parent that has to kill the process can name class and stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api.config import ConfigDef, Password, Type, parse
from kconnect.api.connector import Connector, SinkConnector, SourceConnector
from kconnect.core.settings import secrets
from kconnect.core.settings.hiding import Submitted
from kconnect.errors import BadRequestError
from kconnect.plugins.registry import PluginDesc, Registry

ConfigMap = Mapping[str, "str | None"]


class Asking:
    """
    The state of one request to plugin code: the stage that the code is in, `secrets` that no message may quote, `warnings` for
    the log.
    """

    def __init__(self, registry: Registry, announce: Callable[[dict[str, str]], None], worker: Mapping[str, Any]) -> None:
        self.registry, self.worker = registry, worker
        self.secrets: set[str] = set()
        self.warnings: list[str] = []
        self.submitted: Submitted | None = None
        """The config with its references, if it has some."""
        self._announce = announce
        self._stage, self._class = "", ""

    def where(self) -> str:
        return f"The plugin {self._class} failed at the stage {self._stage}"

    def at(self, stage: str, plugin: PluginDesc) -> None:
        self._stage, self._class = stage, plugin.class_name
        self._announce({"stage": stage, "class": plugin.class_name})

    def hide(self, message: str) -> str:
        """A message for others to read, without secrets."""
        return secrets.hide(message if self.submitted is None else self.submitted.text(message), self.secrets)

    def make(self, plugin: PluginDesc) -> Any:
        self.at("importing", plugin)
        loaded = self.registry.load(plugin.python_path, plugin.kind, plugin.version)
        self.at("constructing", plugin)
        return loaded()

    def connector(self, plugin: PluginDesc) -> Connector:
        connector = self.make(plugin)
        if not isinstance(connector, SourceConnector | SinkConnector):
            raise BadRequestError(
                f"{plugin.class_name} is neither a SourceConnector nor a SinkConnector, as its entry point says"
            )
        return connector

    def config_def(self, plugin: PluginDesc, instance: Any, config: Mapping[str, str] | None = None) -> ConfigDef:
        """`config_for`, where a plugin has it, knows of settings whose names the config makes up, such as `field.<path>`."""
        self.at("config()", plugin)
        config_def = (
            instance.config() if config is None or not hasattr(instance, "config_for") else instance.config_for(dict(config))
        )
        if not isinstance(config_def, ConfigDef):
            raise BadRequestError(f"{plugin.class_name}.config() must return a ConfigDef that is not null.")
        return config_def

    def hide_passwords(self, config_def: ConfigDef, config: ConfigMap) -> None:
        """Remember the values of a table's secret settings as secrets."""
        secret = {key.name for key in config_def.keys.values() if key.type is Type.PASSWORD}
        parsed = [parse(name, config[name], Type.PASSWORD) for name in secret & config.keys()]
        values = [password.value for password in parsed if isinstance(password, Password) and password.value]
        self.secrets |= {form for value in values for form in secrets.forms(value)}


def describe(asking: Asking, plugin: PluginDesc) -> dict[str, Any]:
    """`class`, `type` and `version` of a connector, as it says itself."""
    connector = asking.connector(plugin)
    asking.at("version()", plugin)
    return {"class": plugin.class_name, "type": kind_of(connector), "version": str(connector.version())}


def kind_of(connector: Connector) -> str:
    return "sink" if isinstance(connector, SinkConnector) else "source"
