"""
The herder: what one worker decides, as a pure state machine.

`Herder.handle(event, now)` takes one event and answers the effects to be performed, in order. It is owned by
`worker/loop.py` and nobody else holds it. What it knows it has read from the internal topics: a request or a decision
writes records and waits until they come back. Three things go on at a time: requests (`_answer`), leading, while this
worker owns the group's partition (`leader.py`), and placing this worker's own units on its hosts (`placing.py`).
Read next: `procedures.py` for how waiting is written down, `leader.py`, `cluster/handover.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.herder import effects, events, requests, restart
from kconnect.core.herder.answers import ELECTION_MS, Answers
from kconnect.core.herder.classes import Classes
from kconnect.core.herder.effects import Effect, FencedError
from kconnect.core.herder.host_specs import Directories
from kconnect.core.herder.leader import Leading
from kconnect.core.herder.losses import Losses
from kconnect.core.herder.placing import Placing
from kconnect.core.herder.procedures import Procedure, Procedures, Until
from kconnect.core.herder.rebalances import Rebalances
from kconnect.core.herder.requests import BUSY, NO_LEADER, ForwardError
from kconnect.core.herder.rivals import Rivals
from kconnect.core.settings.operation import Operation
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Broken, Entry, LogRecord, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.errors import ConflictError, ConnectError, UnavailableError

_MEMBERS_MS = 3000
_NOTED = 1000
"""Of so many keys is told that their records can't be used."""
_UNNOTED_MS = 60_000


@dataclass(frozen=True)
class Identity:
    """
    Who this worker is. `incarnation` orders the lives of one worker id: start time first, then something random.
    Times are milliseconds.
    """

    worker_id: str
    url: str
    incarnation: str
    commit: str
    """Of what code the worker is, as `GET /` tells it."""
    kafka_cluster_id: str
    hosts: int = 1
    session_timeout_ms: int = 10_000
    handover_grace_ms: int = 2_000
    task_grace_ms: int = 5_000
    rebalance_delay_ms: int = 0
    tracks_topics: bool = True
    resets_topics: bool = True
    exactly_once: bool = False
    """Whether source tasks write in transactions."""
    redirects_producers: bool = False
    """Whether the worker's own settings have connectors' producers write to another Kafka cluster."""
    topic_names: Mapping[Topic, str] = field(default_factory=dict)
    topic_ids: Mapping[Topic, str] = field(default_factory=dict)
    """What Kafka called the internal topics when this worker began to read them."""
    process: tuple[str, int, float] | None = None
    """Where this process is seen: see `Held`."""


