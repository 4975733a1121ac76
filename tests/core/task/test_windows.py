"""Averages, maxima and rates over windows of time."""

from __future__ import annotations

from kconnect.core.task.windows import Sampled, Windows


def sampled(*given: tuple[float, float], count: int = 2) -> Sampled:
    """With (value, time) pairs, in two windows of 30 s unless said otherwise."""
    made = Sampled(Windows(30, count))
    for value, at in given:
        made.record(value, at)
    return made


def test_nothing_recorded_is_not_known_and_its_rate_is_0() -> None:
    empty = sampled()
    assert (empty.average(100), empty.highest(100), empty.rate(100)) == (None, None, 0.0)


def test_the_windows_count_together() -> None:
    two = sampled((10, 100), (20, 110), (60, 131))
    assert (two.average(135), two.highest(135)) == (30, 60)
    assert two.rate(145) == 90 / 45


def test_what_is_older_than_all_windows_is_forgotten() -> None:
    values = sampled((1000, 100), (10, 131), (20, 159))
    assert values.highest(159.9) == 1000
    assert values.highest(160) == 20
    assert values.average(160) == 15
    assert values.highest(191) is None
    assert values.rate(191) == 0.0


def test_no_more_windows_are_kept_than_count() -> None:
    values = sampled((3, 100), (2, 130), (1, 159.9))
    values.record(1, 161)
    assert values.highest(161) == 2


def test_a_short_life_is_not_made_out_to_be_a_high_rate() -> None:
    assert sampled((300, 100)).rate(101) == 300 / 30
    assert sampled((300, 100), count=1).rate(101) == 300 / 30
    assert sampled((300, 100), count=4).rate(101) == 300 / 90


def test_a_negative_highest_is_one_too() -> None:
    assert sampled((-2, 100), (-5, 101)).highest(102) == -2


def test_kafkas_window_of_0_ms_does_not_divide_by_nothing() -> None:
    values = Sampled(Windows.of(0, 1))
    values.record(5, 100)
    assert values.rate(100) == 5000
