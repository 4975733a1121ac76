"""How many hosts a worker has that may have a few more, or fewer."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from kconnect.core.cluster.host_count import HostCount

MINUTE = 60_000


def test_there_are_more_with_more_units_at_once_and_fewer_after_ten_minutes() -> None:
    count = HostCount(1, 4)
    assert [count.decide(units, None, 0) for units in (0, 8, 9, 25, 400)] == [1, 1, 2, 4, 4]
    assert [count.decide(9, None, at * MINUTE) for at in (1, 10, 11, 20, 21, 40)] == [4, 4, 3, 3, 2, 2]


def test_there_are_more_where_hosts_take_much() -> None:
    count = HostCount(1, 4)
    assert [count.decide(2, cores, 0) for cores in (0.1, 0.7, 0.8, 1.4, 1.5, 9.0)] == [1, 1, 2, 2, 3, 4]


def test_one_that_would_come_back_does_not_end() -> None:
    count = HostCount(1, 4)
    assert count.decide(2, 0.8, 0) == 2
    # One host alone would take 0.6 of a core: less than what has another one started, and not less by much.
    assert [count.decide(2, 0.6, at * MINUTE) for at in range(1, 60, 5)] == [2] * 12
    assert [count.decide(2, 0.5, at * MINUTE) for at in range(60, 80, 10)] == [2, 1]


def test_what_is_needed_again_meanwhile_begins_anew() -> None:
    count = HostCount(1, 4)
    count.decide(20, None, 0)
    assert [count.decide(units, None, at * MINUTE) for at, units in enumerate((1, 1, 20, *[1] * 11))] == [3] * 13 + [2]


@given(st.integers(1, 4), st.integers(0, 4), st.lists(st.tuples(st.integers(0, 60), st.floats(0, 8), st.integers(0, 20))))
def test_it_is_in_its_range_and_enough(least: int, more: int, looks: list[tuple[int, float, int]]) -> None:
    count, now, before = HostCount(least, least + more), 0, least
    for units, cores, minutes in looks:
        now += minutes * MINUTE
        hosts = count.decide(units, cores, now)
        assert least <= hosts <= least + more
        assert hosts == least + more or hosts * 8 >= units
        assert hosts >= before - 1, "one at a time"
        event("fewer" if hosts < before else "more" if hosts > before else "as many")
        before = hosts
