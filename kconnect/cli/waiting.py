"""
Says on standard error what a command waits for, once that takes longer than a second.

`told` is for something that comes to its end by itself, and speaks to a person only: a script takes what stands there for
trouble. `Seen` is for what is looked at again and again because the user asked to wait, `progress` for work of several steps.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

AFTER_S = 1.0
"""Used qualified: tests wait for less."""
_EVERY_S = 5.0


def is_watched() -> bool:
    """Whether a person sees what is said. Used qualified, too."""
    return sys.stderr.isatty()


_lock = threading.Lock()
_going_on: Counter[str] = Counter()


@contextmanager
def told(what: str, more: Callable[[], str] = str) -> Iterator[None]:
    """
    `what` is waited for in the block, in several threads at once maybe, which say it once. `more` is asked for when it is said.
    """
    with _lock:
        _going_on[what] += 1
        first = _going_on[what] == 1
    timer = threading.Timer(AFTER_S, lambda: click.echo(f"Waiting for {what}{more()}", err=True))
    timer.daemon = True
    if first and is_watched():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with _lock:
            _going_on[what] -= 1


class Seen:
    """Called with what is seen; says it after a second, and again when it is another, but not all the time."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = ""
        self._next = time.monotonic() + AFTER_S

    def __call__(self, seen: str) -> None:
        if seen != self._said and time.monotonic() >= self._next:
            self._said, self._next = seen, time.monotonic() + _EVERY_S
            click.echo(f"Waiting for {self._what}; now: {seen}", err=True)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done, where that is a terminal."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status("") as status:
        yield lambda doing: status.update(escape(doing))
