"""
What the leader does besides answering requests: fence the one before, assign units, commit task configs, have the
producers of earlier tasks fenced (`fencing.py`), tidy up.

`Leading` is one term of leadership, run by `herder.py` as a procedure while this worker owns the group's partition.
It is level-triggered: it looks at what the topics say and at what they should say, and writes the difference.
Read next: `cluster/handover.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kconnect.core.cluster.handover import Handover
from kconnect.core.herder import effects
from kconnect.core.herder.fencing import Fencing
from kconnect.core.herder.procedures import Pace, Procedure, Until
from kconnect.core.settings.sink import subscription
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Assignment, GeneratedTasks, Leader, TopicsReset
from kconnect.core.state.records import Entry, TargetState, UnitId
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

_KEY_MS = 30_000
"""How often the leader looks whether the session key is to be changed."""
_BATCH = 200
"""Connectors whose task configs go in one transaction: a bound on its size, and on how long others wait."""


_OFFSETS = 1000
"""Offsets that go in one transaction."""


def decisions_pace() -> Pace:
    """A handover takes no more steps than may follow each other at once; a flood of connectors, four times a second."""
    return Pace(250, burst=4)


class Looks:
    """
    When to look next at everything that the log says. That costs some 20 µs a unit: what changes all the time, as while a
    thousand connectors are made, is looked at together, and the loop is there for requests meanwhile.
    """

    def __init__(self) -> None:
        self._pace = Pace(0, burst=8)

    def after(self, herder: Herder) -> int:
        """When the look after this one may be."""
        self._pace.milliseconds = len(herder.config.connectors) // 4
        return self._pace.free_at(herder.now)


class Leading:
    def __init__(self, herder: Herder) -> None:
        self._herder = herder
        self._handover = Handover(herder.identity.handover_grace_ms, herder.identity.rebalance_delay_ms)
        self._fencing = Fencing(herder)
        self.in_charge = False
        """True once the leader before is fenced and its last record has been read."""
        self.procedure: Procedure | None = None
        self._subscribed: tuple[int, int, int] | None = None
        """What had been read when no sink was found to have used a topic that its config no longer names."""
        self._in_force: tuple[int, int] | None = None
        """What had been read when all task sets were found to be in force."""

    def run(self) -> Procedure:
        herder = self._herder
        since = herder.losses.counts.copy()
        ends = yield effects.TakeLead()
        yield from herder.losses.until_read(ends, 0, since)
        record = self._record(herder.assignment.generation + 1, herder.assignment.term + 1)
        yield from herder.write([assignment_records.leader(record)], as_leader=True)
        latest = herder.assignment.leader
        if latest is not None and latest != record:
            # Both were read at once. Who has nothing to write would not notice, and others would not know whom to ask.
            raise ConnectError(f"{latest.worker} leads the cluster by now, generation {latest.generation}")
        self.in_charge = True
        herder.log("INFO", f"This worker leads the cluster now, generation {record.generation}")
        seen, key_at, due, pace, looks = -1, None, herder.now, decisions_pace(), Looks()
        while True:
            yield herder.pause_ms(due - herder.now)
            due = looks.after(herder)
            if key_at is None or herder.now - key_at >= _KEY_MS:
                key_at = herder.now
                keys = herder.config.session_keys
                key = yield effects.NewSessionKey(keys[0] if keys else None)
                if key is not None:
                    yield from herder.write([records.session_key(key)], as_leader=True)
            self._fencing.begin()
            lost = yield from herder.losses.unsaid_offsets()
            entries = lost[:_OFFSETS] or [*self._known_topics(), *self._assignments(), *self._tidy(), *self._unsubscribed()]
            if entries:
                due = max(due, pace.free_at(herder.now))
                yield from herder.write(entries, as_leader=True)
                continue
            names = self._stale_task_sets()[:_BATCH]
            if names:
                due = max(due, pace.free_at(herder.now))
                herder.busy.update(names)
                try:
                    yield from herder.write(self._task_sets(names), as_leader=True)
                finally:
                    herder.busy.difference_update(names)
                continue
            seen, again = herder.changes, herder.now + 500
            yield Until(lambda seen=seen, again=again: herder.changes != seen or herder.now >= again)  # type: ignore[misc]

    def close(self) -> None:
        """The term is over; `run` has ended."""
        self._fencing.close()

    def _assignments(self) -> list[Entry]:
        herder = self._herder
        # Until the coordinator has answered, who else is in the group is unknown: nobody's units may be touched.
        if herder.identity.worker_id not in herder.members or herder.losses.hosts_may_live:
            return []
        units, now = herder.config.units(), herder.now
        entries = self._handover.decide(
            herder.assignment, units, herder.members, herder.config.offset, now, herder.weights(), herder.dead_hosts
        )
        assignments = herder.assignment.assignments
        gone = sorted(assignments.keys() - herder.members)
        buried = [worker for worker in gone if assignment_records.assignment(Assignment(worker, None)) in entries]
        for worker in buried:
            # In the transaction that takes them away, and so before anybody else can say that it runs them.
            entries += herder.placing.unassigned_statuses(worker, assignments[worker].units or ())
        if buried:
            # The highest generation may go with them, and would be given a second time: one higher stays in this record.
            entries.append(assignment_records.leader(self._record(herder.assignment.generation + 2, herder.assignment.term)))
        return entries

    def _record(self, generation: int, term: int) -> Leader:
        me = self._herder.identity
        return Leader(me.worker_id, me.url, generation, term, self._herder.losses.ids)

    def _known_topics(self) -> list[Entry]:
        """This leader's record once more, if one of the topics that it names was made anew."""
        latest = self._herder.assignment.leader
        if latest is None or latest.topics == self._herder.losses.ids:
            return []
        return [assignment_records.leader(replace(latest, topics=self._herder.losses.ids))]

    def _stale_task_sets(self) -> list[str]:
        """Connectors whose instance made other task configs than those in force, or which are STOPPED with tasks."""
        herder, config = self._herder, self._herder.config
        seen = (config.offset, herder.assignment.generations_of_tasks)
        if seen == self._in_force:
            return []
        stale, skipped = [], False
        for name, connector in config.connectors.items():
            if name in herder.busy:
                skipped = True
                continue
            if config.target_state(name) is TargetState.STOPPED:
                if connector.task_count:
                    stale.append(name)
                continue
            made = herder.assignment.generated.get(name)
            if made is None or made.configs is None or made.config_offset < config.wish_offset(name):
                continue
            current = [config.task_config(UnitId(name, task)) for task in config.task_ids(name)]
            if connector.inconsistent or list(made.configs) != current or connector.applied != connector.properties:
                stale.append(name)
        if not stale and not skipped:
            self._in_force = seen
        return stale

    def _task_sets(self, names: list[str]) -> list[Entry]:
        herder = self._herder
        entries: list[Entry] = []
        for name in names:
            stopped = herder.config.target_state(name) is TargetState.STOPPED
            configs = () if stopped else herder.assignment.generated[name].configs or ()
            entries += records.task_configs(name, configs)
        return entries

    def _tidy(self) -> list[Entry]:
        """Tombstones for statuses, topic usage and generated tasks of what no longer exists and no host still runs."""
        herder = self._herder
        exists = herder.config.units()
        entries = [
            records.status(unit, None)
            for unit in sorted(herder.status.units.keys() - exists)
            if not herder.assignment.holders(unit)
        ]
        for name in herder.status.connectors_with_topics():
            if name not in herder.config.connectors and not herder.assignment.holders(UnitId(name, 0)):
                for topic in herder.status.topics_of(name):
                    entries += records.topic_unused(name, topic)
        connectors = herder.config.connectors.keys()
        gone = herder.assignment.generated.keys() - connectors
        entries += [assignment_records.generated_tasks(GeneratedTasks(name, None)) for name in sorted(gone)]
        entries += self._fencing.forgotten()
        forgotten = herder.assignment.topic_resets.keys() - connectors
        entries += [assignment_records.topics_reset(TopicsReset(name, None)) for name in sorted(forgotten)]
        return entries

    def _unsubscribed(self) -> list[Entry]:
        """
        Tombstones for the usage of topics that a sink's config no longer names (KIP-558). A task of before that says so
        late is answered by the next one.
        """
        herder = self._herder
        seen = (herder.config.offset, herder.status.topic_changes, herder.classes.answers)
        if seen == self._subscribed:
            return []
        entries: list[Entry] = []
        for name in herder.status.connectors_with_topics():
            connector = herder.config.connectors.get(name)
            reads = None if connector is None else subscription(connector.properties)
            if connector is None or reads is None:
                continue
            # Never waited for: it may hang.
            described = herder.classes.known(connector.properties)
            if described is None or described["type"] != "sink":
                continue
            for topic in herder.status.topics_of(name):
                if not reads(topic):
                    entries += records.topic_unused(name, topic)
        if not entries:
            self._subscribed = seen
        return entries
