"""How often a unit is started again by itself: `kconnect/host/renewals.py`."""

from __future__ import annotations

from kconnect.core.state.records import UnitId
from kconnect.host.renewals import Renewals

UNIT, OTHER = UnitId("x", 0), UnitId("x", 1)


def test_each_start_waits_longer_and_there_are_not_many() -> None:
    renewals, waits = Renewals(), []
    for turn in range(5):
        now = 100.0 * turn
        assert renewals.ask(UNIT, now)
        waits.append(next(later for later in range(100) if renewals.due(now + later)))
        assert renewals.due(now + 1000) == [], "once"
    assert waits == [1, 2, 4, 8, 16]
    assert not renewals.ask(UNIT, 500.0)
    assert renewals.ask(UNIT, 500.0, lasting=True), "for a right that may be away for long"
    assert next(later for later in range(100) if renewals.due(500.0 + later)) == 32
    assert renewals.ask(OTHER, 500.0)
    assert renewals.ask(UNIT, 10_000.0), "that was long ago"
