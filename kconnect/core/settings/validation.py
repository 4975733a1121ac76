"""
Validation of a connector's config: the answer of `PUT …/config/validate`, and the 400 of a create request.

`validate` runs in the sandbox, which has the plugin; `errors_message` in the herder. The sequence of keys, the groups
and the texts are Kafka Connect 4.3's. The answer is made of sections: the framework's settings, those of aliases
(transforms, predicates), the connector's own, those of clients and converters. Read next: `plugins/sandbox_child.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, ConfigValue, Type, to_text
from kconnect.core.settings.connector import framework_config
from kconnect.core.settings.hiding import Submitted
from kconnect.core.settings.operation import isolation_errors
from kconnect.core.settings.sink import GROUP_ID, group_errors, topics_errors

NULL_VALUE = "Null value can not be supplied as the configuration value."


@dataclass(frozen=True)
class Section:
    """Settings that a part of the config declares under a prefix such as `key.converter.`, with what was found."""

    prefix: str
    config_def: ConfigDef
    values: Sequence[ConfigValue]

    def rows(self) -> list[dict[str, Any]]:
        return [_row(self.config_def.keys.get(value.name), value, self.prefix) for value in self.values]


@dataclass(frozen=True)
class Asked:
    """The answer of the connector's class about a config. `kind` is `source` or `sink`."""

    kind: str
    config_def: ConfigDef
    values: Sequence[ConfigValue]


def validate(
    plugin: str,
    config: Mapping[str, str | None],
    connector: Asked,
    *,
    worker_group: str = "",
    framework: ConfigDef | None = None,
    classes: Mapping[str, str | None] | None = None,
    errors: Iterable[tuple[str, str]] = (),
    aliases: Sequence[Section] = (),
    clients_and_converters: Sequence[Section] = (),
    submitted: Submitted | None = None,
) -> dict[str, Any]:
    """
    ConfigInfos of a config for the connector class `plugin`, as the request names it.

    `errors` are pairs of a setting and a message about it: classes that can't be found, what the connector does not support,
    topics that are no data. `worker_group` is the worker's group.id, which no sink may use. `framework` are the framework's
    settings, if they are more than its table says, and `classes` the full names of classes that settings name. `submitted`
    is given if the config had references, which `config` has resolved.
    """
    framework = framework or framework_config(connector.kind)
    values = _framework_values(config, framework, connector.kind, worker_group)
    for name, shown in (classes or {}).items():
        values[name].value = shown
    connector_values = {value.name: value for value in connector.values}
    for name, message in errors:
        value_of_name = (
            values.get(name) or connector_values.get(name) or values.setdefault(name, ConfigValue(name, config.get(name)))
        )
        value_of_name.errors.append(message)
    _refuse_nulls(config, values, connector_values, aliases)
    declared = {**framework.keys, **connector.config_def.keys}
    for name in connector_values.keys() & values.keys():
        # A connector may declare one of the framework's settings again, or only say something about it.
        framework_errors = values[name].errors
        connector_values[name].errors[:0] = [error for error in framework_errors if error not in connector_values[name].errors]
        values[name] = connector_values[name]

    undefined = [value for value in connector_values.values() if value.name not in declared]
    undefined += [value for value in values.values() if value.name not in declared]
    rows = [_row(None, value) for value in undefined]
    rows += [_row(declared[name], value) for name, value in values.items() if name in declared]
    for section in aliases:
        rows += section.rows()
    rows += [_row(key, connector_values.get(name)) for name, key in connector.config_def.keys.items() if name not in values]
    last = [row for section in clients_and_converters for row in section.rows()]
    if submitted is not None:
        rows, last = submitted.rows(rows), submitted.rows(last)
        rows[:0] = submitted.undeclared(row["value"]["name"] for row in [*rows, *last] if row["value"])
    # Of clients and converters Connect counts settings, not messages.
    error_count = sum(len(errors_of(row)) for row in rows) + sum(bool(errors_of(row)) for row in last)
    rows += last
    groups = [row["definition"]["group"] for row in rows if row["definition"] and row["definition"]["group"]]
    return {"name": plugin, "error_count": error_count, "groups": list(dict.fromkeys(groups)), "configs": rows}


def errors_of(row: Mapping[str, Any]) -> list[str]:
    """The messages of one entry of `configs`; `value` is null there if the connector's own validation left it out."""
    return row["value"]["errors"] if row["value"] else []


def errors_message(infos: Mapping[str, Any]) -> str:
    """The text with which a create request is refused."""
    lines = [
        f"Connector configuration is invalid and contains the following {infos['error_count']} error(s):",
        *(error for row in infos["configs"] for error in errors_of(row)),
        "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`",
    ]
    return "\n".join(lines)


def _refuse_nulls(
    config: Mapping[str, str | None],
    values: dict[str, ConfigValue],
    own_values: Mapping[str, ConfigValue],
    aliases: Sequence[Section],
) -> None:
    """Tell of each null. Connect accepts those of the connector's own settings, and the connector then fails on them."""
    by_alias = {section.prefix + value.name: value for section in aliases for value in section.values}
    for name in (name for name, value in config.items() if value is None):
        if name in own_values:
            own_values[name].value = None
            errors = own_values[name].errors
            errors[:] = [NULL_VALUE, *(error for error in errors if not error.startswith("Missing required configuration"))]
        else:
            named_value = by_alias[name] if name in by_alias else values.setdefault(name, ConfigValue(name))
            named_value.errors.append(NULL_VALUE)


def _framework_values(
    config: Mapping[str, str | None], framework: ConfigDef, kind: str, worker_group: str
) -> dict[str, ConfigValue]:
    present = {name: value for name, value in config.items() if value is not None}
    # Nulls are given to the validators, too, as by Kafka's ConfigDef.
    values = {value.name: value for value in framework.validate(config)}
    for name, message in isolation_errors({name: value.value for name, value in values.items()}).items():
        values[name].errors.append(message)
    if kind == "sink":
        if GROUP_ID in present:
            # Told twice, as by Connect: here, and among the settings of the consumer.
            values[GROUP_ID] = ConfigValue(GROUP_ID, present[GROUP_ID])
        parsed = {name: value.value for name, value in values.items()}
        problems = {**topics_errors(parsed), **(group_errors(present, parsed, worker_group) if worker_group else {})}
        for name, message in problems.items():
            values.setdefault(name, ConfigValue(name, present.get(name))).errors.append(message)
    return values


def _row(key: ConfigKey | None, value: ConfigValue | None, prefix: str = "") -> dict[str, Any]:
    definition = None
    if key is not None:
        definition = {**key.info(), "name": prefix + key.name, "display_name": key.display_name or key.name}
        definition["dependents"] = [prefix + name for name in key.dependents]
    if value is None:
        return {"definition": definition, "value": None}
    return {
        "definition": definition,
        "value": {
            "name": prefix + value.name,
            "value": to_text(value.value, Type.STRING if key is None else key.type),
            "recommended_values": [str(recommended) for recommended in value.recommended_values],
            "errors": value.errors,
            "visible": value.visible,
        },
    }
