"""
A producer and a consumer without Kafka, that do as they are told: acknowledge late, refuse, lose an answer, fence.

`MemoryProducer` is a `Producer` and a `TransactionalProducer`, `MemoryConsumer` a `Consumer` of `core/task/ports.py`. For tests
that step the pumps by hand, for the runners of `kconnect.testing`, and for the random histories. What they lack: partitioners
(everything goes to partition 0 unless a message says otherwise), sizes, timestamps of brokers, and groups: who owns which
partition is for the test to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.record import OffsetAndMetadata, RecordMetadata, TopicPartition
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.ports import Listener, OnReport, Refusal, Refused
from kconnect.errors import ConnectError


class Sent(NamedTuple):
    message: Outgoing
    origin: Any = None
    report: OnReport | None = None


class MemoryProducer:
    """
    A producer without brokers. Messages wait in `waiting`; `flush` acknowledges them, or `acknowledge` some of them. `taken`
    are the messages that Kafka has, for everybody to read: those of a transaction only once it is committed.
    """

    def __init__(self) -> None:
        self.waiting: list[Sent] = []
        self.taken: list[Outgoing] = []
        self.required: list[str] = []
        """The topics that had to be there, in order."""
        self.commits: list[tuple[bool, list[Outgoing]]] = []
        """The transactions that ended: whether committed, and what was in them."""
        self.slow = False
        """Nothing is acknowledged while this is so."""
        self.full = False
        """It takes no more, and gives up."""
        self.refuses: Callable[[Outgoing], Refusal | None] = lambda message: None
        self.fenced = False
        """Every call fails from now on."""
        self.answers = True
        """Whether it hears how a transaction ended; what Kafka made of it is in `commits` all the same."""
        self.open = self.closed = False
        self._in_transaction: list[Outgoing] | None = None
        self._ends: Counter[tuple[str, int]] = Counter()
        self._failure: ConnectError | None = None
        self._refused: list[Refused] = []

    @property
    def active(self) -> int:
        return len(self.waiting)

    def send(self, messages: Iterable[Outgoing]) -> bool:
        return self._send(Sent(message) for message in messages)

    def send_reported(self, messages: Iterable[Outgoing], origins: Iterable[Any], report: OnReport) -> bool:
        return self._send(Sent(message, origin, report) for message, origin in zip(messages, origins))

    def _send(self, messages: Iterable[Sent]) -> bool:
        self._check_fence()
        if self.full:
            return False
        if self._in_transaction is not None:
            self.open = True
        self.waiting += messages
        return True

    def check(self) -> None:
        self._check_fence()
        if self._failure is not None:
            raise self._failure

    def flush(self, timeout: float) -> bool:
        if not self.slow:
            self.acknowledge(len(self.waiting))
        self.check()
        return not self.waiting

    def refusals(self, timeout: float) -> list[Refused]:
        if not self.slow:
            self.acknowledge(len(self.waiting))
        refused, self._refused, self._failure = self._refused, [], None
        return refused

    def acknowledge(self, count: int, tell: bool = True) -> None:
        """Kafka takes the first `count` of what waits, and says so, unless it can't `tell`."""
        sent, self.waiting = self.waiting[:count], self.waiting[count:]
        for message, origin, report in sent:
            refusal, metadata = self.refuses(message), None
            if refusal is None:
                if self._in_transaction is None:
                    self.has([message])
                else:
                    self._in_transaction.append(message)
                place = message[0], max(message[3], 0)
                metadata = RecordMetadata(*place, self._ends[place], message[6] or None)
                self._ends[place] += 1
            if not tell:
                continue
            failed = refusal is not None if report is None else report(origin, message[0], refusal, metadata)
            if failed and refusal is not None:
                self._refused.append(Refused(message[:3], not refusal.fatal))
                if self._failure is None:
                    self._failure = ConnectError(f"Unrecoverable exception from producer send callback: {refusal.text}")

    def has(self, messages: Sequence[Outgoing]) -> None:
        """Kafka has these from now on, for everybody to read."""
        self.taken += messages

    def require_topic(self, topic: str, waits: bool = True) -> bool:
        self.required.append(topic)
        return True

    def close(self, abandon: bool = False) -> None:
        self.closed = True

    # --- transactions ---

    def begin(self, stops: Callable[[], bool]) -> bool:
        self._check_fence()
        self._in_transaction = []
        return not stops()

    def commit(self) -> bool:
        return self._finish(True)

    def abort(self, stops: Callable[[], bool] | None = None) -> bool:
        self._failure = None
        return self._finish(False)

    def _finish(self, committed: bool) -> bool:
        self._check_fence()
        assert self._in_transaction is not None, "begin comes first"
        self.acknowledge(len(self.waiting))
        if committed:
            self.check()
        messages, self._in_transaction = self._in_transaction, []
        self.commits.append((committed, messages))
        if committed:
            self.has(messages)
        if self.answers:
            self.open = False
        return self.answers

    def _check_fence(self) -> None:
        if self.fenced:
            raise ConnectError("The producer is fenced: a newer task has taken over")


