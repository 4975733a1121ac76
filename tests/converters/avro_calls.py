"""What the tests of AvroConverter share: a converter over a registry in this process."""

from __future__ import annotations

import datetime
import itertools
import json
from typing import Any

from kconnect.converters.avro import AvroConverter
from kconnect.converters.avro_schema import Dialect, to_avro
from kconnect.converters.avro_types import dumps
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.data import schema as s
from kconnect.data.schema import Schema

UTC = datetime.timezone.utc
NS = "io.confluent.connect.avro"
POINT = s.struct({"x": s.INT32_SCHEMA}, name="geo.Point")
ENUM = {"type": "enum", "name": "a.Suit", "symbols": ["S", "H"], "doc": "of cards", "default": "S"}
_scopes = itertools.count()


def scope() -> str:
    return f"test-avro-{next(_scopes)}"


def converter(is_key: bool = False, /, registry: str | None = None, **config: str) -> AvroConverter:
    made = AvroConverter()
    given = {name.replace("_", "."): value for name, value in config.items()}
    made.configure({"schema.registry.url": f"mock://{registry or scope()}", **given}, is_key)
    return made


def avro_of(schema: Schema | None, **dialect: bool) -> Any:
    return json.loads(dumps(to_avro(schema, Dialect(**dialect))))


def body(data: bytes | None) -> bytes:
    assert data is not None
    return data[5:]


def connect_of(avro: Any, **config: str) -> Schema | None:
    """What the converter makes of an Avro type that someone has registered."""
    registry = scope()
    made = converter(registry=registry, **config)
    id = MemoryRegistry.of(registry).register("other", json.dumps(avro))
    # The subject is another one, so that the version does not come in.
    reading = made._new_reading("t", id)
    return reading.schema
