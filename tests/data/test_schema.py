"""Schemas, and what they let through."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from kconnect.data import schema as s
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import DataError

PERSON = s.struct(
    {
        "name": s.STRING_SCHEMA,
        "age": s.OPTIONAL_INT8_SCHEMA,
        "tags": s.array(s.STRING_SCHEMA, optional=True),
        "level": Schema(SchemaType.INT32, default=5),
    },
    name="Person",
    version=1,
)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (s.INT8_SCHEMA, -128),
        (s.INT64_SCHEMA, 2**63 - 1),
        (s.FLOAT32_SCHEMA, 1.5),
        (s.BOOLEAN_SCHEMA, True),
        (s.BYTES_SCHEMA, b"x"),
        (s.OPTIONAL_STRING_SCHEMA, None),
        (s.array(s.INT32_SCHEMA), [1, 2]),
        (s.mapping(s.STRING_SCHEMA, s.OPTIONAL_INT32_SCHEMA), {"a": None}),
        (s.decimal_schema(2), decimal.Decimal("1.50")),
        (s.TIMESTAMP_SCHEMA, datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)),
    ],
)
def test_what_fits(schema: Schema, value: Any) -> None:
    s.validate(schema, value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (s.INT8_SCHEMA, 128),
        (s.INT32_SCHEMA, True),
        (s.INT32_SCHEMA, 1.0),
        (s.INT32_SCHEMA, None),
        (s.BOOLEAN_SCHEMA, 1),
        (s.STRING_SCHEMA, b"x"),
        (s.array(s.INT32_SCHEMA), [1, "2"]),
        (s.array(s.INT32_SCHEMA), [None]),
        (s.mapping(s.STRING_SCHEMA, s.INT32_SCHEMA), {1: 1}),
        (s.mapping(s.STRING_SCHEMA, s.INT32_SCHEMA), {"a": "1"}),
        (s.decimal_schema(2), 1.5),
        (s.DATE_SCHEMA, 19676),
        (PERSON, {"name": "a"}),
    ],
)
def test_what_does_not(schema: Schema, value: Any) -> None:
    with pytest.raises(DataError):
        s.validate(schema, value)


def test_schemas_are_equal_by_what_they_say() -> None:
    same = PERSON.replace()
    assert same is not PERSON
    assert same == PERSON
    assert len({same, PERSON}) == 1
    for change in ({"version": 2}, {"optional": True}, {"doc": "d"}, {"parameters": {"a": "b"}}, {"name": None}):
        assert PERSON.replace(**change) != PERSON
    assert Schema(SchemaType.INT32, default=1) != s.INT32_SCHEMA


def test_an_optional_copy() -> None:
    assert s.STRING_SCHEMA.optional_copy() == s.OPTIONAL_STRING_SCHEMA
    assert s.OPTIONAL_STRING_SCHEMA.optional_copy() is s.OPTIONAL_STRING_SCHEMA


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"type": SchemaType.STRUCT, "fields": [("a", s.INT8_SCHEMA), ("a", s.INT8_SCHEMA)]}, "field name duplication a"),
        ({"type": SchemaType.STRUCT, "fields": [("", s.INT8_SCHEMA)]}, "fieldName cannot be null"),
        ({"type": SchemaType.INT8, "default": 1000}, "Invalid default value"),
    ],
)
def test_schemas_that_can_not_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Schema(**arguments)


def test_elements_need_schemas() -> None:
    with pytest.raises(DataError, match="valueSchema cannot be null"):
        s.array(None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="keySchema cannot be null"):
        s.mapping(None, s.STRING_SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="valueSchema cannot be null"):
        s.mapping(s.STRING_SCHEMA, None)  # type: ignore[arg-type]


def test_elements_without_a_schema_may_be_anything() -> None:
    s.validate(Schema(SchemaType.ARRAY), [1, None, "a"])
    s.validate(Schema(SchemaType.MAP, key_schema=s.STRING_SCHEMA), {"a": 1, "b": None})
    s.validate(Schema(SchemaType.MAP), {1: "a"})


def test_marked_numbers_fit_their_own_schema_only() -> None:
    s.validate(s.INT8_SCHEMA, s.Int8(5))
    s.validate(s.FLOAT32_SCHEMA, s.Float32(0.5))
    for schema, value, name in [
        (s.INT16_SCHEMA, s.Int8(5), "Byte"),
        (s.INT8_SCHEMA, s.Int64(5), "Long"),
        (s.FLOAT32_SCHEMA, s.Float64(0.5), "Double"),
    ]:
        with pytest.raises(DataError, match=f"class java.lang.{name} for value"):
            s.validate(schema, value)


def test_a_struct_gives_defaults_when_asked_for_them() -> None:
    person = Struct(PERSON, {"name": "Ada"})
    person["age"] = 36
    person.validate()
    assert (person["level"], person.get("level"), person.get("tags")) == (None, 5, None)
    assert person.values == ("Ada", 36, None, None)
    assert [field.name for field, _ in person.items()] == ["name", "age", "tags", "level"]
    assert person == Struct(PERSON, {"age": 36, "name": "Ada"})
    assert person == Struct.unchecked(PERSON, ["Ada", 36, None, None])


def test_a_struct_refuses_what_does_not_fit() -> None:
    person = Struct(PERSON)
    with pytest.raises(DataError, match='for field: "age"'):
        person["age"] = "old"
    with pytest.raises(DataError, match="size is not a valid field name"):
        person["size"] = 1
    with pytest.raises(DataError, match='null used for required field: "name", schema type: STRING'):
        person.validate()
    with pytest.raises(DataError, match="Not a struct schema"):
        Struct(s.INT32_SCHEMA)


def test_values_are_kept_out_of_reprs() -> None:
    assert "s3cret" not in repr(Struct(PERSON, {"name": "s3cret"}))
    assert (repr(PERSON), repr(s.INT8_SCHEMA)) == ("Schema{Person:STRUCT}", "Schema{INT8}")


def test_the_scale_of_a_decimal() -> None:
    assert s.decimal_scale(s.decimal_schema(-2)) == -2
    with pytest.raises(DataError, match="scale parameter not found"):
        s.decimal_scale(s.BYTES_SCHEMA)
    with pytest.raises(DataError, match="Invalid scale parameter"):
        s.decimal_scale(s.BYTES_SCHEMA.replace(parameters={"scale": "x"}))


_SAME_HASH = 2**61 - 1
"""Python's hash of a number is what it leaves when divided by this."""


