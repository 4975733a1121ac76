"""
Random histories of a cluster in memory: users, crashes, suspensions, lost answers and compaction, in any order, then peace.

`History` plays a list of actions over real herders and host states, whose source tasks count upwards and store offsets.
`violations` then checks what was recorded against the invariants, by name. Used by `tests/scenarios/test_histories.py`, which
draws the actions with hypothesis; the same actions and seed give the same history. Read first: `cluster.py`.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from kconnect.api.errors import AlreadyExistsError, BadRequestError, ConflictError, ConnectError, NotFoundError
from kconnect.core.cluster import host as decisions
from kconnect.core.herder import effects, events
from kconnect.core.herder import requests as ask
from kconnect.core.state import records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LogRecord, State, TargetState, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.testing.cluster import Answer, MemoryCluster, MemoryHost, MemoryWorker

NAMES = ("x", "y-1")
WORKERS = ("a:1", "b:1", "c:1")
REFUSALS = (AlreadyExistsError, BadRequestError, ConflictError, NotFoundError)


class Action(NamedTuple):
    """`what` is one of `ACTIONS`; `worker` and `name` are numbers into `WORKERS` and `NAMES`, `number` is its detail."""

    what: str
    worker: int = 0
    name: int = 0
    number: int = 0


class Emitted(NamedTuple):
    """A data record: which task counted to which number, when the log had so many records, after which stored offset."""

    unit: UnitId
    seqno: int
    log_length: int
    stored: int
    stopped: bool


class Asked(NamedTuple):
    marker: str | None
    answer: Answer


@dataclass
class Violation:
    name: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}"


class History(MemoryCluster):
    """One history; `play` does all of it. The log has one entry of `writers` for each record: the epoch of a leader, or 0."""

    def __init__(self, seed: int, workers: int = 2) -> None:
        super().__init__(seed)
        self.emitted: list[Emitted] = []
        self.asked: list[Asked] = []
        self.found: list[Violation] = []
        self.suspended: dict[str, int] = {}
        self.compacted_at = 0
        self.garbage = 0
        self.emitting = True
        self.stored: dict[UnitId, int] = {}
        self.runners: dict[UnitId, tuple[str, int]] = {}
        self.statuses = StatusState()
        self._statuses_read = 0
        self._leave_at: list[tuple[int, str, str]] = []
        self._markers = itertools.count(1)
        self._pending: list[tuple[str, ask.Request, Answer, int]] = []
        for name in WORKERS[:workers]:
            self.add_worker(name)

    # --- playing ---

    def play(self, actions: Iterable[Action]) -> History:
        self.steps(40)
        for action in actions:
            getattr(self, f"_do_{action.what}")(action)
            if self.random.random() < 0.2:
                self._drain(20)
            else:
                self.steps(self.random.choice((0, 3, 20, 80)))
        self.heal()
        self.rest()
        return self

    def heal(self) -> None:
        """No more faults: who is suspended wakes up, who is cut off can read again, and somebody is there."""
        for name in list(self.suspended):
            self._wake(name)
        for host in self.hosts.values():
            assert isinstance(host, HistoryHost)
            host.cut = False
        self._have_a_worker()

    def _have_a_worker(self) -> None:
        free = [name for name in WORKERS if name not in self.workers]
        if free and all(self._is_leaving(name) for name in self.workers):
            self.add_worker(free[0])

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step()

    def step(self) -> None:
        self.now += self.random.choice((0, 1, 5, 50))
        self._time_passes()
        actors = self._awake()
        if actors:
            self.random.choice(actors).step()
        self._forward()

    def rest(self) -> None:
        """Until nobody has anything to do, whatever time passes: sessions, graces and pauses included."""
        self._drain(60)
        self.emitting = False
        for _ in range(60):
            self._have_a_worker()
            self._drain()
            before = len(self.log.records)
            for _ in range(6):
                # All six are longer than a session and a grace, each is shorter than what puts a host out of touch.
                self.now += self.session_ms // 4
                self._time_passes()
                self._drain()
            if len(self.log.records) == before and self.workers and not self._pending:
                return
        self.found.append(Violation("unsettled", f"the cluster does not come to rest: {self.lines[-3:]}"))

    def _drain(self, turns: int = 400) -> None:
        """Steps of everybody in turn, in random order, until nobody is busy, or for so many turns."""
        for turn in range(turns):
            actors = self._awake()
            self.random.shuffle(actors)
            for actor in actors:
                actor.step()
            self._forward()
            self._start_hosts()
            if turn >= 1 and not any(actor.busy for actor in self._awake()):
                return

    def _awake(self) -> list[MemoryWorker | MemoryHost]:
        workers = [worker for name, worker in self.workers.items() if name not in self.suspended]
        hosts = [host for host in self.hosts.values() if not (isinstance(host, HistoryHost) and host.suspended)]
        return [*workers, *hosts]

    def _time_passes(self) -> None:
        for item in [item for item in self._leave_at if item[0] <= self.now]:
            self._leave_at.remove(item)
            _, name, incarnation = item
            worker = self.workers.get(name)
            # One that was started again meanwhile is a member of its own.
            if worker is None or (worker.incarnation == incarnation and name in self.suspended):
                self.group.leave(name)
        for name in [name for name, worker in self.workers.items() if worker.left]:
            # Its process ends, and Spark's with it.
            self.kill_hosts(name)
            self._end(name)
        self._start_hosts()

    def _end(self, name: str) -> MemoryWorker:
        """The process ends; whoever still waits for an answer gets none."""
        worker = self.workers.pop(name)
        for ticket in list(worker._answers):
            worker._settle(ticket, None, ConnectError("the connection was closed"))
        return worker

    def _forward(self) -> None:
        """What REST does with a refusal that names another worker."""
        for pending in list(self._pending):
            _, request, answer, hops = pending
            if not answer.settled:
                continue
            self._pending.remove(pending)
            if isinstance(answer.error, ask.ForwardError) and hops < 2:
                target = answer.error.url.split("//")[1].rstrip("/")
                if target in self.workers:
                    answer.settled, answer.error = False, None
                    self.workers[target].ask(request, answer)
                    self._pending.append((target, request, answer, hops + 1))

    # --- actors ---

    def add_worker(self, name: str, hosts: int = 1) -> MemoryWorker:
        worker = HistoryWorker(self, name, hosts, f"{next(self._lives):06d}")
        self.workers[name] = worker
        self.group.join(name, f"http://{name}/")
        return worker

    def make_host(self, worker: str, number: int, worker_incarnation: str, life: int) -> MemoryHost:
        return HistoryHost(self, worker, number, worker_incarnation, life)

    def kill_hosts(self, worker: str) -> None:
        for key in [key for key in self.hosts if key[0] == worker]:
            self.kill_host(*key)

    def kill_host(self, worker: str, number: int) -> None:
        host = self.hosts.pop((worker, number))
        for unit in host.threads:
            self.runners.pop(unit, None)

    def check(self) -> None:
        """Overlaps are looked for where a unit starts."""

    def started(self, unit: UnitId, where: tuple[str, int]) -> None:
        other = self.runners.get(unit)
        if other is not None:
            self.found.append(Violation("overlap", f"{unit} starts on {where} while it runs on {other}"))
        self.runners[unit] = where

    def stored_offset(self, unit: UnitId) -> int:
        return self.stored.get(unit, 0)

    def emit(self, unit: UnitId, seqno: int) -> None:
        self._follow_statuses()
        status = self.statuses.units.get(UnitId(unit.connector))
        stopped = status is not None and status.state is State.STOPPED and not self.statuses.tasks_of(unit.connector)
        self.emitted.append(Emitted(unit, seqno, len(self.log.records), self.stored_offset(unit), stopped))

    def prefix(self) -> list[LogRecord]:
        """What a reader that begins now finds before the records that compaction has not reached."""
        return compacted(self.log.records[: self.compacted_at])

    def _follow_statuses(self) -> None:
        for record in self.log.records[self._statuses_read :]:
            if record.topic is Topic.STATUS:
                self.statuses.apply(record)
        self._statuses_read = len(self.log.records)

    def _is_leaving(self, name: str) -> bool:
        return self.workers[name].herder._leaving

    def _present(self, action: Action) -> str | None:
        names = [name for name in self.workers if name not in self.suspended]
        return names[action.worker % len(names)] if names else None

    # --- actions: users ---

    def _request(self, action: Action, request: ask.Request, marker: str | None = None) -> None:
        name = self._present(action)
        if name is None:
            return
        answer = Answer()
        self.asked.append(Asked(marker, answer))
        self.workers[name].ask(request, answer)
        self._pending.append((name, request, answer, 0))

    def _config(self, action: Action) -> tuple[dict[str, str | None], str]:
        marker = f"m{next(self._markers)}"
        return {"connector.class": "FileStreamSource", "tasks.max": str(1 + action.number % 2), "marker": marker}, marker

    def _do_create(self, action: Action) -> None:
        config, marker = self._config(action)
        state = (None, "RUNNING", "PAUSED", "STOPPED")[action.number // 2 % 4]
        self._request(action, ask.CreateConnector(NAMES[action.name], config, state), marker)

    def _do_put(self, action: Action) -> None:
        config, marker = self._config(action)
        self._request(action, ask.PutConfig(NAMES[action.name], config), marker)

    def _do_patch(self, action: Action) -> None:
        config, marker = self._config(action)
        self._request(action, ask.PatchConfig(NAMES[action.name], config), marker)

    def _do_delete(self, action: Action) -> None:
        self._request(action, ask.DeleteConnector(NAMES[action.name]))

    def _do_pause(self, action: Action) -> None:
        self._request(action, ask.SetTargetState(NAMES[action.name], TargetState.PAUSED))

    def _do_resume(self, action: Action) -> None:
        self._request(action, ask.SetTargetState(NAMES[action.name], TargetState.STARTED))

    def _do_stop(self, action: Action) -> None:
        self._request(action, ask.StopConnector(NAMES[action.name]))

    def _do_restart(self, action: Action) -> None:
        include, failed = bool(action.number & 1), bool(action.number & 2)
        self._request(action, ask.RestartConnector(NAMES[action.name], include, failed))

    def _do_restart_task(self, action: Action) -> None:
        self._request(action, ask.RestartTask(NAMES[action.name], action.number % 2))

    # --- actions: faults ---

    def _do_kill_worker(self, action: Action) -> None:
        """Without its hosts if `number` is odd: they live on until the log tells them, or Spark ends."""
        name = self._present(action)
        if name is None:
            return
        worker = self._end(name)
        self._leave_at.append((self.now + self.session_ms, name, worker.incarnation))
        if action.number % 2 == 0:
            self.kill_hosts(name)

    def _do_add_worker(self, action: Action) -> None:
        name = WORKERS[action.worker % len(WORKERS)]
        if name not in self.workers:
            self.add_worker(name)

    def _do_kill_host(self, action: Action) -> None:
        hosts = sorted(self.hosts)
        if hosts:
            self.kill_host(*hosts[action.worker % len(hosts)])

    def _do_suspend(self, action: Action) -> None:
        """The worker alone, or with its hosts if `number` is odd; woken by another action, or at the end."""
        name = self._present(action)
        if name is None:
            return
        self.suspended[name] = self.now
        self._leave_at.append((self.now + self.session_ms, name, self.workers[name].incarnation))
        if action.number % 2:
            for key, host in self.hosts.items():
                if key[0] == name and isinstance(host, HistoryHost):
                    host.suspended = True

    def _do_wake(self, action: Action) -> None:
        names = sorted(self.suspended)
        if names:
            self._wake(names[action.worker % len(names)])

    def _wake(self, name: str) -> None:
        del self.suspended[name]
        if name not in self.group.members:
            # Its client finds the session over, and joins again as another member.
            self.group.join(name, f"http://{name}/")
        for key, host in self.hosts.items():
            if key[0] == name and isinstance(host, HistoryHost):
                host.suspended = False

    def _do_cut(self, action: Action) -> None:
        """A host reaches no broker any more, or does again."""
        hosts = [host for _, host in sorted(self.hosts.items())]
        if hosts:
            host = hosts[action.worker % len(hosts)]
            assert isinstance(host, HistoryHost)
            host.cut = not host.cut

    def _do_claim(self, action: Action) -> None:
        """A worker believes for a while that it owns the partition."""
        name = self._present(action)
        if name is not None:
            worker = self.workers[name]
            assert isinstance(worker, HistoryWorker)
            worker._owner = True
            worker._handle(events.Owned())

    def _do_shutdown(self, action: Action) -> None:
        name = self._present(action)
        if name is not None and not self._is_leaving(name):
            self.workers[name]._inbox.append(events.ShutDown())

    def _do_lose_answer(self, action: Action) -> None:
        """The next write of a worker fails: before it happened, or after, which the worker can't tell."""
        name = self._present(action)
        if name is not None:
            worker = self.workers[name]
            assert isinstance(worker, HistoryWorker)
            worker.lose = ("before", "after")[action.number % 2]

    def _do_compact(self, action: Action) -> None:
        self.compacted_at = len(self.log.records)

    def _do_garbage(self, action: Action) -> None:
        self.garbage += 1
        topic = list(Topic)[action.number % len(Topic)]
        junk = ((b"\xff", b"{"), (b"what", b"[]"), (b"connector-", b'{"properties":7}'), (b"leader", None), (b"", b"1"))
        self.log.append([Entry(topic, *junk[action.number % len(junk)])])

    def _do_wait(self, action: Action) -> None:
        self.now += 700 * (1 + action.number % 20)
        self.steps(20)


