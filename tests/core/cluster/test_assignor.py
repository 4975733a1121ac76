"""Properties of the assignor: balanced, sticky, deterministic, nothing twice, nothing forgotten."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kconnect.core.cluster.assignor import assign
from kconnect.core.state.records import UnitId

units = st.sets(st.builds(UnitId, st.sampled_from("abcdef"), st.integers(-1, 8)), max_size=40)
workers = st.sets(st.sampled_from(["w1", "w2", "w3", "w4", "w5"]), min_size=1)


@given(units, workers, st.data())
def test_each_unit_has_one_worker_and_no_worker_more_than_its_share(
    todo: set[UnitId], names: set[str], data: st.DataObject
) -> None:
    old = data.draw(st.dictionaries(st.sampled_from(["w1", "w2", "w9"]), units.map(frozenset)))
    result = assign(todo, names, old)
    given_out = [unit for owned in result.values() for unit in owned]
    assert sorted(given_out) == sorted(todo)
    sizes = [len(owned) for owned in result.values()]
    assert max(sizes) - min(sizes) <= 1


@given(units, workers)
def test_a_balanced_assignment_stays_as_it_is(todo: set[UnitId], names: set[str]) -> None:
    once = assign(todo, names, {})
    assert assign(todo, names, once) == once


@given(units, workers, st.sampled_from(["w1", "w6"]))
def test_a_joining_worker_costs_no_more_moves_than_its_share(todo: set[UnitId], names: set[str], new: str) -> None:
    before = assign(todo, names, {})
    after = assign(todo, names | {new}, before)
    moved = sum(len(after[name] - before.get(name, frozenset())) for name in after)
    assert moved <= -(-len(todo) // len(names | {new}))


@given(units, workers)
def test_adding_one_unit_moves_no_other(todo: set[UnitId], names: set[str]) -> None:
    before = assign(todo, names, {})
    after = assign(todo | {UnitId("new")}, names, before)
    for name in names:
        assert before[name] <= after[name]


def test_without_workers_nothing_is_assigned() -> None:
    assert assign([UnitId("a")], [], {}) == {}


weights = st.dictionaries(st.builds(UnitId, st.sampled_from("abcdef"), st.integers(-1, 8)), st.integers(1, 9))


@given(units, workers, weights, st.data())
def test_with_weights_no_single_move_would_make_it_more_even(
    todo: set[UnitId], names: set[str], weights: dict[UnitId, int], data: st.DataObject
) -> None:
    old = data.draw(st.dictionaries(st.sampled_from(["w1", "w2", "w9"]), units.map(frozenset)))
    result = assign(todo, names, old, weights)
    assert sorted(unit for owned in result.values() for unit in owned) == sorted(todo)
    loads = {name: sum(weights.get(unit, 1) for unit in owned) for name, owned in result.items()}
    for name, owned in result.items():
        for unit in owned:
            assert weights.get(unit, 1) >= loads[name] - min(loads.values())
    assert assign(todo, names, result, weights) == result, "what is even stays"


@given(units, workers)
def test_weights_of_one_change_nothing(todo: set[UnitId], names: set[str]) -> None:
    plain = assign(todo, names, {})
    same = assign(todo, names, {}, dict.fromkeys(todo, 1))
    assert sorted(map(len, plain.values())) == sorted(map(len, same.values()))


def test_very_many_tasks_with_weights_are_each_looked_at_a_few_times() -> None:
    """Whoever may create connectors makes thousands of tasks with weights: the herder stands still while they move."""

    class Counted(dict[UnitId, int]):
        looks = 0

        def get(self, *args: Any) -> Any:
            self.looks += 1
            return super().get(*args)

    todo = [UnitId("x", number) for number in range(1000)]
    weights = Counted({unit: 1 + unit.task % 7 for unit in todo})
    after = assign(todo, ["w1", "w2"], {"w1": frozenset(todo)}, weights)
    loads = [sum(weights[unit] for unit in owned) for owned in after.values()]
    assert max(loads) - min(loads) <= 1
    assert weights.looks <= 4 * len(todo)
