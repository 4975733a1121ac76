"""How often decisions may follow each other."""

from __future__ import annotations

from kconnect.core.herder.throttle import Looks, Throttle


def steps(throttle: Throttle, start: int, end: int) -> list[int]:
    """When each step is taken by somebody who always wants the next one."""
    now, taken = start, []
    while now < end:
        taken.append(now)
        now = throttle.free_at(now)
    return taken


def test_a_few_steps_follow_at_once_and_many_are_spaced() -> None:
    assert steps(Throttle(250, burst=4), 0, 1200) == [0] * 4 + [250, 500, 750, 1000]


def test_a_rest_restores_the_burst() -> None:
    throttle = Throttle(250, burst=4)
    steps(throttle, 0, 1000)
    assert steps(throttle, 10_000, 10_600) == [10_000] * 4 + [10_250, 10_500]


def test_steps_that_are_rare_never_wait() -> None:
    throttle = Throttle(250, burst=4)
    assert all(throttle.free_at(now) == now for now in range(0, 100_000, 300))


def test_the_more_there_is_to_look_at_the_rarer_it_is_looked_at() -> None:
    def looks(connectors: int) -> list[int]:
        now, after = 0, Looks()
        found: list[int] = []
        while now < 1000 and len(found) < 100:
            found.append(now)
            now = after.after(connectors, now)
        return found

    assert looks(3) == [0] * 100
    assert looks(1000) == [0] * 8 + [250, 500, 750]


def test_the_more_there_is_the_longer_a_quiet_herder_waits() -> None:
    assert Looks.quiet_ms(0, 500) == Looks.quiet_ms(100, 500) == 500
    assert Looks.quiet_ms(1000, 500) == 4000
