"""
Random histories of a cluster in memory: users, crashes, suspensions, partitions, lost answers and compaction, in any
order, then peace.

`History` plays a list of actions over real herders and host states, whose tasks count upwards and store how far they came:
source tasks in the offset topic, sink tasks in a consumer group. `invariants.violations` then says what was wrong. Used by
`tests/scenarios/test_histories.py`, which draws the actions with hypothesis; the same actions and seed give the same
history. Read first: `cluster.py`. Read next: `invariants.py`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from kconnect.api.errors import ConnectError
from kconnect.core.cluster import host as decisions
from kconnect.core.herder import effects, events
from kconnect.core.herder import requests as ask
from kconnect.core.state import records
from kconnect.core.state.records import Entry, State, TargetState, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.testing.cluster import Answer, MemoryCluster, MemoryHost, MemoryWorker
from kconnect.testing.counting import SinkGroup, SinkTask, SourceTask

SOURCES = ("x", "y-1")
SINK = "to-file"
NAMES = (*SOURCES, SINK)
WORKERS = ("a:1", "b:1", "c:1")
_WAITS = (300, 1000, 2500, 4000, 6000, 9000, 11_000, 16_000)
_LAG_MS = 400
"""A slow actor does nothing for about as long as this."""
_JUNK = (
    (b"\xff\xfe", b"{"),
    (b"what", b"[]"),
    (b"connector-", b'{"properties":7}'),
    (b"", b"1"),
    (None, b"{}"),
    (b"connector-gone", b"{"),
    (b"task-gone-0", b'{"properties":{}}'),
    (b"commit-gone", b'{"tasks":1}'),
    (b"commit-gone", b'{"tasks":"many"}'),
    (b"target-state-gone", b'{"state":"FLYING"}'),
    (b"session-key", b"[[[[[[[[[[[[[[[["),
    (b"status-task-gone-x", b'{"state":"RUNNING"}'),
    (b"held-gone-1", b'{"units":7}'),
    (b"assignment-", None),
    (b"tasks-gone", b'{"configs":[1]}'),
)
T = TypeVar("T")


class Action(NamedTuple):
    """`what` is one of `ACTIONS`; `worker` and `name` are numbers into `WORKERS` and `NAMES`, `number` is its detail."""

    what: str
    worker: int = 0
    name: int = 0
    number: int = 0


class Emitted(NamedTuple):
    """
    What a task did that others can see: it sent, or put, the number `seqno` of `key`, which is its own or its partition's.
    `log_length` is how many records the log had, `stored` how far that was stored; `stopped` if the status said STOPPED.
    """

    key: UnitId
    seqno: int
    log_length: int
    stored: int
    stopped: bool


class Committed(NamedTuple):
    """A sink's group stored `seqno`, when so many `emitted` had been there."""

    key: UnitId
    seqno: int
    emitted: int


class Asked(NamedTuple):
    """`request` was made of a worker; `marker` is in the config that it wants written, if any."""

    request: ask.Request
    marker: str | None
    answer: Answer


