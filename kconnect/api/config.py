"""
Settings: a table (`ConfigDef`) declares each setting once. Parsing, validation, REST and the docs follow from the table.

A plugin's `config()` returns a `ConfigDef`; the framework has tables of its own in `core/settings`. Types, parsing and messages
are those of Kafka's ConfigDef, so that tools which match on them still work. Read next: `connector.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.errors import ConfigError


class Type(enum.Enum):
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(enum.Enum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(enum.Enum):
    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = NoDefault()
"""Marks a required setting."""

HIDDEN = "[hidden]"


class Password:
    """A secret. As text it is `[hidden]`; only `.value` has the secret itself."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


Validator = Callable[[str, Any], None]
"""Called with a setting's name and its parsed value; raises ConfigError. Its `str()` is shown in docs."""


@dataclass(frozen=True)
class Range:
    """A number of at least `low` and at most `high`."""

    low: float | None = None
    high: float | None = None

    @classmethod
    def at_least(cls, low: float) -> Range:
        return cls(low)

    @classmethod
    def between(cls, low: float, high: float) -> Range:
        return cls(low, high)

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, None, "Value must be non-null")
        if self.low is not None and value < self.low:
            raise ConfigError(name, value, f"Value must be at least {self.low}")
        if self.high is not None and value > self.high:
            raise ConfigError(name, value, f"Value must be no more than {self.high}")

    def __str__(self) -> str:
        if self.low is None:
            return f"[...,{self.high}]"
        return f"[{self.low},...]" if self.high is None else f"[{self.low},...,{self.high}]"


@dataclass(frozen=True)
class OneOf:
    """Allows the texts in `values` only; upper and lower case count as the same if `ignore_case`."""

    values: tuple[str, ...]
    ignore_case: bool = False

    def __call__(self, name: str, value: Any) -> None:
        if self.ignore_case:
            if value is None or value.upper() not in {allowed.upper() for allowed in self.values}:
                raise ConfigError(name, value, f"String must be one of (case insensitive): {', '.join(self.values)}")
        elif value not in self.values:
            raise ConfigError(name, value, f"String must be one of: {', '.join(self.values)}")

    def __str__(self) -> str:
        return f"{'(case insensitive) ' if self.ignore_case else ''}[{', '.join(self.values)}]"


