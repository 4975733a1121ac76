"""
HttpSourceConnector and its task: asks a service again and again, and makes records of its answers.

A round is all pages from the first to the last. Where the connector is in it is its offset (`pages.py`), so that a task that
starts anew asks for the page that was not yet written as a whole. With exactly-once sources a page is a transaction.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kconnect.api import (
    ConfigDef,
    ConnectError,
    DataError,
    RetriableError,
    SourceRecord,
    SourceTask,
)
from kconnect.connectors.common import CheckedSource, Polling, milliseconds
from kconnect.connectors.http import checks, settings, source_settings
from kconnect.connectors.http.pages import Pages, Position
from kconnect.connectors.http.service import Service
from kconnect.connectors.libraries import Informed
from kconnect.connectors.limits import BrokenError

_WAIT_S = 0.5
URL = "url"
"""The part of a source partition that names the service."""


class HttpSourceConnector(Informed, CheckedSource):
    def task_class(self) -> type[SourceTask]:
        return HttpSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one config, whatever `max_tasks` is: pages come one after the other."""
        return [dict(self._props)]

    def config(self) -> ConfigDef:
        return source_settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        mismatches = checks.problems(config, self.worker)
        if config[source_settings.PAGES].lower() == "cursor" and not config[source_settings.CURSOR]:
            text = f"{source_settings.CURSOR} is missing: {source_settings.PAGES} is cursor."
            mismatches = [(source_settings.CURSOR, text), *mismatches]
        return mismatches

    def check_offset(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
        if partition is None or not isinstance(partition.get(URL), str):
            raise ConnectError(f'A partition of this connector is {{"{URL}": …}}, with its {settings.URL}')
        Position.of(offset)


class HttpSourceTask(Informed, Polling):
    def __init__(self) -> None:
        super().__init__()
        self._service: Service | None = None
        self._next_at = 0.0

    def start(self, props: dict[str, str]) -> None:
        config = source_settings.CONFIG.parse(props)
        self._pages = Pages(config)
        self._service = Service(config, self.worker)
        self._patience = settings.patience(config)
        self._topic: str = config[source_settings.TOPIC]
        self._interval_s: float = config[source_settings.INTERVAL] / 1000
        self._pause_s = 1 / config[settings.RATE] if config[settings.RATE] else 0.0
        self._key = source_settings.compiled(source_settings.KEY, config[source_settings.KEY])
        self._timestamp = source_settings.compiled(source_settings.TIMESTAMP, config[source_settings.TIMESTAMP])
        self._partition = {URL: config[settings.URL]}
        stored = self.context.offsets.offset(self._partition)
        self._position = self._pages.first() if stored is None else Position.of(stored)

    def interrupt(self) -> None:
        if self._service is not None:
            self._service.interrupt()

    def release(self) -> None:
        if self._service is not None:
            self._service.close()

    def read(self) -> list[SourceRecord] | None:
        assert self._service is not None
        wait = self._next_at - time.monotonic()
        if wait > 0:
            self.stopped.wait(min(wait, _WAIT_S))
            return None
        answer = self._service.send(self._pages.request(self._position))
        if answer.response is None:
            if not answer.passing:
                raise ConnectError(f"{answer.problem}. Check {settings.URL} and {settings.AUTH}.")
            raise self._later(answer.problem, answer.after_s)
        try:
            new_records, after, last = self._pages.read(self._position, answer.response)
        except BrokenError as error:
            raise self._later(str(error), 0.0) from None
        self._patience.succeeded()
        records = [self._record(new_record) for new_record in new_records]
        for record in records:
            record.source_offset = self._position.offset()
        if records:
            records[-1].source_offset = after.offset()
        self._position = after
        self._next_at = time.monotonic() + (self._interval_s if last else self._pause_s)
        return records

    def _later(self, problem: str, at_least_s: float) -> RetriableError:
        """Note that the service is asked again, and return what to raise until then."""
        error, pause_ms = self._patience.failed(problem, at_least_s * 1000)
        self._next_at = time.monotonic() + pause_ms / 1000
        return error

    def _record(self, value: Any) -> SourceRecord:
        key = None if self._key is None else self._key.search(value)
        moment = int(time.time() * 1000)
        if self._timestamp is not None:
            try:
                moment = milliseconds(self._timestamp.search(value))
            except DataError as error:
                raise DataError(f"What {source_settings.TIMESTAMP} finds can't be a timestamp: {error}") from None
        return SourceRecord(self._partition, None, self._topic, None, None, key, None, value, moment)
