"""
Where the records of one task go that failed: to the log, and to the dead letter queue (KIP-298, KIP-610).

Built by `source_task.py` and `sink_task.py`, which have all dead letters acknowledged before they store or commit an offset
that is beyond the records: Kafka Connect does not wait, and loses what its dead letter queue refuses. Read next:
`core/task/errors.py`, which decides what fails.
"""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import orjson

from kconnect.api.record import Header, RecordMetadata, SourceRecord, TopicPartition
from kconnect.converters.json import JsonConverter
from kconnect.core.settings.errors import DLQ_TOPIC, ErrorSettings
from kconnect.core.state.records import UnitId
from kconnect.core.task import letter_headers
from kconnect.core.task.answers import kind_of
from kconnect.core.task.chain import Outgoing, sendable
from kconnect.core.task.destination import at_time, of_record
from kconnect.core.task.errors import Errors, Failure, error_class, place_of
from kconnect.core.task.ports import Refusal
from kconnect.errors import ConnectError, NotAuthorizedError
from kconnect.kafka import clients, servers
from kconnect.kafka.admin import ensure_topic
from kconnect.kafka.failures import brokers_away
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.refusals import Access
from kconnect.processes import logs
from kconnect.units.unit import Unit, trace, well_formed

log = logging.getLogger(__name__)

_SAY_S = 60.0
_LONGEST = 4096
"""How much of a text a letter has whose record is too large for the queue."""
_WRITTEN: dict[UnitId, tuple[int, str | None]] = {}
"""The tasks of this process of which Kafka has taken letters, with the place of their config in its topic, and the queue."""


class Without(NamedTuple):
    """The parts of its record that a letter lacks: all but the place and the failure, or the time."""

    record: bool = False
    time: bool = False


_WHOLE = Without()


