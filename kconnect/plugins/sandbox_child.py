"""
The disposable process in which plugin code is asked about configs, so that it can't hurt the worker.

`sandbox.py` starts it as `python -m kconnect.plugins.sandbox_child` and speaks to it in frames: four bytes of length, then
JSON. The first frame says what plugins there are; then each request gets one answer. Before each stage of a request the
child says what it is about to do, so that a parent which has to kill it can name class and stage.
"""

from __future__ import annotations

import os
import queue
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import IO, Any

import orjson

from kconnect.api.config import Config, ConfigDef, Password, Type, parse
from kconnect.api.connector import Connector, ExactlyOnceSupport, SinkConnector, SourceConnector
from kconnect.api.errors import BadRequestError, ConfigError, ConnectError, NotFoundError
from kconnect.core.settings import aliases, secrets
from kconnect.core.settings.validation import Asked, Section, validate
from kconnect.core.settings.worker import tell
from kconnect.plugins.registry import PluginDesc, Registry

ConfigMap = Mapping[str, "str | None"]


def frame(body: Any) -> bytes:
    data = orjson.dumps(body)
    return struct.pack(">I", len(data)) + data


def main() -> None:
    # The pipes are taken away from descriptors 0 and 1 first: whatever a plugin prints must not be read as an answer.
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    first = _read(requests) or {}
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    registry = Registry.scan(first.get("plugin_path"))
    while True:
        request = waiting.get()
        call = Call(registry, lambda stage: _send(answers, stage), first.get("worker", {}))
        _send(answers, _answer(call, request))


