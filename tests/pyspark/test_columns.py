"""The columns of a frame: the union of what records have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import DataError
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
    with pytest.raises(DataError, match="a field _offset"):
        columns.around(pa.schema({"_offset": pa.int64()}), None, plain)


def test_names_that_are_data_make_no_columns_without_end() -> None:
    seen = Seen()
    with pytest.raises(DataError, match="more than 5000 fields"):
        for number in range(100):
            seen.look("t", None, {f"{number}-{name}": 1 for name in range(60)})
    assert len(seen.columns()) <= 5000
    wide = schemas.struct({"o": schemas.struct({f"f{number}": INT for number in range(5000)})})
    with pytest.raises(DataError, match="more than 5000 fields"):
        columns_of(wide)