ACTIONS = tuple(name.removeprefix("_do_") for name in vars(History) if name.startswith("_do_"))


class HistoryWorker(MemoryWorker):
    cluster: History

    def __init__(self, cluster: History, name: str, hosts: int, incarnation: str) -> None:
        super().__init__(cluster, name, hosts, incarnation)
        self.lose: str | None = None
        self._prefix = deque(cluster.prefix())
        self._read = cluster.compacted_at

    @property
    def busy(self) -> bool:
        return bool(self._inbox or self._outbox or self._prefix) or self._read < len(self.cluster.log.records)

    def step(self) -> None:
        if self._prefix:
            batch = tuple(self._prefix.popleft() for _ in range(min(20, len(self._prefix))))
            # Where the last record of a topic is compacted away, its end is known all the same.
            before = () if self._prefix else self.cluster.log.records[: self._read]
            self._handle(events.Read(batch, {(record.topic, 0): record.offset + 1 for record in before}))
            return
        super().step()

    def _perform(self, effect: effects.Effect) -> None:
        if self.lose is not None and isinstance(effect, effects.Write):
            when, self.lose = self.lose, None
            if when == "after":
                try:
                    log = self.cluster.log
                    _ = log.append_as(self._epoch, effect.entries) if effect.as_leader else log.append(effect.entries)
                except ConnectError as error:
                    self._inbox.append(events.Failed(effect.id, error))
                    return
            self._inbox.append(events.Failed(effect.id, ConnectError("no answer in time")))
            return
        super()._perform(effect)


