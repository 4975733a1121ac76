"""
Rows of a table of settings that know the type of what they hold, so that whoever reads a setting has a type, too.

`INT("tasks.max", 1)` is a row whose value is an `int`, and that of `LIST("plugin.path", None)` may be None. A row is
declared once and read in one of three ways: as an attribute of the class that it stands in (`worker.py`, whose
`WorkerSettings` is its own table), by `row.of(parsed)` from what `ConfigDef.parse` gave (`errors.py`, `operation.py`,
`common.py`), or by `row.read(config)`, for whoever needs one setting of a connector and not all. Nobody but the table
parses a setting's text.

A dataclass of a hundred fields beside the table would name each setting twice, and nothing would keep the two alike; plugins'
tables stay plain `ConfigKey`s, which is Kafka's form. Read next: `kconnect/api/config.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from kconnect.api.config import NO_DEFAULT, ConfigDef, ConfigKey, Importance, NoDefault, Type, Validator, Width, parse
from kconnect.errors import ConfigError

T = TypeVar("T")


class HasValues(Protocol):
    """An object whose class has settings as attributes: `values` are the parsed ones, by the settings' names."""

    values: Mapping[str, Any]


class Setting(Generic[T]):
    """A row of a table of settings; `key` is the part that tables, validation and REST see."""

    def __init__(self, key: ConfigKey) -> None:
        self.key = key

    def of(self, parsed: Mapping[str, Any]) -> T:
        """Its value among those of a table that has parsed it."""
        value: T = parsed[self.key.name]
        return value

    def read(self, config: Mapping[str, str | None]) -> T:
        """
        Its value among a config's texts: by the row's type, with its default where it is not given or null. Its rule is left to
        validation, so that a config which was stored before there was the rule can be read. ConfigError for another type.
        """
        key, text = self.key, config.get(self.key.name)
        if text is None and key.required:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
        value: T = parse(key.name, key.default if text is None else text, key.type)
        return value

    def __set_name__(self, owner: type, name: str) -> None:
        if name.lstrip("_") != self.key.name.replace(".", "_"):
            raise TypeError(f"The setting {self.key.name} can't be {owner.__name__}.{name}")

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...

    @overload
    def __get__(self, instance: HasValues, owner: type) -> T: ...

    def __get__(self, instance: HasValues | None, owner: type) -> Setting[T] | T:
        return self if instance is None else self.of(instance.values)


class Shown(NamedTuple):
    """The way a user interface shows a row: in which group, at which place in it, how wide, and under which name."""

    group: str | None = None
    order: int = -1
    width: Width = Width.NONE
    name: str | None = None


_NOWHERE = Shown()


class Kind(Generic[T]):
    """Makes rows of one type of Kafka's; `T` is Python's for it."""

    def __init__(self, type: Type) -> None:
        self._type = type

    @overload
    def __call__(
        self,
        name: str,
        default: None,
        validator: Validator | None = None,
        doc: str = "",
        importance: Importance = Importance.LOW,
        shown: Shown = _NOWHERE,
    ) -> Setting[T | None]: ...

    @overload
    def __call__(
        self,
        name: str,
        default: T | NoDefault = NO_DEFAULT,
        validator: Validator | None = None,
        doc: str = "",
        importance: Importance = Importance.LOW,
        shown: Shown = _NOWHERE,
    ) -> Setting[T]: ...

    def __call__(
        self,
        name: str,
        default: T | NoDefault | None = NO_DEFAULT,
        validator: Validator | None = None,
        doc: str = "",
        importance: Importance = Importance.LOW,
        shown: Shown = _NOWHERE,
    ) -> Setting[Any]:
        """Declare a setting. One without a default is of high importance, whatever is passed."""
        effective = Importance.HIGH if default is NO_DEFAULT else importance
        return Setting(ConfigKey(name, self._type, default, effective, doc, validator, *shown))


STRING: Kind[str] = Kind(Type.STRING)
CLASS: Kind[str] = Kind(Type.CLASS)
INT: Kind[int] = Kind(Type.INT)
SHORT: Kind[int] = Kind(Type.SHORT)
LONG: Kind[int] = Kind(Type.LONG)
DOUBLE: Kind[float] = Kind(Type.DOUBLE)
BOOLEAN: Kind[bool] = Kind(Type.BOOLEAN)
LIST: Kind[list[str]] = Kind(Type.LIST)


def table(owner: type) -> ConfigDef:
    """Return the table of the settings that are attributes of a class, in their order there."""
    return ConfigDef(*(row.key for row in vars(owner).values() if isinstance(row, Setting)))
