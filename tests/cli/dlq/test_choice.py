"""Filters of letters."""

from __future__ import annotations

import time
from typing import Any

import click
import pytest

from kconnect.cli.dlq.options import MOMENT, RANGE
from kconnect.dlq.choice import Choice
from tests.dlq.letters import bare, letter


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({}, True),
        ({"connector": "si*"}, True),
        ({"connector": "other"}, False),
        ({"topic": "orders"}, True),
        ({"topic": "order"}, False),
        ({"partition": 2}, True),
        ({"partition": 0}, False),
        ({"stage": "value_converter"}, True),
        ({"stage": "TRANSFORMATION"}, False),
        ({"exception": "DataException"}, True),
        ({"exception": "org.apache.*.DataException"}, True),
        ({"exception": "JsonParse*"}, True),
        ({"exception": "Data"}, False),
        ({"contains": "ois"}, True),
        ({"contains": "byte[]"}, True),
        ({"contains": "Unrecognized token"}, True),
        ({"contains": "absent"}, False),
        ({"since": 1000}, True),
        ({"since": 1001}, False),
        ({"until": 1001}, True),
        ({"until": 1000}, False),
        ({"offset": (5, 5)}, True),
        ({"offset": (6, None)}, False),
        ({"offset": (None, 4)}, False),
        ({"queue_partition": 1}, True),
        ({"queue_partition": 0}, False),
        ({"topic": "orders", "stage": "TRANSFORMATION"}, False),
    ],
    ids=str,
)
def test_all_that_is_given_must_match(given: dict[str, Any], taken: bool) -> None:
    assert Choice(**given).takes(letter(offset=5, partition=1)) is taken


@pytest.mark.parametrize(
    "given", [{"connector": "*"}, {"topic": "*"}, {"partition": 0}, {"stage": "*"}, {"exception": "*"}], ids=str
)
def test_no_filter_is_true_of_what_a_letter_does_not_tell(given: dict[str, Any]) -> None:
    assert not Choice(**given).takes(bare())
    assert Choice(contains="poison").takes(bare())
    assert not Choice(since=0).takes(bare(timestamp=None))


def test_bounds_are_what_there_is_of_what_is_asked() -> None:
    assert Choice().bounds(3, 10) == (3, 10)
    assert Choice(offset=(5, 6)).bounds(3, 10) == (5, 7)
    assert Choice(offset=(None, 6)).bounds(3, 10) == (3, 7)
    assert Choice(offset=(1, 60)).bounds(3, 10) == (3, 10)
    assert Choice(offset=(1, 2)).by_place
    assert not Choice(offset=(1, 2), stage="x").by_place


def test_times_as_people_write_them() -> None:
    def read(text: str) -> int:
        return MOMENT.convert(text, None, None)

    assert read("2026-01-31T12:00:00Z") == read("2026-01-31T13:00:00+01:00") == read("2026-01-31T12:00:00") == 1769860800000
    assert read("2026-01-31") == 1769817600000
    assert abs(read("-2h") - (time.time() - 7200) * 1000) < 60_000


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "-2x", "5m"])
def test_a_time_that_is_none_says_how_to_write_one(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time: write a time such as 2026"):
        MOMENT.convert(text, None, None)


def test_ranges_of_offsets() -> None:
    def read(text: str) -> tuple[int | None, int | None]:
        return RANGE.convert(text, None, None)

    assert [read("12"), read("12:40"), read("12:"), read(":40"), read("")] == [
        (12, 12),
        (12, 40),
        (12, None),
        (None, 40),
        (None, None),
    ]
    for text in (":", "a", "4:3", "1-2"):
        with pytest.raises(click.BadParameter):
            read(text)
