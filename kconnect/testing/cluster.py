"""
A whole cluster in memory: real herders and real host states over a log in memory, in milliseconds and any order.

`MemoryCluster` runs the same `Herder` and `HostState` as production; only the outside is replaced: the log, the group, the
clock, and the plugins (every connector makes `tasks.max` tasks). After each step it checks that no unit runs twice.
Used by the scenario tests under `tests/scenarios`, and by anybody who wants to see how the protocol behaves.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable
from typing import Any

from kconnect.api.errors import ConnectError
from kconnect.core.cluster import host as decisions
from kconnect.core.cluster.host import HostState, UnitSpec
from kconnect.core.herder import effects, events
from kconnect.core.herder.herder import Herder, Identity
from kconnect.core.herder.requests import Request
from kconnect.core.state import records
from kconnect.core.state.records import Entry, GeneratedTasks, State, TargetState, UnitId, UnitStatus
from kconnect.kafka.memory import MemoryGroup, MemoryLog

_ROUTINE = (effects.FindMembers, events.Members)


class OverlapError(AssertionError):
    """A unit runs on two hosts at once."""


class MemoryCluster:
    """
    `seed` decides the order in which actors take their steps; every run with one seed is the same run.
    `stale_reads` is how far an actor may lag behind: it reads at most so many records at a step.
    """

    def __init__(self, seed: int = 0, session_ms: int = 10_000, grace_ms: int = 2_000) -> None:
        self.random = random.Random(seed)
        self.log = MemoryLog()
        self.group = MemoryGroup()
        self.now = 0
        self.session_ms, self.grace_ms = session_ms, grace_ms
        self.workers: dict[str, MemoryWorker] = {}
        self.hosts: dict[tuple[str, int], MemoryHost] = {}
        self.lines: list[str] = []
        self._lives = itertools.count(1)

    # --- what a scenario does ---

    def add_worker(self, name: str, hosts: int = 2) -> MemoryWorker:
        worker = MemoryWorker(self, name, hosts, f"{next(self._lives):06d}")
        self.workers[name] = worker
        self.group.join(name, f"http://{name}/")
        return worker

    def kill_worker(self, name: str, hosts_too: bool = True) -> None:
        """End a worker without a word. Its hosts die with it, or live on until the log tells them otherwise."""
        del self.workers[name]
        self.group.leave(name)
        if hosts_too:
            for key in [key for key in self.hosts if key[0] == name]:
                self.kill_host(*key)

    def kill_host(self, worker: str, number: int) -> None:
        """End a host; like Spark, the worker's driver starts another in its place."""
        del self.hosts[worker, number]

    def submit(self, worker: str, request: Request) -> Answer:
        answer = Answer()
        self.workers[worker].ask(request, answer)
        return answer

    def call(self, worker: str, request: Request) -> Any:
        """Submit, let everything run, and give the answer or raise the refusal."""
        answer = self.submit(worker, request)
        self.run_until(lambda: answer.settled)
        if answer.error is not None:
            raise answer.error
        return answer.value

    def run_until(self, condition: Callable[[], bool], steps: int = 20_000) -> None:
        """Take steps in random order until the condition holds; an AssertionError if it never does."""
        for _ in range(steps):
            if condition():
                return
            self.step()
        raise AssertionError("the condition was not reached; last lines: " + "; ".join(self.lines[-5:]))

    def settle(self, steps: int = 20_000) -> None:
        """Run until nobody has anything to do any more, and time alone changes nothing."""
        quiet = 0
        for _ in range(steps):
            before = len(self.log.records)
            self.step()
            busy = len(self.log.records) != before or any(actor.busy for actor in self._actors())
            quiet = 0 if busy else quiet + 1
            if quiet > 400:
                return
        raise AssertionError("the cluster does not come to rest")

    def step(self) -> None:
        self.now += self.random.choice((0, 1, 5, 50))
        self._start_hosts()
        actors = self._actors()
        if actors:
            self.random.choice(actors).step()
        self.check()

    # --- what a scenario asks ---

    def running(self) -> dict[UnitId, list[tuple[str, int]]]:
        """Who really runs what: by the hosts' threads, not by what anybody says of them."""
        found: dict[UnitId, list[tuple[str, int]]] = {}
        for key, host in self.hosts.items():
            for unit in host.threads:
                found.setdefault(unit, []).append(key)
        return found

    def check(self) -> None:
        for unit, where in self.running().items():
            if len(where) > 1:
                raise OverlapError(f"{unit} runs on {where}")

    def _actors(self) -> list[MemoryWorker | MemoryHost]:
        return [*self.workers.values(), *self.hosts.values()]

    def _start_hosts(self) -> None:
        for name, worker in self.workers.items():
            placement = worker.herder.assignment.placements.get(name)
            if placement is None or placement.incarnation != worker.incarnation:
                continue
            for number in placement.hosts or {}:
                # A host of the worker's earlier life keeps its place until it ends, as another process would.
                if (name, number) not in self.hosts:
                    self.hosts[name, number] = self.make_host(name, number, worker.incarnation, next(self._lives))

    def make_host(self, worker: str, number: int, worker_incarnation: str, life: int) -> MemoryHost:
        return MemoryHost(self, worker, number, worker_incarnation, life)