@dataclass
class _Count:
    """A source task: what it has counted to, and what of it is stored."""

    sent: int
    abandoned: bool = False


class HistoryHost(MemoryHost):
    """As `worker/host.py`: it knows by its clock whether it is in touch with the log, and does nothing while it is not."""

    cluster: History

    def __init__(self, cluster: History, worker: str, number: int, worker_incarnation: str, life: int) -> None:
        super().__init__(cluster, worker, number, worker_incarnation, life)
        self.cut = False
        self.suspended = False
        self.counts: dict[UnitId, _Count] = {}
        self._prefix = deque(cluster.prefix())
        self._read = cluster.compacted_at
        self._seen_at = cluster.now

    def step(self) -> None:
        lost = self.state.is_readable and not self._in_touch()
        if lost:
            self.state.readable(False)
            self._unsent.clear()
            for count in self.counts.values():
                count.abandoned = True
        if self._prefix:
            for record in self._prefix:
                if record.topic in (Topic.CONFIG, Topic.ASSIGNMENT):
                    self.state.apply(record)
            self._prefix.clear()
            if self._read == len(self.cluster.log.records):
                self.state.ready(self.cluster.now)
        # Not in the same step: first the units go.
        if not lost and not self.cut and self._read == len(self.cluster.log.records):
            self._seen_at = self.cluster.now
            if not self.state.is_readable:
                self.state.readable(True)
        self._cut_off = self.cut
        super().step()
        if self.cluster.emitting and self.counts and self.cluster.random.random() < 0.5:
            self._work()

    def _in_touch(self) -> bool:
        return self.cluster.now - self._seen_at < self.cluster.session_ms * 0.75

    def _work(self) -> None:
        unit = self.cluster.random.choice(list(self.counts))
        count = self.counts[unit]
        if count.abandoned or not self._in_touch() or self.cut:
            return
        if self.cluster.random.random() < 0.6:
            for _ in range(self.cluster.random.choice((1, 2))):
                count.sent += 1
                self.cluster.emit(unit, count.sent)
        else:
            self._store(unit, count)

    def _store(self, unit: UnitId, count: _Count) -> None:
        if count.sent > self.cluster.stored_offset(unit) or count.sent == 0:
            key = records.offset_key(unit.connector, {"task": unit.task})
            self.cluster.log.append([records.source_offset(key, {"seqno": count.sent})])
            self.cluster.stored[unit] = count.sent

    def _end_one(self) -> None:
        before = set(self.threads)
        unsent = len(self._unsent)
        super()._end_one()
        for unit in before - set(self.threads):
            self.cluster.runners.pop(unit, None)
            count = self.counts.pop(unit, None)
            if count is None:
                continue
            if count.abandoned:
                while len(self._unsent) > unsent:
                    self._unsent.pop()
            elif not self.cut:
                self._store(unit, count)

    def _perform(self, effect: decisions.HostEffect) -> None:
        match effect:
            case decisions.Start(spec, target, _):
                self.cluster.started(spec.unit, (self.worker, self.number))
                if spec.task is not None and target is TargetState.STARTED:
                    self.counts[spec.unit] = _Count(self.cluster.stored_offset(spec.unit))
            case decisions.Stop(unit, True) if unit in self.counts:
                self.counts[unit].abandoned = True
            case decisions.SetTarget(unit, target, _) if not unit.is_connector:
                if target is not TargetState.STARTED:
                    count = self.counts.pop(unit, None)
                    if count is not None and not self.cut:
                        self._store(unit, count)
                elif unit not in self.counts:
                    self.counts[unit] = _Count(self.cluster.stored_offset(unit))
        super()._perform(effect)