@pytest.mark.parametrize(
    ("schema", "defaults"),
    [
        (s.INT64_SCHEMA, [_SAME_HASH * each for each in (0, 1, 2, 3)]),
        (s.STRING_SCHEMA, ["a", "b", "c"]),
        (s.decimal_schema(0), [decimal.Decimal(_SAME_HASH * each) for each in range(100)]),
        (s.array(s.INT64_SCHEMA), [[_SAME_HASH * each, _SAME_HASH * other] for each in range(4) for other in range(4)]),
        (s.mapping(s.STRING_SCHEMA, s.INT64_SCHEMA), [{"a": _SAME_HASH * each} for each in range(4)]),
        (s.FLOAT64_SCHEMA, [float(2 ** (61 * each)) for each in range(10)]),
    ],
    ids=lambda each: "" if isinstance(each, list) else each.name or each.type.value,
)
def test_schemas_that_differ_in_a_default_have_different_hashes(schema: Schema, defaults: list[Any]) -> None:
    """Who may write to a topic may send such with each record: what is kept for schemas compared all of them, one by one."""
    assert len({hash(s.struct({"a": schema.replace(default=default)})) for default in defaults}) == len(defaults)


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        (s.decimal_schema(2), decimal.Decimal("1.50"), decimal.Decimal("1.5")),
        (s.decimal_schema(2), decimal.Decimal("-0"), decimal.Decimal("0.0")),
        (s.FLOAT64_SCHEMA, -0.0, 0.0),
        (s.mapping(s.STRING_SCHEMA, s.INT8_SCHEMA), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (s.BYTES_SCHEMA, b"a", bytearray(b"a")),
    ],
)
def test_schemas_that_are_equal_have_one_hash(schema: Schema, one: Any, other: Any) -> None:
    first, second = (schema.replace(default=default) for default in (one, other))
    assert first == second
    assert hash(first) == hash(second)
