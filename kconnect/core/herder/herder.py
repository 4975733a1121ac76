"""
The herder: what one worker decides, as a pure state machine.

`Herder.handle(event, now)` takes one event and answers the effects to be performed, in order. It is owned by
`worker/loop.py` and nobody else holds it. What it knows it has read from the internal topics: a request or a decision
writes records and waits until they come back. Three things go on at a time: requests (`request.py`), leading, while this
worker owns the group's partition (`leadership.py`), and placing this worker's own units on its hosts (`placing.py`).
The herder only tells them what happens; what they share is on the desk. Read next: `desk.py`, `leader.py`,
`cluster/handover.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kconnect.core.herder import effects, events, restart
from kconnect.core.herder.classes import Classes, ClassOfNewConfigs
from kconnect.core.herder.desk import BUSY, Desk
from kconnect.core.herder.effects import Effect, FencedError
from kconnect.core.herder.host_specs import Directories
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.leadership import Leadership
from kconnect.core.herder.log import Fold, Log
from kconnect.core.herder.losses import Losses
from kconnect.core.herder.old_offsets import OldOffsets
from kconnect.core.herder.overview import Overview
from kconnect.core.herder.placing import Placing
from kconnect.core.herder.procedures import Procedure, T, Until
from kconnect.core.herder.rebalances import Rebalances
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.rivals import Rivals
from kconnect.core.herder.unusable import Unusable
from kconnect.core.state import records
from kconnect.core.state.assignment_records import Held, Leader, Placement
from kconnect.core.state.records import Broken, LogRecord, Topic
from kconnect.errors import ConflictError, UnavailableError

_MEMBERS_MS = 3000


class Herder:
    """
    `directories` tells where the plugins of a config come from; without it all are installed beside kconnect.
    `class_of_new_configs` tells which class a new config means by a name, if stored ones may mean another one by it.
    """

    def __init__(
        self,
        identity: Identity,
        directories: Directories = lambda config: (),
        class_of_new_configs: ClassOfNewConfigs = str,
    ) -> None:
        self._fold = Fold()
        self.log: Log = self._fold
        self.desk = desk = Desk(identity, self.log)
        self.rebalances = Rebalances()
        self._rivals = Rivals(desk)
        self._losses = Losses(desk)
        self._unusable = Unusable(desk)
        classes = Classes(desk, class_of_new_configs)
        self._leadership = Leadership(desk, self._losses, classes)
        self.placing = Placing(desk, self._losses, self._rivals, classes, directories)
        old_offsets = OldOffsets(desk, classes)
        overview = Overview(desk, classes)
        self._office = Office(desk, classes, self.placing, self._rivals, self.rebalances, old_offsets, overview)
        self._asked: dict[int, Procedure[Any]] = {}
        self._said_bye = False

    # --- events ---

    def handle(self, event: events.Event, now: int) -> list[Effect[Any]]:
        """Take one event; `now` is milliseconds of any steady clock. The effects are to be performed in order."""
        desk = self.desk
        desk.now = now
        match event:
            case events.Read(batch, ends):
                for record in batch:
                    self._read(record)
                self._fold.reached(ends)
                if batch:
                    desk.changed()
                self._watch_rebalance(batch)
            case events.Remade(topic, id):
                self._fold.begin_again(topic)
                self._losses.remade(topic, id)
                desk.changed()
                if topic in (Topic.CONFIG, Topic.ASSIGNMENT):
                    self._leadership.begin_again()
            case events.CaughtUp():
                desk.started = True
                self._losses.started()
                self.placing.begin()
                self._leadership.begin()
            case events.Requested(ticket, request):
                self._ask(ticket, request)
            case events.Cancelled(ticket):
                procedure = self._asked.pop(ticket, None)
                if procedure is not None:
                    desk.end(procedure)
            case events.Done(id, result):
                desk.done(id, result)
            case events.Failed(id, error):
                desk.failed(id, error)
            case events.Owned():
                self._leadership.owned(True)
            case events.Lost():
                self._leadership.owned(False)
            case events.Members(urls, owner, conflict):
                self._rivals.heard(conflict)
                desk.heard(urls, owner)
            case events.HostsDead(hosts):
                self.placing.seen_dead(hosts)
                desk.dead_hosts = hosts
                desk.changed()
            case events.HostsSilent(silences, unread_since, absent):
                desk.silent_hosts, desk.unread_since, desk.absent = silences, unread_since, absent
            case events.SparkEnded(reason):
                self.placing.spark_ended()
                desk.spark_trouble = reason
                desk.host_troubles.clear()
                desk.changed()
            case events.HostAbsent(host, reason):
                desk.host_troubles[host] = reason
                desk.changed()
            case events.ShutDown():
                desk.leaving = True
                desk.changed()
            case events.Tick():
                pass
        if desk.started and (desk.members_asked_at is None or now - desk.members_asked_at >= _MEMBERS_MS):
            desk.find_members()
        desk.advance()
        self._unusable.tell()
        if desk.leaving and not self._said_bye and (not desk.started or self._may_leave()):
            self._said_bye = True
            desk.tell(effects.Bye())
        return desk.told()

    def _may_leave(self) -> bool:
        """
        Return whether this worker may leave: it runs nothing any more, and other workers, if there are any, have its units.
        """
        me, state = self.desk.me, self.log.assignment
        placement = state.placements.get(me)
        if (placement and placement.hosts) or any(held.units for held in state.hosts_of(me)):
            return False
        successors = [w for w in self.desk.members if w != me and getattr(state.placements.get(w), "takes_units", True)]
        return not successors or not self.desk.owned

    # --- reading ---

    def _read(self, record: LogRecord) -> None:
        desk, log = self.desk, self.log
        match self._fold.apply(record):
            # A restart that was asked for before this worker's start has been overtaken by that start.
            case records.RestartRequest() as wanted if desk.started and wanted.name in log.config.connectors:
                self.placing.restart(restart.plan(wanted, log.config, log.status))
            # As with restarts: a worker that starts has the levels of its own configuration.
            case records.LoggerLevel() as level if desk.started:
                desk.tell(effects.SetLevel(level))
            case records.StatusChange(unit):
                self.placing.read_status(unit)
            case Held() as held if held.worker == desk.me:
                self.placing.read_held(held)
            case Placement() as placement if placement.worker == desk.me:
                self._rivals.read(placement)
            case Leader() as leader if leader.worker != desk.me and desk.leads:
                desk.say("WARNING", f"{leader.worker} now leads the cluster, generation {leader.generation}")
                self._leadership.begin_again()
            case Broken() as broken:
                self._unusable.read(broken)

    def _watch_rebalance(self, batch: Iterable[LogRecord]) -> None:
        if not any(record.topic is Topic.ASSIGNMENT for record in batch):
            return
        state, me, now = self.log.assignment, self.desk.me, self.desk.now
        assignment = state.assignments.get(me)
        self.rebalances.assigned(0 if assignment is None else assignment.generation, now)
        if self.rebalances.under_way:
            held = frozenset().union(*(held.units or () for held in state.hosts_of(me)))
            if held == self.placing.runnable():
                self.rebalances.settled(now)

    # --- asking ---

    def _ask(self, ticket: int, request: Request[Any]) -> None:
        def ended(result: Any, error: Exception | None) -> None:
            self._asked.pop(ticket, None)
            self.desk.tell(effects.Reply(ticket, result) if error is None else effects.Refuse(ticket, error))

        procedure = self._answer(request)
        self._asked[ticket] = procedure
        self.desk.start(procedure, ended, ticket)

    def _answer(self, request: Request[T]) -> Procedure[T]:
        desk = self.desk
        if desk.refusal is not None and request.writes:
            raise UnavailableError(desk.refusal)
        if desk.leaving and request.writes:
            # Whoever sent it on asks again until another worker leads, or owns the task.
            raise ConflictError(BUSY)
        yield Until(lambda: desk.started or not request.waits)
        while True:
            term = desk.term
            try:
                return (yield from request.answer(self._office))
            except FencedError:
                # Nothing was written: whoever leads now, decide again.
                self._leadership.deposed(term)
                yield desk.pause(100)
