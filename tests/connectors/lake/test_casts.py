"""What a column of a table makes of values of other types: the same values, or nothing."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest

from kconnect.api import DataError
from kconnect.connectors import arrow
from kconnect.connectors.lake import casts, columns, rows

AT = datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.timezone.utc)
DAY = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
MOMENT, FREE = pa.timestamp("us", "UTC"), pa.timestamp("us")
SAME: list[tuple[pa.DataType, Any, pa.DataType, Any]] = [
    (pa.int64(), 12, pa.decimal128(5, 2), decimal.Decimal("12.00")),
    (pa.string(), "007", pa.int64(), 7),
    (pa.string(), "0.1", pa.float64(), 0.1),
    (pa.string(), "1.50", pa.decimal128(10, 2), decimal.Decimal("1.50")),
    (pa.string(), "true", pa.bool_(), True),
    (pa.string(), "a", pa.large_string(), "a"),
    (pa.string(), "2024-01-01", pa.date32(), DAY.date()),
    (pa.string(), "é", pa.large_binary(), "é".encode()),
    (pa.int64(), 1, pa.bool_(), True),
    (pa.int64(), 5, pa.string(), "5"),
    (pa.int64(), 2**53, pa.float64(), 2.0**53),
    (pa.float64(), 0.1, pa.float32(), 0.10000000149011612),
    (pa.float64(), math.inf, pa.float32(), math.inf),
    (pa.float64(), 1.0, pa.int64(), 1),
    (pa.float64(), 0.25, pa.decimal128(10, 2), decimal.Decimal("0.25")),
    (pa.decimal128(38, 2), decimal.Decimal("1.10"), pa.float64(), 1.1),
    (MOMENT, DAY, pa.date32(), DAY.date()),
    (MOMENT, AT, FREE, AT.replace(tzinfo=None)),
    (pa.date32(), DAY.date(), MOMENT, DAY),
]
OTHERS: list[tuple[pa.DataType, Any, pa.DataType]] = [
    (pa.int64(), 1000, pa.decimal128(5, 2)),
    (pa.int64(), 5, pa.bool_()),
    (pa.int64(), 1_700_000_000_000, MOMENT),
    (pa.int32(), 19_000, pa.date32()),
    (pa.int64(), 2**53 + 1, pa.float64()),
    (pa.float64(), 1e300, pa.float32()),
    (pa.float64(), 1.5, pa.int64()),
    (pa.float64(), 0.125, pa.decimal128(10, 2)),
    (pa.decimal128(38, 4), decimal.Decimal("1234567890123456.7891"), pa.float64()),
    (pa.decimal128(38, 2), decimal.Decimal("1.50"), pa.int64()),
    (pa.string(), "0.1234567890123456789", pa.float64()),
    (pa.string(), "1.239", pa.decimal128(10, 2)),
    # Powers of ten that Arrow has not: it takes what stands in their place.
    (pa.decimal128(38, -30), decimal.Decimal("5E+30"), pa.decimal128(38, 38)),
    (pa.string(), "1E-39", pa.decimal128(38, 0)),
    (pa.string(), "5E-41", pa.decimal128(10, 2)),
    (MOMENT, AT, pa.date32()),
    (MOMENT, AT, pa.time64("us")),
    (MOMENT, AT, pa.int64()),
    (pa.time64("us"), AT.time(), pa.int64()),
]
WITHIN = ["alone", "struct", "list", "map", "list of structs"]


def within(place: str, kind: pa.DataType, value: Any) -> tuple[pa.DataType, Any]:
    if place == "struct":
        return pa.struct([("other", pa.string()), ("v", kind)]), {"other": "x", "v": value}
    if place == "list":
        return pa.list_(kind), [value, None]
    if place == "map":
        return pa.map_(pa.string(), kind), [("k", value)]
    if place == "list of structs":
        return pa.list_(pa.struct([("v", kind)])), [{"v": value}, {"v": None}]
    return kind, value


@pytest.mark.parametrize("place", WITHIN)
def test_the_same_value_or_none(place: str) -> None:
    for own, value, kind, wanted in SAME:
        (there, given), (target, expected) = within(place, own, value), within(place, kind, wanted)
        # Of a struct that is not there, Arrow casts what is in its place.
        nulls = [] if "struct" in place else [None]
        column = pa.chunked_array([pa.array([*nulls, given, *nulls], there)])
        assert casts.cast(column, target).to_pylist() == [*nulls, expected, *nulls], (own, kind)
    for own, value, kind in OTHERS:
        (there, given), (target, _) = within(place, own, value), within(place, kind, None)
        with pytest.raises((DataError, pa.ArrowException)):
            casts.cast(pa.chunked_array([pa.array([None, given], there)]), target)


def test_a_float_that_is_no_number_stays_one() -> None:
    column = pa.chunked_array([pa.array([math.nan, 1.5])])
    found = casts.cast(column, pa.float32()).to_pylist()
    assert math.isnan(found[0]) and found[1] == 1.5


@pytest.mark.parametrize("value", [None, math.nan, -0.0])
def test_what_is_no_id(value: float | None) -> None:
    with pytest.raises(DataError, match="its id, which is of the id, is"):
        columns.check_ids(pa.table({"id": pa.array([1.0, value], pa.float64())}), ["id"])


def test_what_is_an_id() -> None:
    columns.check_ids(pa.table({"id": pa.array([0.0, -1.0, math.inf, 5e-324]), "v": pa.array([None] * 4, pa.string())}), ["id"])


@pytest.mark.parametrize("depth", [90, 900])
def test_values_without_a_schema_are_so_deep_and_no_deeper(depth: int) -> None:
    value: Any = 1
    for at in range(depth):
        value = [value] if at % 2 else {"d": value}
    refuses = pytest.raises(DataError, match="more than 100 times") if depth > 100 else contextlib.nullcontext()
    with refuses:
        arrow.check_free([value])


@pytest.mark.parametrize("value", [[("k", None)], [("a", 1), ("k", None)]])
def test_a_value_that_is_required_within_a_map_is_missing(value: Any) -> None:
    optional, required = (pa.map_(pa.string(), pa.field("value", pa.int32(), nullable)) for nullable in (True, False))
    wanted = pa.schema({"c": required})
    whole = pa.table({"c": pa.array([[("a", 1)], None, []], optional)})
    assert rows.fitted(whole, wanted).column("c").to_pylist() == [[("a", 1)], None, []]
    with pytest.raises(rows.NO_ROWS):
        rows.fitted(pa.concat_tables([whole, pa.table({"c": pa.array([value], optional)})]), wanted)
