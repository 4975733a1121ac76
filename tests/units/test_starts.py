"""Units of a host start a few at a time, and those that hang keep no other from it for long."""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.units.starts import StartTurns


@dataclass(eq=False)
class Unit:
    number: int
    turns: list[int]

    def take_turn(self) -> None:
        self.turns.append(self.number)


class Clock:
    def __init__(self) -> None:
        self.now, self.turns = 0.0, list[int]()
        self.starts = StartTurns(lambda: self.now)
        self.units = [Unit(number, self.turns) for number in range(20)]


def test_a_few_start_at_a_time_in_the_order_in_which_they_asked() -> None:
    it = Clock()
    for unit in it.units:
        it.starts.ask(unit)
    assert it.turns == list(range(8))
    it.starts.over(it.units[3])
    assert it.turns == list(range(9))
    it.starts.over(it.units[3])
    assert it.turns == list(range(9)), "told again"


def test_one_that_hangs_makes_room() -> None:
    it = Clock()
    for unit in it.units:
        it.starts.ask(unit)
    it.now = 0.4
    it.starts.look()
    assert it.turns == list(range(8))
    it.now = 0.6
    it.starts.look()
    assert it.turns == list(range(16))
    # Those that hung come up at last: they are counted no more.
    for unit in it.units[:8]:
        it.starts.over(unit)
    assert it.turns == list(range(16))


def test_who_does_not_want_to_any_more_is_passed_over() -> None:
    it = Clock()
    for unit in it.units:
        it.starts.ask(unit)
    it.starts.over(it.units[8])
    it.starts.over(it.units[0])
    assert it.turns == [*range(8), 9]