@dataclass(frozen=True)
class NonEmptyString:
    """A text that is not empty; null is allowed."""

    def __call__(self, name: str, value: Any) -> None:
        if value is not None and value == "":
            raise ConfigError(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


@dataclass(frozen=True)
class NonNull:
    """Allows anything but null."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, None, "entry must be non null")

    def __str__(self) -> str:
        return "non-null string"


@dataclass(frozen=True)
class ConfigKey:
    """
    A setting of a plugin.

    `doc` says what unit the setting has and why its default was chosen. A setting without a `group` has no `order`.
    `dependents` names the settings whose validity or visibility depends on this one. `recommender` returns values to offer,
    and `visible` returns whether to show the setting. Both get the setting's name and the parsed values of all settings. A
    value that could not be parsed is None.
    """

    name: str
    type: Type
    default: Any = NO_DEFAULT
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    validator: Validator | None = None
    group: str | None = None
    order: int = -1
    width: Width = Width.NONE
    display_name: str | None = None
    dependents: tuple[str, ...] = ()
    recommender: Callable[[str, Mapping[str, Any]], list[Any]] | None = None
    visible: Callable[[str, Mapping[str, Any]], bool] | None = None

    @property
    def required(self) -> bool:
        return self.default is NO_DEFAULT

    def info(self) -> dict[str, Any]:
        """ConfigKeyInfo as REST returns it since Connect 4.2. Before that, `order_in_group` was called `order`."""
        return {
            "name": self.name,
            "type": self.type.value,
            "required": self.required,
            "default_value": None if self.required else to_text(self.default, self.type),
            "importance": self.importance.value,
            "documentation": self.doc,
            "group": self.group,
            "order_in_group": self.order,
            "width": self.width.value,
            "display_name": self.display_name or self.name,
            "dependents": list(self.dependents),
        }


@dataclass
class ConfigValue:
    """The result of validation for one setting. A `value` that could not be parsed is None."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


@dataclass
class Config:
    """The result of `Connector.validate`."""

    values: list[ConfigValue]


class ConfigDef:
    """A table of settings, in the order of declaration."""

    def __init__(self, *keys: ConfigKey) -> None:
        self.keys: dict[str, ConfigKey] = {}
        for key in keys:
            self.define(key)

    def define(self, key: ConfigKey) -> ConfigDef:
        if key.name in self.keys:
            raise ConfigError(f"Configuration {key.name} is defined twice.")
        self.keys[key.name] = key
        return self

    def parse(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The parsed values of all declared settings, with defaults. Raises ConfigError for the first that can't be used."""
        return {name: self._value(key, properties) for name, key in self.keys.items()}

    def validate(self, properties: Mapping[str, Any]) -> list[ConfigValue]:
        """All declared settings, each with all its errors. Does not raise a ConfigError."""
        results = {name: self._checked(key, properties) for name, key in self.keys.items()}
        parsed = {name: result.value for name, result in results.items()}
        for name, result in results.items():
            key = self.keys[name]
            try:
                if key.recommender is not None:
                    result.recommended_values = list(key.recommender(name, parsed))
                if key.visible is not None:
                    result.visible = key.visible(name, parsed)
            except ConfigError as error:
                result.errors.append(str(error))
        return list(results.values())

    def _checked(self, key: ConfigKey, properties: Mapping[str, Any]) -> ConfigValue:
        result = ConfigValue(key.name)
        try:
            result.value = self._parsed(key, properties)
        except ConfigError as error:
            result.errors.append(str(error))
        # Kafka asks the validator about null where nothing could be parsed: `tasks.max=abc` gives two messages.
        try:
            if key.validator is not None:
                key.validator(key.name, result.value)
        except ConfigError as error:
            result.errors.append(str(error))
        return result

    def _parsed(self, key: ConfigKey, properties: Mapping[str, Any]) -> Any:
        if key.name in properties:
            return parse(key.name, properties[key.name], key.type)
        if key.required:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
        return parse(key.name, key.default, key.type)

    def _value(self, key: ConfigKey, properties: Mapping[str, Any]) -> Any:
        value = self._parsed(key, properties)
        if key.validator is not None:
            key.validator(key.name, value)
        return value


_JAVA_BLANKS = "".join(map(chr, range(33)))
"""The characters that Java's `String.trim` removes; Python's `strip` would remove more."""

_LIST_BLANKS = " \t\n\x0b\f\r"

_LIMITS = {Type.INT: 2**31, Type.SHORT: 2**15, Type.LONG: 2**63}


def parse(name: str, value: Any, type: Type) -> Any:
    """Kafka's `ConfigDef.parseType`: text is trimmed, null stays null. The ConfigError names the setting and the type."""
    if value is None:
        return None
    text = value.strip(_JAVA_BLANKS) if isinstance(value, str) else None
    match type:
        case Type.BOOLEAN:
            if isinstance(value, bool):
                return value
            if text is not None and text.lower() in ("true", "false"):
                return text.lower() == "true"
            raise ConfigError(name, value, "Expected value to be either true or false")
        case Type.PASSWORD:
            if isinstance(value, Password):
                return value
            if text is None:
                raise ConfigError(name, HIDDEN, f"Expected value to be a string, but it was a {_type_name(value)}")
            return Password(text)
        case Type.STRING | Type.CLASS:
            if text is None:
                raise ConfigError(name, value, f"Expected value to be a string, but it was a {_type_name(value)}")
            return text
        case Type.INT | Type.SHORT | Type.LONG:
            integer = _integer(value if text is None else text)
            if integer is None or not -_LIMITS[type] <= integer < _LIMITS[type]:
                raise ConfigError(name, value, f"Not a number of type {type.value}")
            return integer
        case Type.DOUBLE:
            number = _double(value if text is None else text)
            if number is None:
                raise ConfigError(name, value, f"Not a number of type {type.value}")
            return number
        case Type.LIST:
            if isinstance(value, list | tuple):
                return list(value)
            if text is None:
                raise ConfigError(name, value, "Expected a comma separated list.")
            return [item.strip(_LIST_BLANKS) for item in text.split(",")] if text else []


def to_text(value: Any, type: Type) -> str | None:
    """Kafka's `ConfigDef.convertToString`: a list joined by commas, a secret hidden."""
    if value is None:
        return None
    if type is Type.PASSWORD:
        return HIDDEN
    if type is Type.LIST and isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(str(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return int(value) if not isinstance(value, str) or "_" not in value else None
    except ValueError:
        return None


def _double(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value) if not isinstance(value, str) or "_" not in value else None
    except ValueError:
        return None


def _type_name(value: Any) -> str:
    return type(value).__name__
