"""
Ranges of offsets, read outside of any group: where partitions begin and end, and the messages between two offsets.

Called by `pyspark/cluster.py` for frames of Spark. The end of a partition is that of its committed records (the last stable
offset). Transaction markers have offsets and are never delivered, so the end of a range is found by partition-EOF, not by the
last message's offset. Read next: `consumer.py`, for members of groups.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, OffsetSpec

from kconnect.errors import ConnectError, RequestTimeoutError
from kconnect.kafka import asking, failures, identities, message_headers, unreadable
from kconnect.kafka.codes import AWAY, MOVING

log = logging.getLogger(__name__)

At = tuple[str, int]
_T = TypeVar("_T")

_ANSWER_S, _LIMIT_S = 10.0, 60.0
_PASSING = (*AWAY, *MOVING)
_POLL_S = 0.2
_MOST = 1000
"""Messages at a time; the consumer holds 16 MB of them at most."""


class Partitions:
    """
    What brokers say of partitions. `client` are a consumer's settings. One admin client asks all of it, until a question
    fails: it may go on to ask brokers that lead nothing any more. ConnectError from any call, with the remedy, if no broker
    answers, or the client may not read a topic.
    """

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._client = client
        self._admin: AdminClient | None = None

    def there(self, topics: Collection[str] | None = None) -> dict[str, list[int]]:
        """Return the partitions of those of the topics that exist, of all topics with None."""

        def ask(admin: AdminClient) -> dict[str, list[int]]:
            # All of them at once: to ask for one that does not exist may create it.
            return {
                name: sorted(topic.partitions)
                for name, topic in admin.list_topics(timeout=_ANSWER_S).topics.items()
                if (topics is None or name in topics) and topic.error is None
            }

        return self._asked(ask, "the topics" if topics is None else f"the topic {', '.join(sorted(topics))}")

    def begins(self, places: Collection[At]) -> dict[At, int]:
        """Return the first offset that each partition still has."""
        return self._offsets(dict.fromkeys(places, OffsetSpec.earliest()))

    def ends(self, places: Collection[At]) -> dict[At, int]:
        """Return the offset behind all that readers of committed records may read in each partition."""
        return self._offsets(dict.fromkeys(places, OffsetSpec.latest()))

    def at_time(self, places: Collection[At], time_ms: int) -> dict[At, int]:
        """Return the offset of the first record at or after a time, of partitions that have such a record."""
        offsets = self._offsets(dict.fromkeys(places, OffsetSpec.for_timestamp(time_ms)))
        return {place: offset for place, offset in offsets.items() if offset >= 0}

    def _offsets(self, specs: Mapping[At, OffsetSpec]) -> dict[At, int]:
        if not specs:
            return {}
        request = {ck.TopicPartition(*place): spec for place, spec in specs.items()}

        def ask(admin: AdminClient) -> dict[At, int]:
            committed = ck.IsolationLevel.READ_COMMITTED
            answers = admin.list_offsets(request, request_timeout=_ANSWER_S, isolation_level=committed)
            return {(place.topic, place.partition): int(future.result().offset) for place, future in answers.items()}

        return self._asked(ask, f"the topic {', '.join(sorted({topic for topic, _ in specs}))}")

    def _asked(self, ask: Callable[[AdminClient], _T], what: str) -> _T:
        def once() -> _T:
            admin, self._admin = self._admin or AdminClient(identities.connection(self._client)), None
            try:
                answer = ask(admin)
            except BaseException:
                # Other answers may still be to come.
                asking.keep(admin)
                raise
            self._admin = admin
            return answer

        return failures.persistently(once, _PASSING, what, self._client, _LIMIT_S)


def messages(
    client: Mapping[str, Any], place: At, begin: int, end: int, patience_s: float, fails_on_loss: bool = True
) -> Iterator[list[ck.Message]]:
    """
    Yield the committed messages of a partition from the offset `begin` on, without `end`, in lists and in their order. There
    may be fewer than offsets: of compacted topics, and of transactions.

    Raises:
        ConnectError: the partition can't be read, or has lost `begin` while `fails_on_loss`
        RequestTimeoutError: nothing has come for `patience_s` seconds
    """
    consumer = ck.Consumer(
        {
            **client,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
    )
    try:
        consumer.assign([ck.TopicPartition(*place, begin)])
        since = time.monotonic()
        while True:
            # One, and then those that are there already: `consume` waits all of its time for the last one.
            first = consumer.poll(_POLL_S)
            if first is None:
                _require_patience(since, place, begin, end, patience_s)
                continue
            batch, at_end = [], False
            for message in (first, *consumer.consume(_MOST - 1, 0)):
                error = message.error()
                if error is None:
                    if _offset(message) >= end:
                        at_end = True
                        break
                    batch.append(message)
                elif error.code() == ck.KafkaError._PARTITION_EOF:
                    # Of a leader that is new and knows less, this may come too soon.
                    at_end = _offset(message) >= end
                    if at_end:
                        break
                elif error.code() == ck.KafkaError._AUTO_OFFSET_RESET:
                    at_end = at_end or not _go_on(consumer, client, place, begin, end, fails_on_loss)
                else:
                    _require_passing(message, error, place, client)
            if batch:
                begin, since = _offset(batch[-1]) + 1, time.monotonic()
                message_headers.mend(batch)
                yield batch
            if at_end:
                return
            if not batch:
                _require_patience(since, place, begin, end, patience_s)
    finally:
        consumer.close()


def _offset(message: ck.Message) -> int:
    offset = message.offset()
    return -1 if offset is None else offset


def _require_patience(since: float, place: At, begin: int, end: int, patience_s: float) -> None:
    if time.monotonic() - since > patience_s:
        raise RequestTimeoutError(
            f"{place[0]}-{place[1]} gave nothing from offset {begin} on for {patience_s:.0f} s, and is to be read to {end}. "
            "Check its brokers, or wait longer by the option read.timeout.ms"
        )


def _go_on(consumer: ck.Consumer, client: Mapping[str, Any], place: At, begin: int, end: int, fails_on_loss: bool) -> bool:
    """Go on where the partition begins now, if records may be missing. Return whether there are any of the range."""
    partitions = Partitions(client)
    low, high = partitions.begins([place])[place], partitions.ends([place])[place]
    if fails_on_loss:
        raise ConnectError(
            f"Records are missing: {place[0]}-{place[1]} has the offsets from {low} to {high} now, and offset {begin} is "
            "wanted. Kafka's retention may have deleted them. To read what there is, set the option failOnDataLoss=false"
        )
    log.warning("%s-%d has the offsets from %d to %d now: some of those from %d to %d are gone", *place, low, high, begin, end)
    begin = max(low, begin)
    if begin >= min(high, end):
        return False
    consumer.assign([ck.TopicPartition(*place, begin)])
    return True


def _require_passing(message: ck.Message, error: ck.KafkaError, place: At, client: Mapping[str, Any]) -> None:
    if error.code() in unreadable.NOT_UNPACKED:
        raise unreadable.of_error(message)
    if error.fatal() or error.code() not in _PASSING:
        raise failures.failure(error, f"the topic {place[0]}", client)
    log.warning("Reading %s-%d: %s", *place, error.str())
