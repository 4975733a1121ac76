"""
A whole cluster in memory: real herders and real host states over a log in memory, in milliseconds and any order.

`MemoryCluster` runs the same `Herder` and `HostState` as production; only the outside is replaced: the log, the group, the
clock, and the plugins (every connector makes `tasks.max` tasks). After each step it checks that no unit runs twice.
Used by the scenario tests under `tests/scenarios`, and by anybody who wants to see how the protocol behaves.
Read next: `histories.py`, which does to such a cluster whatever can happen to it.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kconnect.core.cluster import host as decisions
from kconnect.core.cluster.host import HostState
from kconnect.core.cluster.lease import stopped_after_ms
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.herder import effects, events
from kconnect.core.herder.effects import Body, Offsets
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.performing import Lane, performers, performs
from kconnect.core.herder.request import Request
from kconnect.core.metrics.history import History
from kconnect.core.metrics.report import Report
from kconnect.core.settings.operation import Operation
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import GeneratedTasks, HostSpec
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, State, TargetState, Topic, UnitId, UnitStatus
from tests.rig.histories.memory import MemoryGroup, MemoryLog, MemoryReader

_ROUTINE = (effects.FindMembers, events.Members)


class _Unfinished(Exception):
    """Some of a write is there; the rest is in the queue again."""


class OverlapError(AssertionError):
    """A unit runs on two hosts at once, or on one that is not for it."""


def directories(config: Mapping[str, str | None]) -> tuple[str, ...]:
    """Where a cluster in memory has a plugin: each version in its own directory."""
    version = config.get("connector.plugin.version")
    return () if version is None else (f"/plugins/{version}",)


def class_of_new_configs(name: str) -> str:
    """Which class a new config means by a name: in memory, the one that stored configs mean."""
    return name


def spec_of(spec: UnitSpec) -> HostSpec:
    """That of the host in which a unit has to run, by its own config."""
    operation = Operation.of(spec.connector_config)
    if spec.task is None or not operation.dedicated:
        return HostSpec(directories(spec.connector_config))
    return HostSpec(directories(spec.connector_config), spec.unit, operation.memory)


class MemoryCluster:
    """
    `seed` decides the order in which actors take their steps; every run with one seed is the same run.
    """

    def __init__(
        self,
        seed: int = 0,
        session_ms: int = 10_000,
        grace_ms: int = 2_000,
        delay_ms: int = 0,
        exactly_once: bool = False,
    ) -> None:
        self.random = random.Random(seed)
        self.log = MemoryLog()
        self.group = MemoryGroup()
        self.now = 0
        self.session_ms, self.grace_ms, self.delay_ms = session_ms, grace_ms, delay_ms
        self.workers: dict[str, MemoryWorker] = {}
        self.hosts: dict[tuple[str, int], MemoryHost] = {}
        self.lines: list[str] = []
        self.load_moves_per_hour = 0
        self.cores: float | None = None
        """What all hosts are said to take."""
        self.reports: list[Report] = []
        """What hosts are said to have reported of their units' numbers; those here count nothing themselves."""
        self.group_offsets: list[tuple[str, int, int]] = []
        """(topic, partition, offset) of every sink's consumer group."""
        self.outside: list[effects.Effect[Any]] = []
        """What was asked of connectors' `alter_offsets`, consumer groups and producers, in order; all agree."""
        self.outside_answers: dict[type[effects.Effect[Any]], object] = {}
        """Unless there is another answer, or an error."""
        self.own_offsets: dict[str, OffsetState] = {}
        """What is in connectors' own offset topics."""
        self.exactly_once = exactly_once
        self.task_grace_ms = 5_000
        self.record_bytes = 2**20
        self.producers = Producers()
        self.without_spark: set[str] = set()
        """Workers whose Spark has ended and is not up again."""
        self.most_hosts = 0
        self.spark_rests_after_ms = -1
        self.rests = 0
        """How often a worker has let its Spark end."""
        self._lives = itertools.count(1)

    # --- what a scenario does ---

    def add_worker(self, name: str, hosts: int = 2) -> MemoryWorker:
        worker = MemoryWorker(self, name, hosts, f"{next(self._lives):06d}")
        self.workers[name] = worker
        return worker

    def kill_worker(self, name: str, hosts_too: bool = True) -> None:
        """End a worker without a word. Its hosts die with it, or live on until the log tells them otherwise."""
        self.group.leave(self.workers.pop(name).member)
        if hosts_too:
            for key in [key for key in self.hosts if key[0] == name]:
                self.kill_host(*key)

    def kill_host(self, worker: str, number: int) -> None:
        """End a host; like Spark, the worker's driver starts another in its place."""
        del self.hosts[worker, number]

    def kill_spark(self, worker: str) -> None:
        """End all of a worker's hosts, with what would start others: until `without_spark` has the worker no more."""
        self.without_spark.add(worker)
        for key in [key for key in self.hosts if key[0] == worker]:
            self.kill_host(*key)
        self.workers[worker].spark_ended()

    def submit(self, worker: str, request: Request[Any]) -> Answer:
        answer = Answer()
        self.workers[worker].ask(request, answer)
        return answer

    def call(self, worker: str, request: Request[Any]) -> Any:
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
            for unit in host.threads.keys() - host.failed:
                found.setdefault(unit, []).append(key)
        return found

    @property
    def asleep(self) -> set[str]:
        return {name for name, worker in self.workers.items() if worker.is_asleep}

    def check(self) -> None:
        for unit, where in self.running().items():
            if len(where) > 1:
                raise OverlapError(f"{unit} runs on {where}")
        for host in self.hosts.values():
            for spec in host.threads.values():
                if replace(host.spec, group=0) != spec_of(spec):
                    raise OverlapError(f"{spec.unit} runs on a host for {host.spec}")
        for evidence in self.producers.unfenced:
            raise OverlapError(evidence)

    def _actors(self) -> list[MemoryWorker | MemoryHost]:
        return [*self.workers.values(), *self.hosts.values()]

    def _start_hosts(self) -> None:
        for worker in self.workers.values():
            name = worker.name
            placement = worker.herder.log.assignment.placements.get(name)
            if placement is None or placement.incarnation != worker.incarnation or not placement.hosts:
                continue
            if worker.is_asleep:
                continue
            for number in placement.hosts:
                # A host of the worker's earlier life keeps its place until it ends, as another process would.
                if (name, number) not in self.hosts and name not in self.without_spark and self.may_start(name, number):
                    life = next(self._lives)
                    self.hosts[name, number] = self.make_host(name, number, worker.incarnation, life, placement.spec(number))

    def may_start(self, worker: str, number: int) -> bool:
        """Whether Spark has the means to start this host."""
        return True

    def make_host(self, worker: str, number: int, worker_incarnation: str, life: int, spec: HostSpec) -> MemoryHost:
        return MemoryHost(self, worker, number, worker_incarnation, life, spec)


