"""
The processes of a random history: workers and hosts on machines and a network that fail.

Made by `histories.py`. Read next: `counting.py` for what the tasks do.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from kconnect.core.cluster import host as decisions
from kconnect.core.cluster.lease import paused_after_s, stopped_after_ms
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.herder import effects, events
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import HostSpec
from kconnect.core.state.records import TargetState, Topic, UnitId
from kconnect.core.task.topic_use import Announced, TopicUse
from kconnect.errors import ConnectError, RetriableError
from tests.rig.histories.cluster import MemoryHost, MemoryWorker
from tests.rig.histories.counting import ExactlyOnceTask, SinkTask, SourceTask
from tests.rig.histories.history_users import SINK

if TYPE_CHECKING:
    from tests.rig.histories.histories import History

REFUSAL = "the connector says no"
"""How a connector sometimes refuses what is wanted of its offsets."""


_NEVER = 10**12
"""Longer than any history, in ms."""


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

    def _perform(self, effect: effects.Effect[Any]) -> None:
        before = len(self.cluster.log.records)
        self._perform_or_lose(effect)
        if isinstance(effect, effects.Write) and effect.as_leader:
            for record in self.cluster.log.records[before:]:
                if record.topic is Topic.OFFSET:
                    self.cluster.alter_source(record)

    def ask_connector(self, effect: effects.AskConnector) -> bool:
        if self.cluster.random.random() < 0.2:
            raise effects.RefusedError(REFUSAL)
        return super().ask_connector(effect)

    def fence(self, effect: effects.Fence) -> None:
        if self.cluster.emitting and self.cluster.random.random() < 0.3:
            kind = RetriableError if self.cluster.random.random() < 0.7 else ConnectError
            raise kind("the producers can't be fenced")
        super().fence(effect)

    def group_offsets(self, effect: effects.GroupOffsets) -> Any:
        return [(*place, offset) for place, offset in self.cluster.group_of(effect.connector).stored.items() if offset]

    def alter_group(self, effect: effects.AlterGroup) -> None:
        self.cluster.alter_group(effect)

    def _perform_or_lose(self, effect: effects.Effect[Any]) -> None:
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
        herder, desk = self.herder, self.herder.desk
        if not self.cluster.one_machine or not herder.log.assignment.held:
            return frozenset()
        return frozenset(
            (held.worker, held.host, held.incarnation)
            for held in herder.log.assignment.held.values()
            if (held.worker == self.name or (desk.leads and held.worker not in desk.members)) and self._is_dead(held)
        )


class HistoryHost(MemoryHost):
    """As `host/main.py`: it knows by its clock whether it is in touch with the log, and does nothing while it is not."""

    cluster: History

    def __init__(self, cluster: History, worker: str, number: int, worker_incarnation: str, life: int, spec: HostSpec) -> None:
        super().__init__(cluster, worker, number, worker_incarnation, life, spec)
        self.cut = False
        self.suspended = False
        self.slow = cluster.random.random() < 0.2
        self.tasks: dict[UnitId, SourceTask | SinkTask] = {}
        self.abandoned: set[UnitId] = set()
        self.hangs: set[UnitId] = set()
        """Units that, once they are asked to stop, never do."""
        self._ends_at: dict[UnitId, int] = {}
        self._announced = Announced(self.state.config, self.state.assignment)
        self.stepped_at = cluster.now
        self._seen_at = cluster.now
        self._pauses_ms = 1000 * paused_after_s(cluster.session_ms / 1000, cluster.grace_ms / 1000)
        self._stops_ms = stopped_after_ms(cluster.session_ms, cluster.grace_ms)

    @property
    def busy(self) -> bool:
        return super().busy or not (self.cut or self.state.is_readable)

    def step(self) -> None:
        self.stepped_at = self.cluster.now
        in_touch = self.holds_lease()
        lost = self.cluster.now - self._seen_at >= self._stops_ms
        if lost and self.state.is_readable:
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
        self._give_up()
        self._step(in_touch)
        if not self.dead and self.tasks and self.cluster.emitting and self.holds_lease() and not self.cut:
            unit = self.cluster.pick(list(self.tasks))
            if not self.tasks[unit].abandoned:
                self.cluster.works(unit, self)
                try:
                    self.tasks[unit].work(self.cluster.random)
                except ConnectError as error:
                    self.fail(unit, str(error))

    def _give_up(self) -> None:
        """What was asked to stop, and has not within its limit."""
        for unit in self._stopping:
            asked_at = self._ends_at[unit] - _NEVER
            if unit in self.hangs and self.cluster.now - asked_at >= self.cluster.task_grace_ms:
                self.state.stuck(unit)
                self._undecided = True

    def __str__(self) -> str:
        return f"host {self.number} of {self.worker}, life {self.incarnation}"

    def silence(self) -> None:
        """Its clients' groups hear nothing of it from now on."""
        for task in self.tasks.values():
            if not self.cut:
                task.killed(self.cluster.random)
            task.silence(self.cluster.now)

    def fail(self, unit: UnitId, trace: str = "boom") -> None:
        super().fail(unit, trace)
        if unit in self.failed:
            self.cluster.ended(unit, self)
            self._drop(unit, store=False)

    def holds_lease(self) -> bool:
        return self.cluster.now - self._seen_at < self._pauses_ms

    def _is_dead(self, held: assignment_records.Held) -> bool:
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
            case decisions.Start(spec):
                self.cluster.started(spec, self)
            case decisions.Stop(unit, abandon):
                # Mostly at once, but a plugin may take its time.
                takes = _NEVER if unit in self.hangs else self.cluster.pick((0, 0, 0, 0, 0, 0, 700, 4000))
                self._ends_at.setdefault(unit, self.cluster.now + takes)
                if abandon:
                    self._abandon(unit)
            case decisions.SetTarget(unit, target, _) if target is not TargetState.STARTED:
                self._drop(unit, store=True)
            case decisions.Exit() | decisions.Die() if self.cut:
                self._unsent.clear()
        super()._perform(effect)

    def _run(self, spec: UnitSpec, target: TargetState, desired_offset: int) -> None:
        unit = spec.unit
        if not unit.is_connector and target is TargetState.STARTED and unit not in self.tasks:
            use = TopicUse(lambda: self._announced.of(unit), lambda topic: self._announce(unit, topic))
            if unit in self.epochs:
                self.tasks[unit] = ExactlyOnceTask(self.cluster, spec, self.epochs[unit], use)
            else:
                self.tasks[unit] = (SinkTask if unit.connector == SINK else SourceTask)(self.cluster, unit, use)
        super()._run(spec, target, desired_offset)

    def _announce(self, unit: UnitId, topic: str) -> None:
        self._announced.of(unit).add(topic)
        entries = records.topic_use(unit.connector, topic, unit.task or 0, self.cluster.now, ("apache", "kip-558"))
        self._unsent += [(unit, entry) for entry in entries]

    def _abandon(self, unit: UnitId) -> None:
        self.abandoned.add(unit)
        self._unsent = deque(waiting for waiting in self._unsent if waiting[0] != unit)
        if unit in self.tasks:
            self.tasks[unit].abandoned = True

    def _drop(self, unit: UnitId, store: bool) -> None:
        """The task ends, or is paused: in order, or by itself without storing anything."""
        task = self.tasks.pop(unit, None)
        if task is None:
            return
        if self.cut or not self.holds_lease():
            task.silence(self.cluster.now)
            return
        if store:
            task.store()
        task.leave()
