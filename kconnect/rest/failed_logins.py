"""
What strangers are refused, for the audit log: enough lines to see who tries what, and never so many that a disk fills.

A user who is tried from an address has some lines at once, and within the next minute one more, which says how many there were.
`audit.py` asks for both: for failed logins of requests that change nothing, and for refused changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

_WINDOW_S = 60.0
_MOST = 100
"""So many pairs of a user and an address have lines of their own; all others share one."""
_OTHERS = ("", "")

Write = Callable[[int], None]
"""Writes a line about the last failure, with how many more there were."""


@dataclass
class _Window:
    lines: int
    repeated: int
    write: Write


class FailedLogins:
    """
    The failed logins of one application and kind, on its event loop. The first `at_once` of a user and an address within a
    window get a line of their own.
    """

    def __init__(self, window_s: float = _WINDOW_S, at_once: int = 1) -> None:
        self._window_s = window_s
        self._at_once = at_once
        self._windows: dict[tuple[str, str], _Window] = {}

    def failed(self, user: str, address: str, write: Write) -> None:
        """Record a failure. `write` is called at once, or once the minute is over, or never if a later failure has its own."""
        key = (user, address)
        if key not in self._windows and len(self._windows) >= _MOST:
            key = _OTHERS
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(0, 0, write)
            asyncio.get_running_loop().call_later(self._window_s, self._end, key)
        if window.lines < self._at_once:
            window.lines += 1
            write(0)
        else:
            window.repeated += 1
            window.write = write

    def _end(self, key: tuple[str, str]) -> None:
        window = self._windows.pop(key)
        if window.repeated:
            window.write(window.repeated)
