"""
The framework's settings that source and sink connectors share: the table, and its validators.

Names, defaults, groups, orders and messages are Kafka Connect 4.3's. `source.py` and `sink.py` complete the tables and
`connector.py` offers them to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import ConfigKey, Importance, OneOf, Range, Type, Validator, Width
from kconnect.core.settings import errors, operation
from kconnect.core.settings.setting import BOOLEAN, CLASS, INT, LIST, STRING, Shown
from kconnect.errors import ConfigError
from kconnect.java import versions

COMMON, TRANSFORMS, PREDICATES = "Common", "Transforms", "Predicates"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

CONVERTERS = ("key.converter", "value.converter", "header.converter")

MOST_ALIASES = 1000
"""A worker looks for the class of each before a config is validated, and a chain of so many would be slow beyond use."""
_LONGEST_NAME = 300
"""A record of assignments has the names of all connectors of a worker; one that is too large stops the whole cluster."""


@dataclass(frozen=True)
class ConnectorName:
    """A text that is safe in topic keys, URLs and logs. Null is left to the check for missing settings."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            return
        if value == "":
            raise ConfigError(name, value, "String may not be empty")
        if value in (".", ".."):
            raise ConfigError(name, value, "No URL has it: clients take it for the folder that is meant. Choose another name")
        controls = [str(ord(character)) for character in value if _is_control(character)]
        if controls:
            rule = "String may not contain control sequences but had the following ASCII chars: "
            raise ConfigError(name, value, rule + ", ".join(controls))
        if len(value) > _LONGEST_NAME:
            shown = f"{value[:20]}..."
            raise ConfigError(name, shown, f"It has {len(value)} characters, of which {_LONGEST_NAME} are possible")

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


@dataclass(frozen=True)
class Unique:
    """A list, not null, of `what`, each named once, and of `MOST_ALIASES` at most."""

    what: str

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, None, "entry must be non null")
        if len(value) > MOST_ALIASES:
            raise ConfigError(name, f"{len(value)} names", f"It may have {MOST_ALIASES} {self.what}: leave some out")
        if len(set(value)) != len(value):
            raise ConfigError(name, value, "Duplicate alias provided.")

    def __str__(self) -> str:
        return f"non-null string, unique {self.what}"


@dataclass(frozen=True)
class IfGiven:
    """Null is fine; anything else is for `rule`."""

    rule: Validator

    def __call__(self, name: str, value: Any) -> None:
        if value is not None:
            self.rule(name, value)

    def __str__(self) -> str:
        return str(self.rule)


class PluginVersion:
    """A version, or one of Maven's ranges; those of a converter count without its class, too, as in Connect."""

    def __call__(self, name: str, value: Any) -> None:
        try:
            versions.requirement(value)
        except versions.VersionRangeError as error:
            raise ConfigError(str(error)) from None

    def __str__(self) -> str:
        return "a version, a range of versions, or latest"


def key(
    name: str,
    type: Type,
    default: Any,
    importance: Importance,
    place: tuple[str, int],
    width: Width,
    display_name: str,
    doc: str = "",
    validator: Validator | None = None,
) -> ConfigKey:
    """A row of these tables; `place` is the group and the order in it."""
    return ConfigKey(name, type, default, importance, doc, validator, *place, width, display_name)


VERSION_DOC = "The version, or a range of versions, of this class to use; default: the newest that is installed."

NAME = STRING(
    "name",
    validator=ConnectorName(),
    doc="The connector's name, unique in the cluster.",
    shown=Shown(COMMON, 1, Width.MEDIUM, "Connector name"),
)
CONNECTOR_CLASS = STRING(
    "connector.class",
    doc="The connector's class: its Java or Python path, its simple name, or that name without `Connector`.",
    shown=Shown(COMMON, 2, Width.LONG, "Connector class"),
)
PLUGIN_VERSION = STRING(
    "connector.plugin.version",
    None,
    doc=VERSION_DOC,
    importance=MEDIUM,
    shown=Shown(COMMON, 3, Width.MEDIUM, "Connector version"),
)
TASKS_MAX = INT(
    "tasks.max",
    1,
    Range.at_least(1),
    doc="The most tasks that this connector may have.",
    importance=HIGH,
    shown=Shown(COMMON, 4, Width.SHORT, "Tasks max"),
)
TASKS_MAX_ENFORCE = BOOLEAN(
    "tasks.max.enforce",
    True,
    doc="Whether a connector that generates more tasks than tasks.max fails.",
    shown=Shown(COMMON, 5, Width.SHORT, "Enforce tasks max"),
)
TRANSFORM_ALIASES = LIST(
    "transforms",
    [],
    Unique("transformation aliases"),
    doc="Aliases of the transforms, in the order in which records pass them.",
    shown=Shown(TRANSFORMS, 12, Width.LONG, "Transforms"),
)
PREDICATE_ALIASES = LIST(
    "predicates",
    [],
    Unique("predicate aliases"),
    doc="Aliases of the predicates that transforms refer to.",
    shown=Shown(PREDICATES, 13, Width.LONG, "Predicates"),
)
RELOAD_ACTION = STRING(
    "config.action.reload",
    "restart",
    OneOf(("none", "restart")),
    doc="What happens when a secret that the config refers to has expired.",
    shown=Shown(COMMON, 14, Width.MEDIUM, "Reload Action"),
)


def common_keys() -> tuple[ConfigKey, ...]:
    """The rows that begin both tables."""
    return (
        NAME.key,
        CONNECTOR_CLASS.key,
        PLUGIN_VERSION.key,
        TASKS_MAX.key,
        TASKS_MAX_ENFORCE.key,
        *_converter_keys(),
        TRANSFORM_ALIASES.key,
        PREDICATE_ALIASES.key,
        RELOAD_ACTION.key,
        *errors.KEYS,
        *operation.KEYS,
    )


def _converter_keys() -> Iterator[ConfigKey]:
    for order, setting in enumerate(CONVERTERS):
        which = setting.split(".")[0].capitalize()
        named = CLASS(
            setting,
            None,
            doc=f"The converter, with the settings `{setting}.*`; default: the worker's, with the worker's settings.",
            shown=Shown(COMMON, 6 + 2 * order, Width.SHORT, f"{which} converter class"),
        )
        version = STRING(
            f"{setting}.plugin.version",
            None,
            PluginVersion(),
            VERSION_DOC,
            shown=Shown(COMMON, 7 + 2 * order, Width.SHORT, f"{which} converter version"),
        )
        yield from (named.key, version.key)


def _is_control(character: str) -> bool:
    return ord(character) < 32 or 127 <= ord(character) < 160
