"""
Writes what a replay has planned: each batch in one transaction with the note of what has been replayed (`memory.py`).

Whatever is killed, a batch is there with its note or neither is; readers with `isolation.level=read_committed` see each record
once, others may see those of a batch that was given up. The transactional id is the queue's, so that of two replays at a time
the second one ends the first. Read next: `kafka/replay_producer.py`.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kconnect.api.record import RecordMetadata
from kconnect.core.task.ports import Refusal
from kconnect.dlq.memory import Done, group_of, includes
from kconnect.dlq.planning import Outgoing
from kconnect.dlq.queue import Connect, Queue
from kconnect.errors import ConnectError
from kconnect.kafka.positions import Place
from kconnect.kafka.replay_producer import ReplayProducer

_BATCH = 500
_TOLD = 5


class Sender:
    """Takes over the queue's replays when it is made: whoever replays it elsewhere can write no more. Use it in a `with`."""

    def __init__(self, connect: Connect, queue: Queue) -> None:
        self._queue = queue
        self._producer = ReplayProducer(connect("producer"), group_of(queue.name), queue.name)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(abandon=True)

    def still(self, outgoing: Sequence[Outgoing], again: bool) -> tuple[list[Outgoing], dict[int, Done]]:
        """
        Return what of it is not done yet, and what has been done of the queue, for `send`.

        Only now is nobody else replaying: what somebody has done since it was planned must not be done twice.
        """
        replays = self._queue.replayed(settled=True)
        letters = ((outgoing_letter, outgoing_letter.letter) for outgoing_letter in outgoing)
        return [
            outgoing_letter for outgoing_letter, of in letters if again or not includes(replays, of.partition, of.offset)
        ], replays

    def send(self, outgoing: Sequence[Outgoing], replays: dict[int, Done], written: Callable[[int], None]) -> None:
        """
        Writes them in batches, telling `written` how many each had; `replays` is kept up to date.

        ConnectError if a record is refused: nothing of its batch counts, what was written before does. ConflictError if another
        replay of the queue has begun.
        """
        lows = {place: low for place, (low, _) in self._queue.bounds().items()}
        for begin in range(0, len(outgoing), _BATCH):
            batch = outgoing[begin : begin + _BATCH]
            after = dict(replays)
            places: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for letter in batch:
                places[letter.letter.partition].append(letter.letter.span)
            for place, spans in places.items():
                after[place] = replays.get(place, Done()).plus(spans, lows.get(place, 0))
            notes = {Place(self._queue.name, p): (after[p].end, after[p].metadata) for p in places}
            self._write(batch, notes)
            replays.update(after)
            written(len(batch))

    def _write(self, batch: Sequence[Outgoing], notes: Mapping[Place, tuple[int, str]]) -> None:
        refused: list[tuple[Outgoing, str]] = []

        def report(each: Outgoing, _topic: str, refusal: Refusal | None, _place: RecordMetadata | None) -> bool:
            if refusal is not None:
                refused.append((each, refusal.text))
            return refusal is not None

        try:
            self._producer.send_reported(map(_message, batch), batch, report)
            self._producer.commit_with(notes, self._queue.metadata)
        except BaseException as error:
            with contextlib.suppress(ConnectError):
                self._producer.give_up()
            if refused and isinstance(error, ConnectError):
                raise _refusal(batch, refused) from error
            raise


def _message(letter: Outgoing) -> Any:
    return (letter.topic, letter.value, letter.key, letter.partition, None, None, letter.timestamp, list(letter.headers))


def _refusal(batch: Sequence[Outgoing], refused: list[tuple[Outgoing, str]]) -> ConnectError:
    # One that is refused takes the others of its batch with it, and they say so: who is first is the cause.
    causes = "; ".join(f"{outgoing.letter.place} to {outgoing.to}: {why}" for outgoing, why in refused[:_TOLD] if why)
    return ConnectError(
        f"Kafka refused a letter, so nothing of this batch of {len(batch)} was replayed: {causes}. Fix the cause, or leave the "
        "letter out"
    )