class MemoryConsumer:
    """
    Partitions come and go by `assign`, `revoke` and `lose`, commits are answered at once, unless it is `slow`: then by
    `answer`. Reading is for whoever steps the pump; `positions` are where the pump wants it to go on.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.assignment: set[TopicPartition] = set()
        self.positions: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, OffsetAndMetadata] = {}
        """What the group has stored."""
        self.paused: set[TopicPartition] = set()
        self.held = False
        self.slow = False
        self.refuses = False
        """Whether the group takes no commit."""
        self.ends: dict[TopicPartition, int] = {}
        """Where each partition ends, as far as that is known."""
        self.ids: dict[str, str] = {}
        """Those of topics, as far as they are known."""
        self._asked: list[tuple[Mapping[TopicPartition, OffsetAndMetadata], bool]] = []

    def assign(self, *places: TopicPartition) -> None:
        """These are this consumer's, from what the group has stored on."""
        self.assignment.update(places)
        self.positions.update({place: self.stored(place) for place in places})
        self.positions.update(self._listener.assigned(list(places)))

    def revoke(self, *places: TopicPartition) -> None:
        """Another member gets these; what can be committed of them still can."""
        self._listener.revoked(list(places))
        self._forget(places)

    def lose(self, *places: TopicPartition) -> None:
        """Another member has got these already."""
        self._listener.lost(list(places))
        self._forget(places)

    def _forget(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self.assignment.discard(place)
            self.positions.pop(place, None)
            self.paused.discard(place)

    @property
    def commits(self) -> bool:
        return bool(self._asked)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._asked.append((offsets, self.takes(offsets)))
        if not self.slow:
            self.answer()

    def answer(self) -> None:
        """The group answers to the commits that are under way."""
        asked, self._asked = self._asked, []
        for offsets, is_accepted in asked:
            if is_accepted:
                self._listener.committed(offsets)
            else:
                self._listener.commit_failed()

    def stored(self, place: TopicPartition) -> int:
        """Return where the group goes on reading."""
        return self.committed[place].offset if place in self.committed else 0

    def takes(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        """Whether the group takes a commit; then it has stored it."""
        if not self.refuses:
            self.committed.update(offsets)
        return not self.refuses

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self.paused.update(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self.paused.difference_update(partitions)

    def hold(self) -> None:
        self.held = True

    def release(self) -> None:
        self.held = False

    def lags(self) -> dict[TopicPartition, int | None]:
        ends, at = self.ends, self.positions
        return {place: max(0, ends[place] - at[place]) if place in ends else None for place in self.assignment}

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.committed[place].offset for place in partitions if place in self.committed}

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.ends[place] for place in partitions if place in self.ends}
