"""
What a procedure may do, and what it may know: write, wait for the lead, keep others from a connector, wait, say something.

The desk is the herder's: `herder.py` makes it, tells it what happens, and takes from it what is to be performed. Everything
else in this folder gets a desk, and reads the log on it; so nobody holds the herder. Read next: `procedures.py`, `log.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.cluster.room import Room
from kconnect.core.cluster.silence import Host, Silence
from kconnect.core.herder import effects
from kconnect.core.herder.effects import Effect, Offsets
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.log import Log
from kconnect.core.herder.procedures import OnEnd, Procedure, Procedures, T, Until, ask
from kconnect.core.state.records import Entry, Topic, UnitId, Units
from kconnect.errors import ConflictError, ConnectError, NotFoundError, UnavailableError

ELECTION_MS = 80_000
"""How long a request waits for a leader or an owner: less than a request may take in all, so that it can say why."""

BUSY = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."


class ForwardError(ConflictError):
    """
    Another worker has to answer this request: the one at `url`, a live member's advertised address.

    Nothing was written. Its text is what the caller sees where a request must not be forwarded any further.
    """

    def __init__(self, url: str) -> None:
        super().__init__(BUSY)
        self.url = url


@dataclass
class _Look:
    """A look for the end of a topic: where that is, or why nobody knows. `since` is `Log.remade` when it began."""

    ends: Offsets | None = None
    problem: str | None = None
    since: Counter[Topic] = field(default_factory=Counter)


class Term:
    """A term of leadership of this worker."""

    in_charge = False
    """True once the leader before is fenced and its last record has been read."""

    def close(self) -> None:
        """The term is over, and its work has ended."""


class Desk:
    """
    The knowledge that the procedures of one worker share. Only the herder changes it; procedures take their steps, and may set
    `busy`.
    """

    def __init__(self, identity: Identity, log: Log) -> None:
        self.identity = identity
        self.log = log
        self.now = 0
        """Milliseconds of a steady clock."""
        self.started = False
        """Whether this worker has read the log."""
        self.leaving = False
        """Whether this worker was asked to end."""
        self.is_foreign = False
        """Whether this worker began with another config topic than that which workers used before."""
        self.has_joined = False
        """Whether this worker has been in the group."""
        self.has_had_spark = False
        """Whether a host of this worker has been up in this life."""
        self.members: Mapping[str, str] = {}
        """Who is in the group, and their URLs."""
        self.group_owner: str | None = None
        """Who owns the group's partition as the coordinator last said; None while that is being settled."""
        self.owns_partition = False
        """Whether this worker believes that it does."""
        self.dead_hosts: frozenset[tuple[str, int, str]] = frozenset()
        """As (worker, number, incarnation)."""
        self.silent_hosts: Mapping[Host, Silence] = {}
        """Hosts, of any worker, that do not run what they have."""
        self.absent: frozenset[UnitId] = frozenset()
        """These units are assigned to workers, and no host has had them for longer than a host may be silent."""
        self.unread_since: int | None = None
        """Since when this worker can't read the log, if that is so."""
        self.term: Term | None = None
        """While this worker leads, or is about to."""
        self.spark_trouble: str | None = None
        """Why this worker has no Spark, until its next host is up."""
        self.host_troubles: dict[int, str] = {}
        """Why hosts of this worker have ended, until they are up again."""
        self.lead_refused: str | None = None
        """Why this worker, whose turn it is, can't lead until somebody grants it a right."""
        self.refusal: str | None = None
        """Why nothing is to be written, if that is so: see `losses.py`."""
        self.busy: set[str] = set()
        """Connectors about which a write is under way: whoever else wants to write about one waits."""
        self.changes = 0
        """Counts what may lead to a new decision; not all of it is in the log."""
        self.members_seen = 0
        """How often the coordinator has said who is in the group."""
        self.members_asked_at: int | None = None
        self._heard_at: int | None = None
        self._room: tuple[object, Room] | None = None
        self._next_looks: dict[Topic, _Look] = {}
        """The looks that have not begun yet, by topic."""
        self._looking: set[Topic] = set()
        self._procedures = Procedures()
        self._out: list[Effect[Any]] = []

    # --- what it knows ---

    @property
    def me(self) -> str:
        return self.identity.worker_id

    @property
    def owned(self) -> Units:
        """The units that the log gives this worker."""
        return self.log.units_of(self.me)

    @property
    def leads(self) -> bool:
        return self.term is not None and self.term.in_charge

    @property
    def silent_ms(self) -> int:
        """The milliseconds since Kafka last answered who is in the group; 0 at first. The herder asks every three seconds."""
        return 0 if self._heard_at is None else self.now - self._heard_at

    @property
    def workers(self) -> dict[str, str]:
        """
        The URLs of the group's members that are workers, as they have written into the assignment topic. Whoever may join the
        group may call itself anything: nobody's login is to go there.
        """
        placements = self.log.assignment.placements
        urls = {worker: self.url_of(worker) for worker in self.members if worker in placements or worker == self.me}
        return {worker: url for worker, url in urls.items() if url is not None}

    def url_of(self, worker: str) -> str | None:
        """
        Return the address of a live worker; None if it is none, or if the group has it by http where its own record says https:
        whoever may join the group says so, and waits for logins at the address of one that is gone.
        """
        url, placement = self.members.get(worker), self.log.assignment.placements.get(worker)
        is_secure = placement is not None and placement.is_secure
        return None if url is None or (is_secure and not url.lower().startswith("https://")) else url

    @property
    def room(self) -> Room:
        """Return what room the cluster has, as far as this worker has read."""
        key = self.log.positions.get((Topic.ASSIGNMENT, 0)), frozenset(self.members)
        if self._room is None or self._room[0] != key:
            placements = self.log.assignment.placements
            able = {worker for worker in self.members if worker in placements and placements[worker].takes_units}
            able = able - self.log.assignment.drained or able
            self._room = key, Room(self.log.assignment, able, self.identity.record_bytes)
        return self._room[1]

    def require(self, name: str, text: str = "Connector {} not found") -> None:
        """A NotFoundError that says `text` unless there is a connector `name`."""
        if name not in self.log.config.connectors:
            raise NotFoundError(text.format(name))

    def url_of_owner(self, unit: UnitId) -> str | None:
        """Return the URL of the live worker that is to run `unit`; None if that is this worker, or nobody."""
        for worker, assignment in self.log.assignment.assignments.items():
            if unit in (assignment.units or ()) and worker != self.me:
                return self.url_of(worker)
        return None

    # --- steps of procedures ---

    def write(self, entries: Iterable[Entry], as_leader: bool = False) -> Procedure[None]:
        """Write, and wait until the records have been read back: writing is not knowing."""
        records = tuple(entries)
        if self.refusal is not None and any(entry.topic is Topic.CONFIG for entry in records):
            raise UnavailableError(self.refusal)
        before, since = self.log.positions, self.log.remade
        written = yield from ask(effects.Write(records, as_leader))
        if any(offset < before.get(place, 0) for place, offset in written.items()):
            raise ConnectError(
                "An internal topic is shorter than what the worker has read of it: the worker's log will say what to do"
            )
        yield from self.until_read(written, 1, since)

    def write_as_leader(self, entries: Iterable[Entry]) -> Procedure[None]:
        yield from self.await_lead()
        yield from self.write(entries, as_leader=True)

    def await_lead(self) -> Procedure[None]:
        """Wait out an election; a ForwardError if another worker leads."""

        def settled() -> bool:
            return self.leads or self._leader_url() is not None or self.lead_refused is not None

        yield from self.wait_at_most(ELECTION_MS, settled, NO_LEADER)
        url = self._leader_url()
        if not self.leads and url is None and self.lead_refused is not None:
            raise ConnectError(self.lead_refused)
        if not self.leads and url is not None:
            raise ForwardError(url)

    def wait_at_most(self, milliseconds: int, condition: Callable[[], bool], refusal: str) -> Procedure[None]:
        """Go on once `condition` holds; a ConflictError that says `refusal` if it does not in time."""
        end = self.now + milliseconds
        yield Until(lambda: self.now >= end or condition())
        if not condition():
            raise ConflictError(refusal)

    def pause(self, milliseconds: int) -> Until:
        """Return a condition to yield: it holds once so many milliseconds have passed."""
        end = self.now + milliseconds
        return Until(lambda: self.now >= end)

    def change(self, milliseconds: int) -> Until:
        """Return a condition to yield: it holds once something has changed, or so many milliseconds have passed."""
        changes, end = self.changes, self.now + milliseconds
        return Until(lambda: self.changes != changes or self.now >= end)

    def exclusively(self, name: str, work: Procedure[T]) -> Procedure[T]:
        """Go on with `work`, which is not begun yet, once nobody else writes about the connector `name`, and keep them away."""
        yield Until(lambda: name not in self.busy)
        self.busy.add(name)
        try:
            return (yield from work)
        finally:
            self.busy.discard(name)

    def read_to_end(self, topic: Topic) -> Procedure[None]:
        """Wait until all that is in the topic by now has been read."""
        since = self.log.remade
        ends = yield from ask(effects.FindEnds(topic))
        yield from self.until_read(ends, 0, since)

    def look_to_end(self, topic: Topic) -> Procedure[None]:
        """
        The same for who only looks. There may be any number of them: one look for the end is for all who have asked before it
        begins, so that they take one thread from those who change something.
        """
        look = self._next_looks.get(topic)
        if look is None:
            look = self._next_looks[topic] = _Look()
            self.begin(self._look(topic, look))
        yield Until(lambda: look.ends is not None or look.problem is not None)
        if look.ends is None:
            raise ConnectError(look.problem or "")
        yield from self.until_read(look.ends, 0, look.since)

    def _look(self, topic: Topic, look: _Look) -> Procedure[None]:
        yield Until(lambda: topic not in self._looking)
        self._looking.add(topic)
        del self._next_looks[topic]
        look.since = self.log.remade
        try:
            look.ends = yield from ask(effects.FindEnds(topic))
        except Exception as error:  # noqa: BLE001 - all who have asked are told of it
            look.problem = str(error) or type(error).__name__
        finally:
            self._looking.discard(topic)

    def until_read(self, places: Offsets, behind: int, since: Counter[Topic]) -> Procedure[None]:
        """Wait until that was read, and so many more; a ConnectError if a topic was made anew since `log.remade`."""
        ends, topics = {place: offset + behind for place, offset in places.items()}, {topic for topic, _ in places}
        yield Until(lambda: self.log.is_remade(topics, since) or self.log.has_read(ends))
        if self.log.is_remade(topics, since):
            raise ConnectError("An internal topic has been recreated: the worker's log says which one")

    # --- at once ---

    def begin(self, procedure: Procedure[Any]) -> None:
        """Have a procedure go on by itself. It deals with its errors."""
        self.start(procedure, lambda *_: None)

    def end(self, procedure: Procedure[Any]) -> None:
        """End a procedure where it stands; what it has asked for may still happen."""
        self._procedures.close(procedure)

    def say(self, level: str, message: str) -> None:
        """A line for the worker's log."""
        self.tell(effects.Log(level, message))

    def changed(self) -> None:
        """Have everybody decide anew."""
        self.changes += 1

    def find_members(self) -> None:
        """Have the coordinator asked who is in the group."""
        self.members_asked_at = self.now
        self.tell(effects.FindMembers())

    def _leader_url(self) -> str | None:
        """
        Return the URL of the leading worker; None if this worker leads, or if the group does not know the leader as alive.
        """
        leader = self.log.assignment.leader
        if leader is None or self.owns_partition or leader.worker == self.me:
            return None
        # Between two leaders the coordinator knows better than the log who is to be asked.
        return self.url_of(leader.worker) if self.group_owner in (leader.worker, None) else None

    # --- for the herder ---

    def heard(self, members: Mapping[str, str], owner: str | None) -> None:
        """Take over the group's members and owner from the coordinator's answer."""
        self.members_seen += 1
        self._heard_at = self.now
        self.has_joined = self.has_joined or self.me in members
        if (members, owner) != (self.members, self.group_owner):
            self.members, self.group_owner = members, owner
            self.changed()

    def tell(self, effect: Effect[None]) -> None:
        """Have something performed of which nobody waits for the answer."""
        self._out.append(effect)

    def told(self) -> list[Effect[Any]]:
        """Return the effects to perform, in order. The next call returns those after them."""
        out, self._out = self._out, []
        return out

    def start(self, procedure: Procedure[T], on_end: OnEnd[T], ticket: int = 0) -> None:
        self._out += self._procedures.start(procedure, on_end, ticket)

    def done(self, id: int, result: object) -> None:
        self._out += self._procedures.done(id, result)

    def failed(self, id: int, error: Exception) -> None:
        self._out += self._procedures.failed(id, error)

    def advance(self) -> None:
        self._out += self._procedures.advance()