class Reports:
    """
    `errors` is for the task's chain; `start` before its first record, `close` at the end. Kafka Connect has no queue for a
    `source`, whose left-over setting must not hurt: there it comes to be with the first letter, and only where records may be
    dropped.
    """

    def __init__(self, unit: Unit, config: Mapping[str, str], source: bool = False) -> None:
        self._unit, self._config, self._late = unit, config, source
        self.settings = ErrorSettings.of(config)
        if source and not self.settings.tolerant:
            self.settings = replace(self.settings, topic=None)
        self.errors = Errors(
            self.settings,
            self._report,
            lambda seconds: not unit.stopping.wait(seconds),
            time.monotonic,
            lambda longest: random.uniform(0, longest),
        )
        self._producer: TaskProducer | None = None
        self._lesser: list[tuple[Failure, Without]] = []
        """The letters that are to be sent in place of those that the queue has not taken."""
        self._say_at = 0.0
        self._refusals: dict[TopicPartition, int] = {}
        self._refused_records: list[SourceRecord] = []

    @property
    def any(self) -> bool:
        """Whether a report goes anywhere."""
        return self.settings.topic is not None or self.settings.log

    def start(self) -> None:
        """Create the queue's topic if it is missing, unless that is for later. ConnectError if it can't be had."""
        if self.settings.topic is not None and not self._late:
            self._open(self.settings.topic)

    def _open(self, topic: str) -> None:
        unit, worker = self._unit, self._unit.ports.settings
        worker.internal_topics.require_data(DLQ_TOPIC, topic)
        remedy = "Create it, or set `errors.deadletterqueue.topic.replication.factor` to at most the number of brokers."
        admin = clients.topic_admin(worker, unit.spec.connector, self._config)
        servers.require(admin)
        access = self._access(admin, clients.topic_admin_prefix(worker, self._config))
        while True:
            try:
                ensure_topic(admin, topic, 1, self.settings.replication_factor, remedy, access=access)
                break
            except ConnectError as error:
                # In the midst of its work a task waits for brokers that are away, as its other clients do.
                if not (self._late and brokers_away(error.__cause__)) or unit.stopping.wait(0.5):
                    raise
        client = clients.producer(worker, unit.spec.connector, unit.spec.task or 0, self._config)
        client["client.id"] = f"connector-dlq-producer-{unit.spec.connector}-{unit.spec.task}"
        access = self._access(client, "producer.override.")
        self._producer = TaskProducer(client, unit.stopping.is_set, access=access)

    def _access(self, client: Mapping[str, Any], prefix: str) -> Access:
        return Access(client, self.errors.counts, time.monotonic, prefix)

    def flush(self, timeout: float) -> bool:
        """Whether all dead letters are acknowledged within `timeout` seconds. ConnectError if one can't be delivered."""
        if self._producer is None:
            return True
        end = time.monotonic() + timeout
        try:
            while self._producer.flush(max(0.0, end - time.monotonic())):
                if not self._lesser:
                    if self.errors.counts.dead_letters:
                        _WRITTEN[self._unit.spec.unit] = self._queue
                    return True
                self._send_lesser()
            return False
        except ConnectError as error:
            self.errors.counts.dead_letters_failed += 1
            text = f"A record that failed can't be put into the dead letter queue either: {error}"
            if isinstance(error, NotAuthorizedError):
                raise NotAuthorizedError(text, *error.topics) from error
            raise ConnectError(text) from error

    def have_written(self, topic: str | None) -> bool:
        """Return whether Kafka has taken letters of this task for a topic, by its present config and in this process."""
        return topic == self.settings.topic and _WRITTEN.get(self._unit.spec.unit) == self._queue

    @property
    def _queue(self) -> tuple[int, str | None]:
        return self._unit.spec.config_offset, self.settings.topic

    def refused(self) -> Mapping[TopicPartition, int] | None:
        """
        Return, of a sink, the first record in each partition whose letter was refused: these must not be passed over. None if
        of some letter that is not known, as when the producer can't go on.
        """
        return self._refusals if self._all_known and self._refusals else None

    def refused_records(self) -> Sequence[SourceRecord] | None:
        """Return, of a source, the records whose letters were refused, as `refused` does."""
        return self._refused_records if self._all_known and self._refused_records else None

    @property
    def _all_known(self) -> bool:
        return self._producer is not None and not self._producer.active

    def close(self, timeout: float) -> None:
        """After a failure too: what ended the task is in the queue as well."""
        if self._producer is None:
            return
        abandoned = self._unit.abandoned
        try:
            if not abandoned and not self.flush(timeout):
                log.warning(
                    "The dead letter queue did not acknowledge all records within %.0f s: the task reads them again",
                    timeout,
                )
        except ConnectError as error:
            log.warning("%s", error)
        self._producer.close(abandon=abandoned)

    def _report(self, failure: Failure) -> None:
        counts = self.errors.counts
        counts.last_ms = int(time.time() * 1000)
        if self.settings.log:
            counts.logged += 1
            log.error("%s", self._line(failure), exc_info=failure.error)
        if self.settings.topic is not None and self._producer is None:
            self._open(self.settings.topic)
        counts.dead_letters += self._producer is not None
        if self._producer is not None:
            self._send(failure, _WHOLE)
            self._send_lesser()

    def _send(self, failure: Failure, without: Without) -> None:
        assert self._producer is not None
        letter = self._without_record(failure, without) if without.record else self._letter(failure, without)
        if not self._producer.send_reported([letter], [failure], partial(self._heard, without)):
            raise ConnectError("Stopped while a record waited for the dead letter queue: the task reads it again")

    def _heard(
        self, without: Without, failure: Failure, topic: str, refusal: Refusal | None, metadata: RecordMetadata | None
    ) -> bool:
        """
        Note which letter is to be sent next, if the queue does not take the size of this one, or its time. Whoever may write a
        record decides on both, and must not end the task.
        """
        if refusal is None:
            return False
        lesser = Without(without.record or refusal.too_large, without.time or refusal.untimely)
        if lesser == without:
            # If the queue takes not even this one, the task fails.
            return self._fail(failure)
        self._lesser.append((failure, lesser))
        return False

    def _fail(self, failure: Failure) -> bool:
        origin = failure.origin
        if isinstance(origin, SourceRecord):
            self._refused_records.append(origin)
        else:
            place = TopicPartition(origin.topic(), origin.partition())
            self._refusals[place] = min(origin.offset(), self._refusals.get(place, origin.offset()))
        return True

    def _send_lesser(self) -> None:
        while self._lesser:
            failure, without = self._lesser.pop()
            if without.record:
                text = "The record %s is too large for the dead letter queue: its letter says what failed, without the record"
            else:
                text = "The dead letter queue does not take the time of the record %s: its letter has the present one"
            if time.monotonic() >= self._say_at:
                # Whoever writes such records must not fill the log with them.
                self._say_at = time.monotonic() + _SAY_S
                log.warning(f"{text}. Others like it are not told for {_SAY_S:.0f} s", place_of(failure.origin))
            self._send(failure, without)

    def _line(self, failure: Failure) -> str:
        of = f" with class '{failure.component.class_name}'" if failure.component.class_name else ""
        text = (
            f"Error encountered in task {self._unit.spec.unit}. Executing stage '{failure.stage.value}'{of}, "
            f"where the record is {place_of(failure.origin)}, attempts {failure.attempts}."
        )
        return f"{text} {_content(failure.origin)}" if self.settings.log_messages else text

    def _letter(self, failure: Failure, without: Without) -> Outgoing:
        key, value, headers = _parts(failure.origin)
        if self.settings.headers:
            headers += self._context(failure)
        return self._outgoing(failure, key, value, headers, without)

    def _without_record(self, failure: Failure, without: Without) -> Outgoing:
        """Make a letter that has the failure and where the record is, whatever the config says of such headers."""
        key, value, headers = _parts(failure.origin)
        size = sum(len(data or b"") for data in (key, value, *(data for _, data in headers)))
        context = [(name, None if data is None else data[:_LONGEST]) for name, data in self._context(failure)]
        return self._outgoing(failure, None, None, [*context, (letter_headers.OMITTED, str(size).encode())], without)

    def _outgoing(
        self, failure: Failure, key: bytes | None, value: bytes | None, headers: letter_headers.Headers, without: Without
    ) -> Outgoing:
        timestamp = 0 if without.time else _time_of(failure.origin)
        assert self.settings.topic is not None
        return self.settings.topic, value, key, -1, None, None, timestamp, headers or None

    def _context(self, failure: Failure) -> list[tuple[str, bytes | None]]:
        origin, error, spec = failure.origin, failure.error, self._unit.spec
        if isinstance(origin, SourceRecord):
            place = {
                "topic": origin.topic,
                "source.partition": _json(origin.source_partition),
                "source.offset": _json(origin.source_offset),
            }
        else:
            place = {"topic": origin.topic(), "partition": str(origin.partition()), "offset": str(origin.offset())}
        texts = {
            **place,
            "connector.name": spec.connector,
            "task.id": str(spec.task),
            "stage": failure.stage.value,
            "class.name": failure.component.class_name,
            "exception.class.name": error_class(error),
            "exception.message": logs.hide(str(error)),
            "exception.stacktrace": logs.hide(trace(error)),
        }
        # What failed may quote a record, and with it half a pair of surrogates.
        # And a source's record may have anything for its topic, which may be what it has failed of.
        return [(letter_headers.CONTEXT + name, None if text is None else _text(text).encode()) for name, text in texts.items()]


