"""
A Java plugin's `ConfigDef` as ours: the same rows, while what is valid, recommended and visible is asked in Java.

Used by the adapters of connectors, transforms, predicates and converters. The texts of values are Kafka's own
(`ConfigDef.convertToString`), so that REST shows what Connect shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jpype

from kconnect.api.config import NO_DEFAULT, ConfigDef, ConfigKey, ConfigValue, Importance, Password, Type, Width
from kconnect.jvm import machine
from kconnect.jvm.errors import calling


class JavaConfigDef(ConfigDef):
    """`plugin` is whose it is."""

    def __init__(self, plugin: Any, definition: Any) -> None:
        super().__init__(*(_key(entry.getValue()) for entry in definition.configKeys().entrySet()))
        self._plugin, self._definition = plugin, definition

    def validate(self, properties: Mapping[str, Any]) -> list[ConfigValue]:
        with calling(self._plugin):
            return values(self, self._definition.validate(_given(properties)))

    def parse(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        with calling(self._plugin):
            parsed = self._definition.parse(_given(properties))
            return {name: of_java(parsed.get(name), key.type) for name, key in self.keys.items()}


def values(definition: ConfigDef, java_values: Iterable[Any]) -> list[ConfigValue]:
    """Java's ConfigValues, with texts in the place of values that Python has no type for."""
    result = []
    for value in java_values:
        name = str(value.name())
        key = definition.keys.get(name)
        kind = Type.STRING if key is None else key.type
        recommended = [str(of_java(recommended_value, kind)) for recommended_value in value.recommendedValues()]
        errors = [str(message) for message in value.errorMessages()]
        result.append(ConfigValue(name, of_java(value.value(), kind), recommended, errors, bool(value.visible())))
    return result


def of_java(value: Any, kind: Type) -> Any:
    """A parsed value. What is no number, truth or list is the text that Kafka makes of it."""
    if value is None:
        return None
    if kind is Type.PASSWORD:
        return Password(str(value.value()) if hasattr(value, "value") else str(value))
    if kind is Type.LIST and isinstance(value, jpype.JClass("java.util.List")):
        return [str(item) for item in value]
    definition = jpype.JClass("org.apache.kafka.common.config.ConfigDef")
    java_type = jpype.JClass("org.apache.kafka.common.config.ConfigDef$Type").valueOf(kind.value)
    text = definition.convertToString(value, java_type)
    return None if text is None else str(text)


def _key(key: Any) -> ConfigKey:
    kind = Type(str(key.type().name()))
    return ConfigKey(
        str(key.name),
        kind,
        of_java(key.defaultValue, kind) if key.hasDefault() else NO_DEFAULT,
        Importance(str(key.importance.name())),
        "" if key.documentation is None else str(key.documentation),
        None,
        None if key.group is None else str(key.group),
        int(key.orderInGroup),
        Width(str(key.width.name())),
        None if key.displayName is None else str(key.displayName),
        tuple(str(name) for name in key.dependents),
    )


def _given(properties: Mapping[str, Any]) -> Any:
    return machine.to_map({name: None if value is None else str(value) for name, value in properties.items()})