class History(MemoryCluster):
    """One history; `play` does all of it. `overlaps` and `restless` are what can only be seen while it is played."""

    def __init__(self, seed: int, workers: int = 2) -> None:
        super().__init__(seed)
        self.delay_ms = self.pick((0, 0, 0, 4000))
        self.one_machine = self.random.random() < 0.5
        """Whether one process can see whether another is dead."""
        self.emitted: list[Emitted] = []
        self.committed: list[Committed] = []
        self.asked: list[Asked] = []
        self.refused_last: list[tuple[Asked, int]] = []
        """What was asked at rest, to be refused, and how many records the log had more after that."""
        self.overlaps: list[str] = []
        self.restless = False
        self.junk: set[int] = set()
        self.emitting = True
        self.stored: dict[UnitId, int] = {}
        self.groups: dict[str, SinkGroup] = {}
        self.runners: dict[UnitId, HistoryHost] = {}
        self.twins: list[HistoryWorker] = []
        """Processes that were suspended when another one was started as the same worker."""
        self._statuses = StatusState()
        self._statuses_read = 0
        self._silent: dict[str, int] = {}
        self._electing: int | None = None
        self._no_host_before: dict[tuple[str, int], int] = {}
        self._markers = itertools.count(1)
        self._pending: list[tuple[ask.Request, Answer, int]] = []
        for name in WORKERS[:workers]:
            self.add_worker(name, self.pick((1, 1, 2)))

    # --- playing ---

    def play(self, actions: Iterable[Action]) -> History:
        self._drain(8)
        for action in actions:
            getattr(self, f"_do_{action.what}")(action)
            if self.random.random() < 0.2:
                self._drain(20)
            else:
                self.steps(self.pick((0, 5, 20, 50)))
        self.heal()
        self.rest()
        self.ask_in_vain()
        return self

    def heal(self) -> None:
        """No more faults: who is suspended wakes up, who is cut off is reached again, and somebody is there."""
        for worker in self._processes():
            self._wake(worker)
        for host in self.hosts.values():
            assert isinstance(host, HistoryHost)
            host.cut = host.suspended = False
        self._electing = None
        self.group.elect()
        self._have_a_worker()
        self.steps(20)
        while self.twins:
            self._end(self.twins[0])

    def _have_a_worker(self) -> None:
        free = [name for name in WORKERS if name not in self.workers]
        if free and all(worker.herder._leaving for worker in self.workers.values()):
            self.add_worker(free[0])

    def steps(self, count: int) -> None:
        """So many steps, or fewer once nobody seems to have anything to do."""
        idle = 0
        for _ in range(count):
            idle = 0 if self._step() else idle + 1
            if idle > 5:
                return

    def step(self) -> None:
        self._step()

    def _step(self) -> bool:
        """One step of one actor; whether that had anything to do."""
        busy = False
        self.now += self.pick((0, 1, 5, 50))
        self._time_passes()
        actors = self._awake()
        if actors:
            actor = self.pick(actors)
            for _ in range(5):
                # Rather one that has something to do, and seldom a slow one.
                busy = actor.busy
                lags = actor.slow and self.now - actor.stepped_at < _LAG_MS
                if self.random.random() < (0.05 if lags else 1.0 if busy else 0.1):
                    break
                actor = self.pick(actors)
            actor.step()
        if self._pending:
            self._forward()
        return busy

    def rest(self) -> None:
        """Until nobody has anything to do, whatever time passes: sessions, graces and pauses included."""
        self._drain(40)
        self.emitting = False
        quiet = 0
        for _ in range(60):
            self._have_a_worker()
            before = len(self.log.records)
            # Each pause is shorter than what puts a host out of touch, all are longer than session, delay and grace.
            self._pass(self.session_ms // 2)
            quiet = quiet + 1 if len(self.log.records) == before and self.workers and not self._pending else 0
            if quiet == 4:
                return
        self.restless = True

    def ask_in_vain(self) -> None:
        """Requests that must be refused, of a cluster at rest, in which nobody else writes."""
        requests: list[ask.Request] = [
            ask.CreateConnector("new", {}),
            ask.CreateConnector("new", {"connector.class": "FileStreamSource", "name": "other"}),
            ask.DeleteConnector("new"),
            ask.StopConnector("new"),
            ask.SetTargetState("new", TargetState.PAUSED),
            ask.RestartConnector("new"),
            ask.RestartTask("new", 0),
            ask.PatchConfig("new", {}),
        ]
        worker = self.pick(list(self.workers.values()))
        requests += [ask.CreateConnector(name, self._config(0, SINK)[0]) for name in worker.herder.config.connectors]
        before = len(self.log.records)
        for request in self.random.sample(requests, 3):
            asked = Asked(request, None, Answer())
            worker.ask(request, asked.answer)
            self._pending.append((request, asked.answer, 0))
            self._drain()
            self.refused_last.append((asked, len(self.log.records) - before))

    def _pass(self, ms: int, turns: int = 150) -> None:
        """
        Time passes, in pieces in which everybody who can does what it can. They are small while hosts have lost their
        worker: these have only a grace to notice it.
        """
        end = self.now + ms
        while self.now < end:
            orphans = any(map(self._is_orphan, self.hosts.values()))
            self.now = min(self.now + (self.grace_ms // 3 if orphans else ms), self.now + self.session_ms // 2, end)
            self._time_passes()
            self._drain(turns)

    def _drain(self, turns: int = 150) -> None:
        """Steps of everybody in turn, in random order, until nobody is busy, or for so many turns."""
        for turn in range(turns):
            actors = self._awake()
            self.random.shuffle(actors)
            for actor in actors:
                if turn and (not actor.busy or (actor.slow and self.random.random() < 0.7)):
                    continue
                for _ in range(1 + int(3 * self.random.random())):
                    actor.step()
            if self._pending:
                self._forward()
            self._time_passes()
            if not any(actor.busy for actor in self._awake()):
                return

    def _awake(self) -> list[HistoryWorker | HistoryHost]:
        actors: list[Any] = [*self.workers.values(), *self.twins, *self.hosts.values()]
        return [actor for actor in actors if not actor.suspended]

    def _processes(self) -> list[HistoryWorker]:
        return [*self.workers.values(), *self.twins]  # type: ignore[list-item]

    def _time_passes(self) -> None:
        for member in [member for member, since in self._silent.items() if self.now - since >= self.session_ms]:
            del self._silent[member]
            self.group.leave(member)
        for group in self.groups.values():
            group.time_passes(self.now)
        if self._electing is not None and self.now >= self._electing:
            self._electing = None
            self.group.elect()
        for worker in self._processes():
            if worker.left:
                # Its process ends, and Spark's with it.
                self._end(worker)
                if worker.name not in self.workers:
                    self.kill_hosts(worker.name)
        self._start_hosts()

    def _end(self, worker: HistoryWorker) -> None:
        """The process ends; whoever still waits for an answer gets none, and the group hears nothing of it any more."""
        if worker in self.twins:
            self.twins.remove(worker)
        else:
            del self.workers[worker.name]
        for ticket in list(worker._answers):
            worker._settle(ticket, None, ConnectError("the connection was closed"))
        if worker.member in self.group.members:
            self._silent.setdefault(worker.member, self.now)

    def _forward(self) -> None:
        """What REST does with a refusal that names another worker."""
        for pending in list(self._pending):
            request, answer, hops = pending
            if not answer.settled:
                continue
            self._pending.remove(pending)
            if isinstance(answer.error, ask.ForwardError) and hops < 2:
                target = answer.error.url.split("//")[1].rstrip("/")
                if target in self.workers:
                    answer.settled, answer.error = False, None
                    self.workers[target].ask(request, answer)
                    self._pending.append((request, answer, hops + 1))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.random() * len(choices))]

    # --- actors ---

    def add_worker(self, name: str, hosts: int = 1) -> MemoryWorker:
        life = next(self._lives)
        worker = HistoryWorker(self, name, hosts, f"{life:06d}", f"{name} {life}")
        self.workers[name] = worker
        return worker

    def make_host(self, worker: str, number: int, worker_incarnation: str, life: int) -> MemoryHost:
        return HistoryHost(self, worker, number, worker_incarnation, life)

    def may_start(self, worker: str, number: int) -> bool:
        return self.now >= self._no_host_before.get((worker, number), 0)

    def kill_hosts(self, worker: str) -> None:
        for key in [key for key in self.hosts if key[0] == worker]:
            self.kill_host(*key)

    def kill_host(self, worker: str, number: int) -> None:
        host = self.hosts.pop((worker, number))
        assert isinstance(host, HistoryHost)
        for unit in host.threads:
            self.ended(unit, host)
        host.silence()

    def check(self) -> None:
        """Overlaps are looked for where a unit starts."""

    def started(self, unit: UnitId, host: HistoryHost) -> None:
        other = self.runners.get(unit)
        # Who is suspended, or knows that it may do nothing any more, may not have ended what it ran.
        if other is not None and not other.suspended and other.in_touch() and unit not in other.abandoned:
            self.overlaps.append(f"{unit} starts on {host} while it runs on {other}")
        self.runners[unit] = host

    def works(self, unit: UnitId, host: HistoryHost) -> None:
        other = self.runners.get(unit)
        if other is not host:
            self.overlaps.append(f"{unit} works on {host} while it runs on {other}")

    def ended(self, unit: UnitId, host: HistoryHost) -> None:
        if self.runners.get(unit) is host:
            del self.runners[unit]

    def emit(self, key: UnitId, seqno: int, stored: int) -> None:
        for record in self.log.records[self._statuses_read :]:
            if record.topic is Topic.STATUS:
                self._statuses.apply(record)
        self._statuses_read = len(self.log.records)
        status = self._statuses.units.get(UnitId(key.connector))
        stopped = status is not None and status.state is State.STOPPED and not self._statuses.tasks_of(key.connector)
        self.emitted.append(Emitted(key, seqno, len(self.log.records), stored, stopped))

    def store(self, key: UnitId, seqno: int) -> None:
        self.committed.append(Committed(key, seqno, len(self.emitted)))

    def group_of(self, connector: str) -> SinkGroup:
        return self.groups.setdefault(connector, SinkGroup(self.session_ms))

    def _present(self, action: Action) -> HistoryWorker | None:
        workers = [worker for worker in self.workers.values() if isinstance(worker, HistoryWorker) and not worker.suspended]
        return workers[action.worker % len(workers)] if workers else None

    def _some_host(self, action: Action) -> HistoryHost | None:
        """Rather one that is in the middle of something."""
        hosts = [host for _, host in sorted(self.hosts.items())]
        hosts = [host for host in hosts if host._unsent] or hosts
        found = hosts[action.worker % len(hosts)] if hosts else None
        assert found is None or isinstance(found, HistoryHost)
        return found

    def _hosts_of(self, worker: HistoryWorker) -> list[HistoryHost]:
        """Those of this very process."""
        return [
            host
            for host in self.hosts.values()
            if isinstance(host, HistoryHost) and host.state.worker_incarnation == worker.incarnation
        ]

    def _is_orphan(self, host: MemoryHost) -> bool:
        """
        Whether its worker is gone, or seems to be. Nothing more happens to such a host than that: if it were cut off just
        then, it would go on for longer than the grace that it is given, which only a longer grace could prevent.
        """
        known = {worker.incarnation for worker in self._processes() if not (worker.suspended or worker.cut)}
        return host.state.worker_incarnation not in known

    # --- actions: users ---

    def _request(self, action: Action, request: ask.Request, marker: str | None = None) -> None:
        worker = self._present(action)
        if worker is None:
            return
        asked = Asked(request, marker, Answer())
        self.asked.append(asked)
        worker.ask(request, asked.answer)
        self._pending.append((request, asked.answer, 0))

    def _config(self, number: int, name: str) -> tuple[dict[str, str | None], str]:
        marker = f"m{next(self._markers)}"
        plugin = "FileStreamSink" if name == SINK else "FileStreamSource"
        config: dict[str, str | None] = {"connector.class": plugin, "tasks.max": str(1 + number % 2), "marker": marker}
        if number % 4 == 3:
            config |= {"errors.restart.max.attempts": "-1", "errors.restart.backoff.ms": "500"}
            config |= {"errors.restart.max.backoff.ms": "1000", "tasks.weight": "2"}
        return config, marker

    def _do_create(self, action: Action) -> None:
        name = NAMES[action.name]
        config, marker = self._config(action.number, name)
        state = (None, "RUNNING", None, "PAUSED", None, "STOPPED")[action.number // 2 % 6]
        self._request(action, ask.CreateConnector(name, config, state), marker)

    def _do_put(self, action: Action) -> None:
        name = NAMES[action.name]
        config, marker = self._config(action.number, name)
        self._request(action, ask.PutConfig(name, config), marker)

    def _do_patch(self, action: Action) -> None:
        name = NAMES[action.name]
        config, marker = self._config(action.number, name)
        self._request(action, ask.PatchConfig(name, config), marker)

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

    def _do_read(self, action: Action) -> None:
        name = NAMES[action.name]
        reads = (ask.ListConnectors(("status", "info")), ask.GetStatus(name), ask.GetConnector(name), ask.GetCluster())
        self._request(action, reads[action.number % len(reads)])

    # --- actions: faults ---

    def _do_kill_worker(self, action: Action) -> None:
        """Suspended or not; without its hosts if `number` is odd: they live on until the log tells them, or Spark ends."""
        workers = self._processes()
        if workers:
            worker = workers[action.worker % len(workers)]
            hosts = self._hosts_of(worker)
            self._end(worker)
            for host in hosts if action.number % 2 == 0 else ():
                self.kill_host(host.worker, host.number)

    def _do_add_worker(self, action: Action) -> None:
        """At once under the name of one that was killed, and even of one that is suspended and knows nothing of it."""
        name = WORKERS[action.worker % len(WORKERS)]
        before = self.workers.get(name)
        assert before is None or isinstance(before, HistoryWorker)
        if before is not None and before.suspended:
            self.twins.append(before)
        if before is None or before.suspended:
            self.add_worker(name, self.pick((1, 1, 2)))

    def _do_kill_host(self, action: Action) -> None:
        """Spark starts another at once, or if `number` is odd after a while, as for lack of executors."""
        host = self._some_host(action)
        if host is not None:
            self.kill_host(host.worker, host.number)
            self._no_host_before[host.worker, host.number] = self.now + 5000 * (action.number % 2)

    def _do_fail(self, action: Action) -> None:
        """A unit ends with an error."""
        units = sorted(self.runners)
        if units:
            unit = units[action.number % len(units)]
            self.runners[unit].fail(unit)

    def _do_suspend(self, action: Action) -> None:
        """A worker, or it and its hosts, or a host alone; woken by another action, or at the end."""
        if action.number % 3 == 2:
            host = self._some_host(action)
            if host is not None and not self._is_orphan(host):
                host.silence()
                host.suspended = True
            return
        worker = self._present(action)
        if worker is None:
            return
        worker.suspended = True
        self._silent.setdefault(worker.member, self.now)
        if action.number % 3 == 1:
            for host in self._hosts_of(worker):
                host.silence()
                host.suspended = True

    def _do_wake(self, action: Action) -> None:
        away = [worker for worker in self._processes() if worker.suspended or worker.cut]
        if away:
            self._wake(away[action.worker % len(away)])
        else:
            for actor in self.hosts.values():
                assert isinstance(actor, HistoryHost)
                actor.suspended = False

    def _wake(self, worker: HistoryWorker) -> None:
        worker.suspended = worker.cut = False
        self._silent.pop(worker.member, None)
        if worker._caught_up and worker.member not in self.group.members:
            # Its client finds the session over, and joins again as another member.
            worker.member = f"{worker.name} {next(self._lives)}"
            self.group.join(worker.member, worker.name)
        for host in self._hosts_of(worker):
            host.suspended = host.cut = False

    def _do_cut(self, action: Action) -> None:
        """A host reaches no broker any more, or does again."""
        host = self._some_host(action)
        if host is not None and (host.cut or not self._is_orphan(host)):
            host.cut = not host.cut
            host.silence()

    def _do_cut_worker(self, action: Action) -> None:
        """A worker reaches no broker any more, and if `number` is odd its hosts neither."""
        worker = self._present(action)
        if worker is not None and not worker.cut:
            worker.cut = True
            self._silent.setdefault(worker.member, self.now)
            for host in self._hosts_of(worker) if action.number % 2 else ():
                host.cut = True
                host.silence()

    def _do_claim(self, action: Action) -> None:
        """A worker believes for a while that it owns the partition."""
        worker = self._present(action)
        if worker is not None:
            worker._owner = True
            worker._handle(events.Owned())

    def _do_elect(self, action: Action) -> None:
        """The partition goes to another member, or for a while to none if `number` is odd."""
        members = list(self.group.members)
        if action.number % 2:
            self.group.owner, self._electing = None, self.now + 1500
        elif members:
            self.group.elect(members[action.worker % len(members)])

    def _do_shutdown(self, action: Action) -> None:
        worker = self._present(action)
        if worker is not None and not worker.herder._leaving:
            worker._inbox.append(events.ShutDown())

    def _do_lose_answer(self, action: Action) -> None:
        """The next write of a worker fails: before it happened, or after, which the worker can't tell."""
        worker = self._present(action)
        if worker is not None:
            worker.lose = ("before", "after")[action.number % 2]

    def _do_compact(self, action: Action) -> None:
        self.log.compact(tuple(Topic) if action.number % 2 else (self.pick(tuple(Topic)),))

    def _do_garbage(self, action: Action) -> None:
        self.junk.add(len(self.log.records))
        key, value = self.pick(_JUNK)
        self.log.append([Entry(self.pick(tuple(Topic)), key, value)])  # type: ignore[arg-type]

    def _do_wait(self, action: Action) -> None:
        """Time passes, in which whoever can stays in touch."""
        self._pass(_WAITS[action.number % len(_WAITS)], 3)

    def _do_stall(self, action: Action) -> None:
        """Time passes in which nobody comes to do anything."""
        if not any(map(self._is_orphan, self.hosts.values())):
            self.now += _WAITS[action.number % len(_WAITS)]


ACTIONS = tuple(name.removeprefix("_do_") for name in vars(History) if name.startswith("_do_"))


def some_kinds(seed: int) -> tuple[str, ...]:
    """
    A few kinds of action. A history that is made of few kinds gets further with each than one that has a little of all.
    """
    choose = random.Random(seed)
    return tuple(choose.sample(ACTIONS, choose.choice((3, 6, 6, len(ACTIONS)))))


class HistoryWorker(MemoryWorker):
    """As `worker/loop.py` and its outside, on a machine and a network that fail."""

    cluster: History

    def __init__(self, cluster: History, name: str, hosts: int, incarnation: str, member: str) -> None:
        super().__init__(cluster, name, hosts, incarnation, member)
        self.lose: str | None = None
        self.cut = False
        self.suspended = False
        self.slow = cluster.random.random() < 0.2
        self.stepped_at = cluster.now

    @property
    def busy(self) -> bool:
        if self.cut:
            return bool(self._inbox or self._writes)
        if self._inbox or self._writes or self._asks or not self._caught_up or not self._reader.at_end:
            return True
        return self._owner != (self.cluster.group.owner == self.member)

    def step(self) -> None:
        self.stepped_at = self.cluster.now
        if not self.cut:
            super().step()
        elif self._inbox:
            self._handle(self._inbox.popleft())
        elif self._writes and self.cluster.random.random() < 0.3:
            self._written = {}
            self._fail(self._writes.popleft())
        else:
            self._asks = [effect for effect in self._asks if not isinstance(effect, effects.FindMembers)]
            self._handle(events.Tick())

    def _fail(self, effect: Any) -> None:
        self._inbox.append(events.Failed(effect.id, ConnectError("no answer in time")))

    def _perform(self, effect: effects.Effect) -> None:
        if self.lose is not None and isinstance(effect, effects.Write | effects.TakeLead):
            when, self.lose = self.lose, None
            if when == "after":
                before = len(self._inbox)
                super()._perform(effect)
                # It may have been refused, or written only in part: then the rest goes lost.
                if len(self._inbox) == before:
                    self._writes.popleft()
                elif isinstance(answer := self._inbox.pop(), events.Failed):
                    self._inbox.append(answer)
                    return
            self._written = {}
            self._fail(effect)
            return
        super()._perform(effect)

    def _dead_hosts(self) -> frozenset[tuple[str, int, str]]:
        herder = self.herder
        if not self.cluster.one_machine or not herder.assignment.held:
            return frozenset()
        return frozenset(
            (held.worker, held.host, held.incarnation)
            for held in herder.assignment.held.values()
            if (held.worker == self.name or (herder.leads and held.worker not in herder.members)) and self._is_dead(held)
        )


class HistoryHost(MemoryHost):
    """As `worker/host.py`: it knows by its clock whether it is in touch with the log, and does nothing while it is not."""

    cluster: History

    def __init__(self, cluster: History, worker: str, number: int, worker_incarnation: str, life: int) -> None:
        super().__init__(cluster, worker, number, worker_incarnation, life)
        self.cut = False
        self.suspended = False
        self.slow = cluster.random.random() < 0.2
        self.tasks: dict[UnitId, SourceTask | SinkTask] = {}
        self.abandoned: set[UnitId] = set()
        self._ends_at: dict[UnitId, int] = {}
        self.stepped_at = cluster.now
        self._seen_at = cluster.now

    @property
    def busy(self) -> bool:
        return super().busy or not (self.cut or self.state.is_readable)

    def step(self) -> None:
        self.stepped_at = self.cluster.now
        lost = self.state.is_readable and not self.in_touch()
        if lost:
            self._readable(False)
            self._unsent.clear()
            for unit in self._stopping:
                self._abandon(unit)
        # Not in the same step: first the units go.
        elif not self.cut and self._reader.at_end:
            self._seen_at = self.cluster.now
            if not self.state.is_readable:
                self._readable(True)
        self._cut_off = self.cut
        super().step()
        if self.tasks and self.cluster.emitting and self.in_touch() and not self.cut:
            unit = self.cluster.pick(list(self.tasks))
            if not self.tasks[unit].abandoned:
                self.cluster.works(unit, self)
                self.tasks[unit].work(self.cluster.random)

    def __str__(self) -> str:
        return f"host {self.number} of {self.worker}, life {self.incarnation}"

    def silence(self) -> None:
        """Its clients' groups hear nothing of it from now on."""
        for task in self.tasks.values():
            task.silence(self.cluster.now)

    def fail(self, unit: UnitId) -> None:
        super().fail(unit)
        if unit in self.failed:
            self.cluster.ended(unit, self)
            self._drop(unit, store=False)

    def in_touch(self) -> bool:
        return self.cluster.now - self._seen_at < self.cluster.session_ms * 0.75

    def _is_dead(self, held: records.Held) -> bool:
        return self.cluster.one_machine and super()._is_dead(held)

    def _ending(self) -> list[UnitId]:
        if not self._stopping:
            return []
        return [unit for unit in self._stopping if self._ends_at[unit] <= self.cluster.now]

    def _end(self, unit: UnitId) -> None:
        unsent = len(self._unsent)
        super()._end(unit)
        del self._ends_at[unit]
        abandoned = unit in self.abandoned
        self.abandoned.discard(unit)
        while abandoned and len(self._unsent) > unsent:
            self._unsent.pop()
        self.cluster.ended(unit, self)
        self._drop(unit, store=not abandoned)

    def _perform(self, effect: decisions.HostEffect) -> None:
        match effect:
            case decisions.Start(spec, target, _):
                self.cluster.started(spec.unit, self)
                self._begin(spec.unit, target)
            case decisions.Stop(unit, abandon):
                # Mostly at once, but a plugin may take its time.
                self._ends_at.setdefault(unit, self.cluster.now + self.cluster.pick((0, 0, 0, 0, 0, 0, 700, 4000)))
                if abandon:
                    self._abandon(unit)
            case decisions.SetTarget(unit, TargetState.STARTED, _) if unit not in self.tasks and unit not in self.failed:
                self._begin(unit, TargetState.STARTED)
            case decisions.SetTarget(unit, target, _) if target is not TargetState.STARTED:
                self._drop(unit, store=True)
            case decisions.Exit() if self.cut:
                self._unsent.clear()
        super()._perform(effect)

    def _begin(self, unit: UnitId, target: TargetState) -> None:
        if not unit.is_connector and target is TargetState.STARTED:
            self.tasks[unit] = (SinkTask if unit.connector == SINK else SourceTask)(self.cluster, unit)

    def _abandon(self, unit: UnitId) -> None:
        self.abandoned.add(unit)
        if unit in self.tasks:
            self.tasks[unit].abandoned = True

    def _drop(self, unit: UnitId, store: bool) -> None:
        """The task ends, or is paused: in order, or by itself without storing anything."""
        task = self.tasks.pop(unit, None)
        if task is None:
            return
        if self.cut or not self.in_touch():
            task.silence(self.cluster.now)
            return
        if store:
            task.store()
        task.close()
