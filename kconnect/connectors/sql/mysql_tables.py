"""
What SQLAlchemy finds out of tables of MySQL and MariaDB, which others may have made, without standing still for it.

It looks through the text of SHOW CREATE TABLE by patterns. One of them may split quotes in as many ways as there are, and names
of columns may have quotes and new lines: a column whose name has sixty of them took hours, and all else that the process does
waits for Python's patterns. Here that one splits a text in one way only, and all of them have a limit of time and let others
run. Called by `database.py`. Read next: `sqlite_tables.py`, for SQLite.
"""

from __future__ import annotations

import re
import time
from typing import Any

import regex
import sqlalchemy as sa

from kconnect.api import DataError

LONGEST_S = 10.0
"""For the text of one table: a thousand columns take a hundredth of that."""
_LABELS, _IN_ONE_WAY = "(?:'(?:''|[^'])*',?)+", "'(?:''|[^'])*'(?:,'(?:''|[^'])*')*"
"""The texts of an ENUM or SET."""


class _Clock:
    """How long the text may take that is looked through."""

    def __init__(self) -> None:
        self._end = 0.0

    def start(self) -> None:
        self._end = time.monotonic() + LONGEST_S

    def remaining_s(self) -> float:
        return max(0.001, self._end - time.monotonic())


class _Pattern:
    """Stands in for a compiled pattern. Raises DataError where the time is over."""

    def __init__(self, compiled: re.Pattern[str], clock: _Clock) -> None:
        self.pattern = compiled.pattern.replace(_LABELS, _IN_ONE_WAY)
        self._compiled = regex.compile(self.pattern, (compiled.flags & re.IGNORECASE) | regex.V0)
        self._clock = clock

    def match(self, text: str) -> Any:
        return self._call(self._compiled.match, text)

    def search(self, text: str) -> Any:
        return self._call(self._compiled.search, text)

    def findall(self, text: str) -> Any:
        return self._call(self._compiled.findall, text)

    def sub(self, new: str, text: str) -> Any:
        return self._call(self._compiled.sub, new, text)

    def _call(self, look: Any, *arguments: str) -> Any:
        try:
            return look(*arguments, timeout=self._clock.remaining_s())
        except TimeoutError:
            raise DataError(
                f"what the database says of its columns (SHOW CREATE TABLE) takes longer than {LONGEST_S:g} s to understand: "
                "names, defaults or comments in it were written so that it does"
            ) from None


def guard(engine: sa.Engine) -> None:
    """Have an engine for MySQL or MariaDB look through the texts of tables with limits."""
    dialect: Any = engine.dialect
    set_up = dialect._setup_parser
    guarded: set[int] = set()

    def looked_up(*arguments: Any, **more: Any) -> Any:
        # It is made with what the server says when it is first connected to, and then kept.
        parser = dialect._tabledef_parser
        if id(parser) not in guarded:
            _guard(parser)
            guarded.add(id(parser))
        return set_up(*arguments, **more)

    dialect._setup_parser = looked_up


def _guard(parser: Any) -> None:
    clock = _Clock()
    for name, value in list(vars(parser).items()):
        if isinstance(value, re.Pattern):
            setattr(parser, name, _Pattern(value, clock))
    pattern, cleanup = parser._pr_name
    parser._pr_name = _Pattern(pattern, clock), cleanup
    parser._pr_options = [(_Pattern(pattern, clock), cleanup) for pattern, cleanup in parser._pr_options]
    parse = parser.parse

    def timed(text: str, charset: Any) -> Any:
        clock.start()
        return parse(text, charset)

    checks_view = parser._check_view

    def timed_check(text: str) -> Any:
        clock.start()
        return checks_view(text)

    parser.parse, parser._check_view = timed, timed_check
