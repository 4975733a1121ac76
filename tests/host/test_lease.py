"""What a host may believe after it has not read the log to its end for a while."""

from __future__ import annotations

import pytest

from kconnect.host.lease import Lease


@pytest.mark.parametrize("session_s", [4.0, 10.0, 45.0])
@pytest.mark.parametrize("grace_s", [1.0, 2.0, 60.0])
def test_who_is_close_has_read_what_the_leader_has_waited_for(session_s: float, grace_s: float) -> None:
    told_at = 100.0
    given_away_at = told_at + grace_s
    for lag in (0.0, 0.1, 1.0, 1.9, 2.1, 7.4, 50.0):
        lease = Lease(session_s, grace_s, 0.0)
        lease.seen_at = given_away_at - lag
        has_read_it = given_away_at - lag >= told_at
        assert has_read_it or not lease.is_held(given_away_at)
        assert not (lease.is_held(given_away_at) and lease.is_lost(given_away_at))


@pytest.mark.parametrize(("grace_s", "asks"), [(0.0, 0.34), (2.0, 0.67), (60.0, 1.25)])
def test_it_asks_often_enough_to_stay_close(grace_s: float, asks: float) -> None:
    lease = Lease(10.0, grace_s, 0.0)
    assert not lease.is_due(asks - 0.1)
    assert lease.is_due(asks)
    assert lease.is_held(2 * asks)


def test_a_pause_comes_before_the_loss() -> None:
    lease = Lease(10.0, 2.0, 0.0)
    assert lease.is_held(1.9)
    assert not lease.is_held(2.0)
    assert not lease.is_lost(7.4)
    assert lease.is_lost(7.5)
    lease.seen_at = 7.0
    assert lease.is_held(7.5)
    assert not lease.is_lost(7.5)
