"""
The disposable process in which plugin code is asked about configs, so that it can't hurt the worker.

`sandbox.py` starts it as `python -m kconnect.plugins.sandbox_child` and speaks to it in frames: four bytes of length, then
JSON. Before each stage it says what it is about to do, so that a parent which has to kill it can name class and stage.
"""

from __future__ import annotations

import os
import struct
import sys
import traceback
from collections.abc import Callable
from typing import IO, Any

import orjson

from kconnect.api.config import Config, ConfigDef, ConfigValue
from kconnect.api.connector import Connector, SinkConnector
from kconnect.api.errors import ConnectError, NotFoundError
from kconnect.core.settings.validation import ConverterSection, validate
from kconnect.plugins.registry import PluginDesc, Registry

Stage = Callable[[str, str], None]


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next frame, or None at the end of the stream."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    (length,) = struct.unpack(">I", header)
    body = stream.read(length)
    return orjson.loads(body) if len(body) == length else None


def write_frame(stream: IO[bytes], body: Any) -> None:
    data = orjson.dumps(body)
    stream.write(struct.pack(">I", len(data)) + data)
    stream.flush()


def main() -> None:
    # The pipes are taken away from descriptors 0 and 1 first: whatever a plugin prints must not be read as an answer.
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def stage(name: str, plugin: str) -> None:
        write_frame(answers, {"stage": name, "class": plugin})

    first = read_frame(requests)
    registry = Registry.scan(first["plugin_path"] if first else ())
    write_frame(answers, {"ready": True})
    calls = {"describe": describe, "validate": validate_config, "config": config_keys}
    while (request := read_frame(requests)) is not None:
        try:
            result = calls[request["call"]](registry, stage, **request["arguments"])
            answer = {"result": result}
        except ConnectError as error:
            answer = {"error": str(error), "not_found": isinstance(error, NotFoundError)}
        except Exception as error:  # noqa: BLE001 - the plugin's own: reported to whoever asked
            print(traceback.format_exc(), file=sys.stderr)  # noqa: T201
            answer = {"error": f"{type(error).__name__}: {error}", "not_found": False}
        write_frame(answers, answer)


def describe(registry: Registry, stage: Stage, plugin: str) -> dict[str, Any]:
    found = registry.find(plugin, "connector")
    connector = _connector(registry, stage, found)
    return {"class": found.class_name, "type": _type(connector), "version": connector.version()}


def config_keys(registry: Registry, stage: Stage, plugin: str, kind: str) -> list[dict[str, Any]]:
    """The declared settings of any plugin; for connectors, those of the framework are not among them."""
    found = registry.find(plugin, kind)
    stage("importing", found.class_name)
    made = registry.load(plugin, kind)()
    return [key.info() for key in _config_def(stage, found, made).keys.values()]


def validate_config(registry: Registry, stage: Stage, plugin: str, config: dict[str, str | None]) -> dict[str, Any]:
    named = config.get("connector.class") or plugin
    found = registry.find(named, "connector")
    connector = _connector(registry, stage, found)
    config_def = _config_def(stage, found, connector)
    stage("validate()", found.class_name)
    given = {name: value for name, value in config.items() if value is not None}
    result = connector.validate(given)
    if not isinstance(result, Config):
        raise ConnectError(f"{found.class_name}.validate() must return a Config that is not null.")
    sections, class_errors = _converters(registry, stage, config)
    return validate(named, _type(connector), config, config_def, result.values, sections, class_errors)


def _connector(registry: Registry, stage: Stage, found: PluginDesc) -> Connector:
    stage("importing", found.class_name)
    loaded = registry.load(found.path, "connector")
    stage("constructing", found.class_name)
    connector = loaded()
    if not isinstance(connector, Connector):
        raise ConnectError(f"{found.class_name} is neither a SourceConnector nor a SinkConnector")
    return connector


def _config_def(stage: Stage, found: PluginDesc, made: Any) -> ConfigDef:
    stage("config()", found.class_name)
    config_def = made.config()
    if not isinstance(config_def, ConfigDef):
        raise ConnectError(f"{found.class_name}.config() must return a ConfigDef that is not null.")
    return config_def


def _converters(
    registry: Registry, stage: Stage, config: dict[str, str | None]
) -> tuple[list[ConverterSection], dict[str, str]]:
    sections: list[ConverterSection] = []
    errors: dict[str, str] = {}
    for which, kind in (("header", "header_converter"), ("key", "converter"), ("value", "converter")):
        setting = f"{which}.converter"
        named = config.get(setting)
        if not named:
            continue
        try:
            found = registry.find(named, kind)
        except ConnectError:
            errors[setting] = f"Invalid value {named} for configuration {setting}: Class {named} could not be found."
            continue
        stage("importing", found.class_name)
        config_def = _config_def(stage, found, registry.load(named, kind)())
        prefix = f"{setting}."
        given = {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}
        values: list[ConfigValue] = config_def.validate({"converter.type": which, **given})
        sections.append(ConverterSection(prefix, config_def, values))
    return sections, errors


def _type(connector: Connector) -> str:
    return "sink" if isinstance(connector, SinkConnector) else "source"


if __name__ == "__main__":
    main()
