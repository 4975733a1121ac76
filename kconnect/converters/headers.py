"""
A converter that serves for headers as well as for keys and values, as most of Connect's do: the bytes are the same.

Base of the built-in ones; `simple_header.py` is the one for headers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kconnect
from kconnect.api.config import ConfigDef, ConfigKey, Importance, OneOf, Type
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.data.schema import Schema, SchemaAndValue

CONVERTER_TYPE = ConfigKey(
    "converter.type",
    Type.STRING,
    importance=Importance.LOW,
    doc="Whether keys, values or headers are converted; set by the framework.",
    validator=OneOf(("key", "value", "header")),
)
_CONFIG = ConfigDef(CONVERTER_TYPE)


class AnyConverter(Converter, HeaderConverter):
    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        """Do nothing: there are no settings."""

    def config(self) -> ConfigDef:
        return _CONFIG

    def version(self) -> str:
        return kconnect.CONNECT_VERSION

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)
