"""
Converters of one number or boolean, big-endian as Kafka's own serializers write them.

In Java they are `org.apache.kafka.connect.converters.ShortConverter` and so on. Each takes values of its own width only: an
int without a schema is a Long, a float a Double. Read next: `headers.py`, their base.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from kconnect.api.record import Header
from kconnect.converters.headers import AnyConverter
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaAndValue, SchemaType
from kconnect.data.values import float32, java_class
from kconnect.errors import DataError


class NumberConverter(AnyConverter):
    """`NAME` is for messages, `CLASS` the Java class of the values."""

    NAME: str
    CLASS: str
    SCHEMA: Schema
    FORMAT: struct.Struct

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if value is None:
            return None
        kind = java_class(value, schema)
        try:
            if kind == self.CLASS:
                return self.FORMAT.pack(value)
        except struct.error as error:
            # A number that doesn't fit its own schema can't be in Java.
            raise DataError(f"Failed to serialize to {self.NAME}: the number does not fit") from error
        except OverflowError:
            return self.FORMAT.pack(float32(value))
        raise DataError(f"Failed to serialize to {self.NAME} (was class {kind}): ")

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(self.SCHEMA, None)
        try:
            return SchemaAndValue(self.SCHEMA, self.FORMAT.unpack(data)[0])
        except struct.error as error:
            raise DataError(f"Failed to deserialize {self.NAME}: ") from error


class ShortConverter(NumberConverter):
    NAME, CLASS = "short", "java.lang.Short"
    SCHEMA, FORMAT = schemas.OPTIONAL_INT16_SCHEMA, struct.Struct(">h")


class IntegerConverter(NumberConverter):
    NAME, CLASS = "integer", "java.lang.Integer"
    SCHEMA, FORMAT = schemas.OPTIONAL_INT32_SCHEMA, struct.Struct(">i")


class LongConverter(NumberConverter):
    NAME, CLASS = "long", "java.lang.Long"
    SCHEMA, FORMAT = schemas.OPTIONAL_INT64_SCHEMA, struct.Struct(">q")


class FloatConverter(NumberConverter):
    NAME, CLASS = "float", "java.lang.Float"
    SCHEMA, FORMAT = schemas.OPTIONAL_FLOAT32_SCHEMA, struct.Struct(">f")


class DoubleConverter(NumberConverter):
    NAME, CLASS = "double", "java.lang.Double"
    SCHEMA, FORMAT = schemas.OPTIONAL_FLOAT64_SCHEMA, struct.Struct(">d")


_BOOLEANS = {b"\x00": False, b"\x01": True}


class BooleanConverter(AnyConverter):
    """A converter of one byte. Unlike those of numbers it looks at the schema first, and refuses a null of another type."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if schema is not None and schema.type is not SchemaType.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.value}")
        if value is None:
            return None
        if type(value) is not bool:
            raise DataError(f"BooleanConverter is not compatible with objects of type class {java_class(value)}")
        return b"\x01" if value else b"\x00"

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        value = None if data is None else _BOOLEANS.get(bytes(data))
        if data is not None and value is None:
            raise DataError("Failed to deserialize boolean: ")
        return SchemaAndValue(schemas.OPTIONAL_BOOLEAN_SCHEMA, value)
