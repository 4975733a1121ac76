"""Filters that Spark hands over: a range may only get smaller by what can't pass."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from pyspark.sql import datasource

from kconnect.pyspark.filters import Pushed
from kconnect.pyspark.places import Range

PLAN = [Range("t", 0, 0, 10), Range("t", 1, 5, 20), Range("u", 0, 0, 3)]


def one(kind: str, column: str, value: Any = None) -> Any:
    made = getattr(datasource, kind)
    return made((column,)) if kind == "IsNotNull" else made((column,), value)


@pytest.mark.parametrize(
    "filters, left",
    [
        ([one("EqualTo", "_partition", 1)], [Range("t", 1, 5, 20)]),
        ([one("In", "_partition", (1, 7))], [Range("t", 1, 5, 20)]),
        ([one("EqualTo", "_topic", "u")], [Range("u", 0, 0, 3)]),
        ([one("GreaterThan", "_offset", 6), one("LessThanOrEqual", "_offset", 8)], [Range("t", 0, 7, 9), Range("t", 1, 7, 9)]),
        ([one("EqualTo", "_offset", 2)], [Range("t", 0, 2, 3), Range("u", 0, 2, 3)]),
        ([one("IsNotNull", "_offset")], PLAN),
        ([one("GreaterThan", "_partition", 0), one("LessThan", "_offset", 6)], [Range("t", 1, 5, 6)]),
    ],
)
def test_filters_on_places_are_applied_here_alone(filters: list[Any], left: list[Range]) -> None:
    pushed = Pushed()
    assert pushed.take(filters) == []
    assert pushed.ranges(PLAN, {}) == left


@pytest.mark.parametrize(
    "left_to_spark",
    [
        one("EqualTo", "id", 5),
        one("In", "_offset", (1, 9)),
        one("EqualTo", "_partition", None),
        one("EqualTo", "_partition", True),
        one("StringStartsWith", "_topic", "t"),
        datasource.EqualTo(("value", "_offset"), 5),
        datasource.Not(datasource.EqualTo(("_partition",), 1)),
    ],
)
def test_others_are_left_to_spark(left_to_spark: Any) -> None:
    pushed = Pushed()
    assert pushed.take([left_to_spark]) == [left_to_spark]
    assert pushed.ranges(PLAN, {}) == PLAN


def test_a_lower_bound_of_time_makes_ranges_smaller_and_spark_applies_it_again() -> None:
    pushed, since = Pushed(), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    bound = one("GreaterThanOrEqual", "_timestamp", since)
    assert pushed.take([bound]) == [bound]
    assert pushed.since_ms == int(since.timestamp() * 1000)
    assert pushed.ranges(PLAN, {("t", 0): 4, ("t", 1): 0}) == [Range("t", 0, 4, 10), Range("t", 1, 5, 20)]


def test_an_upper_bound_of_time_says_nothing_of_offsets() -> None:
    pushed, until = Pushed(), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    bound = one("LessThan", "_timestamp", until)
    assert pushed.take([bound]) == [bound]
    assert pushed.since_ms is None
    assert pushed.ranges(PLAN, {}) == PLAN


@pytest.mark.parametrize("year", [1, 1960, 1969])
def test_a_bound_before_1970_is_the_first_time_that_a_record_can_have(year: int) -> None:
    # Kafka takes -1 and -2 for the end and the beginning, and refuses what is less.
    for moment in (datetime.datetime(year, 12, 31, 23, 59, 59, 999000), datetime.datetime(year, 12, 31, 23, 59, 59, 998000)):
        pushed = Pushed()
        pushed.take([one("GreaterThan", "_timestamp", moment.replace(tzinfo=datetime.timezone.utc))])
        assert pushed.since_ms == 0
