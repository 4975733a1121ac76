"""The columns of a frame: the union of what records have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import ConfigError, DataError
from kconnect.pyspark import columns, options
from kconnect.pyspark.columns import Seen

INT, LONG, TEXT, DOUBLE, BYTE = (
    Schema(kind) for kind in (SchemaType.INT32, SchemaType.INT64, SchemaType.STRING, SchemaType.FLOAT64, SchemaType.INT8)
)


def logical(kind: SchemaType, name: str, scale: int = 0) -> Schema:
    return Schema(kind, name=name, parameters={"scale": str(scale)} if name == schemas.DECIMAL else {})


def columns_of(*found: Schema) -> dict[str, pa.DataType]:
    seen = Seen()
    for number, each in enumerate(found):
        seen.look_at_schema(f"t{number}", each)
    return {field.name: field.type for field in seen.columns()}


def test_fields_of_all_schemas_are_columns_in_the_order_in_which_they_were_looked_at() -> None:
    found = columns_of(schemas.struct({"b": TEXT, "a": INT}), schemas.struct({"a": INT, "c": LONG}))
    assert list(found) == ["b", "a", "c"]


def test_all_of_it_may_be_null() -> None:
    seen = Seen()
    seen.look_at_schema("t", schemas.struct({"a": schemas.struct({"b": INT})}))
    (field,) = seen.columns()
    assert field.nullable
    assert field.type.field(0).nullable


@pytest.mark.parametrize(
    "one, other, both",
    [
        (BYTE, LONG, pa.int64()),
        (INT, DOUBLE, pa.float64()),
        (logical(SchemaType.BYTES, schemas.DECIMAL, 2), logical(SchemaType.BYTES, schemas.DECIMAL, 5), pa.decimal128(38, 5)),
        (schemas.array(INT), schemas.array(LONG), pa.list_(pa.field("element", pa.int64()))),
        (schemas.struct({"x": INT}), schemas.struct({"y": TEXT}), pa.struct({"x": pa.int32(), "y": pa.string()})),
    ],
)
def test_types_get_wider(one: Schema, other: Schema, both: pa.DataType) -> None:
    assert columns_of(schemas.struct({"a": one}), schemas.struct({"a": other})) == {"a": both}


@pytest.mark.parametrize("one, other", [(INT, TEXT), (LONG, DOUBLE), (schemas.struct({"x": INT}), INT)])
def test_types_that_no_column_has_both_are_told_with_field_and_remedy(one: Schema, other: Schema) -> None:
    with pytest.raises(DataError, match=r"column o\.a would be both .* t1 has.*\.schema\("):
        columns_of(schemas.struct({"o": schemas.struct({"a": one})}), schemas.struct({"o": schemas.struct({"a": other})}))


def test_types_that_spark_has_not_have_others_in_their_place() -> None:
    found = columns_of(
        schemas.struct(
            {
                "at": logical(SchemaType.INT64, schemas.TIMESTAMP),
                "day": logical(SchemaType.INT32, schemas.DATE),
                "clock": logical(SchemaType.INT32, schemas.TIME),
                "n": schemas.array(BYTE),
            }
        )
    )
    assert found["at"] == pa.timestamp("us", "UTC")
    assert found["day"] == pa.date32()
    assert found["clock"] == pa.string()


def test_a_decimal_that_ends_before_the_point_has_no_scale() -> None:
    found = columns_of(schemas.struct({"thousands": logical(SchemaType.BYTES, schemas.DECIMAL, -3)}))
    assert found == {"thousands": pa.decimal128(38, 0)}


def test_values_without_a_schema_have_an_inferred_one() -> None:
    seen = Seen()
    for value in ({"a": 1, "b": None}, {"a": 1.5, "c": {"d": True}}, {"e": [1]}, {"m": 1}, {"m": "x"}, None):
        seen.look("t", None, value)
    found = {field.name: field.type for field in seen.columns()}
    assert found["a"] == pa.float64()
    assert "b" not in found
    assert found["c"] == pa.struct({"d": pa.bool_()})
    assert found["m"] == pa.string()


def test_values_that_are_no_structs_are_one_column() -> None:
    seen = Seen()
    seen.look("t", TEXT, "x")
    assert [(field.name, field.type) for field in seen.columns()] == [("value", pa.string())]


def test_columns_about_records_come_last_and_have_no_namesake() -> None:
    given = options.parse({"topics.pattern": "t.*", "includeHeaders": "true", "includeKey": "true", "mode": "keep"})
    names = columns.around(pa.schema({"id": pa.int64()}), None, given).names
    assert names == ["id", "_key", "_topic", "_partition", "_offset", "_timestamp", "_headers", "_deleted", "_bad"]
    plain = options.parse({"topics": "t"})
    assert columns.around(pa.schema({"id": pa.int64()}), None, plain).names == [
        "id", "_partition", "_offset", "_timestamp", "_deleted"
    ]  # fmt: skip
    for name in ("_offset", "_OFFSET"):
        with pytest.raises(DataError, match=f"a field {name}, and _offset is a column about"):
            columns.around(pa.schema({name: pa.int64()}), None, plain)


def test_names_that_are_data_make_no_columns_without_end() -> None:
    seen = Seen()
    with pytest.raises(DataError, match="more than 5000 fields"):
        for number in range(100):
            seen.look("t", None, {f"{number}-{name}": 1 for name in range(60)})
    assert len(seen.columns()) <= 5000
    wide = schemas.struct({"o": schemas.struct({f"f{number}": INT for number in range(5000)})})
    with pytest.raises(DataError, match="more than 5000 fields"):
        columns_of(wide)


HEADERS = pa.list_(pa.field("element", pa.struct({"key": pa.string(), "value": pa.binary()})))
BAD = pa.struct({"error": pa.string(), "key": pa.binary(), "value": pa.binary()})


def test_a_schema_that_a_reader_gives_has_any_columns_of_these() -> None:
    about = {
        "_key": pa.binary(),
        "_topic": pa.string(),
        "_timestamp": pa.timestamp("us", "UTC"),
        "_headers": HEADERS,
        "_deleted": pa.bool_(),
        "_bad": BAD,
        "id": pa.int64(),
        "nested": pa.map_(pa.string(), pa.list_(pa.struct({"at": pa.timestamp("us")}))),
    }
    always = [pa.field("_partition", pa.int32(), nullable=False), pa.field("_offset", pa.int64(), nullable=False)]
    columns.require_usable(pa.schema([*pa.schema(about), *always]), False)
    columns.require_usable(pa.schema({"_key": pa.int64(), "_partition": pa.int64()}), True)


@pytest.mark.parametrize(
    "field, reason",
    [
        (pa.field("_Offset", pa.int64()), "is _offset, in small letters"),
        (pa.field("_offset", pa.string()), "it is a long"),
        (pa.field("_timestamp", pa.timestamp("us")), "it is a timestamp"),
        (pa.field("_headers", pa.map_(pa.string(), pa.binary())), "it is array<struct<key: string, value: binary>>"),
        (pa.field("_bad", pa.string()), "it is struct<error: string"),
        (pa.field("_key", pa.string()), "unless key.converter is given"),
        (pa.field("id", pa.int64(), nullable=False), "Leave out NOT NULL"),
        (pa.field("o", pa.struct([pa.field("x", pa.int64(), nullable=False)])), "also within it"),
        (pa.field("l", pa.list_(pa.field("element", pa.int64(), nullable=False))), "also within it"),
        (pa.field("m", pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))), "also within it"),
        (pa.field("i", pa.duration("us")), "no values of its type"),
        (
            pa.field("v", pa.struct([pa.field("metadata", pa.binary(), metadata={b"variant": b"true"})])),
            "no values of its type",
        ),
    ],
)
def test_a_column_that_no_rows_can_be_made_for_is_told_with_the_remedy(field: pa.Field, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        columns.require_usable(pa.schema([field]), False)
    assert f"column {field.name} " in str(caught.value)
    assert reason in str(caught.value)
