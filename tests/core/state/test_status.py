"""The fold of the status topic: since when a unit is in its state."""

from __future__ import annotations

from kconnect.core.state import records
from kconnect.core.state.records import LogRecord, State, Topic, UnitId, UnitStatus
from kconnect.core.state.status import StatusState

UNIT = UnitId("x", 0)


def say(fold: StatusState, state: State | None, worker: str, generation: int, at_ms: int) -> None:
    entry = records.status(UNIT, None if state is None else UnitStatus(state, worker, generation))
    fold.apply(LogRecord(Topic.STATUS, 0, 0, entry.key, entry.value, at_ms))


def test_since_when_a_unit_is_in_its_state() -> None:
    fold = StatusState()
    say(fold, State.RUNNING, "a:1", 1, 100)
    assert fold.since == {UNIT: 100}
    say(fold, State.RUNNING, "b:1", 2, 200)
    assert fold.since == {UNIT: 100}, "it runs elsewhere, but it runs"
    say(fold, State.PAUSED, "b:1", 2, 300)
    assert fold.since == {UNIT: 300}
    say(fold, None, "b:1", 2, 400)
    assert fold.since == {}