class Answer:
    def __init__(self) -> None:
        self.settled = False
        self.value: Any = None
        self.error: Exception | None = None


class MemoryWorker:
    def __init__(self, cluster: MemoryCluster, name: str, hosts: int, incarnation: str) -> None:
        self.cluster, self.name, self.incarnation = cluster, name, incarnation
        self.herder = Herder(
            Identity(
                name,
                f"http://{name}/",
                incarnation,
                "test",
                "memory",
                hosts,
                session_timeout_ms=cluster.session_ms,
                handover_grace_ms=cluster.grace_ms,
            )
        )
        self.left = False
        self._read = 0
        self._owner = False
        self._caught_up = False
        self._epoch = 0
        self._inbox: deque[events.Event] = deque()
        self._outbox: deque[effects.Effect] = deque()
        self._tickets = itertools.count(1)
        self._answers: dict[int, Answer] = {}

    @property
    def busy(self) -> bool:
        """Asking for the members, which a leader does for ever, counts as idle."""
        work = [item for item in (*self._inbox, *self._outbox) if not isinstance(item, _ROUTINE)]
        return bool(work) or self._read < len(self.cluster.log.records)

    def ask(self, request: Request, answer: Answer) -> None:
        ticket = next(self._tickets)
        self._answers[ticket] = answer
        self._inbox.append(events.Requested(ticket, request))

    def step(self) -> None:
        log, choose = self.cluster.log, self.cluster.random
        owns = self.cluster.group.owner == self.name
        if self._outbox and choose.random() < 0.5:
            self._perform(self._outbox.popleft())
        elif self._inbox:
            self._handle(self._inbox.popleft())
        elif self._read < len(log.records):
            end = min(len(log.records), self._read + choose.choice((1, 2, 20)))
            batch, self._read = tuple(log.records[self._read : end]), end
            self._handle(events.Read(batch))
        elif not self._caught_up:
            self._caught_up = True
            self._handle(events.CaughtUp())
        elif owns != self._owner:
            self._owner = owns
            self._handle(events.Owned() if owns else events.Lost())
        else:
            dead = frozenset(
                (held.worker, held.host, held.incarnation)
                for held in self.herder.assignment.hosts_of(self.name)
                if self._is_dead(held)
            )
            self._handle(events.HostsDead(dead) if dead != self.herder.dead_hosts else events.Tick())

    def _is_dead(self, held: records.Held) -> bool:
        host = self.cluster.hosts.get((self.name, held.host))
        return host is None or host.incarnation != held.incarnation

    def _handle(self, event: events.Event) -> None:
        self._outbox += self.herder.handle(event, self.cluster.now)

    def _perform(self, effect: effects.Effect) -> None:
        log = self.cluster.log
        try:
            match effect:
                case effects.Write(entries, as_leader, id):
                    written = log.append_as(self._epoch, entries) if as_leader else log.append(entries)
                    self._inbox.append(events.Done(id, written))
                case effects.TakeLead(id):
                    self._epoch = log.fence()
                    self._inbox.append(events.Done(id, log.ends()))
                case effects.FindMembers():
                    group = self.cluster.group
                    self._inbox.append(events.Members(dict(group.members), group.owner))
                case effects.NewSessionKey(current, id):
                    key = records.SessionKey("c2VjcmV0", "HmacSHA256", self.cluster.now) if current is None else None
                    self._inbox.append(events.Done(id, key))
                case effects.Validate(_, _, id):
                    self._inbox.append(events.Done(id, {"error_count": 0, "configs": []}))
                case effects.DescribePlugin(plugin, id):
                    kind = "sink" if "Sink" in plugin else "source"
                    self._inbox.append(events.Done(id, {"class": plugin, "type": kind, "version": "test"}))
                case effects.Reply(ticket, value):
                    self._settle(ticket, value, None)
                case effects.Refuse(ticket, error):
                    self._settle(ticket, None, error)
                case effects.Log(level, message):
                    self.cluster.lines.append(f"{self.name} {level} {message}")
                case effects.Bye():
                    self.left = True
                    self.cluster.group.leave(self.name)
                case effects.ListPlugins(_, id) | effects.PluginConfig(_, _, id) | effects.GroupOffsets(_, _, id):
                    self._inbox.append(events.Done(id, []))
        except ConnectError as error:
            if isinstance(effect, effects.Write | effects.TakeLead):
                self._inbox.append(events.Failed(effect.id, error))

    def _settle(self, ticket: int, value: Any, error: Exception | None) -> None:
        answer = self._answers.pop(ticket)
        answer.settled, answer.value, answer.error = True, value, error


