"""
Which letters are meant: the filters that `show`, `replay` and `drop` share. A letter must match all that are given.

Of what a letter does not tell, because its connector writes no context headers, no filter is true.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

import click

from kconnect.cli.dlq.letters import Letter, short
from kconnect.cli.offsets import moments


@dataclass(frozen=True)
class Choice:
    """`offset` is first and last place in the queue, both included; times are ms, `since` included and `until` not."""

    connector: str | None = None
    topic: str | None = None
    partition: int | None = None
    stage: str | None = None
    exception: str | None = None
    contains: str | None = None
    since: int | None = None
    until: int | None = None
    offset: tuple[int | None, int | None] = (None, None)
    queue_partition: int | None = None

    @property
    def everything(self) -> bool:
        return self == Choice()

    @property
    def by_place(self) -> bool:
        """Whether places in the queue alone decide, so that no letter has to be read for it."""
        return self == Choice(offset=self.offset, queue_partition=self.queue_partition)

    def bounds(self, low: int, high: int) -> tuple[int, int]:
        """What there is to read of a partition that holds `low` to `high` - 1: from where to before what."""
        first, last = self.offset
        return max(low, first or 0), high if last is None else min(high, last + 1)

    def takes(self, letter: Letter) -> bool:
        first, last = self.offset
        return (
            (first is None or letter.offset >= first)
            and (last is None or letter.offset <= last)
            and self.queue_partition in (None, letter.partition)
            and self.partition in (None, letter.original_partition)
            and _like(self.connector, letter.connector)
            and _like(self.topic, letter.topic)
            and _like(self.stage and self.stage.upper(), letter.stage)
            and self._by_exception(letter)
            and self._by_time(letter)
            and self._by_content(letter)
        )

    def _by_exception(self, letter: Letter) -> bool:
        if self.exception is None:
            return True
        cause = (letter.cause or "").partition(":")[0].strip()
        names = [name for name in (letter.exception, cause) if name]
        return any(_like(self.exception, name) or _like(self.exception, short(name)) for name in names)

    def _by_time(self, letter: Letter) -> bool:
        if self.since is None and self.until is None:
            return True
        at = letter.timestamp
        return at is not None and at >= (self.since or 0) and (self.until is None or at < self.until)

    def _by_content(self, letter: Letter) -> bool:
        if self.contains is None:
            return True
        wanted = self.contains.encode()
        parts = (letter.key, letter.value, (letter.message or "").encode(), (letter.cause or "").encode())
        return any(wanted in part for part in parts if part)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the filters; the command gets them as `choice`."""

    @functools.wraps(command)
    def with_choice(*args: Any, **given: Any) -> Any:
        names = [field.name for field in fields(Choice)]
        return command(*args, choice=Choice(**{name: given.pop(name) for name in names}), **given)

    made = (
        click.option("--connector", metavar="GLOB", help="Letters of this connector."),
        click.option("--topic", metavar="GLOB", help="Of records from this topic."),
        click.option("--partition", type=click.IntRange(min=0), help="Of records from this partition of their topic."),
        click.option("--stage", metavar="GLOB", help="That failed at this stage, such as VALUE_CONVERTER or TRANSFORMATION."),
        click.option("--exception", metavar="GLOB", help="With this exception or first cause; the short name is enough."),
        click.option("--contains", metavar="TEXT", help="With this text in the key, the value or the exception's message."),
        click.option("--since", type=MOMENT, help="Of records from then on. A letter has the time of its record."),
        click.option("--until", type=MOMENT, help="Of records before then."),
        click.option("--offset", type=RANGE, default="", help="At these offsets of the queue: 12, 12:40 (both too), 12:, :40."),
        click.option("--queue-partition", type=click.IntRange(min=0), help="In this partition of the queue; most have one."),
    )
    wrapped: Callable[..., Any] = with_choice
    for each in reversed(made):
        wrapped = each(wrapped)
    return wrapped


class _Moment(moments.Moment):
    """In ms, which letters have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, int) else moments.milliseconds(super().convert(value, param, ctx))


class _Range(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int | None, int | None]:
        if isinstance(value, tuple):
            return value
        if not value:
            return None, None
        found = re.fullmatch(r"(\d{0,18})(:?)(\d{0,18})", str(value).strip())
        if found is None or not (found[1] or found[3]):
            self.fail(f"{value!r} is no range of offsets: write 12, 12:40, 12: or :40.", param, ctx)
        first = int(found[1]) if found[1] else None
        last = int(found[3]) if found[3] else None
        if not found[2]:
            return first, first
        if first is not None and last is not None and first > last:
            self.fail(f"{value!r} holds nothing: the first offset is beyond the last.", param, ctx)
        return first, last


MOMENT, RANGE = _Moment(), _Range()


def _like(wanted: str | None, text: str | None) -> bool:
    return wanted is None or (text is not None and fnmatchcase(text, wanted))
