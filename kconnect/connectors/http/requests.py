"""
Makes the requests of records: which of them go together, to which address, with which headers and body.

Called by `sink.py`. Read next: `templates.py` and `service.py`.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from kconnect.api import Column, ConfigError, DataError, Schema, SinkBatch, SinkRecord, schema, values
from kconnect.connectors import documents, names
from kconnect.connectors.common import MISFITS
from kconnect.connectors.groups import Origins
from kconnect.connectors.http import settings
from kconnect.connectors.http.address import Address
from kconnect.connectors.http.templates import Template, part

_LARGEST = 32 * 2**20
"""A body of several records ends with the one that makes it larger."""
_PLACE = ("original_topic", "original_partition", "original_offset")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""What the name of a header may be."""
_FRAMING = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive")
)
"""Headers that say which server a request is for, and where it ends: the config may set them, a record may not."""


class Lot(Sequence[SinkRecord]):
    """Some of the records of a batch. They are made only if somebody asks for one, as of a request that was refused."""

    def __init__(self, origins: Origins, first: int, end: int) -> None:
        self._origins, self._first, self._end = origins, first, min(end, len(origins))

    def __len__(self) -> int:
        return self._end - self._first

    def __getitem__(self, at: Any) -> Any:
        return self._origins.records[self._first : self._end][at]

    def every(self, name: str) -> Sequence[Any]:
        """Return each record's `original_topic`, `original_partition` or `original_offset`."""
        return self._origins.every(name)[self._first : self._end]


@dataclass(frozen=True)
class Request:
    """A request, and the records that it is for."""

    records: Sequence[SinkRecord]
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)
    elsewhere: bool = False
    """Whether it goes to another origin than the config's: then without login, headers, cookies and certificate."""

    @property
    def ends(self) -> dict[tuple[str, int], int]:
        """The offset behind the last of its records, in each partition."""
        if isinstance(self.records, Lot):
            places: Iterable[Any] = zip(*map(self.records.every, _PLACE))
        else:
            places = map(attrgetter(*_PLACE), self.records)
        return {(topic, partition): offset + 1 for topic, partition, offset in places}


@dataclass(frozen=True)
class _Part:
    """A record's part of a request: `where` it goes, by method, address and headers; None if nothing is to be sent."""

    record: SinkRecord
    where: tuple[Any, ...] | None = None
    body: bytes | None = None
    error: DataError | None = None


