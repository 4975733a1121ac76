"""
Converters: between Connect's data and the bytes in Kafka. Implemented by plugin authors; built-in ones in `converters/`.

One instance serves one task, from its thread: it may cache. An error on a record is handled as the connector's
`errors.tolerance` says. Read next: `data/schema.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.api.config import ConfigDef
from kconnect.api.record import Header
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
        """The bytes for Kafka; None is a null, and so a tombstone. DataError if the value can't be converted."""

    @abstractmethod
    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        """What the bytes from Kafka mean. DataError if they mean nothing to this converter."""

    def to_connect_all(self, topic: str, data: list[bytes]) -> tuple[Schema | None, list[Any]] | None:
        """
        What many messages without headers mean, none of them null, if all have one schema: it, and the values in order.

        Worth implementing where many cost less than one by one. None, or any error, has each converted by itself.
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
        """Give up what `configure` took."""
