"""
Validation of a connector's config: the answer of `PUT …/config/validate`, and the 400 of a create request.

`validate` runs in the sandbox, which has the plugin; `errors_message` in the herder. The sequence of keys, the groups and
the texts are Kafka Connect 4.3's. Read next: `plugins/sandbox_child.py`, which calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, ConfigValue, to_text
from kconnect.core.settings.connector import SINK_CONFIG, SOURCE_CONFIG, topics_errors

NULL_VALUE = "Null value can not be supplied as the configuration value."


@dataclass(frozen=True)
class ConverterSection:
    """The settings of a converter that the connector's config names itself: `prefix` is like `key.converter.`."""

    prefix: str
    config_def: ConfigDef
    values: Sequence[ConfigValue]


def validate(
    plugin: str,
    kind: str,
    config: Mapping[str, str | None],
    connector_def: ConfigDef,
    connector_values: Sequence[ConfigValue],
    converters: Sequence[ConverterSection] = (),
    class_errors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """
    ConfigInfos of a config for the connector class `plugin` (as the request names it), which is a `source` or a `sink`.

    `connector_values` is what the connector's own `validate` gave; `class_errors` are by setting, for classes named in
    the config that can't be found.
    """
    framework = SINK_CONFIG if kind == "sink" else SOURCE_CONFIG
    given = {name: value for name, value in config.items() if value is not None}
    values = {value.name: value for value in framework.validate(given)}
    if kind == "sink":
        topics, regex = values["topics"].value or [], values["topics.regex"].value or ""
        for name, message in topics_errors(topics, regex).items():
            values[name].errors.append(message)
    for name, message in (class_errors or {}).items():
        values[name].errors.append(message)
    own = {value.name: value for value in connector_values}
    for name, value in {**values, **own}.items():
        if name in config and config[name] is None:
            value.errors.insert(0, NULL_VALUE)
    undefined = [value for name, value in own.items() if name not in connector_def.keys and name not in values]
    for name in own.keys() & values.keys():
        values[name].errors += own[name].errors

    rows: list[dict[str, Any]] = [_row(None, value) for value in undefined]
    rows += [_row(framework.keys[name], value) for name, value in values.items()]
    rows += [_row(key, own[name]) for name, key in connector_def.keys.items() if name in own and name not in values]
    error_count = sum(len(row["value"]["errors"]) for row in rows)
    for section in converters:
        section_rows = [
            _row(section.config_def.keys.get(value.name), value, section.prefix) for value in section.values
        ]
        # Of these sections Connect counts keys, not messages.
        error_count += sum(bool(row["value"]["errors"]) for row in section_rows)
        rows += section_rows
    groups = [row["definition"]["group"] for row in rows if row["definition"] and row["definition"]["group"]]
    return {"name": plugin, "error_count": error_count, "groups": list(dict.fromkeys(groups)), "configs": rows}


def errors_message(infos: Mapping[str, Any]) -> str:
    """The text with which a create request is refused."""
    errors = [error for row in infos["configs"] for error in row["value"]["errors"]]
    return (
        f"Connector configuration is invalid and contains the following {infos['error_count']} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
    )


def _row(key: ConfigKey | None, value: ConfigValue, prefix: str = "") -> dict[str, Any]:
    if key is None:
        definition, shown = None, None if value.value is None else str(value.value)
    else:
        info = key.info()
        definition = {**info, "name": prefix + info["name"], "display_name": key.display_name or prefix + key.name}
        shown = to_text(value.value, key.type)
    return {
        "definition": definition,
        "value": {
            "name": prefix + value.name,
            "value": shown,
            "recommended_values": [str(recommended) for recommended in value.recommended_values],
            "errors": value.errors,
            "visible": value.visible,
        },
    }