def headers_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a config. ConfigError if one has no name or no value, or may not be as it is."""
    headers = {}
    for header in filter(None, config[settings.HEADERS].value.split(config[settings.SEPARATOR])):
        name, colon, value = header.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not _TOKEN.fullmatch(name) or not value.isprintable():
            raise ConfigError(settings.HEADERS, "[hidden]", "Headers are name:value")
        if not Template(value).is_constant and (name.lower() in _FRAMING or name.lower().startswith("proxy-")):
            raise ConfigError(settings.HEADERS, "[hidden]", f"{name} can't have ${{…}}: a record does not say who is asked")
        if Template(value).is_constant and not value.isascii():
            raise ConfigError(settings.HEADERS, "[hidden]", f"The value of {name} must be ASCII: encode it")
        headers[name] = value
    return headers


class Maker:
    """Makes requests by a parsed config."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._url = Address(settings.URL, config[settings.URL])
        self._headers = {name: Template(value) for name, value in headers_of(config).items()}
        self._method: str = config[settings.METHOD].upper()
        self._json = config[settings.FORMAT].lower() == "json"
        self._template = Template(config[settings.TEMPLATE]) if config[settings.TEMPLATE] else None
        self._nulls: str = config[settings.NULLS].lower()
        self._most: int = config[settings.BATCH]
        ends = [config[settings.PREFIX], config[settings.SUFFIX]]
        ends = [("[]"[at] if self._json else "") if text is None else text for at, text in enumerate(ends)]
        self._prefix, self._suffix = (text.encode() for text in ends)
        self._between: bytes = (config[settings.BETWEEN] or "").encode()
        if not any(name.lower() == "content-type" for name in self._headers):
            self._headers["Content-Type"] = Template("application/json" if self._json else "text/plain; charset=utf-8")
        self._constant: tuple[str, str, dict[str, str]] | None = None
        """Method, address and headers, if they are the same for all records, whose values are the bodies."""
        constant = self._url.is_constant and all(template.is_constant for template in self._headers.values())
        if constant and self._json and self._template is None and self._method != "DELETE":
            headers = {name: template.text for name, template in self._headers.items()}
            self._constant = (self._method, self._url.text, headers)

    def requests(self, records: Sequence[SinkRecord]) -> Iterator[Request | tuple[SinkRecord, DataError]]:
        """Yield requests in the order of records. A record of which no request can be made comes with the reason instead."""
        if self._constant is not None and _are_alike(records):
            value = Column(records[0].value_schema, [record.value for record in records])
            if (alike := self._alike(value, Origins(records))) is not None:
                yield from alike
                return
        for where, group in itertools.groupby(map(self._part, records), key=lambda part: part.where):
            if where is None:
                yield from ((part.record, part.error) for part in group if part.error is not None)
                continue
            for some in self._lots(group):
                body = self._joined([part.body for part in some if part.body is not None])
                yield Request([part.record for part in some], where[0], where[1], dict(where[2]), body)

    def requests_of(self, batch: SinkBatch) -> Iterator[Request] | None:
        """Return those of a batch, if they can be made of its columns."""
        return None if self._constant is None or batch.value.has_nulls else self._alike(batch.value, Origins(batch))

    def _alike(self, value: Column, origins: Origins) -> Iterator[Request] | None:
        """Return the requests of values that differ in nothing but their bodies; None if one has no body."""
        assert self._constant is not None
        try:
            bodies = documents.to_lines(value)
        except MISFITS:
            # Which record it is, is found out one by one.
            return None
        method, url, headers = self._constant
        most = self._most
        return (
            Request(Lot(origins, first, first + most), method, url, headers, self._joined(bodies[first : first + most]))
            for first in range(0, len(bodies), most)
        )

    def _lots(self, parts: Iterable[_Part]) -> Iterator[list[_Part]]:
        """Yield what has a request together: no more than are wanted, nor than memory has room for."""
        some: list[_Part] = []
        size = 0
        for record_part in parts:
            some.append(record_part)
            size += len(record_part.body or b"")
            if len(some) == self._most or size > _LARGEST:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _part(self, record: SinkRecord) -> _Part:
        if record.value is None and self._nulls == "ignore":
            return _Part(record)
        try:
            if record.value is None and self._nulls == "fail":
                raise DataError(f"It has no value, and {settings.NULLS} is fail")
            method = "DELETE" if record.value is None else self._method
            body = None if method == "DELETE" else self._body(record)
            headers = tuple(
                (name, names.header_value(template.fill(record, _text))) for name, template in self._headers.items()
            )
            # Without a body a request is of one record.
            alone = (record.original_partition, record.original_offset) if body is None else None
            url = self._url.fill(lambda name: self._in_address(record, name))
            return _Part(record, (method, url, headers, alone), body)
        except DataError as error:
            return _Part(record, error=error)
        except MISFITS as error:
            return _Part(record, error=DataError(f"No request can be made of it: {_reason(error)}"))

    def _body(self, record: SinkRecord) -> bytes:
        if self._template is not None:
            return self._template.fill(record, self._in_body).encode()
        if self._json:
            return documents.to_json(record.value, record.value_schema)
        if isinstance(record.value, bytes | bytearray | memoryview):
            return bytes(record.value)
        return values.to_text(record.value, record.value_schema).encode()

    def _in_address(self, record: SinkRecord, name: str) -> str:
        value, part_schema = part(record, name)
        if value is None and name in self._url.in_path:
            # All records without it would have one address, and a deletion would be of whatever is called so.
            raise DataError(f"${{{name}}} is null, and can't be a part of the path")
        return _text(value, part_schema)

    def _in_body(self, part: Any, own: Schema | None) -> str:
        return documents.to_json(part, own).decode() if self._json else _text(part, own)

    def _joined(self, bodies: list[bytes]) -> bytes | None:
        if self._most == 1 or not bodies:
            return bodies[0] if bodies else None
        return b"".join((self._prefix, self._between.join(bodies), self._suffix))


def _text(value: Any, own: Schema | None) -> str:
    """Return what stands for a part: dates and times as in ISO 8601, since Java's texts have no milliseconds."""
    if isinstance(value, datetime.datetime):
        name = own.name if own is not None and own.name in (schema.DATE, schema.TIME) else schema.TIMESTAMP
        return documents.time_text(value, str(name))
    return values.to_text(value, own)


def _are_alike(records: Sequence[SinkRecord]) -> bool:
    """Whether they have values, of one schema."""
    if not records:
        return False
    first_schema = records[0].value_schema
    return not any(record.value is None or record.value_schema is not first_schema for record in records)


def _reason(error: Exception) -> str:
    """Return what is wrong with a value, without the value itself, which an error of Unicode would quote."""
    if isinstance(error, UnicodeError):
        return "a text has half a pair of surrogates, which UTF-8 has not"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
