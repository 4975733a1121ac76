"""
The producer of one source task: hands batches over, and knows at a flush whether Kafka has acknowledged all of them.

Made by `units/source_task.py` and `units/reports.py`, called by `core/task/delivery.py`, from the task's thread only;
`transactions.py` has the one for exactly-once tasks. There is no callback a record: the client reports failures only, and
an empty queue without a failure means that all is acknowledged. Messages go one by one with positional arguments, which
was measured to cost less than `produce_batch`; and that one refuses timestamps (confluent-kafka 2.16) and headers.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import confluent_kafka as ck

from kconnect.api.record import RecordMetadata
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.ports import OnReport, Refusal, Refused
from kconnect.errors import ConnectError, NotAuthorizedError, NoTopicError, StartAgainError
from kconnect.kafka import servers, unreadable
from kconnect.kafka.acknowledged import Acknowledged
from kconnect.kafka.codes import AWAY, FINAL, MAY_NOT_WRITE, OUT_OF_STEP, TOGETHER, TOO_LARGE, UNTIMELY, with_place
from kconnect.kafka.liveness import Patience
from kconnect.kafka.refusals import Access
from kconnect.kafka.topics import require_name

log = logging.getLogger(__name__)

_TOPIC_S = 30.0
_FORBIDDEN_S = 5.0
"""A right that was granted just now takes a moment to get around."""
_MOMENT_S = 1.0
_LOST_S = 10.0
_CROWDED_S = 0.05
Message = tuple[str, "bytes | None", "bytes | None"]
_GOOD: set[int] = set()
"""Hashes of settings with which a client could be made in this process."""


class TaskProducer:
    """
    `core/task/ports.py`'s `Producer`.

    `cancelled()` is asked while the client's queue is full or a topic is waited for: True ends the waiting. Only with
    `reports` are acknowledgements reported, which cost time; failures always are. `access` is what was refused to the client.

    The client, with its threads and connections, is made when it is needed: thousands of sources may have nothing to send.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        cancelled: Callable[[], bool] = lambda: False,
        reports: bool = False,
        access: Access | None = None,
    ) -> None:
        servers.require(client)
        self._access = access
        self._cancelled = cancelled
        self._reports = _Reports()
        self._apart: ck.Producer | None = None
        """For messages that were refused together, made when it is needed."""
        self._unsent = 0
        self._acknowledged = Acknowledged(float(client.get("linger.ms", 0)) / 1000)
        self._is_late = False
        self._settings = {**client, "delivery.report.only.error": not reports, "on_delivery": self._reports.take}
        if access is not None:
            self._settings |= access.callbacks
        # What a client refuses of its settings, it refuses when it is made: that is to be known before the task runs.
        texts = ((name, value) for name, value in client.items() if isinstance(value, str | int | float))
        good = hash(frozenset(pair for pair in texts if pair[0] != "client.id"))
        self._producer = None if good in _GOOD else self._make()
        _GOOD.add(good)

    @property
    def active(self) -> int:
        """
        The number of messages that Kafka has not acknowledged yet; after `close`, of those that it will not. From any thread.
        """
        producer, apart = self._producer, self._apart
        if producer is None:
            return self._unsent
        return len(producer) + len(self._reports.crowded) + (0 if apart is None else len(apart))

    def send(self, messages: Iterable[Outgoing]) -> bool:
        """Hand messages over in order. False if it gave up before the last one. ConnectError for one that can't be sent."""
        while self._reports.crowded:
            # These are in nobody's queue yet: without an end to them, memory would have none.
            if self._cancelled():
                return False
            self._poll(_CROWDED_S)
        produce: Callable[..., None] = self._client().produce
        count = 0
        for message in messages:
            try:
                produce(*(self._with_time(message) if message[6] else message))
            except BufferError:
                if not self._send_when_there_is_room(message):
                    return False
            except Exception as error:  # noqa: BLE001 - what the client makes of what a plugin has made
                self._refused(message, error)
            count += 1
        self._acknowledged.add(count)
        self._poll(0)
        return True

    def send_reported(self, messages: Iterable[Outgoing], origins: Iterable[Any], report: OnReport) -> bool:
        """
        Send messages as `send` does. `report` is called once for each message, with its origin, within this or a later call.
        """
        heard = partial(self._reports.heard, report)
        return self.send(
            (topic, value, key, partition, partial(heard, origin, topic, timestamp), None, timestamp, headers)  # type: ignore[misc]
            for (topic, value, key, partition, _, _, timestamp, headers), origin in zip(messages, origins)
        )

    def check(self) -> None:
        """ConnectError if a message could not be delivered: nothing after it may be counted as sent."""
        self._poll(0)
        if self._reports.raised is not None:
            raise self._reports.raised
        if self._reports.failure is not None:
            raise self._failed(*self._reports.failure)
        self._show_late()
        self._check_access()

    def _show_late(self) -> None:
        """Show that brokers have acknowledged nothing for long, until they do."""
        if self._access is None:
            return
        was_late, since = self._is_late, self._acknowledged.waits_since(self.active, time.monotonic())
        self._is_late = since is not None and self._access.waits_long("sending records", since)
        if was_late and not self._is_late:
            self._access.answered()

    def _check_access(self) -> None:
        """ConnectError if brokers have refused this client for good."""
        if self._access is not None and (failure := self._access.failure()) is not None:
            raise failure

    def flush(self, timeout: float) -> bool:
        """Whether all is acknowledged within `timeout` seconds. ConnectError if something could not be delivered."""
        unacknowledged = self._flush(timeout)
        self.check()
        return not unacknowledged

    def _flush(self, timeout: float) -> int:
        """Flush, and return how many messages are not acknowledged yet."""
        if self._producer is None:
            return 0
        deadline = time.monotonic() + timeout
        try:
            unacknowledged = self._producer.flush(timeout)
            self._send_apart()
            if self._apart is not None:
                unacknowledged += self._apart.flush(max(0.0, deadline - time.monotonic()))
        except ck.KafkaException as error:
            raise self._failed(error.args[0], None) from error
        except UnicodeDecodeError as error:
            raise unreadable.of_names(error) from None
        return unacknowledged

    def refusals(self, timeout: float) -> list[Refused]:
        """
        Wait up to `timeout` seconds for what is on its way, and return what could not be delivered of all that was sent. That
        counts as said: neither `check` nor `flush` fails for it any more.
        """
        # A client that can't go on says so, and has told before what becomes of its messages.
        with contextlib.suppress(ConnectError):
            self._flush(timeout)
        reports = self._reports
        refused, reports.refused, reports.failure, reports.raised = reports.refused, [], None, None
        return refused

    def require_topic(self, topic: str, waits: bool = True) -> bool:
        """
        Wait until the topic exists, created by the brokers if they are allowed to. False if it gave up before. Without `waits`,
        what brokers say of a topic counts after a moment.

        ConnectError if it can't be had. Brokers that don't answer are waited for, as sending would.

        Asked before the first message: a producer that learned that a topic is missing may say so long after.
        """
        require_name(topic)
        began = time.monotonic()
        deadline, patience = began + _TOPIC_S, Patience(_LOST_S, began)
        while True:
            code = None
            try:
                # The request itself has the brokers create the topic, if `auto.create.topics.enable` lets them.
                metadata = self._client().list_topics(topic, timeout=1).topics[topic]
                problem = None if metadata.error is None else metadata.error.str()
                code = None if metadata.error is None else metadata.error.code()
                if problem is None and any(partition.leader >= 0 for partition in metadata.partitions.values()):
                    if self._access is not None:
                        self._access.is_member()
                    return True
            except ck.KafkaException as failure:
                problem = failure.args[0].str()
                if failure.args[0].code() in AWAY:
                    deadline = time.monotonic() + _TOPIC_S
                    if patience.is_over(time.monotonic()):
                        self._renew()
                        patience.renew(time.monotonic())
            if self._cancelled():
                return False
            self._poll(0)
            self._check_access()
            over = min(deadline, began + _FORBIDDEN_S) if code in MAY_NOT_WRITE else deadline
            if time.monotonic() > (over if waits or code is None else min(over, began + _MOMENT_S)):
                text = (
                    f"Topic {topic} can't be written to: {problem or 'it has no leader'}. Create it, or have the "
                    "brokers do it (`auto.create.topics.enable`), check the task's rights, and restart the task."
                )
                if code in MAY_NOT_WRITE:
                    raise NotAuthorizedError(text, topic)
                raise NoTopicError(text) if code == ck.KafkaError.UNKNOWN_TOPIC_OR_PART else ConnectError(text)
            time.sleep(0.1)

    def close(self, abandon: bool = False) -> None:
        """
        Forget what was not sent. With `abandon`, also what is on its way, as far as that is possible. The last call of all.
        """
        # What is purged has not failed: it comes again, so nobody may hear of it.
        self._reports.closed = True
        # The client's threads end with its last reference, and this object may be part of a cycle.
        self._unsent = self.active
        clients = [client for client in (self._producer, self._apart) if client is not None]
        self._producer = self._apart = None
        for client in clients:
            client.purge(in_queue=True, in_flight=abandon, blocking=False)
            # What the client still has to say is of no interest, even that it can't go on, which it raises.
            with contextlib.suppress(ck.KafkaException, UnicodeDecodeError):
                client.poll(0)

    def _send_when_there_is_room(self, message: tuple[Any, ...]) -> bool:
        wait, began = 0.005, time.monotonic()
        while not self._cancelled():
            # Acknowledgements are no events here, so this only sleeps; longer and longer if brokers are away.
            self._poll(wait)
            wait = min(wait * 1.5, 0.2)
            self.check()
            try:
                self._client().produce(*self._with_time(message))
            except BufferError:
                if self._access is not None:
                    self._access.waits_long("sending records", began)
                continue
            except Exception as error:  # noqa: BLE001 - as in `send`
                self._refused(message, error)
            if self._access is not None:
                self._access.answered()
            return True
        return False

    def _with_time(self, message: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a message whose report knows its time: the client does not say it of one that was refused."""
        if message[4] is not None or not message[6]:
            return message
        return (*message[:4], partial(self._reports.take, timestamp=message[6]), *message[5:])

    def _refused(self, message: Sequence[Any], error: Exception) -> None:
        """
        The client itself does not take a message, as when it is too large. Of a value that no client can take, such as a number
        of more than 64 bits, it raises an error of Python's: that message is refused like others, and not those before it.
        """
        if not isinstance(error, ck.KafkaException):
            error = ck.KafkaException(ck.KafkaError(ck.KafkaError._INVALID_ARG, f"{type(error).__name__}: {error}"))
        cause, reported = with_place(error.args[0], message[3]), message[4]
        # What a client does not take since its transaction has failed is no fault of the message's.
        self._reports.local |= cause.code() != ck.KafkaError._STATE
        if reported is None:
            self._reports.refused.append(Refused(tuple(message[:3]), _lasts(cause)))
            raise self._failed(cause, message[0]) from error
        reported(cause, None, tuple(message[:3]))
        self.check()

    def _poll(self, timeout: float) -> None:
        if self._producer is None:
            return
        try:
            self._producer.poll(timeout)
        except ck.KafkaException as error:
            # A client that can't go on says so wherever it is asked next.
            raise self._failed(error.args[0], None) from error
        except UnicodeDecodeError as error:
            raise unreadable.of_names(error) from None
        if self._reports.crowded or self._apart is not None:
            self._send_apart()

    def _send_apart(self) -> None:
        """
        Send each message that was refused together with others in a request of its own, as Java's client splits requests that
        are too large: the others may be small enough, or not what one of them is refused for. They come behind what was
        sent meanwhile.
        """
        crowded, self._reports.crowded = self._reports.crowded, []
        if crowded and self._apart is None:
            log.warning(
                "Brokers refuse a request of several records, because of one of them or as too large, though others may be "
                "good: these are sent one by one. If they are too large together, set the connector's "
                "producer.override.batch.size to less than the topic's max.message.bytes"
            )
            self._apart = ck.Producer({**self._settings, "batch.num.messages": 1})
        if self._apart is None:
            return
        for number, message in enumerate(crowded):
            try:
                self._apart.produce(*message)
            except BufferError:
                self._reports.crowded = crowded[number:] + self._reports.crowded
                break
        self._apart.poll(0)

    def _client(self) -> ck.Producer:
        if self._producer is None:
            self._producer = self._make()
        return self._producer

    def _make(self) -> ck.Producer:
        return ck.Producer(self._settings)

    def _renew(self) -> None:
        """
        Put a new client in the place of one that finds no broker (see `liveness.py`), unless something of it is under way.
        """
        # Its complaints count as messages until they are heard.
        self._poll(0)
        if not len(self._client()):
            self._producer = self._make()

    def _failed(self, error: ck.KafkaError, topic: str | None) -> ConnectError:
        text = f"Unrecoverable exception from producer send callback: {error.str()} (topic {topic})"
        if error.code() in OUT_OF_STEP:
            return StartAgainError(text)
        if error.code() not in MAY_NOT_WRITE:
            return ConnectError(text)
        return NotAuthorizedError(text, *(() if topic is None else (topic,)))


def _lasts(error: ck.KafkaError) -> bool:
    """Whether the message would be refused again, whenever it is sent."""
    return error.code() in FINAL and not error.fatal()


class _Reports:
    """The first failure. It knows nothing of the producer: in a cycle the client would outlive its last use."""

    def __init__(self) -> None:
        self.failure: tuple[ck.KafkaError, str | None] | None = None
        self.refused: list[Refused] = []
        self.local = False
        """Whether it was the client that did not take a message."""
        self.splits = True
        """Whether messages that were refused together may be sent one by one."""
        self.crowded: list[tuple[Any, ...]] = []
        """Those that are to be: arguments of the client's `produce`."""
        self.raised: Exception | None = None
        self.closed = False

    def take(self, error: ck.KafkaError | None, message: ck.Message, timestamp: int = 0) -> None:
        if error is None or self.closed:
            return
        if self.splits and error.code() in TOGETHER:
            self._crowd(message, self.take_alone, timestamp)
        else:
            self.take_alone(error, message)

    def take_alone(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        """The same for a message that was in a request of its own."""
        if error is not None and not self.closed:
            error = with_place(error, message.partition())
            self._fails(error, (message.topic() or "", message.value(), message.key()))

    def _crowd(self, message: ck.Message, callback: Callable[..., None], timestamp: int) -> None:
        place = -1 if message.partition() is None else message.partition()
        self.crowded.append(
            (
                message.topic(),
                message.value(),
                message.key(),
                place,
                callback,
                None,
                timestamp,
                message.headers(),
            )
        )

    def _fails(self, error: ck.KafkaError, message: Message) -> None:
        self.failure = self.failure or (error, message[0])
        self.refused.append(Refused(message, _lasts(error)))

    def heard(
        self,
        report: OnReport,
        origin: Any,
        topic: str,
        timestamp: int,
        error: ck.KafkaError | None,
        delivered: ck.Message | None,
        refused: Message | None = None,
        alone: bool = False,
    ) -> None:
        """
        Report what became of a message to its sender; `refused` is one that the client did not even take, and `alone` says that
        it was in a request of its own.
        """
        if self.closed:
            return
        if self.splits and not alone and delivered is not None and error is not None and error.code() in TOGETHER:
            self._crowd(delivered, partial(self.heard, report, origin, topic, timestamp, alone=True), timestamp)
            return
        try:
            if error is None and delivered is not None:
                partition, offset = delivered.partition() or 0, delivered.offset() or 0
                report(origin, topic, None, RecordMetadata(topic, partition, offset, delivered.timestamp()[1]))
            elif error is not None:
                error = error if delivered is None else with_place(error, delivered.partition())
                code = error.code()
                refusal = Refusal(
                    error.str(), error.fatal(), code in TOO_LARGE, code in MAY_NOT_WRITE, untimely=code == UNTIMELY
                )
                if report(origin, topic, refusal, None):
                    if refused is None:
                        refused = (topic, None, None) if delivered is None else (topic, delivered.value(), delivered.key())
                    self._fails(error, refused)
        except Exception as raised:  # noqa: BLE001 - kept, and raised outside of the client's callback
            self.raised = self.raised or raised
