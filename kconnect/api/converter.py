"""
Converters: they convert between Connect's data and the bytes in Kafka. Plugin authors implement them; the built-in ones are in
`converters/`.

One instance serves one task, and is called from the task's thread, so it may cache. The connector's `errors.tolerance` decides
what happens after an error on a record. Read next: `data/schema.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.config import ConfigDef
from kconnect.api.record import Header
from kconnect.data.column import Column
from kconnect.data.schema import Schema, SchemaAndValue


class Converter(ABC):
    """Converts keys or values."""

    @abstractmethod
    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Called once. `configs` are the converter's settings without their prefix."""

    @abstractmethod
    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        """The bytes for Kafka; None for a null, and thus a tombstone. Raise DataError if the value can't be converted."""

    @abstractmethod
    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        """The schema and value for the bytes from Kafka. Raise DataError if this converter can't read them."""

    def from_connect_all(self, topic: str, column: Column) -> Sequence[bytes | None] | None:
        """
        The bytes of many keys or values at once, of records without headers, in their order.

        Implement it if converting many at once is cheaper than one by one. After None, or any error, the framework converts
        each by itself.
        """
        return None

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        """
        Convert many messages at once, none of which has headers or is null, if all of them have the same schema. Return None
        otherwise.

        Implement it if converting many at once is cheaper than one by one. After None, or any error, the framework converts
        each message by itself.
        """
        return None

    def config(self) -> ConfigDef:
        return ConfigDef()

    def version(self) -> str:
        return "undefined"


class HeaderConverter(ABC):
    """Converts header values."""

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None: ...

    @abstractmethod
    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue: ...

    def config(self) -> ConfigDef:
        return ConfigDef()

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Release what `configure` acquired."""
