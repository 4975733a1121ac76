"""The table of a unit's phases in a host: beside a model of plain sets, beside its drawing, and what may never be in it."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kconnect.core.cluster import phases
from kconnect.core.cluster.phases import AT_WORK, IN_ORDER, OWN, STUCK, TRANSITIONS, Event, HostedUnits, Phase, UnitSpec, Wanted
from kconnect.core.state.assignment_records import Wait
from kconnect.core.state.records import TargetState, UnitId

UNIT = UnitId("x", 0)
PAGE = Path(__file__).parents[3] / "docs" / "design" / "handover.md"


def wanted(run: int) -> Wanted:
    return Wanted(UnitSpec("x", 0, {}, {}, 1, run), TargetState.STARTED, 0)


class Sets:
    """What a host knew of one unit before there was a table: a fact each, and what must hold between them."""

    def __init__(self) -> None:
        self.declared = self.running = self.waiting = self.stopping = self.abandoned = self.stuck = False

    def happens(self, event: Event) -> bool:
        before = vars(self).copy()
        is_new = False
        match event:
            case Event.WANTED if not (self.running or self.stopping):
                self.declared = is_new = True
            case Event.UNWANTED:
                self.declared = False
            case Event.READ_BACK if self.declared:
                self.declared, self.running = False, True
            case Event.TOLD if self.running:
                is_new = True
            case Event.WAITS if self.running:
                self.waiting = is_new = True
            case Event.PASSED:
                self.waiting = False
            case Event.STOP if self.running:
                self.running = self.waiting = False
                self.stopping = True
            case Event.ABANDON if self.running or self.stopping:
                self.running = self.waiting = False
                self.stopping = self.abandoned = True
            case Event.LIMIT if self.stopping:
                self.stuck = True
            case Event.ENDED:
                self.stopping = self.abandoned = self.stuck = False
            case _:
                return False
        return is_new or vars(self) != before


def walk(steps: int) -> Counter[Phase | None]:
    """Let events come at random; return how often a unit was in each phase."""
    units, sets, seen, draw = HostedUnits(), Sets(), Counter[Phase | None](), random.Random(7)
    for number in range(steps):
        event = draw.choice(list(Event))
        changes = units.move(UNIT, event, wanted(number), Wait(1, number) if event is Event.WAITS else None)
        assert changes == sets.happens(event), event
        seen[units[UNIT].phase if UNIT in units else None] += 1
        for group, is_in in (
            ({Phase.DECLARED}, sets.declared),
            (AT_WORK, sets.running),
            ({Phase.FENCING}, sets.waiting),
            (IN_ORDER, sets.stopping and not sets.abandoned),
            (STUCK, sets.stuck),
            (OWN, sets.running or sets.stopping),
        ):
            assert units.within(group) == (frozenset({UNIT}) if is_in else frozenset()), (event, group)
        assert (UNIT in units and units[UNIT].wait is not None) == sets.waiting
    return seen


def test_a_unit_goes_on_as_by_plain_facts() -> None:
    seen = walk(20_000)
    assert set(seen) == {None, *Phase}
    assert min(seen.values()) > 100, seen


@pytest.mark.parametrize("left_out", TRANSITIONS)
def test_no_row_can_be_left_out(left_out: tuple[Phase | None, Event], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phases, "TRANSITIONS", {step: phase for step, phase in TRANSITIONS.items() if step != left_out})
    with pytest.raises(AssertionError):
        walk(20_000)


def test_what_stops_never_runs_again_before_it_has_ended() -> None:
    stopping = OWN - AT_WORK
    for (begin, event), end in TRANSITIONS.items():
        if begin in stopping:
            assert end in stopping if event is not Event.ENDED else end is None, (begin, event)
        # And plugin code begins by one step only, which needs what this host has said to be in the log.
        if begin not in OWN and end in OWN:
            assert event is Event.READ_BACK
        # What may run is let go of by its end only.
        if begin in OWN and end not in OWN:
            assert event is Event.ENDED


def test_the_page_draws_the_table() -> None:
    drawn: dict[tuple[Any, Event], Any] = {}
    names: dict[str, Phase | None] = {**{phase.name: phase for phase in Phase}, "[*]": None}
    for begin, end, events in re.findall(r"^    (\S+) --> (\S+): (.+)$", PAGE.read_text("utf-8"), re.MULTILINE):
        for event in events.split(", "):
            drawn[names[begin], Event[event]] = names[end]
    assert drawn == TRANSITIONS
