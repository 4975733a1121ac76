"""
Makes the requests of records: which of them go together, to which address, with which headers and body.

Called by `sink.py`. Read next: `templates.py` and `service.py`.
"""

from __future__ import annotations

import contextlib
import itertools
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kconnect.api import Column, ConfigError, DataError, Schema, SinkRecord, values
from kconnect.connectors import documents
from kconnect.connectors.http import settings
from kconnect.connectors.http.templates import Template


@dataclass(frozen=True)
class Request:
    records: Sequence[SinkRecord]
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


@dataclass(frozen=True)
class _Part:
    """A record's part of a request: `where` it goes, by method, address and headers; None if nothing is to be sent."""

    record: SinkRecord
    where: tuple[Any, ...] | None = None
    body: bytes | None = None
    error: DataError | None = None


def headers_of(config: Mapping[str, Any]) -> dict[str, str]:
    """ConfigError if one has no name and no value."""
    found = {}
    for each in filter(None, config[settings.HEADERS].value.split(config[settings.SEPARATOR])):
        name, colon, value = each.partition(":")
        if not colon or not name.strip() or not (name + value).isprintable():
            raise ConfigError(settings.HEADERS, "[hidden]", "Headers are name:value")
        found[name.strip()] = value.strip()
    return found


class Maker:
    """Makes requests by a parsed config."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._url = Template(config[settings.URL])
        self._headers = {name: Template(value) for name, value in headers_of(config).items()}
        self._method: str = config[settings.METHOD].upper()
        self._json = config[settings.FORMAT].lower() == "json"
        self._template = Template(config[settings.TEMPLATE]) if config[settings.TEMPLATE] else None
        self._nulls: str = config[settings.NULLS].lower()
        self._most: int = config[settings.BATCH]
        ends = [config[settings.PREFIX], config[settings.SUFFIX]]
        ends = [("[]"[at] if self._json else "") if each is None else each for at, each in enumerate(ends)]
        self._prefix, self._suffix = (each.encode() for each in ends)
        self._between: bytes = (config[settings.BETWEEN] or "").encode()
        if not any(name.lower() == "content-type" for name in self._headers):
            self._headers["Content-Type"] = Template("application/json" if self._json else "text/plain; charset=utf-8")
        self._constant: tuple[str, str, dict[str, str]] | None = None
        """Method, address and headers, if they are the same for all records, whose values are the bodies."""
        templates = [self._url, *self._headers.values()]
        if self._json and self._template is None and self._method != "DELETE" and all(each.is_constant for each in templates):
            headers = {name: each.text for name, each in self._headers.items()}
            self._constant = (self._method, self._url.text, headers)

    def requests(self, records: Sequence[SinkRecord]) -> Iterator[Request | tuple[SinkRecord, DataError]]:
        """In the order of records. A record of which no request can be made comes with the reason in place of one."""
        if self._constant is not None and _are_alike(records):
            with contextlib.suppress(DataError):  # Which record it is, is found out one by one.
                bodies = documents.to_lines(Column(records[0].value_schema, [record.value for record in records]))
                method, url, headers = self._constant
                for first in range(0, len(records), self._most):
                    body = self._joined(bodies[first : first + self._most])
                    yield Request(records[first : first + self._most], method, url, headers, body)
                return
        for where, group in itertools.groupby(map(self._part, records), key=lambda part: part.where):
            parts = list(group)
            if where is None:
                yield from ((part.record, part.error) for part in parts if part.error is not None)
                continue
            for first in range(0, len(parts), self._most):
                some = parts[first : first + self._most]
                body = self._joined([part.body for part in some if part.body is not None])
                yield Request([part.record for part in some], where[0], where[1], dict(where[2]), body)

    def _part(self, record: SinkRecord) -> _Part:
        if record.value is None and self._nulls == "ignore":
            return _Part(record)
        try:
            if record.value is None and self._nulls == "fail":
                raise DataError(f"It has no value, and {settings.NULLS} is fail")
            method = "DELETE" if record.value is None else self._method
            body = None if method == "DELETE" else self._body(record)
            headers = tuple((name, each.fill(record, _in_header)) for name, each in self._headers.items())
            # Without a body a request is of one record.
            alone = (record.original_partition, record.original_offset) if body is None else None
            return _Part(record, (method, self._url.fill(record, _in_url), headers, alone), body)
        except DataError as error:
            return _Part(record, error=error)

    def _body(self, record: SinkRecord) -> bytes:
        if self._template is not None:
            return self._template.fill(record, self._in_body).encode()
        if self._json:
            return documents.to_json(record.value, record.value_schema)
        if isinstance(record.value, bytes | bytearray | memoryview):
            return bytes(record.value)
        return values.to_text(record.value, record.value_schema).encode()

    def _in_body(self, part: Any, own: Schema | None) -> str:
        return documents.to_json(part, own).decode() if self._json else values.to_text(part, own)

    def _joined(self, bodies: list[bytes]) -> bytes | None:
        if self._most == 1 or not bodies:
            return bodies[0] if bodies else None
        return b"".join((self._prefix, self._between.join(bodies), self._suffix))


def _are_alike(records: Sequence[SinkRecord]) -> bool:
    """Whether they have values, of one schema."""
    if not records:
        return False
    schema = records[0].value_schema
    return not any(record.value is None or record.value_schema is not schema for record in records)


def _in_url(part: Any, own: Schema | None) -> str:
    return urllib.parse.quote(values.to_text(part, own), safe="")


def _in_header(part: Any, own: Schema | None) -> str:
    text = values.to_text(part, own)
    if not text.isprintable():
        raise DataError("A header can't have line breaks or control characters")
    return text
