"""
SimpleHeaderConverter, Connect's default for headers: the text of values, read back as what it looks like.

In Java it is `org.apache.kafka.connect.storage.SimpleHeaderConverter`. What texts look like what: `kconnect/data/literals.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kconnect
from kconnect.api.converter import HeaderConverter
from kconnect.converters.encodings import JAVAS
from kconnect.data.schema import NULL, Schema, SchemaAndValue
from kconnect.data.values import convert_to_string, parse_string


class SimpleHeaderConverter(HeaderConverter):
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Has no settings."""

    def version(self) -> str:
        return kconnect.CONNECT_VERSION

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        text = convert_to_string(schema, value)
        return None if text is None else text.encode("utf-8", "replace")

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return NULL if data is None else parse_string(data.decode("utf-8", JAVAS))