def _receive(requests: IO[bytes], waiting: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass requests on; end the process with its parent, even while plugin code hangs."""
    while (request := _read(requests)) is not None:
        waiting.put(request)
    os._exit(0)


def _answer(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    calls: dict[str, Callable[..., Any]] = {
        "describe": call.describe,
        "validate": call.validate,
        "config": call.config_keys,
    }
    try:
        return {"result": calls[request["call"]](**request["arguments"])}
    except (NotFoundError, BadRequestError) as error:
        return call.error(type(error), str(error))
    except ConfigError as error:
        return call.error(BadRequestError, f"{call.where()}: {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own: told to whoever asked, with its place
        sys.stderr.write(traceback.format_exc())
        return call.error(ConnectError, f"{call.where()}: {type(error).__name__}: {error}")


class Call:
    """One request. Keeps the stage that plugin code is in, and the secrets that no message may quote."""

    def __init__(
        self, registry: Registry, announce: Callable[[dict[str, str]], None], worker: Mapping[str, Any]
    ) -> None:
        self._registry, self._announce, self._worker = registry, announce, worker
        self._stage, self._class = "", ""
        self._secrets: set[str] = set()

    def where(self) -> str:
        return f"The plugin {self._class} failed at the stage {self._stage}"

    def error(self, kind: type[ConnectError], message: str) -> dict[str, Any]:
        return {"error": kind.__name__, "message": secrets.hide(message, self._secrets)}

    def describe(self, plugin: str) -> dict[str, Any]:
        found = self._registry.find(plugin, "connector")
        connector = self._connector(found)
        self._at("version()", found)
        return {"class": found.class_name, "type": _type(connector), "version": str(connector.version())}

    def config_keys(self, plugin: str, kind: str, version: str | None = None) -> list[dict[str, Any]]:
        """The declared settings of any plugin; for connectors, those of the framework are not among them."""
        found = self._registry.find(plugin, kind, version)
        return [key.info() for key in self._config_def(found, self._make(found)).keys.values()]

    def validate(self, plugin: str, config: ConfigMap) -> dict[str, Any]:
        self._secrets = secrets.values(config)
        found = self._registry.find(plugin, "connector")
        connector = self._connector(found)
        config_def = self._config_def(found, connector)
        self._secrets |= _passwords(config_def, config)
        given = {name: value for name, value in config.items() if value is not None}
        self._at("validate()", found)
        result = connector.validate(dict(given))
        if not isinstance(result, Config):
            raise BadRequestError(f"{found.class_name}.validate() must return a Config that is not null.")
        errors: list[tuple[str, str]] = []
        if isinstance(connector, SourceConnector):
            self._exactly_once(found, connector, given, errors)
        sections = [*self._converter_sections(given, errors)]
        by_alias = [*self._alias_sections("transforms", given), *self._alias_sections("predicates", given)]
        for setting, message in aliases.errors(given):
            _add_error(by_alias, setting, message)
        asked = Asked(_type(connector), config_def, result.values)
        return validate(
            plugin,
            config,
            asked,
            worker_group=self._worker.get("group", ""),
            errors=errors,
            aliases=by_alias,
            clients_and_converters=sections,
        )

    def _exactly_once(
        self, found: PluginDesc, connector: SourceConnector, given: dict[str, str], errors: list[tuple[str, str]]
    ) -> None:
        if given.get("exactly.once.support", "").strip().lower() == "required":
            if not self._worker.get("exactly_once"):
                errors.append(
                    ("exactly.once.support", "This worker does not have exactly-once source support enabled.")
                )
            self._at("exactly_once_support()", found)
            support = connector.exactly_once_support(dict(given))
            if support is None:
                errors.append(
                    (
                        "exactly.once.support",
                        "The connector does not implement the API required for preflight validation of exactly-once "
                        "source support. Please consult its documentation to determine whether it supports "
                        'exactly-once semantics, and then use the value "requested" for this property.',
                    )
                )
            elif support is not ExactlyOnceSupport.SUPPORTED:
                errors.append(
                    (
                        "exactly.once.support",
                        "The connector does not support exactly-once semantics with the provided configuration.",
                    )
                )
        if given.get("transaction.boundary", "").strip().lower() == "connector":
            self._at("can_define_transaction_boundaries()", found)
            if not connector.can_define_transaction_boundaries(dict(given)):
                errors.append(
                    (
                        "transaction.boundary",
                        "The connector does not support connector-defined transaction boundaries with the given "
                        "configuration. Please reconfigure it to use a different transaction boundary definition.",
                    )
                )

    def _converter_sections(self, given: dict[str, str], errors: list[tuple[str, str]]) -> list[Section]:
        """Of the converters that the config names itself: the worker's settings don't hold for those."""
        sections: list[Section] = []
        for which, kind in (("header", "header_converter"), ("key", "converter"), ("value", "converter")):
            setting = f"{which}.converter"
            named = given.get(setting)
            if named is None:
                continue
            try:
                found = self._registry.find(named, kind)
            except ConnectError:
                text = f"Invalid value {named} for configuration {setting}: Class {named} could not be found."
                errors.append((setting, text))
                continue
            try:
                made = self._make(found)
            except ConnectError as error:
                errors.append((setting, f"Invalid value {named} for configuration {setting}: {error}"))
                continue
            config_def = self._config_def(found, made)
            prefix = f"{setting}."
            own = {name[len(prefix) :]: value for name, value in given.items() if name.startswith(prefix)}
            self._secrets |= _passwords(config_def, own)
            sections.append(Section(prefix, config_def, config_def.validate({"converter.type": which, **own})))
        return sections

    def _alias_sections(self, setting: str, given: dict[str, str]) -> list[Section]:
        """One for each transform or predicate; a class that can't be had leaves the framework's settings only."""
        kind = "transformation" if setting == "transforms" else "predicate"
        sections: list[Section] = []
        for name in dict.fromkeys(parse(setting, given.get(setting) or "", Type.LIST)):
            prefix = f"{setting}.{name}."
            own = {key[len(prefix) :]: value for key, value in given.items() if key.startswith(prefix)}
            found, made, problem = self._alias_class(own.get("type"), kind, f"{prefix}type")
            before, after = aliases.framework_keys(setting, name, found.version if found is not None else None)
            keys = [*before]
            if found is not None and made is not None:
                tell(made, self._worker.get("settings", {}))
                declared = self._config_def(found, made, own).keys.values()
                # A key of the plugin's that the framework has too is masked by it.
                reserved = {key.name for key in (*before, *after)}
                group = f"{setting.capitalize()}: {name}"
                keys += [replace(key, group=group) for key in declared if key.name not in reserved]
            config_def = ConfigDef(*keys, *(after if made is not None else ()))
            self._secrets |= _passwords(config_def, own)
            section = Section(prefix, config_def, config_def.validate(own))
            if problem:
                # Instead of what its absence would be called.
                section.values[0].errors[:] = [problem]
            sections.append(section)
        return sections

    def _alias_class(self, name: str | None, kind: str, setting: str) -> tuple[PluginDesc | None, Any, str | None]:
        if not name:
            return None, None, f'Missing required configuration "{setting}" which has no default value.'
        try:
            found = self._registry.find(name, kind)
        except ConnectError:
            return None, None, f"Invalid value {name} for configuration {setting}: Class {name} could not be found."
        try:
            return found, self._make(found), None
        except ConnectError as error:
            return found, None, f"Invalid value {name} for configuration {setting}: {error}"

    def _at(self, stage: str, found: PluginDesc) -> None:
        self._stage, self._class = stage, found.class_name
        self._announce({"stage": stage, "class": found.class_name})

    def _make(self, found: PluginDesc) -> Any:
        self._at("importing", found)
        loaded = self._registry.load(found.python_path, found.kind, found.version)
        self._at("constructing", found)
        return loaded()

    def _connector(self, found: PluginDesc) -> Connector:
        connector = self._make(found)
        if not isinstance(connector, SourceConnector | SinkConnector):
            raise BadRequestError(
                f"{found.class_name} is neither a SourceConnector nor a SinkConnector, as its entry point says"
            )
        return connector

    def _config_def(self, found: PluginDesc, made: Any, given: Mapping[str, str] | None = None) -> ConfigDef:
        """`config_for`, where a plugin has it, knows of settings whose names the config makes up, such as `field.<path>`."""
        self._at("config()", found)
        config_def = made.config() if given is None or not hasattr(made, "config_for") else made.config_for(dict(given))
        if not isinstance(config_def, ConfigDef):
            raise BadRequestError(f"{found.class_name}.config() must return a ConfigDef that is not null.")
        return config_def


def _add_error(sections: list[Section], setting: str, message: str) -> None:
    for section in sections:
        for value in section.values:
            if section.prefix + value.name == setting:
                value.errors.append(message)


def _type(connector: Connector) -> str:
    return "sink" if isinstance(connector, SinkConnector) else "source"


def _passwords(config_def: ConfigDef, config: ConfigMap) -> set[str]:
    secret = {key.name for key in config_def.keys.values() if key.type is Type.PASSWORD}
    parsed = [parse(name, config[name], Type.PASSWORD) for name in secret & config.keys()]
    values = [password.value for password in parsed if isinstance(password, Password) and password.value]
    return {form for value in values for form in secrets.forms(value)}


def _read(stream: IO[bytes]) -> dict[str, Any] | None:
    header = stream.read(4)
    if len(header) < 4:
        return None
    body = stream.read(struct.unpack(">I", header)[0])
    request: dict[str, Any] = orjson.loads(body)
    return request


def _send(stream: IO[bytes], body: dict[str, Any]) -> None:
    view = memoryview(frame(body))
    while view:
        view = view[stream.write(view) :]


if __name__ == "__main__":
    main()
