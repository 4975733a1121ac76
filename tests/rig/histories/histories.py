"""
Random histories of a cluster in memory: users, crashes, suspensions, partitions, lost answers and compaction, in any
order, then peace.

`History` plays a list of actions over real herders and host states, whose tasks count upwards and store how far they came:
source tasks in the offset topic, sink tasks in a consumer group. `invariants.violations` then says what was wrong. Used by
`tests/scenarios/test_histories.py`, which draws the actions with hypothesis; the same actions and seed give the same
history. Read first: `cluster.py`. Read next: `history_users.py`,
`history_actors.py`, `invariants.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.cluster.placement import given_up
from kconnect.core.herder import effects, events
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import HostSpec, Placement
from kconnect.core.state.records import FOLDED, Entry, LogRecord, State, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.errors import ConnectError
from tests.rig.histories.cluster import MemoryHost, MemoryWorker, spec_of
from tests.rig.histories.history_actors import HistoryHost, HistoryWorker
from tests.rig.histories.history_users import WORKERS, Action, Users

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
    """A sink's group stored `seqno`, when so many `emitted` had been there; `altered` if a user wanted it."""

    key: UnitId
    seqno: int
    emitted: int
    altered: bool = False


class History(Users):
    """One history; `play` does all of it. `overlaps` and `restless` are what can only be seen while it is played."""

    def __init__(self, seed: int, workers: int = 2) -> None:
        super().__init__(seed)
        self.delay_ms = self.pick((0, 0, 0, 4000))
        self.exactly_once = self.random.random() < 0.5
        self.task_grace_ms = self.pick((500, 5000))
        self.spark_rests_after_ms = (-1, -1, 1500)[seed % 3]
        self.most_hosts = (0, 0, 0, 3)[seed % 4]
        self.one_machine = self.random.random() < 0.5
        """Whether one process can see whether another is dead."""
        self.emitted: list[Emitted] = []
        self.committed: list[Committed] = []
        self.overlaps: list[str] = []
        self.restless = False
        self.junk: set[int] = set()
        self.emitting = True
        self.runners: dict[UnitId, HistoryHost] = {}
        self.twins: list[HistoryWorker] = []
        """Processes that were suspended when another one was started as the same worker."""
        self._statuses = StatusState()
        self._statuses_read = 0
        self._silent: dict[str, int] = {}
        self._electing: int | None = None
        self._no_host_before: dict[tuple[str, int], int] = {}
        self._last_words: list[tuple[int, Placement]] = []
        """What drivers of workers that were killed will say of their last placements, and when."""
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
        if free and all(worker.herder.desk.leaving for worker in self.workers.values()):
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
            # A host without use is kept for 30 s.
            if quiet == 8:
                return
        self.restless = True

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
        for due, placement in list(self._last_words):
            if self.now >= due:
                self._last_words.remove((due, placement))
                self.log.append([assignment_records.placement(given_up(placement))])
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

    # --- actors ---

    def add_worker(self, name: str, hosts: int = 1) -> MemoryWorker:
        life = next(self._lives)
        worker = HistoryWorker(self, name, hosts, f"{life:06d}", f"{name} {life}")
        self.workers[name] = worker
        return worker

    def make_host(self, worker: str, number: int, worker_incarnation: str, life: int, spec: HostSpec) -> MemoryHost:
        return HistoryHost(self, worker, number, worker_incarnation, life, spec)

    def may_start(self, worker: str, number: int) -> bool:
        """A worker starts another Spark only after it has told itself of the end of the one before."""
        untold = any(isinstance(event, events.SparkEnded) for event in self.workers[worker]._inbox)
        return not untold and self.now >= self._no_host_before.get((worker, number), 0)

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

    def started(self, spec: UnitSpec, host: HistoryHost) -> None:
        unit, other = spec.unit, self.runners.get(spec.unit)
        if replace(host.spec, group=0) != spec_of(spec):
            self.overlaps.append(f"{unit} is for {spec_of(spec)} and starts on {host}, which is for {host.spec}")
        # Who is suspended, or knows that it may do nothing any more, may not have ended what it ran.
        if other is not None and not other.suspended and other.holds_lease() and unit not in other.abandoned:
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

    def alter_source(self, record: LogRecord) -> None:
        """What the leader has written to the offset topic."""
        decoded = records.decode_offset(record)
        if isinstance(decoded, records.SourceOffset):
            self.stored[UnitId(decoded.connector, decoded.partition["task"])] = (decoded.offset or {"seqno": 0})["seqno"]

    def alter_group(self, effect: effects.AlterGroup) -> None:
        group = self.group_of(effect.connector)
        if group.members:
            raise effects.GroupInUseError("the group has members")
        wanted = dict.fromkeys(group.stored, None) if effect.offsets is None else effect.offsets
        for place, offset in wanted.items():
            group.stored[place] = offset or 0
            key = UnitId(effect.connector, place.partition)
            self.committed.append(Committed(key, group.stored[place], len(self.emitted), altered=True))

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
        """Whether its worker is gone, or seems to be."""
        known = {worker.incarnation for worker in self._processes() if not (worker.suspended or worker.cut)}
        return host.state.worker_incarnation not in known

    # --- actions: faults ---

    def _do_kill_worker(self, action: Action) -> None:
        """
        Suspended or not. With its hosts if `number` is even; else they live on until the log tells them, or Spark ends. Spark's
        driver may outlive it, and speak for it, at once or later; and hosts may see the end of their executors.
        """
        workers = self._processes()
        if workers:
            worker = workers[action.worker % len(workers)]
            hosts = self._hosts_of(worker)
            self._end(worker)
            for host in hosts if action.number % 2 == 0 else ():
                self.kill_host(host.worker, host.number)
            for host in hosts if action.number % 8 in (3, 5) else ():
                host.state.leave("the executor has ended")
            placement = worker.herder.log.assignment.placements.get(worker.name)
            is_own = placement is not None and placement.incarnation == worker.incarnation and not placement.leaving
            if placement is not None and is_own and action.number % 8 in (3, 7):
                self._last_words.append((self.now + self.pick((0, 0, 500, 3000)), placement))

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

    def _do_kill_spark(self, action: Action) -> None:
        """All hosts of a worker end, and it is told; others come after a while."""
        workers = self._processes()
        if workers:
            worker = workers[action.worker % len(workers)]
            for number in {*range(4), *(host.number for host in self._hosts_of(worker))}:
                self._no_host_before[worker.name, number] = self.now + 2000 * (action.number % 8)
            for host in self._hosts_of(worker):
                self.kill_host(host.worker, host.number)
            worker.spark_ended()

    def _do_fail(self, action: Action) -> None:
        """A unit ends with an error."""
        units = sorted(self.runners)
        if units:
            unit = units[action.number % len(units)]
            self.runners[unit].fail(unit)

    def _do_hang(self, action: Action) -> None:
        """A unit will not stop when it is asked to."""
        units = sorted(self.runners)
        if units:
            unit = units[action.number % len(units)]
            self.runners[unit].hangs.add(unit)

    def _do_suspend(self, action: Action) -> None:
        """A worker, or it and its hosts, or a host alone; woken by another action, or at the end."""
        if action.number % 3 == 2:
            host = self._some_host(action)
            if host is not None:
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
        if host is not None:
            host.cut = not host.cut
            # What its clients had taken may still come when it is reached again, as at-least-once allows: not played here.
            if host.cut:
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
        if worker is not None and not worker.herder.desk.leaving:
            worker._inbox.append(events.ShutDown())

    def _do_lose_answer(self, action: Action) -> None:
        """The next write of a worker fails: before it happened, or after, which the worker can't tell."""
        worker = self._present(action)
        if worker is not None:
            worker.lose = ("before", "after")[action.number % 2]

    def _do_compact(self, action: Action) -> None:
        self.log.compact(FOLDED if action.number % 2 else (self.pick(FOLDED),))

    def _do_garbage(self, action: Action) -> None:
        self.junk.add(len(self.log.records))
        key, value = self.pick(_JUNK)
        self.log.append([Entry(self.pick(FOLDED), key, value)])  # type: ignore[arg-type]

    def _do_wait(self, action: Action) -> None:
        """Time passes, in which whoever can stays in touch."""
        self._pass(_WAITS[action.number % len(_WAITS)], 3)

    def _do_stall(self, action: Action) -> None:
        """Time passes in which nobody comes to do anything."""
        self.now += _WAITS[action.number % len(_WAITS)]


ACTIONS = tuple(name.removeprefix("_do_") for name in (*vars(Users), *vars(History)) if name.startswith("_do_"))


def some_kinds(seed: int) -> tuple[str, ...]:
    """
    A few kinds of action. A history that is made of few kinds gets further with each than one that has a little of all.
    """
    choose = random.Random(seed)
    return tuple(choose.sample(ACTIONS, choose.choice((3, 6, 6, len(ACTIONS)))))