class Producers:
    """
    The transactional producers of exactly-once tasks, as Kafka knows them: each id has an epoch, and who has taken the id in
    an earlier one is fenced. `unfenced` is what must never be (KIP-618).
    """

    def __init__(self) -> None:
        self.unfenced: list[str] = []
        self._epochs: dict[UnitId, int] = {}
        self._sets: dict[UnitId, dict[int, int]] = {}
        """For each task the last epoch that it worked in, by task set."""
        self._newest: dict[str, int] = {}

    def take(self, unit: UnitId) -> int:
        """`init_transactions`: a new epoch."""
        self._epochs[unit] = self._epochs.get(unit, 0) + 1
        return self._epochs[unit]

    def fence(self, connector: str, tasks: int) -> None:
        for task in range(tasks):
            self.take(UnitId(connector, task))

    def starts(self, spec: UnitSpec, epoch: int) -> None:
        """The task begins to send; before that, all of earlier sets must have been fenced, ended or not."""
        for unit, sets in self._sets.items():
            for older, last in sets.items():
                if unit.connector == spec.connector and older < spec.config_offset and last == self._epochs[unit]:
                    self.unfenced.append(f"{spec.unit} of set {spec.config_offset} starts, {unit} of set {older} is not fenced")
        newest = self.newest(spec.connector)
        if spec.config_offset < newest:
            self.unfenced.append(f"{spec.unit} of set {spec.config_offset} starts, {newest} runs")
        self._sets.setdefault(spec.unit, {})[spec.config_offset] = epoch
        self._newest[spec.connector] = max(spec.config_offset, newest)

    def newest(self, connector: str) -> int:
        """The newest task set of which a task has begun to send."""
        return self._newest.get(connector, -1)

    def commit(self, spec: UnitSpec, epoch: int) -> bool:
        """Whether a transaction that was begun in that epoch can be committed."""
        if epoch != self._epochs[spec.unit]:
            return False
        if spec.config_offset < self._newest[spec.connector]:
            self.unfenced.append(f"{spec.unit} of set {spec.config_offset} commits, {self._newest[spec.connector]} runs")
        return True


