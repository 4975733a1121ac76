"""
How quiet this machine was while a fault was played: load, what others took of its processors, how long a connection takes.

Called by `play.py`, for the notes of its rows. Read next: `report.py`, which makes a page's table of rows.
"""

from __future__ import annotations

import os
import socket
import statistics
import time
from pathlib import Path

_CONNECTIONS = 9
_ANSWER_S = 5.0
_STEAL = 7
"""The number of the column in the first line of /proc/stat, after its name."""


def round_trip_ms(address: str, port: int) -> float:
    """Return how long a connection to a program on a machine of the rig takes, in the median."""
    taken = []
    for _ in range(_CONNECTIONS):
        began = time.monotonic()
        with socket.create_connection((address, port), _ANSWER_S):
            taken.append((time.monotonic() - began) * 1000)
    return statistics.median(taken)


class Steal:
    """Made at the begin of a time; `told` at its end."""

    def __init__(self) -> None:
        self._before = _ticks()

    def told(self) -> str:
        """Return the load of now, and which part of the processors' time was taken by others than this machine since."""
        passed = [after - before for before, after in zip(self._before, _ticks())]
        percent = 100 * passed[_STEAL] / max(1, sum(passed))
        return f"load {os.getloadavg()[0]:.1f}, steal {percent:.0f} %"


def _ticks() -> list[int]:
    return [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]]
