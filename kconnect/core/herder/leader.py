"""
What the leader does besides answering requests: fence the one before, assign units, commit task configs, have the
producers of earlier tasks fenced (`fencing.py`), tidy up.

`Leading` is one term of leadership, run by `leadership.py` as a procedure while this worker owns the group's partition.
It is level-triggered: it looks at what the topics say and at what they should say, and writes the difference.
Read next: `cluster/handover.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kconnect.core.cluster.handover import Handover
from kconnect.core.herder import effects
from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk, Term
from kconnect.core.herder.fencing import Fencing
from kconnect.core.herder.losses import Losses
from kconnect.core.herder.placing import unassigned
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.throttle import Looks, decisions_throttle
from kconnect.core.herder.weighing import Weighing
from kconnect.core.settings.sink import subscription
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Assignment, GeneratedTasks, Leader, TopicsReset
from kconnect.core.state.records import Entry, TargetState, UnitId
from kconnect.errors import ConnectError

_KEY_MS = 30_000
"""How often the leader looks whether the session key is to be changed."""
_BATCH = 200
"""Connectors whose task configs go in one transaction: a bound on its size, and on how long others wait."""


_OFFSETS = 1000
"""Offsets that go in one transaction."""


class Leading(Term):
    def __init__(self, desk: Desk, losses: Losses, classes: Classes, deposed: Callable[[], None]) -> None:
        """`deposed` is called when a write shows that another worker leads by now."""
        self._desk, self._losses, self._classes = desk, losses, classes
        me = desk.identity
        self._handover = Handover(me.handover_grace_ms, me.rebalance_delay_ms, me.record_bytes)
        self._fencing = Fencing(desk, deposed)
        self._weighing = Weighing(desk)
        self._subscribed: tuple[int, int, int] | None = None
        """What had been read when no sink was found to have used a topic that its config no longer names."""
        self._in_force: tuple[int, int] | None = None
        """What had been read when all task sets were found to be in force."""

    def run(self) -> Procedure[None]:
        desk = self._desk
        since = desk.log.remade
        ends = yield from ask(effects.TakeLead())
        yield from desk.until_read(ends, 0, since)
        record = self._record(desk.log.assignment.generation + 1, desk.log.assignment.term + 1)
        yield from desk.write([assignment_records.leader(record)], as_leader=True)
        latest = desk.log.assignment.leader
        if latest is not None and latest != record:
            # Both were read at once. Who has nothing to write would not notice, and others would not know whom to ask.
            raise ConnectError(f"{latest.worker} now leads the cluster, generation {latest.generation}")
        self.in_charge = True
        desk.say("INFO", f"This worker now leads the cluster, generation {record.generation}")
        key_at, due, throttle, looks = None, desk.now, decisions_throttle(), Looks()
        while True:
            yield desk.pause(due - desk.now)
            due = looks.after(len(desk.log.config.connectors), desk.now)
            if key_at is None or desk.now - key_at >= _KEY_MS:
                key_at = desk.now
                keys = desk.log.config.session_keys
                key = yield from ask(effects.NewSessionKey(keys[0] if keys else None))
                if key is not None:
                    yield from desk.write([records.session_key(key)], as_leader=True)
            self._fencing.begin()
            lost = yield from self._losses.unsaid_offsets()
            entries = lost[:_OFFSETS] or [*self._known_topics(), *self._assignments(), *self._tidy(), *self._unsubscribed()]
            if entries:
                due = max(due, throttle.free_at(desk.now))
                yield from desk.write(entries, as_leader=True)
                continue
            names = self._stale_task_sets()[:_BATCH]
            if names:
                due = max(due, throttle.free_at(desk.now))
                desk.busy.update(names)
                try:
                    yield from desk.write(self._task_sets(names), as_leader=True)
                finally:
                    desk.busy.difference_update(names)
                continue
            if (yield from self._exchange()):
                continue
            yield desk.change(looks.quiet_ms(len(desk.log.config.connectors), 500))

    def close(self) -> None:
        """The term is over; `run` has ended."""
        self._fencing.close()

    def _assignments(self) -> list[Entry]:
        desk = self._desk
        # Until the coordinator has answered, who else is in the group is unknown: nobody's units may be touched.
        if desk.me not in desk.members or self._losses.hosts_may_live:
            return []
        units, now = desk.log.config.units(), desk.now
        entries = self._handover.decide(
            desk.log.assignment,
            units,
            desk.members,
            desk.log.config.offset,
            now,
            desk.log.weights(),
            desk.dead_hosts,
        )
        assignments = desk.log.assignment.assignments
        absent = sorted(assignments.keys() - desk.members)
        buried = [worker for worker in absent if assignment_records.assignment(Assignment(worker, None)) in entries]
        for worker in buried:
            # In the transaction that takes them away, and so before anybody else can say that it runs them.
            entries += unassigned(desk.log.status, worker, assignments[worker].units or ())
        if buried:
            # The highest generation may go with them, and would be given a second time: one higher stays in this record.
            state = desk.log.assignment
            entries.append(assignment_records.leader(self._record(state.generation + 2, state.term)))
        return entries

    def _exchange(self) -> Procedure[bool]:
        """Have tasks change places by their load, while nothing else moves; whether any do."""
        desk = self._desk
        if desk.me not in desk.members or self._losses.hosts_may_live:
            return False
        moves = yield from self._weighing.exchanges(self._handover.able(desk.log.assignment, desk.members, desk.now))
        self._handover.exchange(moves)
        return bool(moves)

    def _record(self, generation: int, term: int) -> Leader:
        me = self._desk.identity
        return Leader(me.worker_id, me.url, generation, term, self._losses.ids)

    def _known_topics(self) -> list[Entry]:
        """This leader's record once more, if one of the topics that it names was made anew."""
        latest = self._desk.log.assignment.leader
        if latest is None or latest.topics == self._losses.ids:
            return []
        return [assignment_records.leader(replace(latest, topics=self._losses.ids))]

    def _stale_task_sets(self) -> list[str]:
        """Connectors whose instance made other task configs than those in force, or which are STOPPED with tasks."""
        desk, config = self._desk, self._desk.log.config
        state = (config.offset, desk.log.assignment.generations_of_tasks)
        if state == self._in_force:
            return []
        stale, skipped = [], False
        for name, connector in config.connectors.items():
            if name in desk.busy:
                skipped = True
                continue
            if config.target_state(name) is TargetState.STOPPED:
                if connector.task_count:
                    stale.append(name)
                continue
            generated = desk.log.assignment.generated.get(name)
            if generated is None or generated.configs is None or generated.config_offset < config.desired_offset(name):
                continue
            current = [config.task_config(UnitId(name, task)) for task in config.task_ids(name)]
            if connector.inconsistent or list(generated.configs) != current or connector.applied != connector.properties:
                stale.append(name)
        if not stale and not skipped:
            self._in_force = state
        return stale

    def _task_sets(self, names: list[str]) -> list[Entry]:
        desk = self._desk
        entries: list[Entry] = []
        for name in names:
            stopped = desk.log.config.target_state(name) is TargetState.STOPPED
            configs = () if stopped else desk.log.assignment.generated[name].configs or ()
            entries += records.task_configs(name, configs)
        return entries

    def _tidy(self) -> list[Entry]:
        """Tombstones for statuses, topic usage and generated tasks of what no longer exists and no host still runs."""
        desk = self._desk
        exists = desk.log.config.units()
        entries = [
            records.status(unit, None)
            for unit in sorted(desk.log.status.units.keys() - exists)
            if not desk.log.assignment.holders(unit)
        ]
        for name in desk.log.status.connectors_with_topics():
            if name not in desk.log.config.connectors and not desk.log.assignment.holders(UnitId(name, 0)):
                for topic in desk.log.status.topics_of(name):
                    entries += records.topic_unused(name, topic)
        connectors = desk.log.config.connectors.keys()
        deleted = desk.log.assignment.generated.keys() - connectors
        entries += [assignment_records.generated_tasks(GeneratedTasks(name, None)) for name in sorted(deleted)]
        entries += self._fencing.forgotten()
        forgotten = desk.log.assignment.topic_resets.keys() - connectors
        entries += [assignment_records.topics_reset(TopicsReset(name, None)) for name in sorted(forgotten)]
        return entries

    def _unsubscribed(self) -> list[Entry]:
        """
        Tombstones for the usage of topics that a sink's config no longer names (KIP-558). A task of before that says so
        late is answered by the next one.
        """
        desk = self._desk
        state = (desk.log.config.offset, desk.log.status.topic_changes, self._classes.answers)
        if state == self._subscribed:
            return []
        entries: list[Entry] = []
        for name in desk.log.status.connectors_with_topics():
            connector = desk.log.config.connectors.get(name)
            reads = None if connector is None else subscription(connector.properties)
            if connector is None or reads is None:
                continue
            # Never waited for: it may hang.
            described = self._classes.known(connector.properties)
            if described is None or described["type"] != "sink":
                continue
            for topic in desk.log.status.topics_of(name):
                if not reads(topic):
                    entries += records.topic_unused(name, topic)
        if not entries:
            self._subscribed = state
        return entries