class Answer:
    def __init__(self) -> None:
        self.settled = False
        self.value: Any = None
        self.error: Exception | None = None


class MemoryWorker:
    """A worker's process: it reads the log, joins the group once it has done so, and performs what its herder wants."""

    def __init__(self, cluster: MemoryCluster, name: str, hosts: int, incarnation: str, member: str = "") -> None:
        self.cluster, self.name, self.incarnation = cluster, name, incarnation
        self.member = member or name
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
                rebalance_delay_ms=cluster.delay_ms,
                task_grace_ms=cluster.task_grace_ms,
                record_bytes=cluster.record_bytes,
                load_moves_per_hour=cluster.load_moves_per_hour,
                spark_rests_after_ms=cluster.spark_rests_after_ms,
                most_hosts=cluster.most_hosts,
            ),
            directories,
            lambda name: class_of_new_configs(name),
        )
        self.left = False
        self.is_asleep = False
        """Whether it has let its Spark end, since there is nothing to run."""
        self.levels: list[tuple[str, str]] = []
        """The log levels that it was told to apply."""
        self._reader = MemoryReader(cluster.log)
        self._owner = False
        self._caught_up = False
        self._epoch = 0
        self._inbox: deque[events.Event] = deque()
        self._performers = performers(self)
        self._writes: deque[effects.Effect[Any]] = deque()
        self._asks: list[effects.Effect[Any]] = []
        self._written: dict[tuple[Topic, int], int] = {}
        self._tickets = itertools.count(1)
        self._answers: dict[int, Answer] = {}

    @property
    def busy(self) -> bool:
        """Asking for the members, which a leader does for ever, counts as idle."""
        if self._writes or not self._reader.at_end or not self._caught_up:
            return True
        return any(not isinstance(item, _ROUTINE) for item in (*self._inbox, *self._asks))

    def ask(self, request: Request[Any], answer: Answer) -> None:
        ticket = next(self._tickets)
        self._answers[ticket] = answer
        self._inbox.append(events.Requested(ticket, request))

    def spark_ended(self) -> None:
        self._inbox.append(events.SparkEnded())

    def step(self) -> None:
        choose = self.cluster.random
        # As in `worker/loop.py`: one thread writes in order, several others ask, and who is ready first is ready first.
        ready: list[Any] = [work for work in (self._writes, self._asks, self._inbox) if work]
        if not self._reader.at_end:
            ready.append(self._reader)
        work = ready[int(choose.random() * len(ready))] if ready else None
        if work is None:
            self._idle()
        elif work is self._writes:
            self._perform(self._writes.popleft())
        elif work is self._asks:
            self._perform(self._asks.pop(int(choose.random() * len(self._asks))))
        elif work is self._inbox:
            self._handle(self._inbox.popleft())
        else:
            batch, ends = self._reader.read(choose)
            self._handle(events.Read(tuple(batch), ends))

    def _idle(self) -> None:
        """What is looked at now and then, in no hurry."""
        owns = self.cluster.group.owner == self.member
        if not self._caught_up:
            self._caught_up = True
            self._handle(events.CaughtUp())
            self.cluster.group.join(self.member, self.name)
        elif owns != self._owner:
            self._owner = owns
            self._handle(events.Owned() if owns else events.Lost())
        else:
            dead = self._dead_hosts()
            self._handle(events.HostsDead(dead) if dead != self.herder.desk.dead_hosts else events.Tick())

    def _dead_hosts(self) -> frozenset[tuple[str, int, str]]:
        return frozenset(
            (held.worker, held.host, held.incarnation)
            for held in self.herder.log.assignment.hosts_of(self.name)
            if self._is_dead(held)
        )

    def _is_dead(self, held: assignment_records.Held) -> bool:
        host = self.cluster.hosts.get((held.worker, held.host))
        return host is None or host.incarnation != held.incarnation

    def _handle(self, event: events.Event) -> None:
        for effect in self.herder.handle(event, self.cluster.now):
            match self._performers[type(effect)].lane:
                case Lane.AT_ONCE:
                    self._performers[type(effect)].perform(effect)
                case Lane.WRITE:
                    self._writes.append(effect)
                case _:
                    self._asks.append(effect)

    def _perform(self, effect: effects.Effect[Any]) -> None:
        try:
            result = self._performers[type(effect)].perform(effect)
        except _Unfinished:
            return
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 - as `worker/loop.py`
            self._inbox.append(events.Failed(effect.id, error))
            return
        if effect.id:
            self._inbox.append(events.Done(effect.id, result))

    # --- what it performs ---

    @performs(effects.Reply, Lane.AT_ONCE)
    def reply(self, effect: effects.Reply) -> None:
        self._settle(effect.ticket, effect.value, None)

    @performs(effects.Refuse, Lane.AT_ONCE)
    def refuse(self, effect: effects.Refuse) -> None:
        self._settle(effect.ticket, None, effect.error)

    @performs(effects.Log, Lane.AT_ONCE)
    def tell(self, effect: effects.Log) -> None:
        self.cluster.lines.append(f"{self.name} {effect.level} {effect.message}")

    @performs(effects.KeepSpark, Lane.AT_ONCE)
    def _keep_spark(self, effect: effects.KeepSpark) -> None:
        assert self.is_asleep == effect.is_wanted, "nobody says twice what is so already"
        self.is_asleep = not effect.is_wanted
        self.cluster.rests += self.is_asleep

    @performs(effects.SetLevel, Lane.AT_ONCE)
    def set_level(self, effect: effects.SetLevel) -> None:
        self.levels.append((effect.change.namespace, effect.change.level))

    @performs(effects.Bye, Lane.AT_ONCE)
    def bye(self, effect: effects.Bye) -> None:
        self.left = True
        self.cluster.group.leave(self.member)

    @performs(effects.Write, Lane.WRITE)
    def write(self, effect: effects.Write) -> Offsets:
        log, entries = self.cluster.log, effect.entries
        if effect.as_leader:
            return log.append_as(self._epoch, entries)
        # Without a transaction, what goes to several topics arrives there one after the other, in any order.
        topic = self.cluster.random.choice(sorted({entry.topic for entry in entries}, key=lambda t: t.value))
        self._written |= log.append(entry for entry in entries if entry.topic is topic)
        rest = tuple(entry for entry in entries if entry.topic is not topic)
        if rest:
            self._writes.appendleft(effects.Write(rest, id=effect.id))
            raise _Unfinished
        written, self._written = self._written, {}
        return written

    @performs(effects.TakeLead, Lane.WRITE)
    def take_lead(self, effect: effects.TakeLead) -> Offsets:
        self._epoch = self.cluster.log.fence()
        return self.cluster.log.ends()

    @performs(effects.FindMembers, Lane.GROUP)
    def find_members(self, effect: effects.FindMembers) -> None:
        group = self.cluster.group
        names = list(group.members.values())
        urls = {worker: f"http://{worker}/" for worker in names}
        conflict = "two of one id" if names.count(self.name) > 1 else None
        self._inbox.append(events.Members(urls, group.members.get(group.owner or ""), conflict))

    @performs(effects.NewSessionKey, Lane.ASK)
    def new_session_key(self, effect: effects.NewSessionKey) -> records.SessionKey | None:
        return records.SessionKey("c2VjcmV0", "HmacSHA256", self.cluster.now) if effect.current is None else None

    @performs(effects.Validate, Lane.PLUGIN)
    def validate(self, effect: effects.Validate) -> Body:
        return {"error_count": 0, "configs": []}

    @performs(effects.DescribePlugin, Lane.PLUGIN)
    def describe(self, effect: effects.DescribePlugin) -> Body:
        return {"class": effect.plugin, "type": "sink" if "Sink" in effect.plugin else "source", "version": "test"}

    @performs(effects.ReadReports, Lane.ASK)
    def reports(self, effect: effects.ReadReports) -> list[Report]:
        return self.cluster.reports

    @performs(effects.ReadCores, Lane.ASK)
    def read_cores(self, effect: effects.ReadCores) -> float | None:
        return self.cluster.cores

    @performs(effects.ReadHistory, Lane.ASK)
    def history(self, effect: effects.ReadHistory) -> Body:
        return History().of(effect.connector)

    @performs(effects.PlanMoves, Lane.CLIENT)
    def plan_moves(self, effect: effects.PlanMoves) -> list[Body]:
        return []

    @performs(effects.ReadChanges, Lane.CLIENT)
    def read_changes(self, effect: effects.ReadChanges) -> str:
        return '{"name": "x", "since": null, "restarts": 0, "changes": []}'

    @performs(effects.ReadSchemas, Lane.CLIENT)
    def read_schemas(self, effect: effects.ReadSchemas) -> list[effects.Body]:
        return []

    @performs(effects.ForgetSchemas, Lane.CLIENT)
    def forget_schemas(self, effect: effects.ForgetSchemas) -> int:
        return 0

    @performs(effects.Preview, Lane.PLUGIN)
    def preview(self, effect: effects.Preview) -> str:
        return '{"kind": "source", "records": []}'

    @performs(effects.ListPlaces, Lane.PLUGIN)
    def list_places(self, effect: effects.ListPlaces) -> Body:
        return {"plugins": [], "broken": []}

    @performs(effects.CheckTopics, Lane.PLUGIN)
    def check_topics(self, effect: effects.CheckTopics) -> str:
        return '{"topics": [], "findings": []}'

    @performs(effects.DeadLetters, Lane.PLUGIN)
    def dead_letters(self, effect: effects.DeadLetters) -> str:
        return '{"queue": "q", "letters": []}'

    @performs(effects.AskConnector, Lane.PLUGIN)
    def ask_connector(self, effect: effects.AskConnector) -> bool:
        self._ask_outside(effect)
        return bool(self._answer(effect, True))

    @performs(effects.AlterGroup, Lane.CLIENT)
    def alter_group(self, effect: effects.AlterGroup) -> None:
        self._ask_outside(effect)
        self._answer(effect, None)

    @performs(effects.Fence, Lane.FENCE)
    def fence(self, effect: effects.Fence) -> None:
        if self._ask_outside(effect):
            self.cluster.producers.fence(effect.connector, effect.tasks)
        self._answer(effect, None)

    @performs(effects.ReadOwnOffsets, Lane.CLIENT)
    def read_own_offsets(self, effect: effects.ReadOwnOffsets) -> Any:
        return self._answer(effect, self.cluster.own_offsets.get(effect.connector))

    @performs(effects.ShowOwnOffsets, Lane.LOOK)
    def show_own_offsets(self, effect: effects.ShowOwnOffsets) -> Any:
        return self.read_own_offsets(effect)

    @performs(effects.WriteOwnOffsets, Lane.CLIENT)
    def write_own_offsets(self, effect: effects.WriteOwnOffsets) -> None:
        for entry in effect.entries if self._ask_outside(effect) else ():
            record = records.LogRecord(entry.topic, 0, 0, entry.key, entry.value)
            self.cluster.own_offsets[effect.connector].apply(record)
        self._answer(effect, None)

    @performs(effects.FindEnds, Lane.ASK)
    def find_ends(self, effect: effects.FindEnds) -> Offsets:
        return {place: end for place, end in self.cluster.log.ends().items() if place[0] is effect.topic}

    @performs(effects.GroupOffsets, Lane.CLIENT)
    def group_offsets(self, effect: effects.GroupOffsets) -> Any:
        return self._answer(effect, list(self.cluster.group_offsets))

    @performs(effects.ShowGroupOffsets, Lane.LOOK)
    def show_group_offsets(self, effect: effects.ShowGroupOffsets) -> Any:
        return self.group_offsets(effect)

    @performs(effects.ReloadPlugins, Lane.PLUGIN)
    def reload_plugins(self, effect: effects.ReloadPlugins) -> Any:
        return self._answer(effect, {"added": [], "removed": [], "installed": [], "broken": []})

    @performs(effects.Signal, Lane.CLIENT)
    def signal(self, effect: effects.Signal) -> None:
        self._ask_outside(effect)
        self._answer(effect, None)

    @performs(effects.ListPlugins, Lane.PLUGIN)
    def list_plugins(self, effect: effects.ListPlugins) -> list[Body]:
        return list(self._answer(effect, []))

    @performs(effects.PluginConfig, Lane.PLUGIN)
    def plugin_config(self, effect: effects.PluginConfig) -> list[Body]:
        return []

    def _ask_outside(self, effect: effects.Effect[Any]) -> bool:
        """Note that it was asked. True if nothing but the usual is answered."""
        self.cluster.outside.append(replace(effect, id=0))
        return self.cluster.outside_answers.keys().isdisjoint(type(effect).__mro__)

    def _answer(self, effect: effects.Effect[Any], usual: object) -> Any:
        answers = self.cluster.outside_answers
        answer = next((answers[kind] for kind in type(effect).__mro__ if kind in answers), usual)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _settle(self, ticket: int, value: Any, error: Exception | None) -> None:
        answer = self._answers.pop(ticket)
        answer.settled, answer.value, answer.error = True, value, error


