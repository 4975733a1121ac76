"""StringConverter: the text of any value, in one encoding. Java's name for it is `…connect.storage.StringConverter`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Importance, OneOf, Type
from kconnect.api.converter import Converter
from kconnect.api.errors import DataError
from kconnect.api.record import Header
from kconnect.api.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaAndValue
from kconnect.api.values import to_text

CONFIG = ConfigDef(
    ConfigKey(
        "converter.type",
        Type.STRING,
        importance=Importance.LOW,
        doc="What is converted; set by the framework.",
        validator=OneOf(("key", "value", "header")),
    ),
    ConfigKey("converter.encoding", Type.STRING, "UTF-8", Importance.HIGH, "Name of the character set."),
)


class StringConverter(Converter):
    def __init__(self) -> None:
        self._encoding = "utf-8"

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        self._encoding = configs.get("converter.encoding") or "utf-8"

    def config(self) -> ConfigDef:
        return CONFIG

    def version(self) -> str:
        return metadata.version("kconnect")

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if value is None:
            return None
        try:
            return (value if type(value) is str else to_text(value)).encode(self._encoding, "replace")
        except LookupError as error:
            raise DataError(f"Failed to serialize to a string: the encoding {self._encoding} is not known") from error

    def to_connect_data(
        self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None
    ) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(OPTIONAL_STRING_SCHEMA, None)
        try:
            return SchemaAndValue(OPTIONAL_STRING_SCHEMA, data.decode(self._encoding, "replace"))
        except LookupError as error:
            raise DataError(f"Failed to deserialize: the encoding {self._encoding} is not known") from error
