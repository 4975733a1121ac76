from __future__ import annotations

import pytest

from kconnect.core.state.records import State
from kconnect.core.task.lifecycle import Event, Lifecycle, Phase


def live(*events: Event) -> tuple[Lifecycle, list[State | None]]:
    life = Lifecycle()
    return life, [life.handle(event) for event in events]


def test_a_unit_says_running_only_once_its_plugin_has_started() -> None:
    assert live(Event.START, Event.STARTED)[1] == [None, State.RUNNING]


def test_a_unit_that_begins_paused_says_so_and_starts_its_plugin_later() -> None:
    life, told = live(Event.PAUSE, Event.START, Event.STARTED)
    assert told == [State.PAUSED, None, State.RUNNING]
    assert life.phase is Phase.RUNNING


def test_pause_and_resume_of_a_running_unit() -> None:
    assert live(Event.START, Event.STARTED, Event.PAUSE, Event.RESUME)[1][2:] == [State.PAUSED, State.RUNNING]


def test_a_call_that_is_made_again_leaves_the_state_and_can_be_said() -> None:
    life, told = live(Event.START, Event.STARTED, Event.RETRY, Event.RETRY)
    assert (told[2:], life.phase) == ([State.RUNNING, State.RUNNING], Phase.RUNNING)
    with pytest.raises(RuntimeError):
        live(Event.START, Event.STARTED, Event.PAUSE, Event.RETRY)


@pytest.mark.parametrize(
    "before",
    [(), (Event.PAUSE,), (Event.START,), (Event.START, Event.STARTED), (Event.START, Event.STARTED, Event.PAUSE)],
)
def test_a_unit_can_fail_and_end_in_every_phase(before: tuple[Event, ...]) -> None:
    failed, told = live(*before, Event.FAIL)
    assert (told[-1], failed.phase, failed.over) == (State.FAILED, Phase.FAILED, True)
    ended, told = live(*before, Event.END)
    assert (told[-1], ended.phase, ended.over) == (State.UNASSIGNED, Phase.ENDED, True)


def test_an_abandoned_unit_reports_nothing_more() -> None:
    life, _ = live(Event.START, Event.STARTED)
    life.abandoned = True
    assert life.handle(Event.FAIL) is None
    assert life.phase is Phase.FAILED


def test_what_can_t_happen_names_phase_and_event() -> None:
    life, _ = live(Event.START, Event.STARTED, Event.END)
    with pytest.raises(RuntimeError, match="ENDED can't have the event PAUSE"):
        life.handle(Event.PAUSE)
