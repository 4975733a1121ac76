"""Times as users write them."""

from __future__ import annotations

import datetime

import pytest

from kconnect.cli.offsets import moments

NOW = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00+01:00", "2025-12-31T23:00:00Z"),
        # As kafka-consumer-groups has it.
        ("2026-01-01T00:00:00.5", "2026-01-01T00:00:00.500Z"),
        ("2026-01-01T00:00:00.1234567z", "2026-01-01T00:00:00.123Z"),
        ("2026-01-01", "2026-01-01T00:00:00Z"),
        ("-2h", "2026-03-01T10:00:00Z"),
        ("-1d12h", "2026-02-28T00:00:00Z"),
        ("-90s", "2026-03-01T11:58:30Z"),
        ("-2w1m", "2026-02-15T11:59:00Z"),
    ],
)
def test_times_and_times_ago(text: str, shown: str) -> None:
    assert moments.shown(moments.parse(text, NOW)) == shown


@pytest.mark.parametrize("text", ["", "yesterday", "2h", "-2", "-2y", "-h", "2026-13-01", "25:00", "-99999999999w"])
def test_what_is_no_time_is_told_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time: write a time such as 2026-01-31T12:00:00Z .* or -1d12h"):
        moments.parse(text, NOW)


def test_milliseconds_are_rounded_up_so_that_no_older_record_comes() -> None:
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    assert moments.milliseconds(moment) == 1000
    assert moments.milliseconds(moment + datetime.timedelta(microseconds=1)) == 1001
    assert moments.milliseconds(moment - datetime.timedelta(microseconds=1)) == 1000
