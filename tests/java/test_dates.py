"""SimpleDateFormat, beyond the golden cases (`tests/golden/simple_date_format.jsonl`)."""

from __future__ import annotations

import contextlib
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.java import dates

ANY_MILLIS = st.integers(-(1 << 63), (1 << 63) - 1)
GREGORIAN = st.datetimes(datetime.datetime(1583, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59))
EPOCH = datetime.datetime(1970, 1, 1)
MS = datetime.timedelta(milliseconds=1)


@given(ANY_MILLIS)
def test_what_is_written_in_full_is_read_as_the_same_moment(millis: int) -> None:
    full = dates.SimpleDateFormat("G yyyy-MM-dd HH:mm:ss.SSS Z")
    text = full.format(millis)
    assert full.parse_prefix(text) == (millis, len(text))


@given(ANY_MILLIS)
def test_a_day_of_the_year_says_as_much_as_month_and_day(millis: int) -> None:
    by_day = dates.SimpleDateFormat("yyyy DDD G, hh:mm:ss.SSS a")
    assert by_day.parse(by_day.format(millis)) == millis


@given(GREGORIAN)
def test_dates_after_1582_are_those_of_python(when: datetime.datetime) -> None:
    millis = (when - EPOCH) // MS
    assert dates.SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss").format(millis) == when.isoformat(timespec="seconds")
    assert dates.SimpleDateFormat("EEEE, dd MMMM, u, DDD").format(millis) == when.strftime("%A, %d %B, %u, %j")


@given(GREGORIAN)
def test_a_week_date_is_read_as_its_day(when: datetime.datetime) -> None:
    by_week = dates.SimpleDateFormat("YYYY-'W'ww-u")
    midnight = when.replace(hour=0, minute=0, second=0, microsecond=0)
    millis = (midnight - EPOCH) // MS
    assert by_week.parse(by_week.format(millis)) == millis


@given(GREGORIAN, st.integers(0, 99_999))
def test_days_beyond_the_month_count_on(when: datetime.datetime, more: int) -> None:
    millis = (when.replace(hour=0, minute=0, second=0, microsecond=0) - EPOCH) // MS
    assert dates.SimpleDateFormat("yyyy-MM-dd").parse(f"{when:%Y-%m}-{when.day + more}") == millis + more * 86_400_000


PATTERNS = ("yyyy-MM-dd", "yyyyMMddHHmmss", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "HH:mm:ssX", "dd.MM.yyyy Z", "yyyy", "s.S")


@given(st.sampled_from(PATTERNS), ANY_MILLIS, st.text("0123456789-+:. TZE\t٣x", max_size=4), st.integers(0, 30))
def test_the_short_way_reads_as_the_long_one(pattern: str, millis: int, noise: str, at: int) -> None:
    both = dates.SimpleDateFormat(pattern)
    text = both.format(millis)
    text = text[:at] + noise + text[at:]
    assert both._quick is not None
    quick = both._quick(text)
    if quick is not None:
        both._quick = None
        assert both.parse_prefix(text) == quick


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_text_is_read_or_refused(pattern: str, text: str) -> None:
    try:
        made = dates.SimpleDateFormat(pattern)
    except ValueError as illegal:
        assert str(illegal).startswith(("Illegal pattern character", "Unterminated quote", "invalid ISO 8601 format"))
        return
    made.format(0)
    with contextlib.suppress(dates.ParseError):
        made.parse(text)


def test_the_gregorian_calendar_begins_ten_days_later() -> None:
    day = dates.SimpleDateFormat("yyyy-MM-dd EEE D")
    first = dates.SimpleDateFormat("yyyy-MM-dd").parse("1582-10-15")
    assert day.format(first) == "1582-10-15 Fri 278"
    assert day.format(first - 1) == "1582-10-04 Thu 277"
    assert day.format(dates.SimpleDateFormat("yyyy-MM-dd").parse("1500-02-29")) == "1500-02-29 Sat 60"


def test_years_of_two_digits_are_near() -> None:
    this_year = datetime.datetime.now(datetime.timezone.utc).year
    short, full = dates.SimpleDateFormat("yy"), dates.SimpleDateFormat("yyyy")
    for year in (this_year - 79, this_year, this_year + 19):
        assert short.parse(f"{year % 100:02}") == full.parse(str(year))


@pytest.mark.parametrize(
    ("text", "hours"),
    [("PST", 8), ("pdt", 7), ("Central European Summer Time", -2), ("GMT-3:00", 3), ("+0200", -2), ("UTC", 0), ("IST", -2)],
)
def test_zones(text: str, hours: int) -> None:
    assert dates.SimpleDateFormat("yyyy z").parse(f"1970 {text}") == hours * 3_600_000


def test_a_zone_in_a_text_is_that_of_what_is_written_then() -> None:
    zoned = dates.SimpleDateFormat("yyyy-MM-dd HH:mm z")
    summer = zoned.parse("2021-06-01 10:00 EST")
    assert zoned.format(summer) == "2021-06-01 11:00 EDT"
    assert dates.SimpleDateFormat("yyyy-MM-dd HH:mm z").format(summer) == "2021-06-01 15:00 UTC"
    zoned.parse("2021-06-01 10:00 +0200")
    assert zoned.format(summer) == "2021-06-01 11:00 EDT"
    zoned.parse("2021-06-01 10:00 UTC")
    assert zoned.format(summer) == "2021-06-01 15:00 UTC"


@given(ANY_MILLIS, st.sampled_from(("PST", "CET", "IST", "LHST", "AEST", "GMT", "Pitcairn Time")))
def test_a_zone_has_a_time_for_every_moment(millis: int, zone: str) -> None:
    zoned = dates.SimpleDateFormat("G yyyy-MM-dd HH:mm:ss.SSS XXX, z")
    zoned.parse(f"AD 2000-01-01 00:00:00.000 Z, {zone}")
    text = zoned.format(millis).rpartition(",")[0]
    assert abs(dates.SimpleDateFormat("G yyyy-MM-dd HH:mm:ss.SSS XXX").parse(text) - millis) < 60_000 or millis > 9e18
