"""
A sink task's consumer that rests: with nothing to read for minutes, it leaves its group and has no client.

Made and read by `units/sink_task.py`, asked for all else by `sink_pump.py`; from the task's thread only. While it rests, the
host's watcher (`kafka/watch.py`) watches its partitions. When there is something, a reader outside of the group reads on at
once from where the task stood, because to join an empty group takes brokers three seconds
(`group.initial.rebalance.delay.ms`); meanwhile a member joins, and goes on where that reader is. Nothing is committed in
between. Only a task that is alone in its group may rest: any other member would take what it leaves. `docs/operating.md` says
what others see.

What it needs of Kafka is `Clients`: in a host those of `kafka/resting.py`, in tests a Kafka in memory. Read next: `ports.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.ports import GroupConsumer, Listener
from kconnect.errors import ConnectError

log = logging.getLogger(__name__)

BEGINNING = -2
"""Where a partition is watched from whose reader knows no place: its first record, as librdkafka has it."""

_AGAIN_S = 5.0
_CLOSE_S = 5.0
_TURN_S = 0.05
"""For how long a reader ahead waits until its task's member is asked whether it has joined."""


class Standing(NamedTuple):
    """The position of the reader of one partition, if it is known, and the committed offset of its group."""

    position: int | None
    committed: int | None


class Member(GroupConsumer, Protocol):
    """A member of the group. It calls its listener within its own calls."""

    @property
    def from_end(self) -> bool:
        """Whether a partition of which the group has no offset is read from where it ends, or from somewhere before."""
        ...

    @property
    def topics(self) -> Collection[str]:
        """The topics that it reads, also those that are not there."""
        ...

    def subscribe(self) -> None: ...

    def read(self, limit: int, timeout: float) -> list[Any]: ...

    def standing(self) -> dict[TopicPartition, Standing] | None:
        """
        Return where reading stands, which is nowhere if none of its topics is there; None unless this member alone reads all of
        them, and owes and is owed nothing.
        """
        ...

    def wake(self) -> None: ...

    def close(self, limit: float) -> None: ...


class Reader(Protocol):
    """
    A reader outside of any group. `places` are its partitions, `at` where it is in those of which that is known, and `paused`
    those that the task has paused.
    """

    places: frozenset[TopicPartition]
    at: dict[TopicPartition, int]
    paused: set[TopicPartition]

    def committed(self) -> dict[TopicPartition, int] | None:
        """Return the group's committed offsets, as far as there are some; None if no broker answers."""
        ...

    def begin(self, starts: Mapping[TopicPartition, int]) -> None: ...

    def read(self, limit: int, timeout: float) -> list[Any] | None:
        """Return messages. None if something can't be read, or not at once, which is for the task's member to settle."""
        ...

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def pause(self, partitions: Collection[TopicPartition]) -> None: ...

    def resume(self, partitions: Collection[TopicPartition]) -> None: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def close(self) -> None: ...


class Watch(Protocol):
    @property
    def failure(self) -> ConnectError | None:
        """Why a partition can't be read, if that is what was called for."""
        ...

    def end(self) -> None: ...


class Order(Protocol):
    """Knows records that lie about their offsets (`kafka/offset_order.py`)."""

    def begin(self, places: Iterable[TopicPartition]) -> None: ...

    def failure(self, messages: Sequence[Any], assigned: Collection[TopicPartition]) -> tuple[int, ConnectError] | None: ...

    def close(self) -> None:
        """Have no client, until there is something to ask."""
        ...


