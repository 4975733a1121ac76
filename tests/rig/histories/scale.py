"""
A very large cluster in memory: three workers that are whole, and as many more as one likes that only hold and report.

The leader, its successor and one follower are real herders, each with the whole fold. Of all others there is what the leader
hears of them: a member of the group, placements in the log, and a host that decides by the real `HostState` what it runs, over
one fold that all hosts share. The clock goes on by what each step of the leader has taken, so that a leader who is slow is
seen. `scripts/benchmarks/scale.py` measures with it, and `tests/scenarios/test_scale.py` plays a small one. Read next:
`cluster.py`.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.cluster import host as decisions
from kconnect.core.cluster.host import HostState
from kconnect.core.cluster.lease import stopped_after_ms
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import Assignment, Placement
from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import Entry, LogRecord, State, Topic, UnitId, UnitStatus
from tests.rig.histories.cluster import MemoryCluster, MemoryWorker, OverlapError
from tests.rig.histories.memory import MemoryReader

WHOLE = ("w0000", "w0001", "w0002")
"""The workers with herders: the leader, its successor and a follower."""
_TICK_MS = 100
_LONGEST_MS = 3_600_000


@dataclass
class Cost:
    """What a change of the cluster took: `ms` by the cluster's clock, `cpu_s` of the leader, and what was written."""

    ms: int = 0
    cpu_s: float = 0.0
    written: Counter[Topic] = field(default_factory=Counter)
    written_bytes: Counter[Topic] = field(default_factory=Counter)
    started: int = 0


class _Once:
    """A fold that many hosts share: the first to be told of a record has it folded in."""

    def __init__(self, state: ConfigState | AssignmentState) -> None:
        self._state = state
        self._latest: LogRecord | None = None
        self._decoded: Any = None

    def apply(self, record: LogRecord) -> Any:
        if record is not self._latest:
            self._latest, self._decoded = record, self._state.apply(record)
        return self._decoded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


class _Reader(MemoryReader):
    """Reads all there is of a topic at a time: these logs are long."""

    def read(self, choose: random.Random) -> tuple[list[LogRecord], dict[tuple[Topic, int], int]]:
        feed = next((feed for feed in self._feeds if feed.more), None)
        if feed is None:
            return [], {}
        batch = feed.read(5_000)
        self.at_end = not any(feed.more for feed in self._feeds)
        return batch, {} if feed.kept else {(feed.topic, 0): feed.at}


class _Host:
    """The one host of a worker. What it is to start runs at once, and what it is to stop has stopped."""

    def __init__(self, cluster: ScaleCluster, worker: str, worker_incarnation: str, incarnation: str) -> None:
        self._cluster, self.worker, self.incarnation = cluster, worker, incarnation
        self.state = HostState(
            *(worker, 0, worker_incarnation, incarnation, None),
            stopped_after_ms(cluster.session_ms, cluster.grace_ms),
            cluster.grace_ms,
        )
        self.state.config, self.state.assignment = cluster.shared
        self.state.reached(cluster.log.ends())
        self.state.ready(cluster.now)

    def decide(self) -> list[Entry]:
        entries = []
        for effect in self.state.decide(self._cluster.now):
            match effect:
                case decisions.Start(spec):
                    self._cluster.starts(spec.unit, self)
                    entries.append(self._status(spec.unit, State.RUNNING))
                case decisions.Stop(unit):
                    self._cluster.stops(unit, self)
                    entries.append(self._status(unit, State.UNASSIGNED))
                    self.state.stopped(unit)
                case decisions.Declare(held):
                    entries.append(assignment_records.held(held))
                case decisions.Exit() | decisions.Die():
                    self._cluster.ends_host(self)
                case _:
                    pass
        return entries

    def _status(self, unit: UnitId, state: State) -> Entry:
        return records.status(unit, UnitStatus(state, self.worker, self.state.assignment.term))


class _Light:
    """A worker of which there is only what others hear: it places what it is given on its host, and leaves in order."""

    def __init__(self, cluster: ScaleCluster, name: str, incarnation: str) -> None:
        self._cluster, self.name, self.incarnation = cluster, name, incarnation
        self._revision = 0
        self.leaving = self.is_going = False

    def place(self) -> Entry:
        """Return where its units are, as `placing.py` has a worker with one plain host say. The last word names no host."""
        assignment = self._cluster.shared[1].assignments.get(self.name)
        units = frozenset() if assignment is None or self.leaving else assignment.units or frozenset()
        self._revision += 1
        return assignment_records.placement(
            Placement(
                self.name,
                {} if self.is_going else {0: dict.fromkeys(units, 0)},
                0 if assignment is None else assignment.generation,
                self._revision,
                self.incarnation,
                self.leaving,
                config_offset=self._cluster.shared[0].offset,
            )
        )


