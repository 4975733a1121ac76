"""
What a record of a dead letter queue tells: where it came from, who failed on it, at which stage, and why.

Kafka Connect and kconnect write the same headers (KIP-298), `__connect.errors.*`, unless the connector has them switched off;
a letter of a source, which only kconnect writes, has `source.partition` and `source.offset` in place of the partition and the
offset. Whoever replays a letter adds two headers, so that one which comes back is known.

All of this is what the letter *says*. Whoever may write to the queue can say anything, and so can whoever may write to a topic
that a Kafka Connect reads without context headers: `origins.py` says what of it is true, and nothing is written, read or
loaded by what a letter only says. Read next: `origins.py`.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kconnect.core.state import causes
from kconnect.core.task.letter_headers import BROUGHT, CONTEXT, OMITTED, unmark

Headers = tuple[tuple[str, "bytes | None"], ...]

REPLAYS = "__kconnect.dlq.replays"
"""The header that says how often a record has been replayed."""
LETTER = "__kconnect.dlq.letter"
"""The header that says which letter a record was, as `queue-partition@offset`."""


@dataclass(frozen=True)
class Letter:
    """
    `queue`, `partition` and `offset` are its place; `timestamp`, in ms, is that of the record which failed, unless the queue's
    topic has LogAppendTime. `headers` are all of it. What is not told is None. `gap` offsets before it hold no letter: markers
    of transactions take offsets, and compaction leaves some empty.
    """

    queue: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    gap: int = 0

    @classmethod
    def of(cls, message: Any, gap: int = 0) -> Letter:
        kind, at = message.timestamp()
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            at if kind else None,
            message.key(),
            message.value(),
            tuple(message.headers() or ()),
            gap,
        )

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last offset that are done with once it is: its own, and those of the gap before it."""
        return self.offset - self.gap, self.offset

    @cached_property
    def context(self) -> dict[str, str]:
        """Connect's headers without their prefix. The last of a name: another tool may have replayed it with the older ones."""
        return {
            name[len(CONTEXT) :]: data.decode("utf-8", "replace")
            for name, data in self.headers
            if name.startswith(CONTEXT) and data is not None
        }

    @property
    def place(self) -> str:
        return f"{self.queue}-{self.partition}@{self.offset}"

    @property
    def of_source(self) -> bool:
        return "source.offset" in self.context

    @property
    def topic(self) -> str | None:
        return self.context.get("topic")

    @property
    def original_partition(self) -> int | None:
        return _number(self.context.get("partition"))

    @property
    def original_offset(self) -> int | None:
        return _number(self.context.get("offset"))

    @property
    def origin(self) -> str | None:
        """The place where the record came from, for people."""
        if self.topic is None or self.original_partition is None:
            return self.topic
        return f"{self.topic}-{self.original_partition}@{self.context.get('offset', '?')}"

    @property
    def connector(self) -> str | None:
        return self.context.get("connector.name")

    @property
    def stage(self) -> str | None:
        return self.context.get("stage")

    @property
    def exception(self) -> str | None:
        return self.context.get("exception.class.name")

    @property
    def message(self) -> str | None:
        return self.context.get("exception.message")

    @cached_property
    def cause(self) -> str | None:
        """The first cause, in one line, if the trace tells of another than the exception."""
        summary = causes.of(self.context.get("exception.stacktrace"))
        return None if summary is None or summary.reported is None else summary.first

    @property
    def why(self) -> str:
        """Stage and exception in a few words, by which letters are counted."""
        if self.exception is None:
            return "not told"
        return " ".join(part for part in (self.stage, short(self.exception)) if part)

    @property
    def replays(self) -> int:
        """The number of times that its record had been replayed before it failed once more."""
        return max((_number((data or b"").decode("latin-1")) or 0 for name, data in self.headers if name == REPLAYS), default=0)

    @property
    def own_headers(self) -> Headers:
        """The headers that the record had before it became a dead letter, except those of replays."""
        return tuple((unmark(name), data) for name, data in self.headers if not _added(name))

    @property
    def omits_record(self) -> bool:
        """Whether the record was too large for the queue, so that the letter has nothing of it."""
        return any(name == OMITTED for name, _ in self.headers)

    @property
    def brought(self) -> bool:
        """Whether the record itself had headers as only a report writes them."""
        return any(name.startswith(BROUGHT) for name, _ in self.headers)

    def is_copy_of(self, record: Letter) -> bool:
        """Whether it has the key, the value and the headers of a record, as far as reports and replays leave these alone."""
        own_headers = tuple(pair for pair in self.own_headers if not pair[0].startswith(CONTEXT))
        return (self.key, self.value, own_headers) == (
            record.key,
            record.value,
            tuple(h for h in record.headers if not _added(h[0])),
        )

    def replay_headers(self, own: Iterable[tuple[str, bytes | None]] | None = None) -> list[tuple[str, bytes | None]]:
        """Its own headers, or others, and the two that say that this is a replay."""
        headers = self.own_headers if own is None else tuple(pair for pair in own if pair[0] not in (REPLAYS, LETTER))
        return [*headers, (REPLAYS, str(self.replays + 1).encode()), (LETTER, self.place.encode())]

    def as_json(self) -> dict[str, Any]:
        context = self.context
        return {
            "partition": self.partition,
            "offset": self.offset,
            "time": None if self.timestamp is None else moment(self.timestamp),
            "timestamp": self.timestamp,
            "topic": self.topic,
            "original_partition": self.original_partition,
            "original_offset": self.original_offset,
            "source_partition": context.get("source.partition"),
            "source_offset": context.get("source.offset"),
            "connector": self.connector,
            "task": _number(context.get("task.id")),
            "stage": self.stage,
            "class": context.get("class.name"),
            "exception": self.exception,
            "message": self.message,
            "cause": self.cause,
            "stacktrace": context.get("exception.stacktrace"),
            "replays": self.replays,
            **_forms("key", self.key),
            **_forms("value", self.value),
            "headers": [{"name": name, **_forms("value", data)} for name, data in self.own_headers],
        }


def counted(number: int, what: str = "letter") -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def short(class_name: str) -> str:
    return class_name.rpartition(".")[2]


def moment(milliseconds: int) -> str:
    """Return a time in UTC, to the millisecond. A year that a datetime hasn't is shown as the number of milliseconds."""
    try:
        at = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _added(name: str) -> bool:
    return name.startswith(CONTEXT) or name in (REPLAYS, LETTER, OMITTED)


_DIGITS = 18
"""Any number of these fits into the 64 bits of an offset."""


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) <= _DIGITS and text.isascii() and text.isdigit() else None


def _forms(part: str, data: bytes | None) -> dict[str, Any]:
    """Return bytes as text, or else in base64, so that any bytes can be had. Both are null if there are none."""
    if data is None:
        return {part: None}
    try:
        return {part: data.decode()}
    except UnicodeDecodeError:
        return {part: None, f"{part}_bytes": base64.b64encode(data).decode()}