class Clients(Protocol):
    """A resting consumer's Kafka. `wake` may be called from any thread, also after `close`."""

    @property
    def in_task_thread(self) -> bool:
        """Whether the task calls, and not a thread of its plugin's."""
        ...

    @property
    def may_rest(self) -> bool:
        """Whether there are watchers, and a wait without a client can be ended."""
        ...

    @property
    def order(self) -> Order: ...

    def member(self, listener: Listener) -> Member: ...

    def reader(self, left: Mapping[TopicPartition, Standing]) -> Reader: ...

    def watch(self, starts: Mapping[TopicPartition, int], topics: Collection[str], call: Callable[[], None]) -> Watch:
        """
        Call `call`, from any thread, once there is a record at `starts` or behind it, or one of `topics` has got other
        partitions than those, or something else has changed there.
        """
        ...

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]: ...

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Ask by a client of their own, from any thread."""
        ...

    def wait(self, timeout: float) -> None:
        """Wait for `wake`."""
        ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class Stand(Enum):
    """The states of a resting consumer."""

    MEMBER = auto()
    """It is a member of its group, or joins it, and reads as that."""
    WATCHED = auto()
    """It has left the group, and has no client. Waits for a call of its watch, of its task, or for the end of the round."""
    UNWATCHED = auto()
    """The same while its task is paused, which wants to know nothing. Waits for the task, or for the end of the round."""
    AHEAD = auto()
    """A reader reads on where it stood, and a member joins. Waits until that has the reader's partitions, or others."""
    CLOSED = auto()


class Turn(Enum):
    """The steps from one stand to another."""

    LEAVE = auto()
    LEAVE_PAUSED = auto()
    JOIN = auto()
    """The group's offsets are read from, where it has some that somebody has set since."""
    READ_AHEAD = auto()
    """They are what they were."""
    TAKE_OVER = auto()
    """The member has all that the reader has, and goes on there."""
    GIVE_UP = auto()
    """What was read ahead comes again: the member has something else, or the reader can't go on."""
    CLOSE = auto()


TURNS: Mapping[tuple[Stand, Turn], Stand] = MappingProxyType(
    {
        (Stand.MEMBER, Turn.LEAVE): Stand.WATCHED,
        (Stand.MEMBER, Turn.LEAVE_PAUSED): Stand.UNWATCHED,
        (Stand.WATCHED, Turn.JOIN): Stand.MEMBER,
        (Stand.UNWATCHED, Turn.JOIN): Stand.MEMBER,
        (Stand.MEMBER, Turn.READ_AHEAD): Stand.AHEAD,
        (Stand.AHEAD, Turn.TAKE_OVER): Stand.MEMBER,
        (Stand.AHEAD, Turn.GIVE_UP): Stand.MEMBER,
        (Stand.MEMBER, Turn.CLOSE): Stand.CLOSED,
        (Stand.WATCHED, Turn.CLOSE): Stand.CLOSED,
        (Stand.UNWATCHED, Turn.CLOSE): Stand.CLOSED,
    }
)


