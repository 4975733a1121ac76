"""A worker that may have a few more hosts, or fewer: units move so that each has as much to do, and no more than that."""

from __future__ import annotations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kconnect.core.state.assignment_records import PLAIN
from kconnect.core.state.records import UnitId
from tests.core.cluster.test_placement import Worker

UNITS = [UnitId(name, task) for name in "ab" for task in range(6)]


def run(worker: Worker, units: list[UnitId], hosts: int, idle: bool = True) -> int:
    """Have it decide, and its hosts follow, until nothing changes. Return how often a unit was started somewhere."""
    worker.hosts, started = hosts, 0
    for _ in range(40):
        before = {unit: host for host, placed in worker.placed.items() for unit in placed}
        revision = worker.state.placements["w"].revision
        empty = [host for host, placed in worker.placed.items() if not placed] if idle else []
        worker.place(dict.fromkeys(units, PLAIN), spreads=True, idle=empty)
        started += sum(before.get(unit) != host for host, placed in worker.placed.items() for unit in placed)
        if worker.state.placements["w"].revision == revision:
            return started
        gone = [held.host for held in worker.state.hosts_of("w") if held.host not in worker.placed]
        worker.obey()
        for host in gone:
            worker.gone(host)
    raise AssertionError("it does not come to rest")


def loads(worker: Worker) -> list[int]:
    return sorted(len(placed) for placed in worker.placed.values())


def test_a_host_that_comes_gets_its_share_once_it_is_up() -> None:
    worker = Worker()
    assert run(worker, UNITS, 1) == 12
    worker.hosts = 2
    worker.place(dict.fromkeys(UNITS, PLAIN), spreads=True)
    assert loads(worker) == [0, 12], "nothing leaves what it runs in before that"
    worker.obey()
    assert run(worker, UNITS, 2) == 6
    assert loads(worker) == [6, 6]
    assert {sum(unit.connector == "a" for unit in placed) for placed in worker.placed.values()} == {3}


def test_a_host_that_goes_hands_over_what_it_has_first() -> None:
    worker = Worker()
    run(worker, UNITS, 3)
    assert loads(worker) == [4, 4, 4]
    assert run(worker, UNITS, 2) == 4
    assert loads(worker) == [6, 6]


def test_a_fixed_number_moves_nothing() -> None:
    worker = Worker(2)
    for _ in range(4):
        worker.place(dict.fromkeys(UNITS, PLAIN))
        worker.obey()
    left = [unit for unit in UNITS if unit in worker.placed[0]][:5]
    worker.place(dict.fromkeys(left, PLAIN))
    assert loads(worker) == [0, 5]


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(1, 4), st.sets(st.sampled_from(UNITS))), min_size=1, max_size=6))
def test_loads_are_even_at_rest_and_no_unit_has_two_hosts(steps: list[tuple[int, set[UnitId]]]) -> None:
    worker = Worker()
    before, hosts_before = set[UnitId](), 1
    for hosts, units in steps:
        started = run(worker, sorted(units), hosts)
        found = loads(worker)
        assert len(found) == hosts
        assert max(found) - min(found) <= 1
        assert sum(found) == len(units)
        kept = len(units & before)
        event("grows" if hosts > hosts_before else "shrinks" if hosts < hosts_before else "stays")
        assert started <= len(units - before) + kept, "each starts once at most"
        before, hosts_before = units, hosts
