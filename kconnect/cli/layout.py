"""
Text for a terminal: tables with a line for each row, paragraphs beside their labels, numbers and times as people read them.

Called by `cli/describe/note.py`, `cli/output.py` and `cli/connectors/top.py`. Colours are for a terminal only, and for one
whose user has not set NO_COLOR.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

import click
from rich.cells import cell_len, set_cell_size

from kconnect.cli.terminal import UNSEEN, escaped

_COLOURS = {
    "RUNNING": "green",
    "FAILED": "red",
    "PAUSED": "yellow",
    "STOPPED": "yellow",
    "UNASSIGNED": "yellow",
    "RESTARTING": "yellow",
    "unknown": "yellow",
}
_STATES = re.compile(r"\b(" + "|".join(_COLOURS) + r")\b")
_QUOTED = re.compile(r"`[^`]+`")
_NO_BREAK = "\x1f"
_HAVE_STATES = ("STATE", "TASKS")
_HAVE_NAMES = {
    "NAME",
    "CONNECTOR",
    "CONNECTORS",
    "TASK",
    "UNIT",
    "WORKER",
    "NODE",
    "CLASS",
    "LOGGER",
    "TOPIC",
    "TOPICS",
    "QUEUE",
    "URL",
    "USER",
    "BOOTSTRAP SERVER",
    "COMMAND CONFIG",
    "WORKER FILE",
    "LOCATION",
    "VALUE",
    "MESSAGE",
}
_OBEYED = re.compile(f"[\x00-\x1f{UNSEEN}]")
_LEAST = 12
"""Of a column of names. Numbers are shorter, and so they are never cut, though a heading may stand for either."""
_LABEL = 12


def coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def width() -> int | None:
    """Return the width of the terminal; None where there is none, and nothing is to be folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def paint(text: str, colour: str | None = None) -> str:
    """The text in `colour`, or each state in it in its own."""
    if not coloured():
        return text
    if colour is not None:
        return click.style(text, fg=colour)
    return _STATES.sub(lambda word: click.style(word[0], fg=_COLOURS[word[0]]), text)


def labelled(label: str, paragraphs: Iterable[str]) -> list[str]:
    """
    The label beside the first line; what is too long for the terminal goes on below, beside no label. What stands in backticks
    is kept in one line, so that it can be copied.
    """
    room = width()
    lines: list[str] = []
    for paragraph in paragraphs:
        fits = room is None or cell_len(paragraph) <= room - _LABEL
        lines += [paragraph] if fits else _folded(paragraph, max((room or 0) - _LABEL, 20))
    heads = [label, *[""] * len(lines)]
    return [f"{_bold(f'{head:<{_LABEL - 1}} ')}{line}".rstrip() for head, line in zip(heads, lines)]


def _folded(paragraph: str, room: int) -> list[str]:
    unbroken = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", _NO_BREAK), paragraph)
    return [
        line.replace(_NO_BREAK, " ") for line in textwrap.wrap(unbroken, room, subsequent_indent="  ", break_on_hyphens=False)
    ]


def _bold(text: str) -> str:
    return click.style(text, bold=True) if text.strip() and coloured() else text


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[str] = (), lead: str = "", whole: bool = False
) -> list[str]:
    """
    Format a table, one line a row, never folded. Columns in which no row has anything are left out; those in `right` are
    aligned there.

    Names that a terminal has no room for are cut in the middle, unless `whole`: their end mostly tells them apart, as a task's
    number, a port and a class without its package do. Each line begins with `lead`. What is in a cell comes from others, so
    nothing of it is for the terminal.
    """
    rows = [[unobeyed(text) for text in row] for row in rows]
    shown = [place for place in range(len(headings)) if place == 0 or any(row[place] for row in rows)]
    widths = {place: max(cell_len(text) for text in (headings[place], *(row[place] for row in rows))) for place in shown}

    def line(cells: Sequence[str], head: bool) -> str:
        texts = []
        for place in shown:
            cell = _cut(cells[place], widths[place])
            pad = " " * (widths[place] - cell_len(cell))
            text = pad + cell if headings[place] in right else cell + pad
            texts.append(_bold(text) if head else paint(text) if headings[place] in _HAVE_STATES else text)
        return lead + "  ".join(texts).rstrip()

    if (room := width()) is not None and not whole:
        _narrow(widths, [place for place in shown if headings[place] in _HAVE_NAMES], room - len(lead))
    return [line(headings, True), *(line(row, False) for row in rows)]


def unobeyed(text: str) -> str:
    """Write what a terminal would obey, and what ends a line or turns its direction, as JSON does it."""
    return _OBEYED.sub(lambda match: escaped(match[0]), text)


def _narrow(widths: dict[int, int], names: Sequence[int], room: int) -> None:
    """
    Narrow columns until the table fits. The leftmost, which a row is about, is the last to be cut, after the widest of the
    others.
    """
    over = sum(widths.values()) + 2 * (len(widths) - 1) - room
    for places in (names[1:], names[:1]):
        while over > 0 and places and widths[widest := max(places, key=widths.__getitem__)] > _LEAST:
            widths[widest] -= 1
            over -= 1


def _cut(text: str, room: int) -> str:
    if cell_len(text) <= room:
        return text
    tail = (room - 1) // 2
    return f"{set_cell_size(text, room - 1 - tail)}…{set_cell_size(text[::-1], tail)[::-1]}"


def number(value: float | None) -> str:
    """Whole, with thousands apart; a small fraction with one place; nothing for what is not known."""
    if value is None:
        return ""
    return f"{value:,.1f}" if 0 < value < 10 and value != int(value) else f"{value:,.0f}"


def size(value: float | None) -> str:
    if value is None:
        return ""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def clock(at_ms: int) -> str:
    """Local time, to the second."""
    return datetime.fromtimestamp(at_ms / 1000).strftime("%Y-%m-%d %H:%M:%S")


def age(seconds: float) -> str:
    """Format a duration, such as `12 s`, `5 min`, `3 h 20 min`, `4 days`."""
    whole = max(int(seconds), 0)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min"
    if whole < 172_800:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} days"
