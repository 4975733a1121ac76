"""
Writes what a replay has planned: each batch in one transaction with the note of what has been replayed (`memory.py`).

Whatever is killed, a batch is there with its note or neither is; readers with `isolation.level=read_committed` see each record
once, others may see those of a batch that was given up. The transactional id is the queue's, so that of two replays at a time
the second one ends the first.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import confluent_kafka as ck

from kconnect.cli.brokers import Brokers
from kconnect.cli.dlq.memory import Done, group_of
from kconnect.cli.dlq.planning import Outgoing
from kconnect.cli.dlq.queues import Queue
from kconnect.errors import ConflictError, ConnectError, RequestTimeoutError
from kconnect.kafka import codes

_BATCH = 500
_LIMIT_S = 120.0
_STEP_S = 2.0
"""Python hears no Ctrl-C while the client waits, and it is to be heard: whoever reads what is committed waits for the end."""
_TOLD = 5


class Sender:
    """Takes over the queue's replays when it is made: whoever replays it elsewhere can write no more. Use it in a `with`."""

    def __init__(self, brokers: Brokers, queue: Queue) -> None:
        self._queue = queue
        self._producer = ck.Producer(
            {
                **brokers.client_config("producer"),
                "acks": "all",
                "enable.idempotence": True,
                "transactional.id": group_of(queue.name),
                "transaction.timeout.ms": 60_000,
                "message.timeout.ms": 50_000,
                # As large as brokers take: the queue has taken it with all its headers.
                "message.max.bytes": 100 * 1024 * 1024,
            }
        )
        self._until_done(lambda: self._producer.init_transactions(_STEP_S))

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.purge()
        close = getattr(self._producer, "close", None)
        if close is not None:
            close(5)

    def send(self, outgoing: Sequence[Outgoing], done: dict[int, Done], written: Callable[[int], None]) -> None:
        """
        Writes them in batches, telling `written` how many each had; `done` is kept up to date.

        ConnectError if a record is refused: nothing of its batch counts, what was written before does. ConflictError if another
        replay of the queue has begun.
        """
        lows = {place: low for place, (low, _) in self._queue.bounds().items()}
        for begin in range(0, len(outgoing), _BATCH):
            batch = outgoing[begin : begin + _BATCH]
            after = dict(done)
            places: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for each in batch:
                places[each.letter.partition].append(each.letter.span)
            for place, spans in places.items():
                after[place] = done.get(place, Done()).plus(spans, lows.get(place, 0))
            notes = [ck.TopicPartition(self._queue.name, p, after[p].end, metadata=after[p].metadata) for p in places]
            self._write(batch, notes)
            done.update(after)
            written(len(batch))

    def _write(self, batch: Sequence[Outgoing], notes: list[Any]) -> None:
        refused: list[tuple[Outgoing, str]] = []
        self._producer.begin_transaction()
        try:
            for each in batch:
                self._produce(each, refused)
            if self._unacknowledged() or refused:
                raise _refusal(batch, refused)
            self._until_done(lambda: self._producer.send_offsets_to_transaction(notes, self._queue.metadata, _STEP_S))
            self._until_done(lambda: self._producer.commit_transaction(_STEP_S))
        except BaseException as error:
            self._give_up()
            if isinstance(error, ck.KafkaException):
                raise self._told(error) from error
            raise

    def _produce(self, each: Outgoing, refused: list[tuple[Outgoing, str]]) -> None:
        def told(error: Any, _: Any) -> None:
            if error is not None:
                refused.append((each, error.str()))

        headers: Any = list(each.headers)
        while True:
            try:
                self._producer.produce(
                    each.topic,
                    each.value,
                    each.key,
                    each.partition,
                    on_delivery=told,
                    timestamp=each.timestamp,
                    headers=headers,
                )
                return
            except BufferError:
                self._producer.poll(0.2)
            except ck.KafkaException as error:
                refused.append((each, error.args[0].str()))
                return

    def _unacknowledged(self) -> int:
        end = time.monotonic() + _LIMIT_S
        while (left := self._producer.flush(_STEP_S)) and time.monotonic() < end:
            pass
        return left

    def _give_up(self) -> None:
        # If it can't be done, the broker does it, at the latest when its time is over or somebody replays again.
        with contextlib.suppress(ck.KafkaException):
            self._producer.abort_transaction(10)

    def _until_done(self, act: Callable[[], object]) -> None:
        end = time.monotonic() + _LIMIT_S
        while True:
            try:
                act()
                return
            except ck.KafkaException as error:
                if not error.args[0].retriable():
                    raise self._told(error) from error
                if time.monotonic() > end:
                    raise RequestTimeoutError(f"Brokers did not answer the replay in time: {error.args[0].str()}") from error

    def _told(self, error: ck.KafkaException) -> ConnectError:
        cause = error.args[0]
        if cause.code() in codes.FENCED:
            return ConflictError(f"Another replay of {self._queue.name} has begun: this one ends, its last batch is void")
        if cause.code() in codes.FORBIDDEN:
            return ConnectError(
                f"The user may not write with the transactional id {group_of(self._queue.name)}: {cause.str()}. "
                "A replay needs the operations Write and Describe on it, and Read on the group of the same name"
            )
        return ConnectError(f"The replay could not be written: {cause.str()}")


def _refusal(batch: Sequence[Outgoing], refused: list[tuple[Outgoing, str]]) -> ConnectError:
    if not refused:
        return RequestTimeoutError(f"{len(batch)} letters were not acknowledged in time: nothing of this batch counts")
    # One that is refused takes the others of its batch with it, and they say so: who is first is the cause.
    told = "; ".join(f"{each.letter.place} to {each.to}: {why}" for each, why in refused[:_TOLD] if why)
    return ConnectError(
        f"Refused, and so nothing of this batch of {len(batch)} counts: {told}. Mend the cause, or leave the letter out by "
        "--offset"
    )
