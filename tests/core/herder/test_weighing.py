"""Tasks that take much of a processor change places with others, by what hosts report; nothing runs twice meanwhile."""

from __future__ import annotations

import random

import pytest

from kconnect.core.cluster import loads
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.metrics.report import Report, UnitReport
from kconnect.core.state.records import UnitId
from tests.rig.histories.cluster import MemoryCluster

_LOOK_MS = 2_000


@pytest.fixture(autouse=True)
def quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour is 24 seconds. All is in proportion."""
    for name in ("LOOK_MS", "_HOUR_MS", "_REST_MS"):
        monkeypatch.setattr(loads, name, getattr(loads, name) * _LOOK_MS // 300_000)


class Busy(MemoryCluster):
    """Its hosts report that some tasks take half a core, and the others nothing."""

    def __init__(self, seed: int, limit: int, connectors: int, config: dict[str, str] | None = None) -> None:
        super().__init__(seed)
        self.load_moves_per_hour = limit
        self.busy: set[UnitId] = set()
        self._seconds: dict[UnitId, tuple[tuple[str, int], str, float]] = {}
        self._counted_at = 0
        for name in ("a:1", "b:1"):
            self.add_worker(name)
            self.settle()
        for number in range(connectors):
            self.create(f"c{number}", config or {})

    def create(self, name: str, config: dict[str, str]) -> None:
        assert self.group.owner is not None
        self.call(self.group.owner, CreateConnector(name, {"connector.class": "FileStreamSource", **config}))
        self.settle()

    def settle(self, steps: int = 20_000) -> None:
        """Its leader never rests for long."""
        end = self.now + 6_000
        self.run_until(lambda: self.now >= end, steps)

    def step(self) -> None:
        super().step()
        if self.now - self._counted_at >= _LOOK_MS // 4:
            self._count()

    def _count(self) -> None:
        reports: list[Report] = []
        for unit, [place] in self.running().items():
            incarnation = self.hosts[place].state.incarnation
            before = self._seconds.get(unit)
            seconds = before[2] if before is not None and before[:2] == (place, incarnation) else 0.0
            # As if each step of the clock were that much longer: the looks are.
            seconds += (unit in self.busy) * 0.5 * (self.now - self._counted_at) / 1000
            self._seconds[unit] = (place, incarnation, seconds)
            if not unit.is_connector:
                reports.append(UnitReport(*place, incarnation, unit, values={"cpu-seconds-total": seconds}))
        self.reports, self._counted_at = reports, self.now

    def hours(self, number: float) -> None:
        end = self.now + number * 12 * _LOOK_MS
        self.run_until(lambda: self.now >= end, 200_000)

    def busy_by_worker(self) -> list[int]:
        found = dict.fromkeys(self.workers, 0)
        for unit, [(worker, _)] in self.running().items():
            found[worker] += unit in self.busy
        return sorted(found.values())

    def four_of_one(self) -> set[UnitId]:
        """Tasks of the worker that has most: that may be all, beside one that has as many instances."""
        return set(max(map(self.tasks_of, self.workers), key=len)[:4])

    def tasks_of(self, worker: str) -> list[UnitId]:
        return sorted(unit for unit, [(owner, _)] in self.running().items() if owner == worker and not unit.is_connector)


@pytest.mark.parametrize("seed", range(1))
def test_busy_tasks_go_to_both_workers(seed: int) -> None:
    cluster = Busy(seed, 100, 8)
    cluster.busy = cluster.four_of_one()
    assert cluster.busy_by_worker() == [0, 4]
    cluster.hours(2.5)
    assert cluster.busy_by_worker() == [2, 2]
    assert [line for line in cluster.lines if "so that workers take more like amounts of CPU" in line]
    owned = [sum(where == worker for [(where, _)] in cluster.running().values()) for worker in cluster.workers]
    assert owned == [8, 8]


def test_who_says_a_weight_has_decided_himself() -> None:
    cluster = Busy(0, 100, 8, {"tasks.weight": "1"})
    cluster.busy = cluster.four_of_one()
    cluster.hours(2.5)
    assert cluster.busy_by_worker() == [0, 4]


def test_not_if_none_may_move() -> None:
    cluster = Busy(0, 0, 8)
    cluster.busy = cluster.four_of_one()
    cluster.hours(2.5)
    assert cluster.busy_by_worker() == [0, 4]


@pytest.mark.parametrize("seed", range(2))
def test_nothing_runs_twice_whatever_happens_meanwhile(seed: int) -> None:
    """Each step of the cluster looks for overlaps."""
    draw = random.Random(seed)
    cluster = Busy(seed, 100, 8)
    cluster.add_worker("c:1")
    cluster.settle()
    exchanged = 0
    for _ in range(8):
        cluster.busy = set(draw.sample(sorted(unit for unit in cluster.running() if not unit.is_connector), 5))
        before = len(cluster.lines)
        cluster.hours(draw.uniform(0.2, 1.4))
        exchanged += sum("more like amounts of CPU" in line for line in cluster.lines[before:])
        worker = draw.choice(sorted(cluster.workers))
        cluster.kill_worker(worker)
        cluster.hours(draw.uniform(0.0, 0.7))
        cluster.add_worker(worker)
        cluster.settle()
    cluster.run_until(lambda: len(cluster.running()) == 16, 200_000)
    assert exchanged