# --- what must hold ---------------------------------------------------------------------------------------------------


def compacted(found: Iterable[LogRecord]) -> list[LogRecord]:
    """The latest record of each key, where it stood; tombstones are gone."""
    found = list(found)
    latest = {(record.topic, record.key): index for index, record in enumerate(found)}
    return [found[index] for index in sorted(latest.values()) if found[index].value is not None]


def violations(history: History) -> list[Violation]:
    """All that is wrong with a history that has come to rest, each by the name of its invariant."""
    checks = (data, offsets, leaders, replay, refusals, at_rest)
    return [*history.found, *itertools.chain.from_iterable(check(history) for check in checks)]


def data(history: History) -> Iterator[Violation]:
    """I2 no repeat of what was stored, I3 no gap, I11 nothing while the status says STOPPED without tasks."""
    highest: dict[UnitId, int] = {}
    for emitted in history.emitted:
        before = highest.get(emitted.unit, 0)
        if emitted.seqno > before + 1:
            yield Violation("I3 gap", f"{emitted.unit} goes from {before} to {emitted.seqno}")
        if emitted.seqno <= emitted.stored:
            yield Violation("I2 duplicate", f"{emitted.unit} sends {emitted.seqno} again, {emitted.stored} was stored")
        if emitted.stopped:
            yield Violation("I11 stopped", f"{emitted.unit} sends {emitted.seqno} after its status said STOPPED")
        highest[emitted.unit] = max(before, emitted.seqno)


