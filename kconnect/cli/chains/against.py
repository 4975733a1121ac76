"""
`--against NAME` of `kconnect preview` and `kconnect test`: the chain of a connector that runs, and with a file what becomes
otherwise if that file's settings are taken over.

The config comes from REST, so that the worker may be Kafka Connect's as well; the chain runs here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from kconnect.cli import manifests
from kconnect.cli.connection import Target
from kconnect.cli.outcome_text import bytes_text, cells, changes, echo, printable

if TYPE_CHECKING:
    from kconnect.preview.preview import Outcome

Change = tuple[str, str, str]
"""`+`, `-` or `~`, the place, and what is there."""

_STYLES = {"+": "green", "-": "red", "~": "yellow"}


def running(target: Target, name: str) -> dict[str, str]:
    """The connector's config as it was submitted. RestError if there is none or no worker answers."""
    with target.connect() as client:
        config = client.get_config(name)
    return {setting: text for setting, text in config.items() if text is not None}


def changed(config: dict[str, str], file: Path) -> dict[str, str]:
    """
    The config that a file makes of another one: its whole new one if it has a `connector.class`, or else its settings on top,
    where null takes one away.
    """
    changes = manifests.changes_of(file)
    if changes.get("connector.class"):
        return {setting: text for setting, text in changes.items() if text is not None}
    return {setting: text for setting, text in {**config, **changes}.items() if text is not None}


def differences(now: Outcome, then: Outcome) -> list[Change]:
    """Return what comes out otherwise; nothing if the record's way ends alike."""
    ends = _end(now), _end(then)
    if ends[0] != ends[1]:
        return [("~", "record", f"{ends[0]} → {ends[1]}")]
    if now.out is None or then.out is None:
        return []
    return [*changes(cells(now.out), cells(then.out)), *_bytes(now, then)]


def show(to: Console, number: int, now: Outcome, found: Sequence[Change]) -> None:
    at = now.record
    place = str(at["topic"]) + ("" if at.get("partition") is None else f"-{at['partition']}")
    place += f"@{at['offset']}" if "offset" in at else ""
    echo(to, Text(printable(f"Record {number}: {place}"), "bold"))
    for line in lines(found):
        echo(to, line)
    echo(to, Text())


def lines(found: Sequence[Change]) -> Iterator[Text]:
    width = min(32, max((len(place) for _, place, _ in found), default=0))
    for mark, place, text in found:
        yield Text.assemble((f"  {mark} {place:<{width}}  ", _STYLES[mark]), printable(text))


def summary(total: int, otherwise: int) -> str:
    count = f"{total} record{'' if total == 1 else 's'}"
    if not otherwise:
        return f"{count}: {'all are' if total != 1 else 'it is'} unchanged"
    return f"{count}: {otherwise} {'differs' if otherwise == 1 else 'differ'}, {total - otherwise} unchanged"


def _end(outcome: Outcome) -> str:
    error = outcome.error
    if error is not None:
        then = "skipped" if error.tolerated else "failed"
        message = " ".join(f"{error.message} {error.cause}".split())
        return f"{then} at {error.alias or error.stage}: {error.class_name.rpartition('.')[2]}: {message}"
    # Who drops it does not matter to those who read what comes out.
    return "dropped" if outcome.out is None else "out"


def _bytes(now: Outcome, then: Outcome) -> Iterator[Change]:
    pairs = [("key", now.key, then.key), ("value", now.value, then.value)]
    for name, before, after in pairs:
        if before != after:
            yield "~", f"bytes {name}", f"{bytes_text(before)} → {bytes_text(after)}"
    if now.headers != then.headers:
        for mark, headers, compared in (("-", now.headers, then.headers), ("+", then.headers, now.headers)):
            for name, data in headers:
                if (name, data) not in compared:
                    yield mark, f"bytes header {name}", bytes_text(data)