class Herder:
    """`directories` tells where the plugins of a config come from; without it all are installed beside kconnect."""

    def __init__(self, identity: Identity, directories: Directories = lambda config: ()) -> None:
        self.identity = identity
        self.config = ConfigState()
        self.status = StatusState()
        self.offsets = OffsetState()
        self.assignment = AssignmentState()
        self.members: Mapping[str, str] = {}
        self.group_owner: str | None = None
        """Who owns the group's partition as the coordinator last said; None while that is being settled."""
        self.leading: Leading | None = None
        self.now = 0
        self.rebalances = Rebalances()
        self.rivals = Rivals(self)
        self.busy: set[str] = set()
        """Connectors about which a write is under way: whoever else wants to write about one waits."""
        self.changes = 0
        """Counts what may lead to a new decision."""
        self.started_at: int | None = None
        """When this worker had read the log."""
        self.leaving = False
        """Whether this worker was asked to end."""
        self.dead_hosts: frozenset[tuple[str, int, str]] = frozenset()
        self._owner = False
        self._positions: dict[tuple[Topic, int], int] = {}
        self._procedures = Procedures()
        self._asked: dict[int, Procedure] = {}
        self._out: list[Effect] = []
        self._weights: tuple[int, dict[UnitId, int]] = (-1, {})
        self._members_seen = 0
        self._members_asked_at: int | None = None
        self._heard_at: int | None = None
        self._noted: set[tuple[Topic, str]] = set()
        self._unnoted: Counter[Topic] = Counter()
        """Records that nobody can use and of which the log does not say so yet, as it has told of their keys."""
        self._unnoted_told_at: int | None = None
        self._said_bye = False
        self.losses = Losses(self)
        self.classes = Classes(self)
        self.placing = Placing(self, directories)
        self._answers = Answers(self)

    # --- events ---

    def handle(self, event: events.Event, now: int) -> list[Effect]:
        """Take one event; `now` is milliseconds of any steady clock. The effects are to be performed in order."""
        self.now = now
        match event:
            case events.Read(batch, ends):
                for record in batch:
                    self._apply(record)
                self._positions.update(ends)
                self.changes += bool(batch)
                self._watch_rebalance(batch)
            case events.Remade(topic, id):
                self._remade(topic, id)
            case events.CaughtUp():
                self.started_at = now
                self.losses.started()
                self.placing.begin()
                self._lead()
            case events.Requested(ticket, request):
                self._ask(ticket, request)
            case events.GaveUp(ticket):
                procedure = self._asked.pop(ticket, None)
                if procedure is not None:
                    self._procedures.close(procedure)
            case events.Done(id, result):
                self._out += self._procedures.done(id, result)
            case events.Failed(id, error):
                self._out += self._procedures.failed(id, error)
            case events.Owned():
                self._owner = True
                self._find_members()
                self._lead()
            case events.Lost():
                self._owner = False
                self._find_members()
                self._stop_leading()
            case events.Members(urls, owner, conflict):
                self._members_seen += 1
                self.rivals.heard(conflict)
                self._heard_at = now
                if (urls, owner) != (self.members, self.group_owner):
                    self.members, self.group_owner = urls, owner
                    self.changes += 1
            case events.HostsDead(hosts):
                self.placing.seen_dead(hosts)
                self.dead_hosts = hosts
                self.changes += 1
            case events.SparkEnded():
                self.placing.spark_ended()
                self.changes += 1
            case events.ShutDown():
                self.leaving = True
                self.changes += 1
            case events.Tick():
                pass
        if self.started and (self._members_asked_at is None or now - self._members_asked_at >= _MEMBERS_MS):
            self._find_members()
        self._out += self._procedures.advance()
        self._tell_unnoted()
        if self.leaving and not self._said_bye and (not self.started or self._may_leave()):
            self._said_bye = True
            self._out.append(effects.Bye())
        out, self._out = self._out, []
        return out

    @property
    def silent_ms(self) -> int:
        """For how long Kafka has not answered who is in the group, which is asked for every three seconds; 0 at first."""
        return 0 if self._heard_at is None else self.now - self._heard_at

    @property
    def started(self) -> bool:
        return self.started_at is not None

    @property
    def owned(self) -> records.Units:
        """The units that the log gives this worker."""
        assignment = self.assignment.assignments.get(self.identity.worker_id)
        return frozenset() if assignment is None else assignment.units or frozenset()

    @property
    def generation(self) -> int:
        assignment = self.assignment.assignments.get(self.identity.worker_id)
        return 0 if assignment is None else assignment.generation

    def weights(self) -> dict[UnitId, int]:
        """Of the tasks that count for more than one."""
        if self._weights[0] != self.config.offset:
            weights: dict[UnitId, int] = {}
            for name, connector in self.config.connectors.items():
                weight = Operation.of(connector.properties).weight
                if weight != 1:
                    weights.update((UnitId(name, task), weight) for task in self.config.task_ids(name))
            self._weights = (self.config.offset, weights)
        return self._weights[1]

    # --- steps that procedures share ---

    def write(self, entries: Iterable[Entry], as_leader: bool = False) -> Procedure:
        """Write, and wait until the records have been read back: writing is not knowing."""
        wanted = tuple(entries)
        if self.losses.refusal is not None and any(entry.topic is Topic.CONFIG for entry in wanted):
            raise UnavailableError(self.losses.refusal)
        before, since = dict(self._positions), self.losses.counts.copy()
        written: dict[tuple[Topic, int], int] = yield effects.Write(wanted, as_leader)
        if any(offset < before.get(place, 0) for place, offset in written.items()):
            raise ConnectError("An internal topic is shorter than what was read of it: the worker's log says soon what to do")
        yield from self.losses.until_read(written, 1, since)

    def write_as_leader(self, entries: Iterable[Entry]) -> Procedure:
        yield from self.await_lead()
        yield from self.write(entries, as_leader=True)

    def await_lead(self) -> Procedure:
        """Wait out an election; a ForwardError if another worker leads."""
        yield from self.wait_at_most(ELECTION_MS, lambda: self.leads or self._leader_url() is not None, NO_LEADER)
        url = self._leader_url()
        if not self.leads and url is not None:
            raise ForwardError(url)

    def wait_at_most(self, milliseconds: int, condition: Callable[[], bool], refusal: str) -> Procedure:
        """Go on once `condition` holds; a ConflictError that says `refusal` if it does not in time."""
        end = self.now + milliseconds
        yield Until(lambda: self.now >= end or condition())
        if not condition():
            raise ConflictError(refusal)

    def url_of_owner(self, unit: UnitId) -> str | None:
        """Where the live worker that is to run `unit` is reached, if it is another than this one."""
        for worker, assignment in self.assignment.assignments.items():
            if unit in (assignment.units or ()) and worker != self.identity.worker_id:
                return self.members.get(worker)
        return None

    def exclusively(self, name: str, work: Callable[[], Procedure]) -> Procedure:
        """Run `work` while nobody else writes about the connector `name`."""
        yield Until(lambda: name not in self.busy)
        self.busy.add(name)
        try:
            return (yield from work())
        finally:
            self.busy.discard(name)

    def begin(self, procedure: Procedure) -> None:
        """Have a procedure go on by itself. It deals with its errors."""
        self._out += self._procedures.start(procedure, lambda *_: None)

    def end(self, procedure: Procedure) -> None:
        """End a procedure where it stands; what it has asked for may still happen."""
        self._procedures.close(procedure)

    def deposed(self, term: Leading | None) -> None:
        """A write of that term was fenced: another worker leads by now, or this one in a later term."""
        if self.leads and self.leading is term:
            self._stop_leading()
            self._lead_if_owner()

    @property
    def leads(self) -> bool:
        return self.leading is not None and self.leading.in_charge

    def pause_ms(self, milliseconds: int) -> Until:
        end = self.now + milliseconds
        return Until(lambda: self.now >= end)

    def log(self, level: str, message: str) -> None:
        self._out.append(effects.Log(level, message))

    def has_read_up_to(self, ends: Mapping[tuple[Topic, int], int]) -> bool:
        """Whether all that is before these offsets has been read."""
        return all(self._positions.get(place, 0) >= end for place, end in ends.items())

    def _leader_url(self) -> str | None:
        """Of the worker that leads, if that is another one, and alive as far as the group knows."""
        leader = self.assignment.leader
        if leader is None or self._owner or leader.worker == self.identity.worker_id:
            return None
        # Between two leaders the coordinator knows better than the log who is to be asked.
        return self.members.get(leader.worker) if self.group_owner in (leader.worker, None) else None

    def _find_members(self) -> None:
        self._members_asked_at = self.now
        self._out.append(effects.FindMembers())

    # --- reading ---

    def _remade(self, topic: Topic, id: str | None) -> None:
        self._positions = {place: at for place, at in self._positions.items() if place[0] is not topic}
        self.losses.remade(topic, id)
        self.changes += 1
        if topic in (Topic.CONFIG, Topic.ASSIGNMENT):
            self._stop_leading()
            self._lead_if_owner()

    def _apply(self, record: LogRecord) -> None:
        self._positions[record.topic, record.partition] = record.offset + 1
        decoded: object
        if record.topic is Topic.CONFIG:
            decoded = self.config.apply(record)
            # A restart that was asked for before this worker's start has been overtaken by that start.
            if isinstance(decoded, records.RestartRequest) and self.started and decoded.name in self.config.connectors:
                self.placing.restart(restart.plan(decoded, self.config, self.status))
            # As with restarts: a worker that starts has the levels of its own configuration.
            if isinstance(decoded, records.LoggerLevel) and self.started:
                self._out.append(effects.SetLevel(decoded))
        elif record.topic is Topic.STATUS:
            decoded = self.status.apply(record)
            if isinstance(decoded, records.StatusChange):
                self.placing.read_status(decoded.unit)
        elif record.topic is Topic.OFFSET:
            decoded = self.offsets.apply(record)
        else:
            decoded = self.assignment.apply(record)
            if isinstance(decoded, assignment_records.Held) and decoded.worker == self.identity.worker_id:
                self.placing.read_held(decoded)
            if isinstance(decoded, assignment_records.Placement) and decoded.worker == self.identity.worker_id:
                self.rivals.read(decoded)
            if isinstance(decoded, assignment_records.Leader) and decoded.worker != self.identity.worker_id and self.leads:
                self.log("WARNING", f"{decoded.worker} leads the cluster by now, generation {decoded.generation}")
                self._stop_leading()
                self._lead_if_owner()
        if not isinstance(decoded, Broken):
            return
        if (decoded.topic, decoded.key) in self._noted or len(self._noted) >= _NOTED:
            self._unnoted[decoded.topic] += 1
            return
        self._noted.add((decoded.topic, decoded.key))
        topic, key, reason = decoded.topic.value, decoded.key, decoded.reason
        self.log("WARNING", f"Ignoring a record of the {topic} topic with the key {key!r}: {reason}")

    def _tell_unnoted(self) -> None:
        """At once the first time, and then once a minute: one who writes such records may write many."""
        if self._unnoted and (self._unnoted_told_at is None or self.now - self._unnoted_told_at >= _UNNOTED_MS):
            self._unnoted_told_at = self.now
            for topic, count in self._unnoted.items():
                more = f"{count} more record{'s' if count > 1 else ''} of the {topic.value} topic that can't be used"
                self.log("WARNING", f"Ignored {more}; each key is told of once: `kconnect topics check` lists all of them")
            self._unnoted.clear()

    def _watch_rebalance(self, batch: Iterable[LogRecord]) -> None:
        if any(record.topic is Topic.ASSIGNMENT for record in batch):
            self.rebalances.assigned(self.generation, self.now)
            if self.rebalances.under_way:
                hosts = self.assignment.hosts_of(self.identity.worker_id)
                if frozenset().union(*(held.units or () for held in hosts)) == self.placing.runnable():
                    self.rebalances.settled(self.now)

    # --- asking ---

    def _ask(self, ticket: int, request: requests.Request) -> None:
        def ended(result: Any, error: Exception | None) -> None:
            self._asked.pop(ticket, None)
            if error is None:
                self._out.append(effects.Reply(ticket, result))
            else:
                self._out.append(effects.Refuse(ticket, error))

        procedure = self._answer(request)
        self._asked[ticket] = procedure
        self._out += self._procedures.start(procedure, ended)

    def _answer(self, request: requests.Request) -> Procedure:
        if isinstance(request, requests.Health) and not self.started:
            raise UnavailableError("Worker is still starting up.")
        if self.losses.refusal is not None and (request.writes or isinstance(request, requests.Health)):
            raise (UnavailableError if request.writes else ConnectError)(self.losses.refusal)
        if isinstance(request, requests.Health) and self.rivals.trouble is not None:
            raise ConnectError(self.rivals.trouble)
        if self.leaving and request.writes:
            # Whoever sent it on asks again until another worker leads, or owns the task.
            raise ConflictError(BUSY)
        yield Until(lambda: self.started or isinstance(request, requests.Root))
        while True:
            term = self.leading
            try:
                return (yield from self._answers.answer(request))
            except FencedError:
                # Nothing was written: whoever leads now, decide again.
                self.deposed(term)
                yield self.pause_ms(100)

    # --- leading ---

    def _lead(self) -> None:
        if not (self._owner and self.started and self.leading is None and self.losses.refusal is None):
            return
        if self.assignment.newer is not None:
            newer = self.assignment.newer
            self.log(
                "ERROR",
                f"This worker will not lead: the record {newer.key!r} of the assignment topic has format {newer.format}, "
                f"which a newer kconnect wrote, and this one knows up to {assignment_records.FORMAT}. Upgrade this worker.",
            )
            return
        leading = Leading(self)
        self.leading = leading

        def ended(_: Any, error: Exception | None) -> None:
            if self.leading is not leading:
                return
            self.leading = None
            leading.close()
            self.log("WARNING", f"Leading was interrupted: {error}")
            self._lead_if_owner()

        leading.procedure = leading.run()
        self._out += self._procedures.start(leading.procedure, ended)

    def _lead_if_owner(self) -> None:
        """
        Lead again, but only once the coordinator confirms that this worker owns the partition.

        A worker that was suspended may believe so for a while, and would fence the one that really does.
        """

        def work() -> Procedure:
            while self._owner and self.leading is None and self.losses.refusal is None:
                yield self.pause_ms(500)
                seen = self._members_seen
                self._find_members()
                yield Until(lambda seen=seen: self._members_seen > seen)  # type: ignore[misc]
                if self.group_owner == self.identity.worker_id:
                    self._lead()

        self.begin(work())

    def _stop_leading(self) -> None:
        leading, self.leading = self.leading, None
        if leading is not None and leading.procedure is not None:
            self._procedures.close(leading.procedure)
            leading.close()

    def _may_leave(self) -> bool:
        """Nothing runs here any more, and what did has been handed over, if there is anybody to take it."""
        me = self.identity.worker_id
        placement = self.assignment.placements.get(me)
        if (placement and placement.hosts) or any(held.units for held in self.assignment.hosts_of(me)):
            return False
        others = [w for w in self.members if w != me and getattr(self.assignment.placements.get(w), "takes_units", True)]
        return not others or not self.owned