def _time_of(origin: Any) -> int:
    """Return the timestamp of a record, as the client takes it; 0 if it has none, or none that is one."""
    if isinstance(origin, SourceRecord):
        # It may be what the record has failed of.
        with contextlib.suppress(Exception):
            return at_time(origin.timestamp)
        return 0
    kind, at = origin.timestamp()
    return of_record(at) if kind else 0


def _parts(origin: Any) -> tuple[bytes | None, bytes | None, letter_headers.Headers]:
    """Return the key, the value and the headers of a record that failed."""
    if isinstance(origin, SourceRecord):
        return _as_json(origin)
    return origin.key(), origin.value(), letter_headers.mark(origin.headers() or ())


def _name(key: Any) -> str:
    """Return a header's name as a letter can have it: it may be what the record has failed of."""
    return sendable(str(key).replace("\0", "?"))


def _headers_of(record: SourceRecord) -> list[Any]:
    try:
        return list(record.headers or ())
    except TypeError:
        return [record.headers]


def _text(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else _shown(value)


def _shown(value: Any) -> str:
    """Return a value as Python shows it, or its class where that fails: it is a plugin's own."""
    try:
        return well_formed(repr(value))
    except Exception:  # noqa: BLE001 - as it says
        return kind_of(value)


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # An integer of more than 64 bits, or a text that UTF-8 has not.
        return _shown(value)


def _content(origin: Any) -> str:
    if isinstance(origin, SourceRecord):
        return repr(origin)
    return f"key {origin.key()!r}, value {origin.value()!r}, headers {origin.headers()!r}"


def _as_json(record: SourceRecord) -> tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    """
    A source's record never had bytes, so its letter is JSON with schemas. What is no valid data, which may be the very
    reason for the letter, is put down as Python shows it.
    """
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"}, False)

    def convert(schema: Any, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return converter.from_connect_data(record.topic, schema, value)
        except Exception:  # noqa: BLE001 - whatever ails it, it must not be lost
            return _shown(value).encode()

    headers = []
    for header in _headers_of(record):
        is_one = isinstance(header, Header)
        name, data = (header.key, convert(header.schema, header.value)) if is_one else ("", _shown(header).encode())
        headers.append((_name(name), data))
    return convert(record.key_schema, record.key), convert(record.value_schema, record.value), letter_headers.mark(headers)
