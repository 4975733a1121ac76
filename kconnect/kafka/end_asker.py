"""
Where a partition ends, asked beside whoever reads it: by an admin client, which many threads may ask at a time.

A consumer takes one call at a time (confluent-kafka 2.16): who polls it waits for all that others ask by it, which without
brokers are many seconds for each, and they all wait by turning. Held by the readers of the internal topics and of the metrics
topic for `Freshness`. Read next: `freshness.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent import futures
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, OffsetSpec

from kconnect.kafka import asking, liveness
from kconnect.kafka.codes import MOVING

_LATE_S = 5.0
"""So long after its time an answer may come, such as "timed out"; a client that never has one is replaced."""
_LOST_S, _MOVED_S = 10.0, 1.0
"""A client of this age is replaced: if no broker answers it, and if a broker answers that it asks as of an earlier leader."""


class EndAsker:
    """`client` are librdkafka's settings. Thread-safe; a client is made with the first question."""

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._settings = {name: value for name, value in client.items() if name != "group.id"}
        self._lock = threading.Lock()
        self._client: AdminClient | None = None
        self._since = 0.0
        self._closed = False

    def end(self, topic: str, partition: int, timeout: float) -> int:
        """
        Return the offset behind all that readers of committed records may read. Raise KafkaException if no broker says it
        within `timeout` seconds, RuntimeError after `close`.
        """
        client, place = self._opened(), ck.TopicPartition(topic, partition)
        # Callbacks of logins, such as for a new token, are called by whoever polls.
        client.poll(0)
        what = {place: OffsetSpec.latest()}
        answer = client.list_offsets(what, request_timeout=timeout, isolation_level=ck.IsolationLevel.READ_COMMITTED)[place]
        # Never raised itself: it would have this frame, and keep the client with its threads until garbage is collected, which
        # may happen in a thread of that client and end the process (`asking.keep`).
        try:
            failure = answer.exception(timeout + _LATE_S)
        except futures.TimeoutError:
            asking.keep(client)
            failure = ck.KafkaException(ck.KafkaError(ck.KafkaError._TIMED_OUT))
        if failure is None:
            return int(answer.result().offset)
        if not isinstance(failure, ck.KafkaException):
            raise RuntimeError(f"No end of {topic}-{partition}: {failure!r}")
        self._replace(client, failure.args[0])
        raise ck.KafkaException(failure.args[0])

    def doubt(self) -> None:
        """
        Ask by another client from now on: an end that is less than what has been read is that of a leader which was cut off,
        and which a client that has believed it goes on asking.
        """
        with self._lock:
            if self._client is not None and time.monotonic() - self._since > _MOVED_S:
                self._client = None

    def close(self) -> None:
        with self._lock:
            self._client, self._closed = None, True

    def _opened(self) -> AdminClient:
        with self._lock:
            if self._closed:
                raise RuntimeError("The reader is closed")
            if self._client is None:
                self._client, self._since = AdminClient(self._settings), time.monotonic()
            return self._client

    def _replace(self, client: AdminClient, error: ck.KafkaError) -> None:
        # It would ask as of the leader that it knows for as long as its metadata are valid, which is for minutes.
        limit = _MOVED_S if error.code() in MOVING else _LOST_S if liveness.is_lost(error) else None
        with self._lock:
            if limit is not None and self._client is client and time.monotonic() - self._since > limit:
                self._client = None
