"""
HttpSinkConnector and its task: records as requests to a service, in their order.

A request that may succeed later is made again until it does, and the records before it are not sent again with it. What the
service refuses for good is a bad record. How requests are made: `requests.py`; what became of them: `service.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from typing import Any

import httpx

import kconnect
from kconnect.api import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigValue,
    ConnectError,
    DataError,
    RetriableError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from kconnect.connectors.http import requests, settings
from kconnect.connectors.http.requests import Maker, Request
from kconnect.connectors.http.service import LoginError, Service
from kconnect.connectors.http.templates import Template

log = logging.getLogger(__name__)

_PROBE_S = 5.0
_LONGEST_PUT_S = 20.0
"""A put that waits for its rate for longer gives way: a group takes a member for dead that reads nothing for minutes."""


class HttpSinkConnector(SinkConnector):
    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SinkTask]:
        return HttpSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._props) for _ in range(max_tasks)]

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def validate(self, props: dict[str, str]) -> Config:
        found = super().validate(props)
        found.values += [
            ConfigValue(name, props[name], errors=[f"{name} is not understood: {text}."])
            for name, text in _INSTEAD.items()
            if props.get(name)
        ]
        by_name = {each.name: each for each in found.values}
        if any(each.errors for each in found.values):
            return found
        problems = _mismatches({name: each.value for name, each in by_name.items()})
        problems = problems or _problems_of_service({name: each.value for name, each in by_name.items()})
        for name, text in problems:
            by_name[name].errors.append(text)
        return found

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True


_INSTEAD = {
    "regex.patterns": "a transform, such as Expression, changes records here",
    "regex.replacements": "a transform, such as Expression, changes records here",
    "batch.key.pattern": f"records share a request if they have the same {settings.URL} and {settings.HEADERS}",
    "https.ssl.truststore.location": f"{settings.CA} names a file in PEM",
    "https.ssl.keystore.location": f"{settings.CERTIFICATE} names a file in PEM",
}
"""Settings of other HTTP sinks that would change what is sent, and what does so here."""


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    needed = {"BASIC": [settings.USER], "OAUTH2": [settings.TOKEN_URL, settings.CLIENT_ID, settings.CLIENT_SECRET]}
    for name in needed.get(config[settings.AUTH].upper(), ()):
        value = config[name]
        if not (value if isinstance(value, str) else value.value):
            found.append((name, f"{name} is missing: {settings.AUTH} is {config[settings.AUTH]}."))
    for name in (settings.URL, settings.TOKEN_URL):
        try:
            url = httpx.URL(config[name])
        except httpx.InvalidURL as error:
            found.append((name, f"It is no URL: {error}."))
            continue
        if config[name] and (url.scheme not in ("http", "https") or not url.host):
            found.append((name, "It is no address of HTTP: it must begin with http:// or https:// and a host."))
    try:
        requests.headers_of(config)
    except ConfigError as error:
        found.append((settings.HEADERS, str(error)))
    return found


def _problems_of_service(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a HEAD request to it comes to. Any answer will do, but that who asks is unknown."""
    if not Template(config[settings.URL]).is_constant:
        return []
    try:
        service = Service({**config, settings.RETRY_ON: ""}, longest_s=_PROBE_S)
    except ConnectError as error:
        return [(next(name for name in (settings.CA, settings.CERTIFICATE, settings.PROXY) if name in str(error)), f"{error}.")]
    try:
        answer = service.send(Request([], "HEAD", config[settings.URL], requests.headers_of(config), None))
    except LoginError as error:
        return [(settings.CLIENT_SECRET, f"{error}.")]
    finally:
        service.close()
    if answer.passing:
        return [(settings.TOKEN_URL if "gives tokens" in answer.problem else settings.URL, f"{answer.problem}.")]
    if " answers 401 " in answer.problem:
        return [(settings.AUTH, f"{answer.problem}: check the login.")]
    return []


class HttpSinkTask(SinkTask):
    def __init__(self) -> None:
        self._service: Service | None = None
        self._done: dict[TopicPartition, int] = {}
        """The first offset of each partition that was not sent yet: a put that is made again has some that were."""
        self._failures, self._failing_since = 0, 0.0
        self._free_at = 0.0

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = settings.CONFIG.parse(props)
        self._maker = Maker(config)
        self._service = Service(config)
        self._on_error: str = config[settings.ON_ERROR].lower()
        self._retries: int = config[settings.RETRIES]
        self._backoff_s: float = config[settings.BACKOFF] / 1000
        self._pause_s = 1 / config[settings.RATE] if config[settings.RATE] else 0.0

    def stop(self) -> None:
        if self._service is not None:
            self._service.close()

    def open(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._done.pop(partition, None)

    def put(self, records: list[SinkRecord]) -> None:
        began = time.monotonic()
        for made in self._maker.requests([record for record in records if not self._is_done(record)]):
            if isinstance(made, Request):
                self._wait(began)
                self._send(made)
            else:
                record, error = made
                self._bad(record, error)

    def _is_done(self, record: SinkRecord) -> bool:
        return record.original_offset < self._done.get(TopicPartition(record.original_topic, record.original_partition), 0)

    def _did(self, record: SinkRecord) -> None:
        self._done[TopicPartition(record.original_topic, record.original_partition)] = record.original_offset + 1

    def _wait(self, began: float) -> None:
        if not self._pause_s:
            return
        now = time.monotonic()
        pause = self._free_at - now
        if pause > 0:
            if now + pause - began > _LONGEST_PUT_S:
                self.context.timeout(round(pause * 1000))
                raise RetriableError(f"No more requests are made for now: {settings.RATE} allows one in {self._pause_s:g} s")
            time.sleep(pause)
        self._free_at = max(self._free_at, now) + self._pause_s

    def _send(self, request: Request) -> None:
        assert self._service is not None
        answer = self._service.send(request)
        if answer.passing:
            self._again(answer.problem, max(self._backoff_s, answer.after_s))
        self._failures = 0
        if not answer.problem:
            for record in request.records:
                self._did(record)
        elif len(request.records) > 1:
            # One bad record has spoilt it for all: by itself each says which it is.
            for record in request.records:
                for made in self._maker.requests([record]):
                    if isinstance(made, Request):
                        self._send(made)
        else:
            self._bad(request.records[0], DataError(answer.problem))

    def _again(self, problem: str, pause_s: float) -> None:
        now = time.time()
        self._failures += 1
        self._failing_since = now if self._failures == 1 else self._failing_since
        if 0 <= self._retries < self._failures:
            since = f"{now - self._failing_since:.0f} s"
            raise ConnectError(f"{problem}. It has been so for {since}, and {settings.RETRIES} is {self._retries}.")
        self.context.timeout(round(pause_s * 1000))
        raise RetriableError(problem)

    def _bad(self, record: SinkRecord, error: DataError) -> None:
        if self._on_error == "fail":
            reporter = self.context.errant_record_reporter()
            if reporter is None:
                where = f"The record at offset {record.original_offset} of {record.original_topic}-{record.original_partition}"
                raise ConnectError(
                    f"{where} can't be sent: {error}. A dead letter queue takes such, {settings.ON_ERROR}=log passes them over."
                ) from error
            reporter.report(record, error)
        elif self._on_error == "log":
            log.error(
                "Passed over %s-%s@%s: %s", record.original_topic, record.original_partition, record.original_offset, error
            )
        self._did(record)
