"""Dates and their milliseconds, those beyond Python's years too."""

from __future__ import annotations

import copy
import datetime
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.data import schema as s
from kconnect.data import values
from kconnect.data.schema import validate
from kconnect.data.values import FarDate, date_of, milliseconds_of

UTC = datetime.timezone.utc
FIRST = -62_135_596_800_000
LAST = 253_402_300_799_999
MOST = (1 << 63) - 1
DAY = datetime.timedelta(days=1)


@given(st.integers(-MOST - 1, MOST))
def test_all_that_java_has_is_there_and_comes_back(milliseconds: int) -> None:
    date = date_of(milliseconds)
    assert milliseconds_of(date) == milliseconds
    assert isinstance(date, FarDate) is not (FIRST <= milliseconds <= LAST)
    validate(s.TIMESTAMP_SCHEMA, date)


def test_the_first_and_the_last_that_python_has() -> None:
    assert date_of(FIRST) == datetime.datetime(1, 1, 1, tzinfo=UTC)
    assert date_of(LAST) == datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
    assert isinstance(date_of(FIRST - 1), FarDate)
    assert isinstance(date_of(LAST + 1), FarDate)


ZONES: st.SearchStrategy[Any] = st.sampled_from([None, UTC, datetime.timezone(datetime.timedelta(hours=-5))])


@given(st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 12, 31), timezones=ZONES))
def test_those_of_python_are_counted_in_utc(date: datetime.datetime) -> None:
    plain = date if date.tzinfo is None else date.replace(tzinfo=None) - (date.utcoffset() or 0 * DAY)
    assert milliseconds_of(date) == (plain - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)


def test_far_dates_are_ordered_among_all_dates() -> None:
    dates = [date_of(each) for each in (-MOST, FIRST - 1, FIRST, 0, LAST, LAST + 1, MOST)]
    assert sorted({*dates}) == dates
    assert dates[0] < dates[3] < dates[-1] > dates[-2] >= dates[-2]
    assert dates[-1] != datetime.datetime.max.replace(tzinfo=UTC)
    assert dates[3] <= dates[-1]


def test_equal_ones_are_the_same_in_a_set() -> None:
    assert {date_of(MOST), date_of(MOST), date_of(MOST - 1)} == {date_of(MOST - 1), date_of(MOST)}


def test_they_are_copied_whole() -> None:
    date = date_of(MOST)
    assert pickle.loads(pickle.dumps(date)) == copy.deepcopy(date) == copy.copy(date) == date


def test_they_can_be_moved_and_subtracted() -> None:
    beyond = date_of(LAST + 1)
    assert beyond - DAY == date_of(LAST + 1 - 86_400_000)
    assert beyond + DAY == DAY + beyond == date_of(LAST + 1 + 86_400_000)
    assert beyond - date_of(LAST + 1 - 86_400_000) == DAY
    assert date_of(0) - beyond == -(beyond - date_of(0))
    with pytest.raises(OverflowError):
        date_of(MOST) - date_of(0)


def test_to_everything_else_they_are_the_nearest_that_python_has() -> None:
    date = date_of(MOST)
    assert isinstance(date, FarDate)
    assert (date.year, date.month, date.day) == (9999, 12, 31)
    assert date.replace(tzinfo=None) == datetime.datetime.max
    assert date.astimezone(UTC) is date
    assert date_of(-MOST).date() == datetime.date.min
    assert repr(date) == str(date) == "FarDate(9223372036854775807)"


@pytest.mark.parametrize(
    ("milliseconds", "text", "literal"),
    [
        (-MOST - 1, "Sun Dec 02 16:47:04 UTC 292269055", "16:47:04.192Z"),
        (MOST, "Sun Aug 17 07:12:55 UTC 292278994", "292278994-08-17T07:12:55.807Z"),
        (LAST + 1, "Sat Jan 01 00:00:00 UTC 10000", "10000-01-01"),
        (-62_135_769_600_001, "Fri Dec 31 23:59:59 UTC 1", "23:59:59.999Z"),
        (-12_219_292_800_000, "Fri Oct 15 00:00:00 UTC 1582", "00:00:00.000Z"),
        (-12_219_292_800_001, "Thu Oct 04 23:59:59 UTC 1582", "23:59:59.999Z"),
    ],
)
def test_their_texts_are_in_java_s_calendar(milliseconds: int, text: str, literal: str) -> None:
    assert values.to_text(date_of(milliseconds)) == text
    assert values.convert_to_string(None, date_of(milliseconds)) == literal
