"""A call that has failed: when it is made again."""

from __future__ import annotations

from kconnect.core.task.repeats import MOST, Repeats


def test_pauses_double_up_to_a_minute_and_then_it_is_given_up() -> None:
    repeats, pauses, now = Repeats(), [], 1000.0
    while (pause := repeats.failed(now)) is not None:
        pauses.append(pause)
        now += pause
        assert repeats.due == now
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert (len(pauses) + 1, repeats.due, now - 1000) == (MOST, None, 303.75)


def test_a_success_forgets_the_failures() -> None:
    repeats = Repeats()
    assert not repeats.end()
    repeats.failed(1.0)
    repeats.failed(2.0)
    assert repeats.end()
    assert (repeats.due, repeats.failures) == (None, 0)
    assert repeats.failed(9.0) == 0.25
