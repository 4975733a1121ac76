"""
The producer of one source task: hands batches over, and knows at a flush whether Kafka has acknowledged all of them.

Used by `worker/source_task.py`, from its thread only. There is no callback a record: the client reports failures only, and
an empty queue without a failure means that all is acknowledged. Messages go one by one with positional arguments, which
was measured to cost less than `produce_batch`; and that one refuses timestamps (confluent-kafka 2.16) and headers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.errors import ConnectError

_TOPIC_S = 30.0


class TaskProducer:
    """`gives_up()` is asked while the client's queue is full or a topic is waited for: True ends the waiting."""

    def __init__(self, client: Mapping[str, Any], gives_up: Callable[[], bool] = lambda: False) -> None:
        self._gives_up = gives_up
        self._failure: tuple[ck.KafkaError, str | None] | None = None
        self._producer = ck.Producer({**client, "delivery.report.only.error": True, "on_delivery": self._reported})

    def send(self, topic: str, messages: Iterable[Mapping[str, Any]]) -> None:
        """
        Hand messages over in order: `value`, and where there are any `key`, `partition`, `timestamp` and `headers`.

        ConnectError for one that can't be sent, and if it gave up: none of the batch may then be counted as sent.
        """
        produce = self._producer.produce
        for message in messages:
            get = message.get
            arguments = (
                topic, get("value"), get("key"), get("partition", -1), None, None, get("timestamp", 0), get("headers"),
            )  # fmt: skip
            try:
                produce(*arguments)
            except BufferError:
                self._send_when_there_is_room(arguments)
            except ck.KafkaException as error:
                raise _failed(error.args[0], topic) from error
        self._producer.poll(0)

    def check(self) -> None:
        """ConnectError if a message could not be delivered: nothing after it may be counted as sent."""
        self._producer.poll(0)
        if self._failure is not None:
            raise _failed(*self._failure)

    def flush(self, timeout: float) -> bool:
        """Whether all is acknowledged within `timeout` seconds. ConnectError if something could not be delivered."""
        left = self._producer.flush(timeout)
        self.check()
        return not left

    def require_topic(self, topic: str) -> None:
        """
        Have the topic exist, created with the brokers' defaults if they allow that. ConnectError if it doesn't.

        Asked before the first message: a producer that learned that a topic is missing may say so long after.
        """
        deadline = time.monotonic() + _TOPIC_S
        while True:
            try:
                # The request itself has the brokers create the topic, if `auto.create.topics.enable` lets them.
                found = self._producer.list_topics(topic, timeout=10).topics[topic]
                problem = None if found.error is None else found.error.str()
                if problem is None and any(partition.leader >= 0 for partition in found.partitions.values()):
                    return
            except ck.KafkaException as failure:
                problem = failure.args[0].str()
            if self._gives_up() or time.monotonic() > deadline:
                raise ConnectError(
                    f"Topic {topic} can't be written to: {problem or 'it has no leader'}. Create it, or have the brokers "
                    "create topics (`auto.create.topics.enable`), check the task's rights, and restart the task."
                )
            time.sleep(0.1)

    def close(self, abandon: bool = False) -> None:
        """Forget what is not acknowledged. With `abandon`, also what is on its way, as far as that is possible."""
        self._producer.purge(in_queue=True, in_flight=abandon, blocking=False)
        # What was purged is reported as failed, to nobody.
        self._producer.poll(0)

    def _send_when_there_is_room(self, arguments: tuple[Any, ...]) -> None:
        wait = 0.005
        while not self._gives_up():
            # Acknowledgements are no events here, so this only sleeps; longer and longer if brokers are away.
            self._producer.poll(wait)
            wait = min(wait * 1.5, 0.2)
            self.check()
            try:
                self._producer.produce(*arguments)
                return
            except BufferError:
                continue
        raise ConnectError(f"Records for the topic {arguments[0]} wait for Kafka still: they are not sent, and come again")

    def _reported(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None and self._failure is None:
            self._failure = (error, message.topic())


def _failed(error: ck.KafkaError, topic: str | None) -> ConnectError:
    return ConnectError(f"Unrecoverable exception from producer send callback: {error.str()} (topic {topic})")
