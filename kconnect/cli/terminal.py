"""
What reaches the terminal: of all that commands write nothing that it obeys, but for the colours that they ask for themselves.

Statuses, errors and names come from workers, and quote records and answers of services: whoever may write a record must not
move an operator's cursor, set a title or fill a clipboard. Called by `main.py`, so that no command need think of it, and by
`kconnect operator` for its log; `layout.py` goes further for tables, where a line's end would do harm, too.
"""

from __future__ import annotations

import logging
import re
from typing import IO, Any

import click

UNSEEN = "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f"
"""Of a pattern: what a terminal obeys, ends a line, turns its direction, so that it is copied otherwise, or is not seen."""
_COLOUR = "(?:[0124]|3[1-7])"
_OBEYED = re.compile(f"\x1b\\[{_COLOUR}(?:;{_COLOUR})*m|[\x00-\x08\x0b-\x1f{UNSEEN}]")
"""Colours that commands ask for, which stay, none of which hides a text; or what a terminal obeys."""
_echo = click.echo


def harmless(text: str) -> str:
    """Write what a terminal would obey as JSON does it, so that output in JSON stays what it is."""
    return _OBEYED.sub(lambda match: match[0] if len(match[0]) > 1 else escaped(match[0]), text)


def plain(text: str) -> str:
    """The same for a text that nobody of us has coloured."""
    return harmless(text.replace("\x1b", escaped("\x1b")))


def escaped(letter: str) -> str:
    """Return a character by its numbers, as JSON may have it."""
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class HarmlessFormatter(logging.Formatter):
    """A record of a log as a line, what follows it indented, and nothing in it that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        return plain(super().format(record)).replace("\n", "\n    ")


def log_to_stderr(line: str, again: bool = False) -> None:
    """Have warnings of all loggers written to standard error, each by the format `line`."""
    handler = logging.StreamHandler()
    handler.setFormatter(HarmlessFormatter(line))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=again)


def _harmless_echo(
    message: Any = None, file: IO[Any] | None = None, nl: bool = True, err: bool = False, color: bool | None = None
) -> None:
    _echo(harmless(message) if isinstance(message, str) else message, file, nl, err, color)


def guard() -> None:
    """Have `click.echo` write harmless texts only, for errors of click too. May be called again."""
    for module in (click, click.exceptions):
        module.echo = _harmless_echo  # type: ignore[attr-defined]
