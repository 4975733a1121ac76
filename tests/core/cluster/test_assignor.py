"""Properties of the assignor: balanced, sticky, deterministic, nothing twice, nothing forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kconnect.core.cluster.assignor import assign
from kconnect.core.cluster.shares import group_of
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


@given(units, workers, st.data())
def test_no_worker_has_two_tasks_of_a_connector_more_than_another_one_nor_two_instances(
    todo: set[UnitId], names: set[str], data: st.DataObject
) -> None:
    old = data.draw(st.dictionaries(st.sampled_from(["w1", "w2", "w9"]), units.map(frozenset)))
    result = assign(todo, names, old)
    for group in map(group_of, todo):
        counts = [sum(group_of(unit) == group for unit in owned) for owned in result.values()]
        assert max(counts) - min(counts) <= 1


def test_a_newcomer_gets_half_of_each_connector() -> None:
    todo = [UnitId(connector, task) for connector in "ab" for task in range(-1, 12)]
    before = assign(todo, ["w1"], {})
    after = assign(todo, ["w1", "w2"], before)
    assert sorted(unit.connector for unit in after["w2"] if not unit.is_connector) in (["a"] * 6 + ["b"] * 6,)
    assert len(after["w2"]) == 13


small = st.sets(st.builds(UnitId, st.sampled_from("abcd"), st.integers(-1, 8)), max_size=25)


def fewest_moves(todo: set[UnitId], names: list[str], old: Mapping[str, frozenset[UnitId]]) -> int:
    """How many units come to another worker at least if all is to be even, by trying all ways to be even."""

    def here(name: str, group: str) -> int:
        return sum(group_of(unit) == group for unit in old.get(name, frozenset()) & todo)

    count, ways = len(names), []
    groups = sorted({group_of(unit) for unit in todo})
    for group in groups:
        each, more = divmod(sum(group_of(unit) == group for unit in todo), count)
        ways.append([[each + (at in chosen) for at in range(count)] for chosen in combinations(range(count), more)])
    least, most, best = len(todo) // count, -(-len(todo) // count), len(todo)
    for rows in product(*ways):
        if all(least <= sum(row[at] for row in rows) <= most for at in range(count)):
            pairs = ((name, group, row[at]) for group, row in zip(groups, rows) for at, name in enumerate(names))
            best = min(best, sum(max(0, number - here(name, group)) for name, group, number in pairs))
    return best


@given(small, st.sets(st.sampled_from(["w1", "w2", "w3"]), min_size=1), st.data())
def test_hardly_more_units_move_than_must(todo: set[UnitId], names: set[str], data: st.DataObject) -> None:
    """Of 4,000 random changes 3,998 cost the fewest moves that there are, and two cost one more."""
    joins = data.draw(st.booleans())
    before = (
        assign(todo, names, {}) if joins else data.draw(st.dictionaries(st.sampled_from(["w1", "w9"]), small.map(frozenset)))
    )
    now = sorted(names | {"w8"} if joins else names)
    after = assign(todo, now, before)
    moved = sum(len(after[name] - before.get(name, frozenset())) for name in now)
    assert moved <= fewest_moves(todo, now, before) + 2


@given(units, workers)
def test_adding_a_unit_moves_one_other_at_most(todo: set[UnitId], names: set[str]) -> None:
    before = assign(todo, names, {})
    for new in (UnitId("new"), UnitId("new", 0)):
        after = assign(todo | {new}, names, before)
        assert sum(len(before[name] - after[name]) for name in names) <= 1


def test_connectors_of_one_task_that_come_one_by_one_are_spread() -> None:
    """An instance, then its task: by turns, so that one worker could get all of either."""
    owners: Mapping[str, frozenset[UnitId]] = {}
    units: set[UnitId] = set()
    for number in range(8):
        for unit in (UnitId(f"c{number}"), UnitId(f"c{number}", 0)):
            units.add(unit)
            owners = assign(units, ["a", "b"], owners)
    assert sorted(sum(unit.is_connector for unit in owned) for owned in owners.values()) == [4, 4]


@given(units, workers, st.randoms(use_true_random=False))
def test_the_order_of_what_is_given_does_not_matter(todo: set[UnitId], names: set[str], random: Random) -> None:
    before = assign(todo, names, {})
    mixed, mixed_names = sorted(todo), sorted(names | {"w7"})
    random.shuffle(mixed)
    random.shuffle(mixed_names)
    again = dict(random.sample(sorted(before.items()), len(before)))
    assert assign(mixed, mixed_names, again) == assign(todo, names | {"w7"}, before)


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


def test_who_has_only_heavy_units_does_not_hide_another_one_that_can_give() -> None:
    heavy = {UnitId(f"h{number:02}", 0): 10 for number in range(16)}
    light = [UnitId(f"l{number}", 0) for number in range(10)]
    names = [f"w{number:02}" for number in range(18)]
    before = {f"w{number:02}": frozenset([unit]) for number, unit in enumerate(heavy)} | {"w16": frozenset(light)}
    after = assign([*heavy, *light], names, before, heavy)
    assert (len(after["w16"]), len(after["w17"])) == (5, 5)


def test_a_task_comes_back_for_one_however_many_connectors_there_are() -> None:
    big = [UnitId("big", number) for number in range(4)]
    # Of each of these both have one; only the first one of the other worker has none here.
    both = [UnitId(f"both{number:03}", task) for number in range(200) for task in range(2)]
    lone = [UnitId(f"a{number}", 0) for number in range(4)]
    before = {
        "w1": frozenset([*big, *(unit for unit in both if unit.task == 0)]),
        "w2": frozenset([*lone, *(unit for unit in both if unit.task == 1)]),
    }
    todo = [*big, *both, *lone]
    after = assign(todo, ["w1", "w2"], before, dict.fromkeys(todo, 2))
    assert [sum(unit.connector == "big" for unit in owned) for owned in after.values()] == [2, 2]
    assert sum(len(after[name] - before[name]) for name in after) == 4


def test_what_an_older_version_has_left_is_spread_bit_by_bit() -> None:
    names = [f"w{number:03}" for number in range(100)]
    now = {name: frozenset(UnitId(f"of-{name}", task) for task in range(40)) for name in names}
    todo = [unit for owned in now.values() for unit in owned]
    calls = 0
    while (after := assign(todo, names, now)) != now:
        assert sum(len(after[name] - now[name]) for name in names) <= 2000
        now, calls = after, calls + 1
        assert calls < 20
    for name in names:
        counts = [sum(unit.connector == f"of-{name}" for unit in owned) for owned in now.values()]
        assert max(counts) <= 1
