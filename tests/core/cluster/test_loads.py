"""Tasks change places for the CPU that they take: where that is steady, few at a time, and never for ever."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from kconnect.core.cluster import loads as loads_module
from kconnect.core.cluster.assignor import assign
from kconnect.core.cluster.loads import LOOK_MS, Loads, Reading
from kconnect.core.state.records import UnitId, Units

HOUR = 3_600_000 // LOOK_MS
"""Looks an hour."""
Share = Callable[[UnitId], float]


class Cluster:
    """Workers that run units, and a leader that looks every five minutes; what units take is told by the test."""

    def __init__(self, workers: int, limit: int, *units: UnitId, weights: Mapping[UnitId, int] | None = None) -> None:
        self.now, self.limit, self.weights = 0, limit, weights or {}
        self.workers = [f"w{number}" for number in range(workers)]
        self.units = frozenset(units)
        self.owners = assign(units, self.workers, {}, self.weights)
        self.seconds = dict.fromkeys(units, 0.0)
        self.lives = Counter(units)
        self.moves: list[int] = []
        self.new_leader()

    def new_leader(self) -> None:
        self.loads = Loads(self.limit, self.now)

    def look(self, share: Share) -> int:
        """Five minutes pass; how many have moved. Who moves begins to count anew."""
        self.now += LOOK_MS
        for unit in self.units:
            self.seconds[unit] += share(unit) * LOOK_MS / 1000
        assert self.loads.is_due(self.now)
        told = {
            unit: Reading(str(self.lives[unit]), seconds) for unit, seconds in self.seconds.items() if not unit.is_connector
        }
        self.loads.hear(self.units, told, self.now)
        moves = self.loads.exchanges(self.owners, self.weights, self.now)
        after: dict[str, Units] = {worker: owned - moves.keys() for worker, owned in self.owners.items()}
        for unit, worker in moves.items():
            assert unit not in self.owners[worker]
            after[worker] |= {unit}
            self.lives[unit] += 1
            self.seconds[unit] = 0.0
        # What the assignor would do by itself is nothing.
        assert assign(self.units, self.workers, after, self.weights) == after
        self.owners = after
        self.moves.append(len(moves))
        return len(moves)

    def in_the_last_hour(self) -> int:
        return sum(self.moves[-HOUR:])

    def loads_by(self, share: Share) -> list[float]:
        return sorted(sum(map(share, owned)) for owned in self.owners.values())


def tasks(connectors: int, each: int) -> list[UnitId]:
    return [UnitId(f"c{name}", task) for name in range(connectors) for task in range(each)]


def busy(cluster: Cluster, number: int, share: float) -> Share:
    """So many tasks of the first worker take so much, all others nothing."""
    some = set(sorted(cluster.owners["w0"])[:number])
    return lambda unit: share if unit in some else 0.0


def test_busy_tasks_of_one_worker_change_places_with_idle_ones() -> None:
    cluster = Cluster(2, 100, *tasks(8, 1))
    share = busy(cluster, 4, 0.5)
    assert cluster.loads_by(share) == [0.0, 2.0]
    # What the leader before has moved is not known: for an hour nothing moves.
    assert not any(cluster.look(share) for _ in range(HOUR - 1))
    assert sum(cluster.look(share) for _ in range(30)) == 4
    assert cluster.loads_by(share) == [1.0, 1.0]


def test_one_goes_where_one_fewer_is() -> None:
    cluster = Cluster(2, 100, *tasks(5, 1))
    more = next(worker for worker, owned in cluster.owners.items() if len(owned) == 3)
    some = set(sorted(cluster.owners[more])[:2])
    for _ in range(40):
        cluster.look(lambda unit: 0.5 if unit in some else 0.3)
    assert sum(cluster.moves) in (1, 2)
    assert max(cluster.loads_by(lambda unit: 0.5 if unit in some else 0.3)) == pytest.approx(1.0)


def test_no_more_move_in_an_hour_than_may() -> None:
    cluster = Cluster(4, 3, *tasks(40, 1))
    share = busy(cluster, 10, 0.3)
    for _ in range(120):
        cluster.look(share)
        assert cluster.in_the_last_hour() <= 3
    assert cluster.loads_by(share) == pytest.approx([0.6, 0.6, 0.9, 0.9])


def test_what_goes_up_and_down_stays_where_it_is() -> None:
    cluster = Cluster(3, 100, *tasks(9, 1))
    for number in range(100):
        cluster.look(lambda unit, number=number: 0.8 if (number + int(unit.connector[1:])) % 3 == 0 else 0.02)  # type: ignore[misc]
    assert not any(cluster.moves)


def test_nothing_moves_that_gains_little() -> None:
    cluster = Cluster(2, 100, *tasks(20, 1))
    share = busy(cluster, 2, 0.04)
    for _ in range(40):
        cluster.look(share)
    assert not any(cluster.moves)


def test_the_tasks_of_a_connector_stay_spread() -> None:
    """Two of each on each worker: what differs changes places within the connector, or not at all."""
    cluster = Cluster(2, 100, *tasks(3, 4))
    share = busy(cluster, 6, 0.2)
    for _ in range(60):
        cluster.look(share)
    for owned in cluster.owners.values():
        assert Counter(unit.connector for unit in owned) == {"c0": 2, "c1": 2, "c2": 2}
    assert cluster.loads_by(share) == pytest.approx([0.6, 0.6])


def test_instances_make_room() -> None:
    """They take nothing, and it does not matter where they run."""
    cluster = Cluster(2, 100, *tasks(1, 4), *(UnitId(f"c{name}") for name in range(4)))
    first, *others = sorted(cluster.units - {unit for unit in cluster.units if unit.is_connector})
    own = next(owned for owned in cluster.owners.values() if first in owned)
    heavy = {unit for unit in own if not unit.is_connector}

    def share(unit: UnitId) -> float:
        return 0.5 if unit in heavy else 0.1 if unit in others else 0.0

    before = cluster.loads_by(share)[-1]
    for _ in range(60):
        cluster.look(share)
    assert cluster.loads_by(share)[-1] < before


def test_who_has_a_weight_of_his_own_stays() -> None:
    units = tasks(8, 1)
    cluster = Cluster(2, 100, *units, weights=dict.fromkeys(units, 2))
    share = busy(cluster, 4, 0.5)
    for _ in range(40):
        cluster.look(share)
    assert not any(cluster.moves)


def test_a_task_that_starts_anew_all_the_time_is_never_known() -> None:
    cluster = Cluster(2, 100, *tasks(8, 1))
    share = busy(cluster, 4, 0.5)
    for number in range(60):
        for unit in cluster.units if number % 3 == 0 else ():
            cluster.lives[unit] += 1
        cluster.look(share)
    assert not any(cluster.moves)


def test_what_no_longer_runs_counts_nothing() -> None:
    """A task that failed with half a core does not keep others away for ever."""
    loads = Loads(100, -3_600_000)
    units = tasks(4, 1)
    owners = {"a": frozenset(units[:2]), "b": frozenset(units[2:])}

    def look(number: int, **share: float) -> dict[UnitId, str]:
        readings = {unit: Reading("1", number * 300 * share[unit.connector]) for unit in units if unit.connector in share}
        loads.hear(frozenset(units), readings, number * LOOK_MS)
        return loads.exchanges(owners, {}, number * LOOK_MS)

    assert not any(look(number, c0=0.5, c1=0.5, c2=0.5, c3=0.5) for number in range(5))
    assert not any(look(number, c0=0.5, c1=0.5) for number in range(5, 11))
    assert len(look(11, c0=0.5, c1=0.5)) == 2


def test_without_a_limit_nobody_looks() -> None:
    assert not Loads(0, 0).is_due(10**9)


class Restless(AssertionError):
    pass


def play(seed: int) -> None:
    """
    A day of a random cluster: tasks of all sizes, with noise, some that become busy or idle, leaders that change; then, with
    loads that stay but for the noise, two more days. Raises Restless if anything comes back then to where it was on the second.
    """
    draw = random.Random(seed)
    limit = draw.choice((2, 6, 50))
    cluster = Cluster(draw.randint(2, 6), limit, *tasks(draw.randint(2, 12), draw.randint(1, 6)))
    level = {unit: draw.choice((0.0, 0.005, 0.02, 0.1, 0.4, 0.9)) for unit in sorted(cluster.units)}

    def share(unit: UnitId) -> float:
        return level[unit] * draw.uniform(0.85, 1.15)

    for _ in range(24 * HOUR):
        if draw.random() < 0.05:
            level[draw.choice(sorted(level))] = draw.choice((0.0, 0.01, 0.05, 0.3, 0.8))
        if draw.random() < 0.01:
            cluster.new_leader()
        cluster.look(share)
        assert cluster.in_the_last_hour() <= limit
    uneven = cluster.loads_by(level.__getitem__)[-1]
    for _ in range(24 * HOUR):
        cluster.look(share)
    assert cluster.loads_by(level.__getitem__)[-1] <= uneven * 1.1 + 0.05
    where = [{unit: worker for worker, owned in cluster.owners.items() for unit in owned}]
    for _ in range(24 * HOUR):
        if cluster.look(share):
            where.append({unit: worker for worker, owned in cluster.owners.items() for unit in owned})
    for unit in cluster.units:
        places = [each[unit] for each in where]
        if len({before for before, after in itertools.pairwise(places) if before != after}) < sum(
            map(str.__ne__, places, places[1:])
        ):
            raise Restless(f"{unit} has been at {places}")


@pytest.mark.parametrize("seed", range(8))
def test_loads_that_stay_come_to_rest(seed: int) -> None:
    play(seed)


def test_exchanges_for_little_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The histories would show it."""
    for name in ("_APART", "_APART_SHARE", "_GAIN", "_REST_MS"):
        monkeypatch.setattr(loads_module, name, 0)
    for name in ("_UNLIKE", "_MOST_OF_IT"):
        monkeypatch.setattr(loads_module, name, 1)
    restless = 0
    for seed in range(8):
        try:
            play(seed)
        except Restless:
            restless += 1
    assert restless >= 4
