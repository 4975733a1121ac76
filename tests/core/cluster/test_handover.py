"""The leader's rules one by one: who may be given units, when a lost worker's move, and that nothing moves too early."""

from __future__ import annotations

from collections.abc import Iterable

from kconnect.core.cluster.handover import Handover
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import Assignment, Held, Placement
from kconnect.core.state.records import Entry, LogRecord, UnitId

UNITS = [UnitId("c"), UnitId("c", 0), UnitId("c", 1), UnitId("c", 2)]


class Log:
    """The assignment topic, folded as it is written."""

    def __init__(self) -> None:
        self.state = AssignmentState()
        self._offset = 0

    def write(self, *entries: Entry) -> None:
        for entry in entries:
            self.state.apply(LogRecord(entry.topic, 0, self._offset, entry.key, entry.value))
            self._offset += 1

    def up(self, worker: str, units: Iterable[UnitId] = (), life: str = "1", leaving: bool = False) -> None:
        """A worker whose one host runs `units`."""
        self.write(
            assignment_records.placement(Placement(worker, {0: dict.fromkeys(units, 0)}, 1, 1, life, leaving)),
            assignment_records.held(Held(worker, 0, frozenset(units), 1, 1, "h", life)),
        )

    def assigned(self, worker: str) -> set[UnitId]:
        known = self.state.assignments.get(worker)
        return set() if known is None or known.units is None else set(known.units)

    def decide(self, handover: Handover, members: Iterable[str], now: int = 0, **more: object) -> list[Entry]:
        entries = handover.decide(self.state, UNITS, members, 0, now, **more)  # type: ignore[arg-type]
        self.write(*entries)
        return entries


def running_on(worker: str, units: Iterable[UnitId] = UNITS) -> Log:
    log = Log()
    log.up(worker, units)
    log.write(assignment_records.assignment(Assignment(worker, frozenset(units), 1)))
    return log


def test_a_worker_whose_hosts_are_not_up_is_given_nothing() -> None:
    log, handover = running_on("a"), Handover(2000)
    log.write(assignment_records.placement(Placement("b", {}, 0, 1, "1")))
    log.decide(handover, ["a", "b"])
    assert log.assigned("a") == set(UNITS)
    log.up("b")
    log.decide(handover, ["a", "b"])
    assert len(log.assigned("a")) == 2


def test_what_is_taken_away_waits_for_its_release() -> None:
    log, handover = running_on("a"), Handover(2000)
    log.up("b")
    log.decide(handover, ["a", "b"])
    assert log.assigned("b") == set(), "a's host still says that it runs all"
    log.up("a", log.assigned("a"))
    log.decide(handover, ["a", "b"])
    assert log.assigned("b") == set(UNITS) - log.assigned("a")
    assert log.decide(handover, ["a", "b"]) == []


def test_a_worker_that_leaves_is_emptied_and_stays_so() -> None:
    log, handover = running_on("a"), Handover(2000)
    log.up("b")
    log.up("a", UNITS, leaving=True)
    log.decide(handover, ["a", "b"])
    assert log.assigned("a") == set()
    log.up("a", (), leaving=True)
    log.decide(handover, ["a", "b"])
    assert log.assigned("b") == set(UNITS)


def test_when_all_leave_units_stay_theirs() -> None:
    log, handover = running_on("a"), Handover(2000)
    log.up("a", UNITS, leaving=True)
    assert log.decide(handover, ["a"]) == []
    assert log.assigned("a") == set(UNITS)


def test_a_lost_worker_s_units_move_after_the_grace_or_once_its_hosts_are_seen_dead() -> None:
    for dead, now in ((set(), 2001), ({("a", 0, "h")}, 1)):
        log, handover = running_on("a"), Handover(2000)
        log.up("b")
        log.decide(handover, ["b"], 0)
        assert "a" not in log.state.assignments, "its hosts are told to stop at once"
        log.decide(handover, ["b"], 1)
        log.decide(handover, ["b"], 1)
        assert log.assigned("b") == set(), "the grace begins when they can read it"
        log.decide(handover, ["b"], now, dead=dead)
        log.decide(handover, ["b"], now, dead=dead)
        assert log.assigned("b") == set(UNITS)


def test_within_the_delay_a_lost_worker_keeps_its_units_and_gets_them_back() -> None:
    log, handover = running_on("a"), Handover(2000, delay_ms=10_000)
    log.up("b")
    log.decide(handover, ["b"], 0)
    log.decide(handover, ["b"], 9_999)
    assert log.assigned("a") == set(UNITS)
    log.write(assignment_records.placement(Placement("a", {}, 1, 1, "2")))
    log.decide(handover, ["a"], 9_999)
    assert log.assigned("a") == set(UNITS), "it is back, and its hosts will be"
    log.decide(handover, ["b"], 20_000)
    log.decide(handover, ["b"], 30_000)
    assert "a" not in log.state.assignments


def test_heavy_tasks_take_the_place_of_several() -> None:
    log, handover = Log(), Handover(2000)
    log.up("a")
    log.up("b")
    log.decide(handover, ["a", "b"], weights={UnitId("c", 0): 3})
    sizes = sorted((len(log.assigned("a")), len(log.assigned("b"))))
    assert sizes == [1, 3]
    assert {UnitId("c", 0)} in (log.assigned("a"), log.assigned("b"))


def test_what_no_record_has_room_for_waits_and_first_the_tasks_of_who_has_most() -> None:
    many = [UnitId("a", task) for task in range(-1, 1000)]
    few = [UnitId("z", task) for task in range(-1, 2)]
    log, handover = Log(), Handover(2000, record_bytes=5000)
    log.up("w")
    log.write(*handover.decide(log.state, many, ["w"], 0, 0))
    there = log.assigned("w")
    assert 300 < len(there) < 500
    assert len(assignment_records.placement(Placement("w", {0: dict.fromkeys(there, 0)})).value or b"") < 5000
    log.write(*handover.decide(log.state, [*many, *few], ["w"], 0, 0))
    assert log.assigned("w") == there, "what runs goes on, and nothing else has room"
    anew = Log()
    anew.up("w")
    anew.write(*handover.decide(anew.state, [*many, *few], ["w"], 0, 0))
    assert anew.assigned("w") >= set(few)
    anew.up("v")
    anew.write(*handover.decide(anew.state, [*many, *few], ["v", "w"], 0, 0))
    assert len(anew.assigned("v") | anew.assigned("w")) > len(there)
    anew.write(*handover.decide(anew.state, few, ["v", "w"], 0, 0))
    anew.write(*handover.decide(anew.state, [*few, *many[:10]], ["v", "w"], 0, 0))
    assert anew.assigned("v") | anew.assigned("w") == {*few, *many[:10]}
