"""
Pages: what is asked for where the connector is, what of an answer is new, and where it is then.

A `Position` is what a source offset holds. Within a round `since` stays as it was at its begin, and `newest` is the greatest
that was seen. With each there are marks of the records that had it, since services give these once more. Called by `source.py`.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import httpx
import orjson

from kconnect.api import ConnectError, DataError
from kconnect.connectors import documents, limits
from kconnect.connectors.http import requests, settings, source_settings
from kconnect.connectors.http.address import Address
from kconnect.connectors.http.origins import Origins
from kconnect.connectors.http.progress import compared, is_doubtful, shown
from kconnect.connectors.http.requests import Request
from kconnect.connectors.http.service import Response
from kconnect.connectors.limits import BrokenError, TooMuchError

log = logging.getLogger(__name__)

_FOLLOWED = 100_000
"""Pages of a round that are remembered."""
_PARTS = ("since", "cursor", "offset", "page", "size")
_LONGEST_CURSOR = 16 * 1024
"""A cursor, and a `since`, stand in every offset."""


@dataclass(frozen=True)
class Position:
    since: str | int | float | None = None
    seen: str = ""
    newest: str | int | float | None = None
    seen_newest: str = ""
    cursor: str | None = None
    """Or the address of the next page."""
    offset_of_page: int = 0
    page: int = 0

    def offset(self) -> dict[str, Any]:
        """Return the offset to store, without what is not set."""
        return {name: value for name in _NAMES if (value := getattr(self, name)) not in (None, "", 0)} or {"page": 0}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Position:
        """ConnectError, saying what there may be, if it is no offset of this connector."""
        kinds: dict[str, Any] = {"since": str | int | float, "newest": str | int | float}
        kinds |= dict.fromkeys(("seen", "seen_newest", "cursor"), str)
        for name, value in stored.items():
            if name not in _NAMES or (value is not None and not isinstance(value, kinds.get(name, int))):
                raise ConnectError(
                    f"An offset of this connector has {', '.join(_NAMES)}, of which since alone is enough: the newest that was "
                    f"read. {name} is none of these, or its value does not fit."
                )
        return cls(**{name: value for name, value in stored.items() if value is not None})


_NAMES = tuple(each.name for each in fields(Position))


class Pages:
    """The pages of a service, by a parsed config."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        # The service chooses the cursor, which may be none yet.
        self._url = Address(settings.URL, config[settings.URL], _PARTS, empty=True)
        self._method: str = config[settings.METHOD].upper()
        self._body: str = config[source_settings.BODY]
        self._headers = {"Accept": "application/json", **requests.headers_of(config)}
        if self._method == "POST":
            self._headers.setdefault("Content-Type", "application/json")
        self._mode: str = config[source_settings.PAGES].lower()
        self._size: int = config[source_settings.SIZE]
        self._first: int = config[source_settings.FIRST]
        self._since_first: str = config[source_settings.SINCE_FIRST] or ""
        paths = (source_settings.RECORDS, source_settings.CURSOR, source_settings.SINCE)
        self._records, self._cursor, self._since = (source_settings.compiled(name, config[name]) for name in paths)
        # What stands for parts is in no origin.
        plain = self._url.fill(lambda name: "0")
        origins = config[source_settings.ORIGINS]
        self._origins = Origins(source_settings.ORIGINS, plain, origins, self._method == "GET")
        self._deepest: int = config[source_settings.MAX_DEPTH]
        self._most: int = config[source_settings.MAX_RECORDS]
        self._equal: int = config[source_settings.EQUAL]
        self._followed: set[str] = set()
        """Digests of the cursors that led to the pages of this round."""
        self._has_doubted, self._has_missed, self._has_mended = False, False, False
        """The warnings that were given already."""
        self._has_cursor = "${cursor}" in config[settings.URL] + self._body

    def first(self) -> Position:
        return Position(page=self._first)

    def request(self, position: Position) -> Request:
        parts: dict[str, Any] = {
            "since": self._since_first if position.since is None else position.since,
            "cursor": position.cursor or "",
            "offset": position.offset_of_page,
            "page": position.page,
            "size": self._size,
        }
        url = self._url.fill(lambda name: str(parts[name]))
        body = self._body
        for name, value in parts.items():
            body = body.replace(f"${{{name}}}", orjson.dumps(value).decode())
        if position.cursor and not self._has_cursor:
            # It is an address, maybe one relative to that of the config.
            address = _joined(httpx.URL(url), position.cursor)
            self._origins.check(address)
            if not self._origins.is_own(address):
                return Request([], "GET", str(address), {"Accept": "application/json"}, None, elsewhere=True)
            url = str(address)
        return Request([], self._method, url, self._headers, body.encode() if self._method == "POST" else None)

    def read(self, position: Position, response: Response) -> tuple[list[Any], Position, bool]:
        """
        Return what is new, where the connector is then, and whether that was the last page of its round. BrokenError if the
        answer is not JSON, TooMuchError if it has more than a setting allows.
        """
        document = self._document(response)
        result = None if document is None else _search(source_settings.RECORDS, self._records, document)
        if document is not None and result is None and not self._has_missed:
            self._has_missed = True
            log.warning(
                "%s finds nothing in the service's answer, and so no records: %.100s", source_settings.RECORDS, shown(document)
            )
        every = result if isinstance(result, list) else [] if result is None else [result]
        if len(every) > self._most:
            raise TooMuchError(
                f"The service's answer has {len(every)} records, and {source_settings.MAX_RECORDS} is {self._most}"
            )
        new = self._new(position, every)
        newest, marks = self._newest(position, new)
        cursor = None if document is None else self._unless_followed(position, self._next(document, response))
        ended = len(every) < self._size
        last = {"none": True, "offset": ended, "page": ended}.get(self._mode, cursor is None)
        if last:
            return new, Position(newest, marks, newest, marks, page=self._first), True
        offset, page = position.offset_of_page + len(every), position.page + 1
        after = replace(position, newest=newest, seen_newest=marks, cursor=cursor, offset_of_page=offset, page=page)
        return new, after, False

    def _document(self, response: Response) -> Any:
        """Return the answer's JSON, or None if it has no body, as 204: the service has nothing."""
        if not response.content.strip():
            return None
        limits.check_depth(response.content, source_settings.MAX_DEPTH, self._deepest)
        try:
            return documents.parsed(response.content)
        except orjson.JSONDecodeError as error:
            try:
                document = documents.mended(response.content)
            except (ValueError, RecursionError):
                raise BrokenError(f"The service's answer is not JSON: {error}") from None
            if not self._has_mended:
                self._has_mended = True
                log.warning("The service's answer has letters that are none (%s): U+FFFD stands for each", error)
            return document

    def _unless_followed(self, position: Position, cursor: str | None) -> str | None:
        """Return what leads to the next page, or None if it has led to one of this round: then there would be no end."""
        if position.cursor is None:
            self._followed.clear()
        else:
            if len(self._followed) >= _FOLLOWED:
                # A service with ever new pages is not to fill the memory.
                self._followed.clear()
            self._followed.add(_digest(position.cursor.encode()))
        if cursor is not None and _digest(cursor.encode()) in self._followed:
            log.warning("The service names a page as the next one that was read in this round: the round ends here")
            return None
        return cursor

    def _next(self, document: Any, response: Response) -> str | None:
        if self._mode == "link":
            following = response.following
        elif self._mode == "cursor":
            cursor = _search(source_settings.CURSOR, self._cursor, document)
            # Elasticsearch and others have a list there.
            following = (
                None if cursor in (None, "", False) else cursor if isinstance(cursor, str) else orjson.dumps(cursor).decode()
            )
        else:
            return None
        if following is None:
            return None
        if len(following) > _LONGEST_CURSOR:
            raise DataError(f"What leads to the next page has {len(following)} characters, of which {_LONGEST_CURSOR} may be")
        if self._has_cursor:
            return following
        # Relative to the page that names it; where that is the config's origin, it stays as short as it is.
        return following if self._origins.is_own(response.url) else str(_joined(response.url, following))

    def _new(self, position: Position, records: Sequence[Any]) -> list[Any]:
        """Return the records that no earlier round has read."""
        if self._since is None:
            return list(records)
        # Two that are the same in all are two records.
        counts_by_mark = Counter(position.seen.split(","))
        new = []
        for record in records:
            at = self._at(record)
            before, equal = compared(at, position.since)
            if before and not self._has_doubted and is_doubtful(at, position.since):
                self._has_doubted = True
                log.warning(
                    "A record is passed over as an old one: its %s is %s, letter by letter less than %s, read before. "
                    "If the service counts otherwise, name a field with a time in ISO 8601 or a number",
                    source_settings.SINCE,
                    shown(at),
                    shown(position.since),
                )
            if equal and counts_by_mark[mark := _mark(record)]:
                counts_by_mark[mark] -= 1
            elif not before:
                new.append(record)
        return new

    def _newest(self, position: Position, records: Sequence[Any]) -> tuple[Any, str]:
        """The greatest `since` so far, and the marks of the records that have it."""
        if self._since is None:
            return None, ""
        newest, marks = position.newest, position.seen_newest.split(",") if position.seen_newest else []
        for record in records:
            at = self._at(record)
            before, equal = compared(at, newest)
            if before:
                continue
            if not equal:
                marks = []
            marks.append(_mark(record))
            newest = at
        if len(marks) > self._equal:
            raise TooMuchError(
                f"The service has more than {self._equal} records of which {source_settings.SINCE} is {shown(newest)}, and "
                f"{source_settings.EQUAL} is {self._equal}: raise it, or name what tells them apart in {source_settings.SINCE}"
            )
        return newest, ",".join(marks)

    def _at(self, record: Any) -> Any:
        since = _search(source_settings.SINCE, self._since, record)
        if isinstance(since, bool) or not isinstance(since, str | int | float):
            raise DataError(f"{source_settings.SINCE} finds no text and no number in a record, but {shown(since)}")
        if isinstance(since, str) and len(since) > _LONGEST_CURSOR:
            raise DataError(f"{source_settings.SINCE} finds {len(since)} characters, of which {_LONGEST_CURSOR} may be")
        return since


def _search(setting: str, path: Any, document: Any) -> Any:
    """Return what a path finds. DataError if the answer has values that it can't use, as a function of JMESPath may say."""
    try:
        return path.search(document)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise DataError(f"{setting} finds nothing in an answer: {' '.join(str(error).split())[:200]}") from None


def _joined(base: httpx.URL, following: str) -> httpx.URL:
    """The address of a next page, without a user and a password. ConnectError if it is none."""
    try:
        url = base.join(following)
        return url.copy_with(username=None, password=None) if url.userinfo else url
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise ConnectError(f"The service gives an address of a next page that is none: {error}") from None


def _mark(record: Any) -> str:
    return _digest(orjson.dumps(record, option=orjson.OPT_SORT_KEYS))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=6).hexdigest()
