"""
What reaches the terminal: of all that commands write nothing that it obeys, but for the colours that they ask for themselves.

Statuses, errors and names come from workers, and quote records and answers of services: whoever may write a record must not
move an operator's cursor, set a title or fill a clipboard. Called by `main.py`, so that no command need think of it;
`layout.py` goes further for tables, where a line's end would do harm, too.
"""

from __future__ import annotations

import re
from typing import IO, Any

import click

_OBEYED = re.compile("\x1b\\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Colours, which stay, or what a terminal obeys. Changes of direction show a line otherwise than it is copied."""
_echo = click.echo


def harmless(text: str) -> str:
    """Write what a terminal would obey as JSON does it, so that output in JSON stays what it is."""
    return _OBEYED.sub(lambda match: match[0] if len(match[0]) > 1 else f"\\u{ord(match[0]):04x}", text)


def _harmless_echo(
    message: Any = None, file: IO[Any] | None = None, nl: bool = True, err: bool = False, color: bool | None = None
) -> None:
    _echo(harmless(message) if isinstance(message, str) else message, file, nl, err, color)


def guard() -> None:
    """Have `click.echo` write harmless texts only, for errors of click too. May be called again."""
    for module in (click, click.exceptions):
        module.echo = _harmless_echo  # type: ignore[attr-defined]