class MemoryHost:
    """A host whose units are only names: `threads` are those that live, including those that are still stopping."""

    def __init__(
        self, cluster: MemoryCluster, worker: str, number: int, worker_incarnation: str, life: int, spec: HostSpec
    ) -> None:
        self.cluster, self.worker, self.number, self.spec = cluster, worker, number, spec
        self.incarnation = f"{life:06d}"
        self.state = HostState(
            *(worker, number, worker_incarnation, self.incarnation, None),
            stopped_after_ms(cluster.session_ms, cluster.grace_ms),
            *(cluster.grace_ms, spec),
        )
        self.threads: dict[UnitId, UnitSpec] = {}
        self.failed: set[UnitId] = set()
        """Those of `threads` that have ended by themselves: the host still answers for them."""
        self.gated: set[UnitId] = set()
        """Those of `threads` that wait until earlier task sets are fenced."""
        self.passed: dict[UnitId, int | None] = {}
        """Those that waited long enough, and the epoch that their producers have, once they have taken their ids."""
        self.epochs: dict[UnitId, int] = {}
        """Those that send, and the epochs of their producers."""
        self.targets: dict[UnitId, tuple[TargetState, int]] = {}
        self.dead = False
        self._stopping: list[UnitId] = []
        self._reader = MemoryReader(cluster.log, (Topic.CONFIG, Topic.ASSIGNMENT))
        self._unsent: deque[tuple[UnitId | None, Entry]] = deque()
        """With the unit that each speaks of, if it is one."""
        self._cut_off = False
        self._undecided = True

    @property
    def busy(self) -> bool:
        return self._undecided or bool(self._unsent or self._ending() or self._to_begin()) or not self._reader.at_end

    def cut_off(self) -> None:
        """From now on this host reaches no broker; it notices, as it must, before its worker's session is over."""
        self._cut_off = True
        self._readable(False)

    def reconnect(self) -> None:
        """It reaches brokers again, and knows that before it has read what it missed."""
        self._cut_off = False
        self._readable(True)

    def holds_lease(self) -> bool:
        """Whether nothing that runs here can be somebody else's yet."""
        return not self._cut_off

    def _readable(self, readable: bool) -> None:
        self.state.readable(readable)
        self._undecided = True

    def renew(self, unit: UnitId) -> None:
        """What the unit's config refers to holds no longer."""
        self.state.renew(unit)
        self._undecided = True

    def fail(self, unit: UnitId, trace: str = "boom") -> None:
        """The unit's thread ends with an error, and says so."""
        if unit in self.threads and unit not in self.failed and unit not in self._stopping:
            self._say(self.threads[unit], State.FAILED, trace)
            self.failed.add(unit)

    def step(self) -> None:
        self._step(self.holds_lease())

    def _step(self, in_touch: bool) -> None:
        log, choose = self.cluster.log, self.cluster.random
        unread = not self._cut_off and not self._reader.at_end
        if (ending := self._ending()) and (self._cut_off or choose.random() < 0.4):
            self._end(choose.choice(ending))
        elif self._unsent and self.holds_lease() and not self._cut_off and not (unread and choose.random() < 0.5):
            log.append([self._unsent.popleft()[1]])
        elif unread:
            batch, ends = self._reader.read(choose)
            for record in batch:
                self.state.apply(record)
            self.state.reached(ends)
            if self._reader.at_end:
                self.state.ready(self.cluster.now)
            self._undecided = True
        before = self.state.predecessor
        if before is not None and self._is_dead(before):
            self.state.predecessor_dead()
            self._undecided = True
        self._undecided = False
        for effect in self.state.decide(self.cluster.now, in_touch):
            self._perform(effect)
        if not self._cut_off:
            for unit in self._to_begin():
                self._go_on(unit)

    def _to_begin(self) -> list[UnitId]:
        """Those that have passed the gate and don't send yet."""
        return [
            unit
            for unit in self.passed
            if unit not in self.failed and unit not in self._stopping and self.targets[unit][0] is TargetState.STARTED
        ]

    def _go_on(self, unit: UnitId) -> None:
        """What a thread does in its own time: take the id, and once the log was read to its end since, start."""
        spec, epoch = self.threads[unit], self.passed[unit]
        if self.cluster.random.random() < 0.5:
            return
        if epoch is None:
            self.passed[unit] = self.cluster.producers.take(unit)
        elif self._confirmed():
            del self.passed[unit]
            self.epochs[unit] = epoch
            self.cluster.producers.starts(spec, epoch)
            self._run(spec, *self.targets[unit])

    def _confirmed(self) -> bool:
        return self._reader.at_end

    def _ending(self) -> list[UnitId]:
        """Of the units that are to stop, those whose threads may have ended by now."""
        return self._stopping

    def _end(self, unit: UnitId) -> None:
        self._stopping.remove(unit)
        spec = self.threads.pop(unit)
        self.gated.discard(unit)
        self.passed.pop(unit, None)
        self.epochs.pop(unit, None)
        if unit in self.failed:
            self.failed.remove(unit)
        else:
            self._say(spec, State.UNASSIGNED)
        self.state.stopped(unit)
        self._undecided = True

    def _is_dead(self, held: assignment_records.Held) -> bool:
        return all(host.incarnation != held.incarnation for host in self.cluster.hosts.values())

    def _perform(self, effect: decisions.HostEffect) -> None:
        match effect:
            case decisions.Start(spec, _, _, str(blame)):
                self.threads[spec.unit] = spec
                self.fail(spec.unit, blame)
            case decisions.Start(spec, target, desired_offset):
                self.threads[spec.unit] = spec
                self._target(spec, target, desired_offset)
            case decisions.Stop(unit) if unit not in self._stopping:
                self._stopping.append(unit)
            case decisions.SetTarget(unit, target, desired_offset) if unit not in self.failed:
                self._target(self.threads[unit], target, desired_offset)
            case decisions.Pass(unit, error):
                self.gated.discard(unit)
                if error is None:
                    self.passed[unit] = None
                else:
                    self.fail(unit, error)
            case decisions.Declare(held):
                self._unsent.append((None, assignment_records.held(held)))
            case decisions.Exit() | decisions.Die():
                self.cluster.log.append(entry for _, entry in self._unsent)
                self.dead = True
                self.cluster.kill_host(self.worker, self.number)

    def _target(self, spec: UnitSpec, target: TargetState, desired_offset: int) -> None:
        unit, plugin = spec.unit, spec.connector_config.get("connector.class") or ""
        self.targets[unit] = target, desired_offset
        gate = self.cluster.exactly_once and spec.task is not None and "Source" in plugin
        if not gate or target is not TargetState.STARTED or unit in self.epochs:
            self._run(spec, target, desired_offset)
        elif unit not in self.gated and unit not in self.passed:
            if self.state.is_fenced(spec):
                self.passed[unit] = None
            elif self.state.wait(spec):
                self.gated.add(unit)

    def _run(self, spec: UnitSpec, target: TargetState, desired_offset: int) -> None:
        self._say(spec, State.PAUSED if target is TargetState.PAUSED else State.RUNNING)
        if spec.task is None and target is TargetState.STARTED:
            count = int(spec.connector_config.get("tasks.max") or 1)
            configs = tuple({"task": str(number)} for number in range(count))
            tasks = assignment_records.generated_tasks(GeneratedTasks(spec.connector, configs, desired_offset))
            self._unsent.append((spec.unit, tasks))

    def _say(self, spec: UnitSpec, state: State, trace: str | None = None) -> None:
        term = self.state.assignment.term
        self._unsent.append((spec.unit, records.status(spec.unit, UnitStatus(state, self.worker, term, trace, "test"))))
