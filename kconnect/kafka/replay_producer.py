"""
The producer of a replay: records go in one transaction with the note of what has been replayed, as offsets of a group.

Used by `dlq/sending.py`. All but the note and what errors say is `transactions.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.errors import ConflictError, ConnectError, RequestTimeoutError
from kconnect.kafka.codes import FENCED, FORBIDDEN, sentence
from kconnect.kafka.positions import Place
from kconnect.kafka.transactions import TransactionalProducer

_LIMIT_S = 120.0
_ABORT_S = 10.0
_STEP_S = 2.0
"""Python hears no Ctrl-C while the client waits, and it is to be heard: whoever reads what is committed waits for the end."""

_SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    "transaction.timeout.ms": 60_000,
    "message.timeout.ms": 50_000,
    # As large as brokers take: the queue has taken it with all its headers.
    "message.max.bytes": 100 * 1024 * 1024,
}


class ReplayProducer(TransactionalProducer):
    """Takes over the replays of `queue` when it is made: whoever replays it elsewhere can write no more."""

    def __init__(self, client: Mapping[str, Any], transactional_id: str, queue: str) -> None:
        self._queue, self._end = queue, time.monotonic() + _LIMIT_S
        settings = {**client, **_SETTINGS, "transactional.id": transactional_id}
        super().__init__(settings, self._late, may_work=lambda: True, confirmed=lambda: True)
        self._in_time(lambda: self.begin(self._late))

    def commit_with(self, notes: Mapping[Place, tuple[int, str]], group: Any) -> None:
        """Once all that was sent is acknowledged, with these offsets and texts committed for the group."""
        self._end = time.monotonic() + _LIMIT_S
        while not self.flush(_STEP_S):
            self._in_time(lambda: not self._late())
        partitions = [ck.TopicPartition(*place, at, metadata=text) for place, (at, text) in notes.items()]
        self._in_time(lambda: self._until_done("send_offsets_to_transaction", self._late, partitions, group))
        self._in_time(self.commit)

    def give_up(self) -> None:
        """
        Abort the transaction. If that fails, the broker does it, at the latest when the transaction's time is over or somebody
        replays again.
        """
        self._end = time.monotonic() + _ABORT_S
        self.abort()

    def _late(self) -> bool:
        return time.monotonic() > self._end

    def _in_time(self, act: Callable[[], bool]) -> None:
        if not act():
            raise RequestTimeoutError(f"Brokers did not answer the replay of {self._queue} within {_LIMIT_S:.0f} s")

    def _failed(self, error: ck.KafkaError, topic: str | None) -> ConnectError:
        error = self._cause(error)
        if error.code() in FENCED:
            return ConflictError(f"Another replay of {self._queue} has begun: this one ends, and its last batch does not count")
        if error.code() in FORBIDDEN:
            return ConnectError(
                f"The user may not write with the transactional id {self._id}: {sentence(error)}. "
                "A replay needs the operations Write and Describe on it, and Read on the group of the same name"
            )
        return ConnectError(f"The replay could not be written: {error.str()}")