def offsets(history: History) -> Iterator[Violation]:
    """I1 and I5: at no point is an offset stored whose record was not sent before. I4: offsets only rise."""
    sent = iter(history.emitted)
    upcoming = next(sent, None)
    highest: dict[UnitId, int] = {}
    stored: dict[UnitId, int] = {}
    for index, record in enumerate(history.log.records):
        while upcoming is not None and upcoming.log_length <= index:
            highest[upcoming.unit] = max(highest.get(upcoming.unit, 0), upcoming.seqno)
            upcoming = next(sent, None)
        decoded = records.decode_offset(record) if record.topic is Topic.OFFSET else None
        if not isinstance(decoded, records.SourceOffset) or decoded.offset is None:
            continue
        unit, seqno = UnitId(decoded.connector, decoded.partition["task"]), decoded.offset["seqno"]
        if seqno > highest.get(unit, 0):
            yield Violation("I5 offset ahead", f"{unit} stores {seqno}, sent is {highest.get(unit, 0)}")
        if seqno < stored.get(unit, 0):
            yield Violation("I4 offset back", f"{unit} stores {seqno} after {stored.get(unit, 0)}")
        stored[unit] = seqno


_PRIVILEGED = (b"connector-", b"task-", b"commit-", b"session-key", b"restart-connector-")


