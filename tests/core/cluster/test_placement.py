"""Which hosts a worker has, and what it places where: by specs, around units that are stuck, and never on two hosts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kconnect.core.cluster import placement
from kconnect.core.cluster.host import Declare, Exit, HostState, Start, Stop
from kconnect.core.cluster.placement import Wanted, given_up, place, released_by_the_dead, without_units
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import PLAIN, Assignment, Held, HostSpec, Placement
from kconnect.core.state.records import Entry, LogRecord, Topic, UnitId
from kconnect.spark import hosts

A, B, C = UnitId("a", 0), UnitId("b", 0), UnitId("c", 0)
ONE, TWO = HostSpec(("/plugins/x-1",)), HostSpec(("/plugins/x-2",))


class Worker:
    """A worker `w` with `hosts` plain hosts, whose hosts do what `obey` lets them."""

    def __init__(self, hosts: int = 1) -> None:
        self.state = AssignmentState()
        self.hosts = hosts
        self.runs: dict[UnitId, int] = {}
        self._offset = 0
        self.write(assignment_records.placement(Placement("w", {}, 0, 1, "1")))

    def write(self, *entries: Entry) -> None:
        for entry in entries:
            self.state.apply(LogRecord(entry.topic, 0, self._offset, entry.key, entry.value))
            self._offset += 1

    def place(self, units: Mapping[UnitId, HostSpec], **more: object) -> dict[int, set[UnitId]]:
        """One step; what is placed on which host then."""
        found = place(self.state, "w", "1", Wanted(self.hosts, units, self.runs, **more))  # type: ignore[arg-type]
        if found is not None:
            self.write(assignment_records.placement(found))
        return self.placed

    @property
    def placed(self) -> dict[int, set[UnitId]]:
        return {host: set(units) for host, units in (self.state.placements["w"].hosts or {}).items()}

    def spec(self, host: int) -> HostSpec:
        return self.state.placements["w"].spec(host)

    def held(self, host: int, units: Iterable[UnitId] = (), stuck: Iterable[UnitId] = (), life: str = "h") -> None:
        value = Held("w", host, frozenset(units), 0, 0, life, "1", stuck=frozenset(stuck))
        self.write(assignment_records.held(value))

    def gone(self, host: int) -> None:
        """Its process has taken back its record, as the last that it does."""
        self.write(assignment_records.held(Held("w", host, None)))

    def obey(self, but: Collection[int] = ()) -> None:
        """The hosts run exactly what is placed there."""
        for host, units in self.placed.items():
            if host not in but:
                self.held(host, units)


def test_units_of_one_spec_share_a_host_that_is_for_nothing_else() -> None:
    worker = Worker(hosts=2)
    assert worker.place({}) == {0: set(), 1: set()}
    assert worker.place({A: ONE, B: ONE, C: TWO}) == {0: set(), 1: set(), 2: {A, B}, 3: {C}}
    assert [worker.spec(host) for host in range(4)] == [PLAIN, PLAIN, ONE, TWO]
    assert place(worker.state, "w", "1", Wanted(2, {A: ONE, B: ONE, C: TWO})) is None


def test_many_units_of_one_spec_get_as_many_hosts_as_the_plain_ones_are() -> None:
    worker = Worker(hosts=2)
    many = [UnitId("x", task) for task in range(40)]
    assert [len(units) for units in worker.place(dict.fromkeys(many[:8], ONE)).values()] == [0, 0, 8]
    assert [len(units) for units in worker.place(dict.fromkeys(many, ONE)).values()] == [0, 0, 20, 20]


def test_instances_take_no_host_from_tasks() -> None:
    """Connectors of one task each: one host would have all instances, and the other one all tasks."""
    worker = Worker(hosts=2)
    units: dict[UnitId, HostSpec] = {}
    for number in range(8):
        units.update({UnitId(f"c{number}"): PLAIN, UnitId(f"c{number}", 0): PLAIN})
        worker.place(units)
    assert [sum(unit.is_connector for unit in placed) for placed in worker.placed.values()] == [4, 4]


def test_a_heavy_unit_counts_as_several() -> None:
    worker = Worker(hosts=3)
    assert worker.place({A: ONE, B: ONE, C: ONE}, weights={A: 9}) == {0: set(), 1: set(), 2: set(), 3: {A}, 4: {B, C}}


def test_a_unit_whose_spec_changes_waits_for_its_release_while_the_new_host_starts() -> None:
    worker = Worker()
    worker.place({A: ONE, B: ONE})
    worker.obey()
    assert worker.place({A: TWO, B: ONE}) == {0: set(), 1: {B}, 2: set()}
    assert worker.spec(2) == TWO
    assert worker.place({A: TWO, B: ONE}, idle=[2]) == {0: set(), 1: {B}, 2: set()}, "it is needed"
    worker.obey(but=[1])
    assert worker.place({A: TWO, B: ONE}) == {0: set(), 1: {B}, 2: set()}, "its host has not said that it stopped"
    worker.obey()
    assert worker.place({A: TWO, B: ONE}) == {0: set(), 1: {B}, 2: {A}}


def test_a_unit_moves_only_after_the_placement_that_takes_it_away_was_read_back() -> None:
    worker = Worker()
    worker.place({A: ONE})
    # Its host has not declared anything yet, and may do so before it reads the next placement.
    assert worker.place({A: TWO}) == {0: set(), 1: set(), 2: set()}
    assert worker.place({A: TWO}) == {0: set(), 1: set(), 2: {A}}


def test_what_is_given_back_before_it_was_released_returns_to_its_host() -> None:
    worker = Worker(hosts=3)
    worker.place({A: PLAIN, B: PLAIN})
    worker.obey()
    worker.place({B: PLAIN})
    assert worker.place({A: PLAIN, B: PLAIN}) == {0: {A}, 1: {B}, 2: set()}


def test_a_dedicated_task_has_a_host_of_its_own_that_goes_with_it() -> None:
    worker = Worker()
    alone = {unit: HostSpec((), unit, 2**30) for unit in (A, B)}
    assert worker.place({**alone, C: PLAIN}) == {0: {C}, 1: {A}, 2: {B}}
    assert (worker.spec(1), worker.spec(2)) == (alone[A], alone[B])
    worker.obey()
    assert worker.place({B: alone[B], C: PLAIN}) == {0: {C}, 1: set(), 2: {B}}, "it still holds its task"
    worker.obey()
    assert worker.place({B: alone[B], C: PLAIN}) == {0: {C}, 2: {B}}


def test_a_host_without_use_stays_for_a_while_and_its_number_is_free_once_it_has_taken_back_its_record() -> None:
    worker = Worker()
    worker.place({A: ONE})
    worker.obey()
    worker.place({})
    worker.obey()
    assert worker.place({}) == {0: set(), 1: set()}
    assert without_units(worker.state, "w") == {0, 1}
    assert worker.place({}, idle=[0, 1]) == {0: set()}, "a plain one is always there"
    assert worker.place({B: TWO}) == {0: set(), 2: {B}}
    worker.write(assignment_records.held(Held("w", 1, None)))
    assert worker.place({B: TWO, C: ONE}) == {0: set(), 1: {C}, 2: {B}}


def test_a_dead_host_s_number_is_free_again() -> None:
    worker = Worker()
    worker.place({A: ONE})
    worker.held(1, [A])
    worker.place({})
    dead = {("w", 1, "h")}
    worker.write(*released_by_the_dead(worker.state, "w", "1", dead))
    assert worker.state.held["w", 1].units == frozenset()
    worker.place({}, idle=[1])
    worker.write(*released_by_the_dead(worker.state, "w", "1", dead))
    assert ("w", 1) not in worker.state.held


class TestStuck:
    def test_the_others_leave_once_the_only_plain_host_has_a_stand_in_that_is_up(self) -> None:
        worker = Worker()
        worker.place({A: PLAIN, B: PLAIN})
        worker.held(0, [A, B], stuck=[A])
        assert worker.place({B: PLAIN}) == {0: {B}, 1: set()}
        assert worker.place({B: PLAIN, C: PLAIN}) == {0: {B}, 1: {C}}, "nothing new comes here"
        worker.held(1, [C])
        assert worker.place({B: PLAIN, C: PLAIN}) == {0: set(), 1: {C}}
        worker.held(0, [A], stuck=[A])
        assert worker.place({B: PLAIN, C: PLAIN}) == {0: set(), 1: {B, C}}

    def test_what_is_still_wanted_of_it_waits_where_it_is(self) -> None:
        worker = Worker()
        worker.place({A: PLAIN, B: PLAIN})
        worker.held(0, [A, B], stuck=[A])
        worker.runs[A] = 1
        worker.place({A: PLAIN, B: PLAIN})
        worker.held(1)
        assert worker.place({A: PLAIN, B: PLAIN}) == {0: {A}, 1: set()}
        assert (worker.state.placements["w"].hosts or {})[0][A] == 1

    def test_when_its_successor_is_there_the_emptier_of_both_gets_nothing_and_goes(self) -> None:
        worker = Worker()
        worker.place({A: PLAIN, B: PLAIN})
        worker.held(0, [A, B], stuck=[A])
        worker.place({B: PLAIN})
        worker.held(1)
        worker.place({B: PLAIN})
        worker.held(0, [A], stuck=[A])
        worker.place({B: PLAIN})
        worker.held(0, life="h2")
        assert worker.place({A: PLAIN, B: PLAIN}) == {0: set(), 1: {A, B}}
        assert worker.place({A: PLAIN, B: PLAIN}, idle=[0]) == {1: {A, B}}

    def test_with_another_spec_it_goes_elsewhere_once_the_process_has_died(self) -> None:
        worker = Worker()
        worker.place({A: ONE})
        worker.held(1, [A], stuck=[A])
        assert worker.place({A: TWO}) == {0: set(), 1: set(), 2: set()}
        assert worker.place({A: TWO}) == {0: set(), 1: set(), 2: set()}
        worker.held(1, life="h2")
        assert worker.place({A: TWO}) == {0: set(), 1: set(), 2: {A}}

    def test_hosts_enough_take_it_without_a_stand_in(self) -> None:
        worker = Worker(hosts=2)
        worker.place({A: PLAIN, B: PLAIN})
        worker.held(0, [A], stuck=[A])
        worker.held(1, [B])
        assert worker.place({B: PLAIN, C: PLAIN}) == {0: set(), 1: {B, C}}

    def test_a_stand_in_that_never_came_up_goes_with_what_it_was_for(self) -> None:
        worker = Worker()
        worker.place({A: ONE, B: ONE})
        worker.held(1, [A, B], stuck=[A])
        assert worker.place({A: ONE, B: ONE, C: ONE}) == {0: set(), 1: {A, B}, 2: {C}}
        assert worker.place({A: ONE, B: ONE}) == {0: set(), 1: {A, B}, 2: set()}, "it may be needed"
        worker.held(1, [A, B])
        assert worker.place({A: ONE, B: ONE}) == {0: set(), 1: {A, B}}
        assert worker.place({A: ONE, B: ONE, C: ONE}) == {0: set(), 1: {A, B, C}}


class TestLate:
    """A host that does not come up: its Spark may have no room for it."""

    def test_its_units_go_to_one_that_is_up(self) -> None:
        worker = Worker()
        worker.place({A: ONE})
        worker.held(1, [A], stuck=[A])
        worker.place({A: ONE, B: ONE})
        worker.held(1, [A])
        assert worker.place({A: ONE, B: ONE}) == {0: set(), 1: {A}, 2: {B}}, "it may be coming"
        assert worker.place({A: ONE, B: ONE}, late=[2]) == {0: set(), 1: {A}}
        assert worker.place({A: ONE, B: ONE}) == {0: set(), 1: {A, B}}

    def test_of_several_hosts_none_is_opened_in_its_place(self) -> None:
        worker = Worker(hosts=2)
        many = dict.fromkeys([UnitId("x", task) for task in range(16)], ONE)
        worker.place(many)
        worker.held(2, worker.placed[2])
        for _ in range(3):
            worker.place(many, late=[0, 1, 3])
        assert [len(units) for units in worker.placed.values()] == [0, 0, 16, 0]
        worker.held(3)
        worker.place({**many, A: ONE})
        assert A in worker.placed[3], "it has come after all"

    def test_what_a_dead_one_lists_is_released_before_it_goes_elsewhere(self) -> None:
        worker = Worker(hosts=2)
        worker.place({A: PLAIN, B: PLAIN})
        worker.held(0, [A], life="dead")
        worker.held(1, [B])
        dead = {("w", 0, "dead")}
        assert worker.place({A: PLAIN, B: PLAIN}, late=[0]) == {0: set(), 1: {B}}
        assert worker.place({A: PLAIN, B: PLAIN}, late=[0]) == {0: set(), 1: {B}}, "the dead one lists it"
        worker.write(*released_by_the_dead(worker.state, "w", "1", dead))
        assert worker.place({A: PLAIN, B: PLAIN}, late=[0]) == {0: set(), 1: {A, B}}

    def test_while_none_is_up_they_wait(self) -> None:
        worker = Worker()
        worker.place({A: PLAIN})
        assert worker.place({A: PLAIN}, late=[0]) == {0: {A}}


class TestStarved:
    """A host whose process has died with something stuck, and whose successor gets no core: others have taken it."""

    def test_it_is_told_by_what_the_driver_says(self) -> None:
        assert hosts.NO_CORE == placement.NO_CORE

    def test_a_plain_host_without_units_gives_it_its_core(self) -> None:
        worker = Worker(hosts=2)
        units = {A: ONE, B: ONE}
        worker.place(units)
        worker.obey()
        worker.held(2, [A, B], stuck=[A])
        worker.place(units)
        worker.held(3)
        worker.place(units)
        worker.held(2, [A], stuck=[A])
        assert worker.place(units) == {0: set(), 1: set(), 2: {A}, 3: {B}}
        assert worker.place(units, starved=[2]) == {0: set(), 2: {A}, 3: {B}}
        assert worker.place(units, starved=[2]) == {0: set(), 2: {A}, 3: {B}}, "one stays, and nothing else goes"
        worker.held(2, life="h2")
        assert worker.place(units) == {0: set(), 2: {A}, 3: {B}, 4: set()}

    def test_of_hosts_that_have_units_the_lighter_one_hands_them_over_first(self) -> None:
        worker = Worker(hosts=3)
        many = dict.fromkeys([UnitId("x", task) for task in range(24)], ONE)
        units = {A: PLAIN, B: PLAIN, C: PLAIN, **many}
        worker.place(units)
        worker.obey()
        first = next(iter(worker.placed[3]))
        worker.held(3, worker.placed[3], stuck=[first])
        worker.place(units)
        worker.held(3, [first], stuck=[first])
        worker.place(units)
        worker.obey(but=[3])
        assert [len(found) for found in worker.placed.values()] == [1, 1, 1, 1, 8, 8, 7]
        assert worker.place(units, starved=[3])[3] == {first}
        assert [len(found) for found in worker.placed.values()] == [1, 1, 1, 1, 8, 8, 0]
        worker.obey(but=[3])
        assert [len(found) for found in worker.place(units, starved=[3]).values()] == [1, 1, 1, 1, 12, 11]

    def test_the_only_one_that_runs_what_it_ran_stays(self) -> None:
        worker = Worker()
        units = {A: PLAIN, B: PLAIN}
        worker.place(units)
        worker.held(0, [A, B], stuck=[A])
        worker.place(units)
        worker.held(1)
        worker.place(units)
        worker.held(0, [A], stuck=[A])
        assert worker.place(units, starved=[0]) == {0: {A}, 1: {B}}


def test_who_leaves_closes_what_is_empty() -> None:
    worker = Worker(hosts=2)
    worker.place({A: ONE})
    worker.obey()
    assert worker.place({}, leaving=True) == {2: set()}
    worker.obey()
    assert worker.place({}, leaving=True) == {}


def test_a_host_that_was_closed_and_holds_something_after_all_is_kept_until_it_has_released_that() -> None:
    worker = Worker()
    alone = HostSpec((), A)
    worker.place({A: alone})
    assert worker.place({}) == {0: set()}, "it has not declared anything yet"
    worker.held(1, [A], stuck=[A])
    assert worker.place({A: PLAIN}) == {0: set(), 1: set()}, "a process that follows finds the one before dead"
    worker.held(1, life="h2")
    assert worker.place({A: PLAIN}, idle=[1]) == {0: {A}}


def test_a_newer_config_is_made_known_to_the_hosts() -> None:
    worker = Worker()
    worker.place({A: PLAIN}, config_offset=5, changed_at=4)
    revision = worker.state.placements["w"].revision
    worker.place({A: PLAIN}, config_offset=8, changed_at=4)
    assert worker.state.placements["w"].revision == revision, "what came since is nothing to this worker"
    worker.place({A: PLAIN}, config_offset=9, changed_at=5)
    assert worker.state.placements["w"].config_offset == 9


class TestHost:
    """A host that is for `/plugins/x-1`, and has read the log so far."""

    def setup_method(self) -> None:
        self.state = HostState("w", 1, "1", "2-me", None, 1000, spec=ONE)
        self.offsets = dict.fromkeys(Topic, 0)
        self.revision = 0
        self.write(
            records.connector_config("a", {}),
            assignment_records.assignment(Assignment("w", frozenset({UnitId("a")}), 1)),
        )

    def write(self, *entries: Entry) -> None:
        for entry in entries:
            self.state.apply(LogRecord(entry.topic, 0, self.offsets[entry.topic], entry.key, entry.value))
            self.offsets[entry.topic] += 1

    def place(self, spec: HostSpec, config_offset: int = 1) -> None:
        self.revision += 1
        hosts = {1: {UnitId("a"): 0}}
        value = Placement("w", hosts, 1, self.revision, "1", specs={1: spec}, config_offset=config_offset)
        self.write(assignment_records.placement(value))
        self.state.ready(0)

    def decide(self) -> list[object]:
        """What it does, once it has read back all that it says."""
        found: list[object] = []
        while effects := self.state.decide(0):
            for effect in effects:
                if isinstance(effect, Declare):
                    self.write(assignment_records.held(effect.held))
                elif isinstance(effect, Stop):
                    self.state.stopped(effect.unit)
                found.append(effect)
        return found

    def test_it_runs_what_is_placed_under_its_number_for_its_spec(self) -> None:
        self.place(ONE)
        assert any(isinstance(effect, Start) for effect in self.decide())

    def test_under_another_spec_its_number_is_not_its_own_and_it_goes_without_a_word(self) -> None:
        self.place(TWO)
        assert self.decide() == [Exit("the worker no longer places units here")]

    def test_when_its_worker_was_found_dead_it_stops_all_and_takes_back_its_record(self) -> None:
        self.place(ONE)
        self.decide()
        self.write(assignment_records.placement(given_up(self.state.assignment.placements["w"])))
        stop, *_, taken_back, left = self.decide()
        assert stop == Stop(UnitId("a"))
        assert taken_back == Declare(Held("w", 1, None))
        assert isinstance(left, Exit)
        assert not self.state.assignment.placements["w"].takes_units

    def test_when_its_number_is_used_otherwise_it_stops_all_and_takes_back_its_record(self) -> None:
        self.place(ONE)
        self.decide()
        self.place(TWO)
        stop, *_, taken_back, left = self.decide()
        assert stop == Stop(UnitId("a"))
        assert taken_back == Declare(Held("w", 1, None))
        assert isinstance(left, Exit)
        assert ("w", 1) not in self.state.assignment.held

    def test_a_config_that_the_placement_does_not_know_is_not_started(self) -> None:
        self.place(ONE)
        self.decide()
        self.write(records.connector_config("a", {"connector.plugin.version": "2"}))
        assert [effect for effect in self.decide() if not isinstance(effect, Declare)] == [Stop(UnitId("a"))]
        self.place(ONE, config_offset=2)
        (started,) = [effect for effect in self.decide() if isinstance(effect, Start)]
        assert started.spec.connector_config == {"connector.plugin.version": "2"}
