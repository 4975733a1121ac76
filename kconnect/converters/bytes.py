"""
ByteArrayConverter: bytes as they are. In Java it is `org.apache.kafka.connect.converters.ByteArrayConverter`.

Read next: `headers.py`, its base.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kconnect.api.record import Header
from kconnect.converters.headers import AnyConverter
from kconnect.data.schema import OPTIONAL_BYTES_SCHEMA, Schema, SchemaAndValue, SchemaType
from kconnect.data.values import java_class
from kconnect.errors import DataError


class ByteArrayConverter(AnyConverter):
    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if schema is not None and schema.type is not SchemaType.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.value}")
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise DataError(f"ByteArrayConverter is not compatible with objects of type class {java_class(value)}")

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        return SchemaAndValue(OPTIONAL_BYTES_SCHEMA, data)
