"""Columns as arrays: structs that are held by field become what the same structs become that somebody has made."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pytest

from kconnect.api import Column, DataError, Schema, schema
from kconnect.connectors import arrow

NOW = datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone.utc)
INNER = schema.struct({"x": schema.INT32_SCHEMA, "t": schema.OPTIONAL_STRING_SCHEMA})
DEFAULTED = Schema(schema.SchemaType.INT64, default=7)
ROW = schema.struct(
    {
        "inner": INNER,
        "date": schema.DATE_SCHEMA,
        "decimal": schema.decimal_schema(2),
        "list": schema.array(INNER),
        "defaulted": DEFAULTED,
        "bytes": schema.BYTES_SCHEMA,
    }
)
OUTER = schema.struct({"row": ROW, "id": schema.INT64_SCHEMA})


def nested(x: Any = 2) -> Column:
    inner = Column.by_field(INNER, ["x", "t"], [[1, x], ["a", None]], 2)
    items = [list(inner.values), []]
    cells: list[Any] = [inner, [NOW, NOW], [decimal.Decimal("1.50"), decimal.Decimal(0)], items, [None, 8], [b"", b"a"]]
    # The structs of the list were made of another column.
    cells[0] = Column.by_field(INNER, ["x", "t"], inner.fields()[1], 2)
    row = Column.by_field(ROW, [field.name for field in ROW.fields], cells, 2)
    return Column.by_field(OUTER, ["row", "id"], [row, [1, 2]], 2)


def arrays(columns: Any) -> list[pa.Array]:
    return arrow.arrays(OUTER, columns, arrow.arrow_schema(OUTER))


def test_structs_held_by_field_are_the_same_arrays() -> None:
    column = nested()
    by_field = column.fields()[1]
    assert type(by_field[0]) is Column
    quick = arrays(by_field)
    assert by_field[0].as_field() is by_field[0], "no struct was made"
    slow = arrays([list(nested().fields()[1][0]), [1, 2]])
    assert quick == slow
    assert [array.type for array in quick] == [array.type for array in slow] == list(arrow.arrow_schema(OUTER).types)


@pytest.mark.parametrize("wrong", [None, "text", 2**40])
def test_a_value_that_does_not_fit_is_refused_within_them(wrong: Any) -> None:
    for columns in (nested(wrong).fields()[1], [list(nested(wrong).fields()[1][0]), [1, 2]]):
        with pytest.raises((DataError, pa.ArrowException, OverflowError)):
            arrays(columns)


def test_structs_of_another_schema_are_looked_at_one_by_one() -> None:
    other = schema.struct({"t": schema.OPTIONAL_STRING_SCHEMA, "x": schema.INT32_SCHEMA})
    column = Column.by_field(other, ["t", "x"], [["a"], [1]], 1)
    with pytest.raises((DataError, pa.ArrowException, TypeError, ValueError)):
        arrow.arrays(schema.struct({"inner": INNER}), [column], arrow.arrow_schema(schema.struct({"inner": INNER})))
