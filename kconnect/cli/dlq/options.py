"""
The filters that `show`, `replay` and `drop` share, as options: see `kconnect/dlq/choice.py`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from kconnect.cli.offsets import moments
from kconnect.dlq.choice import Choice


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the filters; the command gets them as `choice`."""

    @functools.wraps(command)
    def with_choice(*args: Any, **given: Any) -> Any:
        names = [field.name for field in fields(Choice)]
        return command(*args, choice=Choice(**{name: given.pop(name) for name in names}), **given)

    choice_options = (
        click.option("--connector", metavar="GLOB", help="Letters of this connector."),
        click.option("--topic", metavar="GLOB", help="Letters of records from this topic."),
        click.option("--partition", type=click.IntRange(min=0), help="Letters of records from this partition of their topic."),
        click.option(
            "--stage",
            metavar="GLOB",
            help="Letters that failed at this stage, such as VALUE_CONVERTER or TRANSFORMATION.",
        ),
        click.option(
            "--exception",
            metavar="GLOB",
            help="Letters with this exception or first cause; the short name is enough.",
        ),
        click.option(
            "--contains",
            metavar="TEXT",
            help="Letters with this text in the key, the value or the exception's message.",
        ),
        click.option("--since", type=MOMENT, help="Letters from this time on. A letter has the time of its record."),
        click.option("--until", type=MOMENT, help="Letters before this time."),
        click.option(
            "--offset",
            type=RANGE,
            default="",
            help="Letters at these offsets of the queue: 12, 12:40 (inclusive), 12:, :40.",
        ),
        click.option(
            "--queue-partition",
            type=click.IntRange(min=0),
            help="Letters in this partition of the queue; most queues have one.",
        ),
    )
    wrapped: Callable[..., Any] = with_choice
    for option in reversed(choice_options):
        wrapped = option(wrapped)
    return wrapped


class _Moment(moments.Moment):
    """A moment in ms, which letters have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, int) else moments.milliseconds(super().convert(value, param, ctx))


class _Range(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int | None, int | None]:
        if isinstance(value, tuple):
            return value
        if not value:
            return None, None
        match = re.fullmatch(r"(\d{0,18})(:?)(\d{0,18})", str(value).strip())
        if match is None or not (match[1] or match[3]):
            self.fail(f"{value!r} is not a range of offsets: write 12, 12:40, 12: or :40.", param, ctx)
        first = int(match[1]) if match[1] else None
        last = int(match[3]) if match[3] else None
        if not match[2]:
            return first, first
        if first is not None and last is not None and first > last:
            self.fail(f"{value!r} is empty: its first offset is beyond its last.", param, ctx)
        return first, last


MOMENT, RANGE = _Moment(), _Range()
