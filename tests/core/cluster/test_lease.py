"""What a host may believe after it has not read the log to its end for a while."""

from __future__ import annotations

import pytest

from kconnect.core.cluster.lease import Lease, Rest, stopped_after_ms


@pytest.mark.parametrize("session_s", [4.0, 10.0, 45.0])
@pytest.mark.parametrize("grace_s", [1.0, 2.0, 60.0])
def test_who_is_close_has_read_what_the_leader_has_waited_for(session_s: float, grace_s: float) -> None:
    told_at = 100.0
    given_away_at = told_at + grace_s
    for lag in (0.0, 0.1, 1.0, 1.9, 2.1, 7.4, 11.9, 50.0):
        lease = Lease(session_s, grace_s, 0.0)
        lease.seen_at = given_away_at - lag
        has_read_it = given_away_at - lag >= told_at
        assert has_read_it or not lease.is_held(given_away_at)
        assert not (lease.is_held(given_away_at) and lease.is_lost(given_away_at))


@pytest.mark.parametrize(("grace_s", "asks"), [(0.0, 1 / 3), (2.0, 2 / 3), (60.0, 1.25)])
def test_it_asks_often_enough_to_stay_close(grace_s: float, asks: float) -> None:
    lease = Lease(10.0, grace_s, 0.0)
    assert lease.turn_s == pytest.approx(asks)
    assert lease.is_held(2 * asks)


def test_a_pause_comes_before_the_loss() -> None:
    lease = Lease(10.0, 2.0, 0.0)
    assert lease.is_held(1.9)
    assert not lease.is_held(2.0)
    assert not lease.is_lost(11.9)
    assert lease.is_lost(12.0)
    lease.seen_at = 11.0
    assert lease.is_held(12.0)
    assert not lease.is_lost(12.0)


@pytest.mark.parametrize("grace_s", [0.0, 2.0, 60.0])
def test_an_election_of_another_leader_stops_nothing_by_default(grace_s: float) -> None:
    """Kafka's broker.session.timeout.ms is 9 s, and a client needs a moment to find the new leader."""
    assert stopped_after_ms(10_000, int(grace_s * 1000)) >= 11_000


def test_a_leader_that_takes_no_writes_is_believed_until_there_may_be_another_one() -> None:
    """Whoever is cut off together with a leader is told for ever that nothing is new."""
    lease = Lease(10.0, 2.0, 0.0)
    for now in range(100, 140):
        lease.seen_at = lease.seen(float(now), heard_at=100.0)
        # Others can write that something leaves a host 9 s later, and wait for 2 s more.
        assert lease.is_held(float(now)) == (now < 110)
    assert lease.is_lost(120.0)
    lease.seen_at = lease.seen(139.5, heard_at=139.0)
    assert lease.is_held(140.0), "the log itself says more"


def test_hosts_that_lose_the_log_again_and_again_rest_longer_and_apart() -> None:
    rests = []
    for chance in (0.0, 1.0):
        rest, now = Rest(), 1000.0
        lengths = []
        for _ in range(8):
            rest.lost(now, chance)
            lengths.append(next(tenth / 10 for tenth in range(1000) if rest.is_over(now + tenth / 10)))
            now += 20
        assert lengths == sorted(lengths)
        assert lengths[-1] <= 15.0
        rests.append(lengths)
    assert all(first < second for first, second in zip(*rests))


def test_the_rest_is_short_again_after_some_quiet_minutes() -> None:
    rest = Rest()
    for now in (0.0, 10.0, 20.0):
        rest.lost(now, 1.0)
    rest.lost(1000.0, 1.0)
    assert rest.is_over(1000.5)
