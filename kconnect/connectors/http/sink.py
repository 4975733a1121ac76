"""
HttpSinkConnector and its task: records as requests to a service, in their order.

A request that may succeed later is made again until it does, and the records before it are not sent again with it. What the
service refuses for good is a bad record. How requests are made: `requests.py`; what became of them: `service.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import kconnect
from kconnect.api import (
    ConfigDef,
    DataError,
    OffsetAndMetadata,
    RetriableError,
    SinkBatch,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from kconnect.connectors import interrupts
from kconnect.connectors.common import MISFITS, CheckedSink, bad_record
from kconnect.connectors.http import checks, settings
from kconnect.connectors.http.answers import Answers
from kconnect.connectors.http.requests import Maker, Request
from kconnect.connectors.http.service import Response, Service
from kconnect.connectors.libraries import Informed

log = logging.getLogger(__name__)

_LONGEST_PUT_S = 20.0
"""A put that waits, or sends, for longer gives way: a group takes a member for dead that reads nothing for minutes."""
_POLLS = "consumer.override.max.poll.interval.ms"
_SHARE = 3
"""Of the time in which a member has to read, a put takes this part."""


class HttpSinkConnector(Informed, CheckedSink):
    passthrough = (settings.PASSTHROUGH,)
    instead = {
        "regex.patterns": "a transform, such as Expression, changes records here",
        "regex.replacements": "a transform, such as Expression, changes records here",
        "batch.key.pattern": f"records share a request if they have the same {settings.URL} and {settings.HEADERS}",
        "https.ssl.truststore.location": f"{settings.CA} names a file in PEM",
        "https.ssl.keystore.location": f"{settings.CERTIFICATE} names a file in PEM",
    }

    def task_class(self) -> type[SinkTask]:
        return HttpSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        return checks.problems(config, self.worker) or checks.problems_of_answers(config, props)


class HttpSinkTask(Informed, SinkTask):
    reports_in_put_only = True

    def __init__(self) -> None:
        self._service: Service | None = None
        self._done: dict[tuple[str, int], int] = {}
        """The first offset of each partition that was not sent yet: a put that is made again has some that were."""
        self._free_at = 0.0
        self._stopped = threading.Event()

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = settings.CONFIG.parse(props)
        self._maker = Maker(config)
        self._service = Service(config, self.worker)
        self._on_error: str = config[settings.ON_ERROR].lower()
        self._patience = settings.patience(config)
        self._answers = Answers(config, props) if config[settings.ANSWERS] else None
        self._pause_s = 1 / config[settings.RATE] if config[settings.RATE] else 0.0
        self._longest_s = _LONGEST_PUT_S
        if props.get(_POLLS, "").strip().isdecimal():
            self._longest_s = min(_LONGEST_PUT_S, int(props[_POLLS]) / 1000 / _SHARE)

    def interrupt(self) -> None:
        # What can be sent soon need not be sent again later.
        interrupts.after_grace(self._end)

    def _end(self) -> None:
        self._stopped.set()
        if self._service is not None:
            self._service.interrupt()

    def stop(self) -> None:
        if self._service is not None:
            self._service.close()

    def open(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._done.pop(partition, None)

    def flush(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        if self._answers is not None:
            self._answers.flush()

    def put(self, records: list[SinkRecord]) -> None:
        self._put(self._maker.requests([record for record in records if not self._is_done(record)]))

    def put_batch(self, batch: SinkBatch) -> None:
        requests = None if self._done else self._maker.requests_of(batch)
        if requests is None:
            self.put(batch.records())
        else:
            self._put(requests)

    def _put(self, requests: Iterable[Request | tuple[SinkRecord, DataError]]) -> None:
        began = time.monotonic()
        for item in requests:
            if isinstance(item, Request):
                self._wait(began)
                self._send(item, began)
            else:
                record, error = item
                self._bad(record, error)
        # What comes again after this is meant: the topic may have been made anew.
        self._done.clear()

    def _is_done(self, record: SinkRecord) -> bool:
        return record.original_offset < self._done.get((record.original_topic, record.original_partition), 0)

    def _wait(self, began: float) -> None:
        now = time.monotonic()
        if now - began > self._longest_s:
            # What was sent is known, and the rest goes on at once.
            self.context.timeout(0)
            raise RetriableError(f"The service took {now - began:.0f} s for a part of what was read; the others are sent next")
        if not self._pause_s:
            return
        pause = self._free_at - now
        if pause > 0:
            if now + pause - began > self._longest_s:
                self.context.timeout(round(pause * 1000))
                raise RetriableError(f"No more requests are made for now: {settings.RATE} allows one in {self._pause_s:g} s")
            self._stopped.wait(pause)
        self._free_at = max(self._free_at, now) + self._pause_s

    def _send(self, request: Request, began: float) -> None:
        assert self._service is not None
        if self._stopped.is_set():
            raise RetriableError("The task is to stop: the request is made again when it starts")
        answer = self._service.send(request, keep=self._answers is not None, cut=True)
        if self._stopped.is_set() and answer.response is None:
            raise RetriableError("The task is to stop: the request is made again when it starts")
        if answer.passing:
            error, pause_ms = self._patience.failed(answer.problem, answer.after_s * 1000)
            self.context.timeout(pause_ms)
            raise error
        self._patience.succeeded()
        if answer.response is not None:
            self._keep(request, answer.response)
            self._done |= request.ends
        elif len(request.records) > 1:
            # One bad record has spoilt it for all: by itself each says which it is.
            for number, record in enumerate(request.records):
                for single in self._maker.requests([record]):
                    if isinstance(single, Request):
                        if number:
                            # A put that takes too long loses its group, and what was done with it. One at least is done.
                            self._wait(began)
                        self._send(single, began)
        else:
            self._bad(request.records[0], DataError(answer.problem))

    def _keep(self, request: Request, response: Response) -> None:
        if self._answers is None:
            return
        try:
            self._answers.keep(request, response.status_code, response.content)
        except MISFITS as error:
            # Such as a key with half a pair of surrogates. The service has taken the request.
            first = request.records[0]
            where = f"{first.original_topic}-{first.original_partition}@{first.original_offset}"
            log.warning("The answer for %s can't be kept: %s", where, type(error).__name__)

    def _bad(self, record: SinkRecord, error: DataError) -> None:
        if self._on_error == "fail":
            reporter = self.context.errant_record_reporter()
            if reporter is None:
                remedy = f"A dead letter queue would take it, or {settings.ON_ERROR}=log pass it over."
                raise bad_record(record, error, remedy) from error
            reporter.report(record, error)
        elif self._on_error == "log":
            log.error(
                "Passed over %s-%s@%s: %s", record.original_topic, record.original_partition, record.original_offset, error
            )
        self._done[record.original_topic, record.original_partition] = record.original_offset + 1
