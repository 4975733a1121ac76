"""What a host decides about units that don't stop, and about one that has ended the process before (invariant I13)."""

from __future__ import annotations

from dataclasses import replace

from kconnect.core.cluster.host import Declare, Die, Exit, HostEffect, HostState, Start, Stop
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Assignment, Blame, Held, Placement
from kconnect.core.state.records import Entry, LogRecord, Topic, UnitId

A, B = UnitId("a"), UnitId("b")


class Alone:
    """A host that is alone with two connectors, and reads all that it writes unless `reads` is false."""

    def __init__(self, before: Held | None = None, worker_incarnation: str = "1", run: int = 0) -> None:
        self.state = HostState("w", 0, worker_incarnation, "2-me", None, 1000)
        # No less than its worker has.
        self.state.reached({(Topic.CONFIG, 0): 1000})
        self.held = before
        self.reads = True
        self.running: dict[UnitId, tuple[UnitSpec, str | None]] = {}
        self.unread: list[Held] = []
        self._offsets = dict.fromkeys(Topic, 0)
        self._revision = 0
        self._worker_incarnation = worker_incarnation
        self.write(records.connector_config("a", {}), records.connector_config("b", {}))
        if before is not None:
            self.write(assignment_records.held(before))
        self.place(A, B, run=run)
        self.state.ready(0)

    def write(self, *entries: Entry) -> None:
        for entry in entries:
            self.state.apply(LogRecord(entry.topic, 0, self._offsets[entry.topic], entry.key, entry.value))
            self._offsets[entry.topic] += 1

    def place(self, *units: UnitId, run: int = 0, on: int = 0) -> None:
        self._revision += 1
        hosts, life = {0: {}, on: dict.fromkeys(units, run)}, self._worker_incarnation
        place = Placement("w", hosts, 1, self._revision, life, config_offset=100)
        self.write(assignment_records.assignment(Assignment("w", frozenset({A, B}), 1)))
        self.write(assignment_records.placement(place))

    def decide(self) -> list[HostEffect]:
        """What there is to do besides declaring and starting."""
        found: list[HostEffect] = []
        while effects := self.state.decide(0):
            for effect in effects:
                match effect:
                    case Declare(held):
                        self.unread.append(held)
                    case Start(spec, _, _, blame):
                        self.running[spec.unit] = spec, blame
                    case Stop(unit):
                        del self.running[unit]
                        found.append(effect)
                    case _:
                        found.append(effect)
            if self.reads:
                self.read()
        return found

    def read(self) -> None:
        for held in self.unread:
            self.held = held
            self.write(assignment_records.held(held))
        self.unread.clear()


def test_what_a_host_has_taken_back_it_declares_anew_before_it_starts_it_again() -> None:
    """Whoever reads the record in between may give the unit to another."""
    host = Alone()
    assert host.decide() == []
    assert host.running.keys() == {A, B}
    host.reads = False
    host.place(B)
    assert host.decide() == [Stop(A)]
    host.state.stopped(A)
    assert host.decide() == []
    assert [held.units for held in host.unread][-1] == {B}
    host.place(A, B)
    host.decide()
    assert host.running.keys() == {B}
    host.reads = True
    host.read()
    host.decide()
    assert host.running.keys() == {A, B}


def with_a_stuck() -> Alone:
    host = Alone()
    assert host.decide() == []
    assert host.running.keys() == {A, B}
    host.place(B)
    assert host.decide() == [Stop(A)]
    host.state.stuck(A)
    return host


def test_a_unit_that_is_given_up_is_declared_and_the_others_go_on() -> None:
    host = with_a_stuck()
    assert host.decide() == []
    assert host.held is not None
    assert (host.held.units, host.held.stuck) == ({A, B}, {A})
    assert host.running.keys() == {B}


def test_a_host_ends_itself_once_the_others_have_stopped_and_that_is_in_the_log() -> None:
    host = with_a_stuck()
    host.decide()
    host.place(A, B, on=1)
    assert host.decide() == [Stop(B)]
    host.reads = False
    host.state.stopped(B)
    assert host.decide() == [], "who reads of its end must be able to know why"
    host.reads = True
    host.read()
    [die] = host.decide()
    assert isinstance(die, Die)
    assert str(A) in die.reason
    assert host.held is not None
    assert host.held.units == host.held.stuck == {A}
    assert host.decide() == []


def test_what_does_not_stop_and_is_wanted_again_does_not_run_twice_and_keeps_no_host() -> None:
    host = Alone()
    host.decide()
    host.place(A, run=1)
    assert set(host.decide()) == {Stop(A), Stop(B)}
    host.state.stuck(A)
    assert host.decide() == [], "b has not stopped yet"
    host.state.stopped(B)
    assert isinstance(host.decide()[-1], Die)
    assert A not in host.running


def test_a_host_that_is_to_run_others_lives_on() -> None:
    host = Alone()
    host.decide()
    host.place(B, run=1)
    assert set(host.decide()) == {Stop(A), Stop(B)}
    host.state.stuck(A)
    host.state.stopped(B)
    assert host.decide() == []
    assert host.running.keys() == {B}


def test_who_stops_after_all_is_not_stuck_any_more() -> None:
    host = with_a_stuck()
    host.decide()
    host.state.stopped(A)
    host.state.stuck(A)
    host.decide()
    assert host.held is not None
    assert (host.held.units, host.held.stuck) == ({B}, frozenset())
    host.place()
    assert host.decide() == [Stop(B)]
    host.state.stopped(B)
    assert host.decide() == []