def leaders(history: History) -> Iterator[Violation]:
    """I6: what only leaders may write comes from leaders, in the order of their epochs; a generation has one leader."""
    newest = 0
    by_generation: dict[int, str] = {}
    for record, epoch in zip(history.log.records, history.log.epochs, strict=True):
        key = record.key or b""
        if epoch:
            if epoch < newest:
                yield Violation("I6 two leaders", f"epoch {epoch} writes {key!r} after epoch {newest}")
            newest = max(newest, epoch)
        elif record.topic is Topic.CONFIG and key.startswith(_PRIVILEGED) and not _is_broken(record):
            yield Violation("I6 not a leader", f"{key!r} was not written as leader")
        if record.topic is Topic.ASSIGNMENT and key == b"leader" and record.value is not None:
            body = orjson.loads(record.value)
            first = by_generation.setdefault(body["generation"], body["worker"])
            if first != body["worker"]:
                yield Violation("I6 two leaders", f"generation {body['generation']} is {first}'s and {body['worker']}'s")


def _is_broken(record: LogRecord) -> bool:
    return isinstance(records.decode_config(record), records.Broken)


def fold(found: Iterable[LogRecord]) -> tuple[ConfigState, StatusState, OffsetState, AssignmentState]:
    states = ConfigState(), StatusState(), OffsetState(), AssignmentState()
    by_topic: dict[Topic, Any] = dict(zip((Topic.CONFIG, Topic.STATUS, Topic.OFFSET, Topic.ASSIGNMENT), states, strict=True))
    for record in found:
        by_topic[record.topic].apply(record)
    return states


