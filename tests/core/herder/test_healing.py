"""When a failed unit is due to be started again."""

from __future__ import annotations

from kconnect.core.herder.healing import Healing
from kconnect.core.settings.operation import Operation
from kconnect.core.state.records import State, UnitId, UnitStatus

TASK = UnitId("c", 0)
TWICE = Operation(max_attempts=2, backoff_ms=100, max_backoff_ms=1000)


def said(state: State) -> UnitStatus:
    return UnitStatus(state, "w", 1)


def test_it_is_off_by_default() -> None:
    healing = Healing()
    healing.read(TASK, said(State.FAILED), Operation(), 0)
    assert healing.failed == []


def test_the_pause_doubles_and_the_attempts_end() -> None:
    healing = Healing()
    healing.read(TASK, said(State.FAILED), TWICE, 0)
    assert healing.due(TASK, TWICE, 99) == 0
    assert healing.due(TASK, TWICE, 100) == 1
    assert healing.failed == [], "it is due once a failure"
    healing.read(TASK, said(State.RUNNING), TWICE, 110)
    healing.read(TASK, said(State.FAILED), TWICE, 120)
    assert healing.due(TASK, TWICE, 319) == 0
    assert healing.due(TASK, TWICE, 320) == 2
    healing.read(TASK, said(State.FAILED), TWICE, 400)
    assert healing.due(TASK, TWICE, 100_000) == 0


def test_what_ran_long_enough_has_its_attempts_back() -> None:
    healing = Healing()
    for start in range(0, 20_000, 4000):
        healing.read(TASK, said(State.FAILED), TWICE, start)
        assert healing.due(TASK, TWICE, start + 100) == 1
        healing.read(TASK, said(State.RUNNING), TWICE, start + 200)
        healing.read(TASK, said(State.FAILED), TWICE, start + 1200)
        assert healing.due(TASK, TWICE, start + 1300) == 1
        healing.read(TASK, said(State.RUNNING), TWICE, start + 1300)


def test_without_limit_the_pause_stays_at_its_longest() -> None:
    forever = Operation(max_attempts=-1, backoff_ms=100, max_backoff_ms=1000)
    healing, now = Healing(), 0
    for attempt in range(1, 60):
        healing.read(TASK, said(State.FAILED), forever, now)
        assert healing.due(TASK, forever, now + min(100 * 2 ** (attempt - 1), 1000)) == attempt
        now += 1000


def test_a_repeated_status_does_not_put_the_start_off() -> None:
    healing = Healing()
    healing.read(TASK, said(State.FAILED), TWICE, 0)
    healing.read(TASK, said(State.FAILED), TWICE, 90)
    assert healing.due(TASK, TWICE, 100) == 1


def test_what_is_deleted_is_forgotten() -> None:
    healing = Healing()
    healing.read(TASK, said(State.FAILED), TWICE, 0)
    healing.read(TASK, None, TWICE, 10)
    assert healing.failed == []


def test_what_has_left_the_worker_begins_anew_when_it_is_back() -> None:
    healing = Healing()
    for start in (0, 1000):
        healing.read(TASK, said(State.FAILED), TWICE, start)
        assert healing.due(TASK, TWICE, start + 500)
    healing.keep([TASK])
    healing.read(TASK, said(State.FAILED), TWICE, 2000)
    assert healing.due(TASK, TWICE, 3000) == 0, "both attempts are spent"
    healing.keep([])
    healing.read(TASK, said(State.FAILED), TWICE, 4000)
    assert healing.due(TASK, TWICE, 4100) == 1