class MemoryHost:
    """A host whose units are only names: `threads` are those that live, including those that are still stopping."""

    def __init__(self, cluster: MemoryCluster, worker: str, number: int, worker_incarnation: str, life: int) -> None:
        self.cluster, self.worker, self.number = cluster, worker, number
        self.incarnation = f"{life:06d}"
        self.state = HostState(worker, number, worker_incarnation, self.incarnation, None, cluster.session_ms)
        self.threads: dict[UnitId, UnitSpec] = {}
        self._stopping: list[UnitId] = []
        self._read = 0
        self._unsent: deque[Entry] = deque()
        self._cut_off = False

    @property
    def busy(self) -> bool:
        return bool(self._unsent or self._stopping) or self._read < len(self.cluster.log.records)

    def cut_off(self) -> None:
        """From now on this host reaches no broker; it notices, as it must, before its worker's session is over."""
        self._cut_off = True
        self.state.readable(False)

    def reconnect(self) -> None:
        """It reaches brokers again, and knows that before it has read what it missed."""
        self._cut_off = False
        self.state.readable(True)

    def step(self) -> None:
        log, choose = self.cluster.log, self.cluster.random
        if self._cut_off:
            if self._stopping:
                self._end_one()
        elif self._unsent and choose.random() < 0.5:
            log.append([self._unsent.popleft()])
        elif self._stopping and choose.random() < 0.5:
            self._end_one()
        elif self._read < len(log.records):
            end = min(len(log.records), self._read + choose.choice((1, 2, 20)))
            for record in log.records[self._read : end]:
                if record.topic in (records.Topic.CONFIG, records.Topic.ASSIGNMENT):
                    self.state.apply(record)
            self._read = end
            if self._read == len(log.records):
                self.state.ready(self.cluster.now)
        before = self.state.predecessor
        if before is not None and self._is_dead(before):
            self.state.predecessor_dead()
        for effect in self.state.decide(self.cluster.now):
            self._perform(effect)

    def _end_one(self) -> None:
        unit = self._stopping.pop(self.cluster.random.randrange(len(self._stopping)))
        self._say(self.threads.pop(unit), State.UNASSIGNED)
        self.state.stopped(unit)

    def _is_dead(self, held: records.Held) -> bool:
        return all(host.incarnation != held.incarnation for host in self.cluster.hosts.values())

    def _perform(self, effect: decisions.HostEffect) -> None:
        match effect:
            case decisions.Start(spec, target, wish):
                self.threads[spec.unit] = spec
                self._run(spec, target, wish)
            case decisions.Stop(unit):
                self._stopping.append(unit)
            case decisions.SetTarget(unit, target, wish):
                self._run(self.threads[unit], target, wish)
            case decisions.Declare(held):
                self._unsent.append(records.held(held))
            case decisions.Exit():
                self.cluster.hosts.pop((self.worker, self.number), None)
                self.cluster.log.append(self._unsent)

    def _run(self, spec: UnitSpec, target: TargetState, wish: int) -> None:
        self._say(spec, State.PAUSED if target is TargetState.PAUSED else State.RUNNING)
        if spec.task is None and target is TargetState.STARTED:
            count = int(spec.connector_config.get("tasks.max") or 1)
            configs = tuple({"task": str(number)} for number in range(count))
            self._unsent.append(records.generated_tasks(GeneratedTasks(spec.connector, configs, wish)))

    def _say(self, spec: UnitSpec, state: State) -> None:
        assigned = self.state.assignment.assignments.get(self.worker)
        generation = assigned.generation if assigned else 0
        self._unsent.append(records.status(spec.unit, UnitStatus(state, self.worker, generation, None, "test")))
