"""
The producer of one source task: hands batches over, and knows at a flush whether Kafka has acknowledged all of them.

Used by `worker/source_task.py`, from its thread only. Messages are `core/task/chain.py`'s. There is no callback a record:
the client reports failures only, and an empty queue without a failure means that all is acknowledged. `produce` record by
record was measured to be as quick as `produce_batch`, which can carry neither timestamps nor headers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.errors import ConnectError
from kconnect.core.task.chain import Outgoing

log = logging.getLogger(__name__)

OnAck = Callable[[ck.Message], None]

_TOPIC_S = 30.0


class RecordProducer:
    """
    `gives_up()` is asked while the client's queue is full: True ends the waiting. With `reports`, `send` takes a callback
    for each message's acknowledgement; without, the client does not even tell them.
    """

    def __init__(self, client: Mapping[str, Any], gives_up: Callable[[], bool], reports: bool = False) -> None:
        self._gives_up = gives_up
        self._failure: tuple[ck.KafkaError, str | None] | None = None
        self._producer = ck.Producer(
            {**client, "delivery.report.only.error": not reports, "on_delivery": self._reported}
        )

    def send(self, messages: Iterable[Outgoing]) -> bool:
        """Hand messages over in order. False if it gave up, or failed, before the last. ConnectError for a bad one."""
        produce = self._producer.produce
        for message in messages:
            try:
                produce(*message)
            except BufferError:
                if not self._send_when_there_is_room(message):
                    return False
            except ck.KafkaException as error:
                raise _failed(error.args[0], message[0]) from error
        self._producer.poll(0)
        return True

    def send_reported(self, messages: Iterable[tuple[Outgoing, OnAck]]) -> bool:
        """As `send`; each callback is called, from `poll` or `flush`, once its message is acknowledged."""

        def with_callback(message: Outgoing, on_ack: OnAck) -> Any:
            def reported(error: ck.KafkaError | None, delivered: ck.Message) -> None:
                if error is None:
                    on_ack(delivered)
                else:
                    self._reported(error, delivered)

            return (*message[:4], reported, None, *message[6:])

        return self.send(with_callback(message, on_ack) for message, on_ack in messages)

    def poll(self) -> None:
        """Serve what the client has to say. To be called now and then, also without data."""
        self._producer.poll(0)

    def check(self) -> None:
        """ConnectError if a message could not be delivered: nothing after it may be counted as sent."""
        if self._failure is not None:
            raise _failed(*self._failure)

    def flush(self, timeout: float) -> bool:
        """Whether all that was handed over is acknowledged, within `timeout` seconds. Failures are `check`'s."""
        return not self._producer.flush(timeout) and self._failure is None

    def ensure(self, topic: str) -> None:
        """
        Have the topic exist, created with the brokers' defaults if they allow that. ConnectError if it doesn't.

        Asked before the first message: a producer that learned that a topic is missing may say so long after.
        """
        deadline = time.monotonic() + _TOPIC_S
        while True:
            try:
                # The request itself has the brokers create the topic, if `auto.create.topics.enable` lets them.
                found = self._producer.list_topics(topic, timeout=10).topics[topic]
                error = found.error
            except ck.KafkaException as failure:
                found, error = None, failure.args[0]
            if found is not None and error is None and any(p.leader >= 0 for p in found.partitions.values()):
                return
            if self._gives_up() or time.monotonic() > deadline:
                raise ConnectError(
                    f"Topic {topic} can't be written to: {'no leader' if error is None else error.str()}. Create it, or "
                    "have the brokers create topics (`auto.create.topics.enable`), check the task's rights and restart it."
                )
            time.sleep(0.1)

    def drop(self) -> None:
        """Forget what is not sent yet, without waiting."""
        self._producer.purge(in_queue=True, in_flight=True, blocking=False)
        # Purged messages are reported as failures, to nobody.
        self._producer.poll(0)

    def _send_when_there_is_room(self, message: Outgoing) -> bool:
        wait = 0.005
        while self._failure is None and not self._gives_up():
            # Acknowledgements are no events here, so this only sleeps; longer and longer if brokers are away.
            self._producer.poll(wait)
            wait = min(wait * 1.5, 0.2)
            try:
                self._producer.produce(*message)
                return True
            except BufferError:
                continue
        return False

    def _reported(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None and self._failure is None:
            self._failure = (error, message.topic())


def _failed(error: ck.KafkaError, topic: str | None) -> ConnectError:
    return ConnectError(f"Unrecoverable exception from producer send callback: {error.str()} (topic {topic})")
