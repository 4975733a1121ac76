"""AvroConverter and its registry, in this process. What it does over HTTP: `test_schema_registry.py`."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from kconnect.converters.avro import AvroConverter
from kconnect.converters.schema_registry import MemoryRegistry, Reference
from kconnect.data import schema as s
from kconnect.data.schema import Struct
from kconnect.errors import ConfigError, DataError

from .avro_calls import POINT, body, converter, scope


def subjects(registry: str) -> dict[str, list[str]]:
    return {subject: [each.text for each in found] for subject, found in MemoryRegistry.of(registry).subjects.items()}


def test_converters_of_one_scope_share_a_registry() -> None:
    registry = scope()
    data = converter(registry=registry).from_connect_data("t", s.STRING_SCHEMA, "a")
    assert converter(registry=registry).to_connect_data("t", data).value == "a"
    with pytest.raises(DataError, match="no schema 1"):
        converter().to_connect_data("t", data)


@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("TopicNameStrategy", False, "t-value"),
        ("TopicNameStrategy", True, "t-key"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", False, "geo.Point"),
        ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", True, "t-geo.Point"),
    ],
)
def test_subjects(strategy: str, is_key: bool, subject: str) -> None:
    registry = scope()
    made = converter(is_key, registry, **{f"{'key' if is_key else 'value'}_subject_name_strategy": strategy})
    data = made.from_connect_data("t", POINT, Struct(POINT, {"x": 1}))
    assert list(subjects(registry)) == [subject]
    assert made.to_connect_data("t", data).schema == POINT.replace(version=1)


def test_a_subject_by_record_needs_a_record() -> None:
    made = converter(value_subject_name_strategy="RecordNameStrategy")
    with pytest.raises(DataError, match=r"value.subject.name.strategy = RecordNameStrategy, the message must only be a record"):
        made.from_connect_data("t", s.STRING_SCHEMA, "a")


def test_without_registration_a_schema_must_be_known() -> None:
    registry = scope()
    made = converter(registry=registry, auto_register_schemas="false")
    with pytest.raises(DataError, match=r"not registered for subject t-value, and auto\.register\.schemas is false"):
        made.from_connect_data("t", s.STRING_SCHEMA, "a")
    MemoryRegistry.of(registry).register("t-value", '{ "type": "string" }')
    MemoryRegistry.of(registry).register("t-value", '"string"')
    assert made.from_connect_data("t", s.STRING_SCHEMA, "a") == b"\x00\x00\x00\x00\x02\x02a"


V1 = s.struct({"a": s.INT32_SCHEMA, "b": s.STRING_SCHEMA}, name="R")


def latest(newest: Any, **config: str) -> AvroConverter:
    registry = scope()
    MemoryRegistry.of(registry).register("t-value", json.dumps(newest))
    return converter(registry=registry, auto_register_schemas="false", use_latest_version="true", **config)


def record(*fields: Any) -> dict[str, Any]:
    described = [{"name": name, "type": kind, **dict(more)} for name, kind, *more in fields]
    return {"type": "record", "name": "R", "fields": described}


def test_data_is_written_by_the_newest_schema_if_so_set() -> None:
    # In another order, wider, with a field more and one that may be null.
    made = latest(
        record(
            ("c", "bytes", ("default", "\xff")),
            ("b", ["null", "string"]),
            ("a", "long"),
            ("d", ["int", "string"], ("default", 3)),
        )
    )
    data = made.from_connect_data("t", V1, Struct(V1, {"a": 1, "b": "x"}))
    assert body(data) == b"\x02\xff" + b"\x02\x02x" + b"\x02" + b"\x00\x06"


@pytest.mark.parametrize(
    ("newest", "message"),
    [
        (record(("a", "int"), ("b", "string"), ("c", "int")), '"c" has no default'),
        (record(("a", "string")), "INT32 can't be written as the Avro type"),
        ("string", "STRUCT can't be written as the Avro type"),
    ],
)
def test_a_newest_schema_that_does_not_take_the_data(newest: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"Incompatible schema for subject t-value.*{message}"):
        latest(newest).from_connect_data("t", V1, Struct(V1, {"a": 1, "b": "x"}))


def test_leniently_it_is_the_values_that_must_fit() -> None:
    optional = s.struct({"a": s.OPTIONAL_INT32_SCHEMA}, name="R")
    with pytest.raises(DataError, match=r"latest\.compatibility\.strict=false"):
        latest(record(("a", "int"))).from_connect_data("t", optional, Struct(optional, {"a": 1}))
    made = latest(record(("a", "int")), latest_compatibility_strict="false")
    assert body(made.from_connect_data("t", optional, Struct(optional, {"a": 1}))) == b"\x02"
    with pytest.raises(DataError, match="Found null value"):
        made.from_connect_data("t", optional, Struct(optional))


def test_data_is_written_by_a_schema_given_by_id() -> None:
    registry = scope()
    MemoryRegistry.of(registry).register("other", '"long"')
    made = converter(registry=registry, auto_register_schemas="false", use_schema_id="1")
    assert made.from_connect_data("t", s.INT32_SCHEMA, 3) == b"\x00\x00\x00\x00\x01\x06"


def test_readers_see_what_the_writer_wrote_by() -> None:
    made = converter()
    wide = s.struct({"a": s.INT32_SCHEMA, "b": s.STRING_SCHEMA, "c": s.OPTIONAL_INT64_SCHEMA}, name="R")
    old = made.from_connect_data("t", V1, Struct(V1, {"a": 1, "b": "x"}))
    new = made.from_connect_data("t", wide, Struct(wide, {"a": 2, "b": "y", "c": 3}))
    for data, schema, version in ((old, V1, 1), (new, wide, 2), (old, V1, 1)):
        assert made.to_connect_data("t", data).schema == schema.replace(version=version)


def test_references_are_resolved() -> None:
    registry = scope()
    memory = MemoryRegistry.of(registry)
    memory.register("inner", json.dumps({"type": "enum", "name": "a.E", "symbols": ["X", "Y"]}))
    middle = {"type": "record", "name": "a.M", "fields": [{"name": "e", "type": "E"}]}
    memory.register("middle", json.dumps(middle), (Reference("a.E", "inner", 1),))
    outer = {"type": "record", "name": "b.O", "fields": [{"name": "m", "type": "a.M"}, {"name": "e", "type": "a.E"}]}
    references = (Reference("a.M", "middle", 1), Reference("a.E", "inner", 1))
    id = memory.register("t-value", json.dumps(outer), references)
    schema, value = converter(registry=registry).to_connect_data("t", struct.pack(">bI", 0, id) + b"\x02\x00")
    assert schema is not None
    assert (schema.name, schema.version, value["m"]["e"], value["e"]) == ("b.O", 1, "Y", "X")


def test_a_schema_is_looked_up_once() -> None:
    made = converter()
    calls: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(inner, name)

    inner = made._registry
    made._registry = Counting()
    for number in range(3):
        # An equal schema, not the same.
        schema = s.struct({"x": s.INT32_SCHEMA}, name="R")
        data = made.from_connect_data("t", schema, Struct(schema, {"x": number}))
        made.from_connect_data("t", s.STRING_SCHEMA, "a")
        assert made.to_connect_data("t", data).value["x"] == number
    assert calls == ["register", "register", "by_id", "lookup"]


def test_no_more_schemas_are_kept_than_set() -> None:
    made = converter(schemas_cache_config="2")
    for width in range(5):
        schema = s.struct({f"f{index}": s.INT32_SCHEMA for index in range(width)}, name="R")
        made.to_connect_data("t", made.from_connect_data("t", schema, Struct.unchecked(schema, [1] * width)))
    assert (len(made._writings), len(made._readings)) == (2, 2)


def test_settings_that_can_not_be_used() -> None:
    with pytest.raises(ConfigError, match=r'Missing required configuration "schema\.registry\.url"'):
        AvroConverter().configure({}, False)
    for config, message in (
        ({"schema.registry.url": ""}, "No schema registry is named; give its URL"),
        ({"schema.registry.url": "mock://a,mock://b"}, "Only one mock scope"),
        ({"schema.registry.url": "mock://a", "value.subject.name.strategy": "Mine"}, "must be TopicNameStrategy, Record"),
    ):
        with pytest.raises(ConfigError, match=message):
            AvroConverter().configure(config, False)
