"""Durations as Java reads them: each row was run by `java.time.Duration.parse` of Java 17."""

from __future__ import annotations

import pytest

from kconnect.java import durations


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1H", 3_600_000),
        ("P1D", 86_400_000),
        ("p1dt2h", 93_600_000),
        ("+P1D", 86_400_000),
        ("PT1.5S", 1_500),
        ("PT1,5S", 1_500),
        ("PT1.S", 1_000),
        ("-PT1.5S", -1_500),
        ("PT-1.5S", -1_500),
        ("PT0S", 0),
        *(
            (text, None)
            for text in ("", "P", "PT", "P1DT", "PT.5S", "P1W", "P1Y", "PT1H1H", "PT 1H", "PT9999999999999999999H", "1h")
        ),
    ],
)
def test_a_duration_is_what_it_is_in_java(text: str, milliseconds: int | None) -> None:
    assert durations.milliseconds(text) == milliseconds
