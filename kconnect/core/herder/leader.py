"""
What the leader does besides answering requests: fence the one before, assign units, commit task configs, tidy up.

`Leading` is one term of leadership, run by `herder.py` as a procedure while this worker owns the group's partition.
It is level-triggered: it looks at what the topics say and at what they should say, and writes the difference.
Read next: `cluster/handover.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconnect.core.cluster.handover import Handover
from kconnect.core.herder import effects
from kconnect.core.herder.procedures import Pace, Procedure, Until
from kconnect.core.state import records
from kconnect.core.state.records import Assignment, Entry, GeneratedTasks, Leader, TargetState, UnitId

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

_KEY_MS = 30_000
"""How often the leader looks whether the session key is to be changed."""
_BATCH = 200
"""Connectors whose task configs go in one transaction: a bound on its size, and on how long others wait."""


def decisions_pace() -> Pace:
    """A handover takes no more steps than may follow each other at once; a flood of connectors, four times a second."""
    return Pace(250, burst=4)


class Leading:
    def __init__(self, herder: Herder) -> None:
        self._herder = herder
        self._handover = Handover(herder.identity.handover_grace_ms, herder.identity.rebalance_delay_ms)
        self.in_charge = False
        """True once the leader before is fenced and its last record has been read."""
        self.procedure: Procedure | None = None
        self._in_force: tuple[int, int] | None = None
        """What had been read when all task sets were found to be in force."""

    def run(self) -> Procedure:
        herder = self._herder
        ends = yield effects.TakeLead()
        yield Until(lambda: herder._has_read({place: end - 1 for place, end in ends.items() if end > 0}))
        generation = herder.assignment.generation + 1
        yield from herder.write([records.leader(self._record(generation))], as_leader=True)
        self.in_charge = True
        herder.log("INFO", f"This worker leads the cluster now, generation {generation}")
        seen, key_at, due, pace = -1, None, herder.now, decisions_pace()
        while True:
            yield Until(lambda due=due: herder.now >= due)  # type: ignore[misc]
            if key_at is None or herder.now - key_at >= _KEY_MS:
                key_at = herder.now
                keys = herder.config.session_keys
                key = yield effects.NewSessionKey(keys[0] if keys else None)
                if key is not None:
                    yield from herder.write([records.session_key(key)], as_leader=True)
            entries = self._assignments() + self._tidy()
            if entries:
                due = pace.free_at(herder.now)
                yield from herder.write(entries, as_leader=True)
                continue
            names = self._stale_task_sets()[:_BATCH]
            if names:
                due = pace.free_at(herder.now)
                herder.busy.update(names)
                try:
                    yield from herder.write(self._task_sets(names), as_leader=True)
                finally:
                    herder.busy.difference_update(names)
                continue
            seen, again = herder.changes, herder.now + 500
            yield Until(lambda seen=seen, again=again: herder.changes != seen or herder.now >= again)  # type: ignore[misc]

    def _assignments(self) -> list[Entry]:
        herder = self._herder
        # Until the coordinator has answered, who else is in the group is unknown: nobody's units may be touched.
        if herder.identity.worker_id not in herder.members:
            return []
        units, now = herder.config.units(), herder.now
        entries = self._handover.decide(
            *(herder.assignment, units, herder.members, herder.config.offset, now, herder.weights(), herder.dead_hosts)
        )
        assignments = herder.assignment.assignments
        buried = [w for w in sorted(assignments.keys() - herder.members) if records.assignment(Assignment(w, None)) in entries]
        for worker in buried:
            # In the transaction that takes them away, and so before anybody else can say that it runs them.
            entries += herder.unassigned_statuses(worker, assignments[worker].units or ())
        if buried:
            # The highest generation may go with them, and would be given a second time: one higher stays in this record.
            entries.append(records.leader(self._record(herder.assignment.generation + 2)))
        return entries

    def _record(self, generation: int) -> Leader:
        me = self._herder.identity
        return Leader(me.worker_id, me.url, generation)

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
        gone = herder.assignment.generated.keys() - herder.config.connectors.keys()
        entries += [records.generated_tasks(GeneratedTasks(name, None)) for name in sorted(gone)]
        return entries