def test_a_host_that_is_no_longer_needed_ends_all_the_same() -> None:
    host = with_a_stuck()
    host.write(assignment_records.placement(Placement("w", {1: {}}, 1, 9, "1")))
    assert host.decide() == [Stop(B)]
    host.state.stopped(B)
    assert [type(effect) for effect in host.decide()] == [Die]
    quick = Alone()
    quick.decide()
    quick.write(assignment_records.placement(Placement("w", {1: {}}, 1, 9, "1")))
    assert set(quick.decide()) == {Stop(A), Stop(B)}
    quick.state.stopped(A)
    quick.state.stopped(B)
    assert [type(effect) for effect in quick.decide()] == [Exit], "the control"


def test_without_a_log_a_host_with_nothing_but_stuck_units_ends_at_once() -> None:
    host = with_a_stuck()
    host.decide()
    host.state.readable(False)
    assert host.decide() == [Stop(B, abandon=True)]
    host.state.stopped(B)
    assert [type(effect) for effect in host.decide()] == [Die]


def crashed(**changed: str) -> Alone:
    """The process of a host that has died while it ran both; a is to blame."""
    before = Held("w", 0, frozenset({A, B}), 1, 1, "1-dead", "1")
    host = Alone(replace(before, **changed))  # type: ignore[arg-type]
    assert host.decide() == []
    assert host.running == {}, "nothing starts before the predecessor is known to be dead"
    return host


def test_what_waits_for_the_end_of_a_predecessor_is_told_once() -> None:
    host = crashed()
    host.state.blame(A, Blame(0, 0, "SIGSEGV"))
    assert host.state.inherited() == {B}, "the other one is shown as failed"
    assert host.state.inherited() == frozenset()
    other = crashed()
    other.state.predecessor_dead()
    assert other.state.inherited() == frozenset(), "it starts at once"


def blamed() -> Alone:
    host = crashed()
    host.state.blame(A, Blame(0, 0, "SIGSEGV"))
    host.state.predecessor_dead()
    assert host.decide() == []
    return host


def test_who_has_ended_a_process_is_shown_as_failed_and_the_others_start() -> None:
    host = blamed()
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: "SIGSEGV", B: None}
    assert host.held is not None
    assert (host.held.units, host.held.blamed) == ({A, B}, {A: Blame(0, 0, "SIGSEGV")})


def test_who_may_have_ended_a_process_starts_again_and_the_record_names_it() -> None:
    host = crashed()
    host.state.predecessor_dead(frozenset({A}))
    assert host.decide() == []
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: None, B: None}
    assert host.held is not None
    assert host.held.suspected == {A}


def test_who_is_to_leave_waits_for_its_predecessor_s_end() -> None:
    host = crashed()
    host.write(assignment_records.placement(Placement("w", {}, 1, 1, "2", config_offset=100)))
    assert host.decide() == []
    assert host.held is not None
    assert host.held.units == {A, B}, "it stands for what may still run there"
    host.state.predecessor_dead()
    assert [type(effect) for effect in host.decide()] == [Exit]


def test_it_starts_again_when_somebody_restarts_it() -> None:
    host = blamed()
    host.place(A, B, run=1)
    host.decide()
    for unit in (A, B):
        host.state.stopped(unit)
    host.decide()
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: None, B: None}
    assert host.held is not None
    assert host.held.blamed == {}


def test_it_does_not_start_again_because_its_worker_has_it_say_that_it_runs() -> None:
    host = crashed()
    # No process has lived here for so long that the worker has shown its units as UNASSIGNED.
    host.place(A, B, run=1)
    host.state.blame(A, Blame(0, 0, "SIGSEGV"))
    host.state.predecessor_dead()
    assert host.decide() == []
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: "SIGSEGV", B: None}
    host.place(A, B, run=2)
    host.decide()
    for unit in (A, B):
        host.state.stopped(unit)
    host.decide()
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: None, B: None}


def test_it_starts_again_with_another_config() -> None:
    host = blamed()
    host.write(records.connector_config("a", {"other": "1"}))
    assert host.decide() == [Stop(A)]
    host.state.stopped(A)
    host.decide()
    assert host.running[A][1] is None


def test_the_next_process_of_the_host_knows_it_too() -> None:
    held = blamed().held
    assert held is not None
    host = Alone(replace(held, incarnation="1-dead"))
    host.decide()
    host.state.predecessor_dead()
    host.decide()
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: "SIGSEGV", B: None}


def test_a_restart_that_is_asked_for_while_no_process_lives_is_not_lost() -> None:
    held = blamed().held
    assert held is not None
    host = Alone(replace(held, incarnation="1-dead"), run=1)
    host.decide()
    host.state.predecessor_dead()
    host.decide()
    assert {unit: blame for unit, (_, blame) in host.running.items()} == {A: None, B: None}


def test_a_new_life_of_the_worker_tries_everything_anew() -> None:
    held = blamed().held
    assert held is not None
    host = Alone(replace(held, incarnation="1-dead"), worker_incarnation="2")
    host.decide()
    host.state.predecessor_dead()
    host.decide()
    assert host.running[A][1] is None