class ScaleCluster(MemoryCluster):
    """All workers are up, and there are no connectors until `restore`."""

    def __init__(self, workers: int, delay_ms: int = 0) -> None:
        super().__init__(seed=1, delay_ms=delay_ms)
        self.shared: tuple[Any, Any] = (_Once(ConfigState()), _Once(AssignmentState()))
        self.light: dict[str, _Light] = {}
        self.cost = Cost()
        self.units: set[UnitId] = set()
        self.runs: dict[UnitId, _Host] = {}
        self._told = {Topic.CONFIG: 0, Topic.ASSIGNMENT: 0}
        self._to_place: set[str] = set()
        self._mine: dict[tuple[str, int], _Host] = {}
        for name in WHOLE:
            self.start_worker(name)
            # The first one in the group leads.
            self.run_all(lambda name=name: name in self.group.members)
        for number in range(len(WHOLE), workers):
            self.start_worker(f"w{number:04d}")
        desk = self.workers[WHOLE[0]].herder.desk
        self.run_all(lambda: self.is_whole() and len(desk.members) == workers)

    # --- what changes ---

    def restore(self, connectors: int, tasks: int) -> None:
        """Write the config topic of that many connectors, as `kconnect topics restore` does."""
        self.units = {UnitId(name) for name in names(connectors)}
        self.units |= {UnitId(name, task) for name in names(connectors) for task in range(tasks)}
        for entries in configs(connectors, tasks):
            self.log.append(entries)
        # Told to the fold alone: nothing of it is placed on any host.
        found = self.log.topics[Topic.CONFIG]
        for record in found[self._told[Topic.CONFIG] :]:
            self.shared[0].apply(record)
        self._told[Topic.CONFIG] = len(found)

    def start_worker(self, name: str) -> None:
        if name in WHOLE:
            self.add_worker(name, hosts=1)
            return
        light = self.light[name] = _Light(self, name, f"{next(self._lives):06d}")
        self.group.join(name, name)
        self._append([light.place()])
        self._add_host(name, light.incarnation)

    def kill(self, name: str) -> None:
        """End a worker and its host without a word."""
        del self.light[name]
        self.group.leave(name)
        for key in [key for key in self._mine if key[0] == name]:
            self.ends_host(self._mine[key])

    def roll(self, name: str) -> None:
        """Restart a worker in order: it gives away what it has, and comes back."""
        light = self.light[name]
        light.leaving = True
        self._append([light.place()])
        host = self._mine[name, 0]
        self.run_all(lambda: not host.state.units and len(self.runs) == len(self.units))
        light.is_going = True
        self._append([light.place()])
        self.run_all(lambda: (name, 0) not in self._mine)
        self.kill(name)
        self.start_worker(name)

    def add_worker(self, name: str, hosts: int = 1) -> MemoryWorker:
        worker = super().add_worker(name, hosts)
        self.log.readers = {topic: [r for r in found if r is not worker._reader] for topic, found in self.log.readers.items()}
        worker._reader = _Reader(self.log)
        return worker

    # --- what runs ---

    def starts(self, unit: UnitId, host: _Host) -> None:
        if unit in self.runs:
            raise OverlapError(f"{unit} runs on {self.runs[unit].worker} and is started on {host.worker}")
        self.runs[unit] = host
        self.cost.started += 1

    def stops(self, unit: UnitId, host: _Host) -> None:
        if self.runs.get(unit) is host:
            del self.runs[unit]

    def ends_host(self, host: _Host) -> None:
        self._mine.pop((host.worker, 0), None)
        self.hosts.pop((host.worker, 0), None)
        for unit in host.state.units:
            self.stops(unit, host)

    def is_whole(self) -> bool:
        """Whether all that is to run does, and every worker that is up is given its share."""
        if len(self.runs) != len(self.units):
            return False
        placements, members = self.shared[1].placements, {*self.light, *self.workers}
        assigned = {worker: found.units or () for worker, found in self.shared[1].assignments.items()}
        held = {worker for worker, _ in self.shared[1].held}
        able = [worker for worker in members & held if worker in placements and placements[worker].takes_units]
        return len(able) == len(members) and all(len(assigned.get(w, ())) >= len(self.units) // len(able) for w in able)

    def measured(self, change: Iterable[None]) -> Cost:
        """Make a change, piece by piece, wait after each until the cluster is whole, and return what that took."""
        self.cost = Cost()
        began = self.now
        for _ in change:
            self.run_all(self.is_whole)
        self.cost.ms = self.now - began
        return self.cost

    def run_all(self, condition: Any) -> None:
        limit = self.now + _LONGEST_MS
        while not condition():
            self.turn()
            if self.now > limit:
                raise AssertionError(f"not within an hour: {len(self.runs)} of {len(self.units)} run; {self.lines[-3:]}")

    def turn(self) -> None:
        """Let each of them do what it has to do, and the clock go on."""
        before = {topic: len(found) for topic, found in self.log.topics.items()}
        spent = 0.0
        for name, worker in self.workers.items():
            began = time.process_time()
            self._pump(worker)
            if name == self._leader():
                spent = time.process_time() - began
        self.deliver()
        for name in sorted(self._to_place):
            if name in self.light:
                self._append([self.light[name].place()])
        self._to_place.clear()
        self._start_whole_hosts()
        for host in list(self._mine.values()):
            self._append(host.decide())
        self.cost.cpu_s += spent
        self.now += _TICK_MS + int(1000 * spent)
        for topic, found in self.log.topics.items():
            self.cost.written[topic] += len(found) - before[topic]
            self.cost.written_bytes[topic] += sum(len(r.key or b"") + len(r.value or b"") for r in found[before[topic] :])

    def deliver(self) -> None:
        """Tell all hosts what is new in the log."""
        for topic, told in self._told.items():
            found = self.log.topics[topic]
            hosts = [host.state for host in self._mine.values()]
            shared = self.shared[0 if topic is Topic.CONFIG else 1]
            for record in found[told:]:
                decoded = shared.apply(record)
                if isinstance(decoded, Assignment):
                    self._to_place.add(decoded.worker)
                for state in hosts:
                    state.apply(record)
            self._told[topic] = len(found)
        for host in self._mine.values():
            host.state.reached(self.log.ends())

    def _append(self, entries: list[Entry]) -> None:
        if entries:
            self.log.append(entries)

    def _leader(self) -> str | None:
        return self.group.members.get(self.group.owner or "")

    def _pump(self, worker: MemoryWorker) -> None:
        """Have a worker do all that it has to do now, and look around once."""
        while worker._writes or worker._asks or worker._inbox or not worker._reader.at_end:
            worker.step()
        worker.step()

    def _start_whole_hosts(self) -> None:
        for name, worker in self.workers.items():
            placement = worker.herder.log.assignment.placements.get(name)
            if (name, 0) not in self._mine and placement is not None and placement.incarnation == worker.incarnation:
                self._add_host(name, worker.incarnation)

    def _add_host(self, worker: str, incarnation: str) -> None:
        host = _Host(self, worker, incarnation, f"{next(self._lives):06d}")
        self._mine[worker, 0] = host
        self.hosts[worker, 0] = host  # type: ignore[assignment]


def names(connectors: int) -> Iterator[str]:
    return (f"connector-{number:06d}" for number in range(connectors))


def config(name: str) -> Mapping[str, str]:
    """A config as people have them: ten settings."""
    return {
        "name": name,
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "3",
        "topic": f"orders.{name}",
        "file": f"/data/incoming/{name}.jsonl",
        "batch.size": "2000",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
    }


def configs(connectors: int, tasks: int) -> Iterator[tuple[Entry, ...]]:
    """Yield the records of the config topic, connector by connector."""
    for name in names(connectors):
        of_tasks = [{**config(name), "task.id": str(task)} for task in range(tasks)]
        yield (records.connector_config(name, config(name)), *records.task_configs(name, of_tasks))


def statuses(connectors: int, tasks: int) -> Iterator[Entry]:
    """Yield the statuses of all of them, each RUNNING on some worker."""
    for number, name in enumerate(names(connectors)):
        status = UnitStatus(State.RUNNING, f"10.0.{number % 4}.{number % 250}:8083", 1, None, "1.0")
        for unit in (UnitId(name), *(UnitId(name, task) for task in range(tasks))):
            yield records.status(unit, status)