class RestingConsumer:
    """
    A `ports.Consumer`, with `read` and `rest`.

    After each `round_s` seconds of rest it joins the group for a moment. So the group's offsets do not expire (brokers keep
    those of an empty group for `offsets.retention.minutes`), and those that somebody else has altered are noticed.
    """

    def __init__(self, clients: Clients, listener: Listener, round_s: float, clock: Callable[[], float]) -> None:
        self._clients, self._listener, self._round_s, self._clock = clients, listener, round_s, clock
        self._held = False
        self._stand = Stand.MEMBER
        self._member: Member | None = clients.member(self)
        self._ahead: Reader | None = None
        self._left: dict[TopicPartition, Standing] = {}
        """Where reading stood when it was left last, and how far behind that was."""
        self._lags: dict[TopicPartition, int | None] = {}
        self._starts: dict[TopicPartition, int] = {}
        """Where a member that joins is to begin, if that is not at the group's offset."""
        self._watch: Watch | None = None
        self._called = False
        self._rise_at = 0.0
        self._error: ConnectError | None = None
        """What the next read fails with: what was before it has been read by then."""

    def _turn(self, turn: Turn) -> None:
        self._stand = TURNS[self._stand, turn]

    def subscribe(self) -> None:
        self._joined().subscribe()

    @property
    def resting(self) -> bool:
        return self._stand in (Stand.WATCHED, Stand.UNWATCHED)

    @property
    def assignment(self) -> Set[TopicPartition]:
        if self._ahead is not None:
            return self._ahead.places
        return self._member.assignment if self._member is not None else frozenset()

    def read(self, limit: int, timeout: float) -> list[Any]:
        """
        Return up to `limit` messages, as soon as there is one; none after `timeout` seconds without, or once `wake` is called.
        """
        if self.resting:
            wait = min(timeout, self._rise_at - self._clock())
            if wait > 0 and not self._called:
                self._clients.wait(wait)
            if not self._called and self._clock() < self._rise_at:
                return []
            if self._watch is not None and self._watch.failure is not None:
                raise self._watch.failure
            self._rise(ahead=self._called and not self._held)
        if self._error is not None:
            raise self._error
        messages = [] if self.resting else self._read(limit, timeout)
        failure = self._clients.order.failure(messages, self.assignment) if messages else None
        if failure is not None:
            messages, self._error = messages[: failure[0]], failure[1]
        return messages

    def _read(self, limit: int, timeout: float) -> list[Any]:
        if self._ahead is None:
            return self._joined().read(limit, timeout)
        # The member joins within its own `read`, if it does.
        messages = self._joined().read(limit, 0)
        if messages or self._ahead is None:
            return messages
        ahead = self._ahead.read(limit, min(timeout, _TURN_S))
        if ahead is None:
            log.warning("What has come can't be read before the group has been joined")
            self._give_up()
        return ahead or []

    def rest(self) -> bool:
        """Leave the group, if nothing speaks against it; the listener's `revoked` is called. For when nothing is being read."""
        member = self._member
        if not self._clients.may_rest or member is None or self._stand is not Stand.MEMBER:
            return False
        standing = member.standing()
        if standing is None:
            return False
        starts = {}
        for place, at in standing.items():
            if at.position is None and member.from_end:
                return False
            starts[place] = BEGINNING if at.position is None else at.position
        self._left = {place: Standing(start, standing[place].committed) for place, start in starts.items()}
        self._lags = member.lags()
        topics = member.topics
        self._called, self._rise_at = False, self._clock() + self._round_s
        try:
            member.close(_CLOSE_S)
        finally:
            self._member = None
        self._clients.order.close()
        self._turn(Turn.LEAVE_PAUSED if self._held else Turn.LEAVE)
        if not self._held:
            self._watch = self._clients.watch(starts, topics, self._call)
        log.debug("No record for a while: resting in %s", ", ".join(f"{topic}-{number}" for topic, number in starts) or topics)
        return True

    def rise(self) -> None:
        """Go on reading with the next `read`."""
        self._called = True

    def _call(self) -> None:
        self._called = True
        self._clients.wake()

    def _rise(self, ahead: bool) -> None:
        self._starts = {
            place: at.position for place, at in self._left.items() if at.position is not None and at.position != at.committed
        }
        try:
            member = self._clients.member(self)
        except ConnectError as error:
            # Nothing that a task which reads would notice, either.
            log.warning("The group can't be joined again: %s", error)
            self._rise_at = self._clock() + _AGAIN_S
            self._called = False
            return
        if self._held:
            member.hold()
        self._member = member
        self._turn(Turn.JOIN)
        member.subscribe()
        self._end_watch()
        # Of topics that were not there, nothing can be read ahead of the group.
        if self._left and (ahead or self._starts):
            self._look_behind(ahead)

    def _look_behind(self, ahead: bool) -> None:
        """See whether somebody has set the group's offsets since. If nobody has, read on ahead of the member, where wanted."""
        reader = self._clients.reader(self._left)
        if not self._still_left(reader) or not ahead:
            reader.close()
            return
        self._turn(Turn.READ_AHEAD)
        self._ahead = reader
        reader.begin(self._listener.assigned(list(self._left)))

    def _still_left(self, reader: Reader) -> bool:
        """Whether the group's offsets are what they were; what somebody has set since counts, when the group is joined."""
        group = reader.committed()
        if group is None:
            return False
        same = {place for place, at in self._left.items() if group.get(place) == at.committed}
        self._starts = {place: start for place, start in self._starts.items() if place in same}
        return len(same) == len(self._left)

    def _joined(self) -> Member:
        if self.resting:
            self._rise(ahead=False)
        if self._member is None:
            raise ConnectError("The group can't be joined again: see the log")
        return self._member

    def _end_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.end()

    def _give_up(self) -> None:
        """Stop reading ahead. The messages that were read come again, from where the group says."""
        reader, self._ahead = self._ahead, None
        if reader is not None:
            self._turn(Turn.GIVE_UP)
            self._clients.order.begin(reader.places)
            try:
                self._listener.lost(list(reader.places))
            finally:
                reader.close()

    def wake(self) -> None:
        """End the wait of a `read`. From any thread."""
        self._clients.wake()
        member = self._member
        if member is not None:
            member.wake()

    @property
    def commits(self) -> bool:
        """Whether a commit is under way; or can't be begun yet, for only members may commit."""
        return self._stand is Stand.AHEAD or (self._member is not None and self._member.commits)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._joined().commit(offsets)

    def _reading(self) -> Member | Reader:
        return self._ahead if self._ahead is not None else self._joined()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._reading().seek(partition, offset)
        self._clients.order.begin([partition])

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        if partitions:
            self._reading().pause(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        if partitions:
            self._reading().resume(partitions)

    def hold(self) -> None:
        self._held = True
        for reader in (self._ahead, self._member):
            if reader is not None:
                reader.hold()

    def release(self) -> None:
        self._held = False
        for reader in (self._ahead, self._member):
            if reader is not None:
                reader.release()
        if self._stand is Stand.UNWATCHED:
            self._called = True

    def lags(self) -> dict[TopicPartition, int | None]:
        """
        Return the lags as `TaskConsumer` does. While a watcher watches, and has not called, nothing has come since the rest
        began.
        """
        if self._ahead is not None:
            return dict.fromkeys(self._ahead.places)
        if self._member is not None:
            return self._member.lags()
        return dict(self._lags) if self._stand is Stand.WATCHED and not self._called else dict.fromkeys(self._left)

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return self._joined().group_offsets(partitions)

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return self._clients.topic_ids(topics)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if self._clients.in_task_thread:
            return self._joined().end_offsets(partitions)
        # The member answers no other thread while it is in a call of the listener, which may wait for that thread.
        return self._clients.end_offsets(partitions)

    def close(self, limit: float) -> None:
        """Leave the group, as a `Member` does. It may still be joining, in order to commit what was read ahead."""
        end = self._clock() + limit
        try:
            self._end_watch()
            while self._ahead is not None and self._clock() < end:
                self._joined().read(1, _TURN_S)
        finally:
            try:
                self._give_up()
            finally:
                self._turn(Turn.CLOSE)
                self._clients.close()
                self._clients.order.close()
                if self._member is not None:
                    self._member.close(max(0.0, end - self._clock()) if limit else 0.0)

    # --- called by the member, within its own calls ---

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._clients.order.begin(partitions)
        reader = self._ahead
        if reader is None or not reader.places.issubset(partitions):
            self._give_up()
            starts = {place: self._starts[place] for place in partitions if place in self._starts}
            self._starts.clear()
            return {**starts, **self._listener.assigned(partitions)}
        # As far as the listener had them already, nothing has changed for it.
        self._ahead = None
        self._turn(Turn.TAKE_OVER)
        self._starts.clear()
        self._joined().pause(reader.paused)
        reader.close()
        new = [place for place in partitions if place not in reader.places]
        return {**reader.at, **(self._listener.assigned(new) if new else {})}

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self._listener.revoked(partitions)

    def lost(self, partitions: list[TopicPartition]) -> None:
        self._listener.lost(partitions)

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._listener.committed(offsets)

    def commit_failed(self) -> None:
        self._listener.commit_failed()

    def commits_lost(self, commits: int) -> None:
        self._listener.commits_lost(commits)