def replay(history: History) -> Iterator[Violation]:
    """I8: who read the log record by record, and who reads it now, compacted or not, hold the same; I9: garbage included."""
    whole = _told(*fold(history.log.records))
    for name, worker in history.workers.items():
        herder = worker.herder
        told = _told(herder.config, herder.status, herder.offsets, herder.assignment)
        for what, mine in told.items():
            if mine != whole[what] and not (what == "connectors" and history.compacted_at):
                yield Violation("I8 replay", f"{name} has other {what} than the log: {mine} instead of {whole[what]}")
    short = _told(*fold(compacted(history.log.records)))
    for what, mine in short.items():
        # Compaction may move a connector's record behind its tasks (KAFKA-17719): the task sets may differ then.
        if what != "connectors" and mine != whole[what]:
            yield Violation("I8 replay", f"a reader of the compacted log has other {what}: {mine} instead of {whole[what]}")
    names = {name for name, _ in short["connectors"]}
    if names != {name for name, _ in whole["connectors"]}:
        yield Violation("I8 replay", f"a reader of the compacted log knows other connectors: {sorted(names)}")


def _told(config: ConfigState, status: StatusState, offset: OffsetState, assignment: AssignmentState) -> dict[str, Any]:
    names = sorted(config.connectors)
    return {
        "connectors": [(name, (config.connectors[name].properties, list(config.task_ids(name)))) for name in names],
        "target states": [(name, config.target_state(name)) for name in names],
        "statuses": sorted((str(unit), known.state.value, known.worker_id) for unit, known in status.units.items()),
        "offsets": [sorted(str((o.partition, o.offset)) for o in offset.of(name)) for name in NAMES],
        "assignments": sorted((worker, sorted(map(str, a.units or ()))) for worker, a in assignment.assignments.items()),
        "held": sorted((key, sorted(map(str, held.units or ()))) for key, held in assignment.held.items()),
    }


def refusals(history: History) -> Iterator[Violation]:
    """I12: a request that was refused has written nothing. Every config carries a mark of its request."""
    refused = {
        f'"{asked.marker}"'.encode()
        for asked in history.asked
        if asked.marker is not None and isinstance(asked.answer.error, REFUSALS)
    }
    for record in history.log.records:
        if record.topic is Topic.CONFIG and record.value is not None:
            for marker in refused:
                if marker in record.value:
                    yield Violation("I12 refused", f"{record.key!r} holds what the refused request {marker!r} wanted")


def at_rest(history: History) -> Iterator[Violation]:
    """I7 and I10: what is to run runs once, on a live worker, and the statuses say exactly that."""
    config, status, _, _ = fold(history.log.records)
    running = history.running()
    wanted = {unit for unit in config.units() if config.target_state(unit.connector) is not TargetState.STOPPED}
    # Whoever reads a connector's record behind its tasks' has no tasks until they are written anew (KAFKA-17719).
    moved = {
        name for name, known in config.connectors.items() if history.compacted_at and known.offset > known.tasks_offset
    }
    wanted = {unit for unit in wanted if unit.is_connector or unit.connector not in moved}
    running = {unit: where for unit, where in running.items() if unit.is_connector or unit.connector not in moved}
    if set(running) != wanted:
        missing, extra = sorted(map(str, wanted - set(running))), sorted(map(str, set(running) - wanted))
        yield Violation("I7 owner", f"not running: {missing}; running for nobody: {extra}")
    for unit, where in running.items():
        if len(where) != 1 or where[0][0] not in history.workers:
            yield Violation("I7 owner", f"{unit} runs on {where}")
    for unit in sorted(status.units.keys() | running.keys()):
        said = status.units.get(unit)
        target = config.target_state(unit.connector)
        if unit.connector in moved and not unit.is_connector:
            continue
        if unit in running:
            expected = State.PAUSED if target is TargetState.PAUSED else State.RUNNING
            if said is None or said.state is not expected or said.worker_id != running[unit][0][0]:
                yield Violation("I10 status", f"{unit} runs on {running[unit]}, and its status says {said}")
        elif said is not None and said.state in (State.RUNNING, State.PAUSED, State.RESTARTING):
            yield Violation("I10 status", f"{unit} does not run, and its status says {said}")
    for asked in history.asked:
        if not asked.answer.settled:
            yield Violation("unanswered", "a request has no answer, though the cluster is at rest")
    for line in history.lines:
        if "failed and starts anew" in line and "no answer in time" not in line:
            yield Violation("crash", line)


