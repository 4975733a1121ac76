"""
Where a worker's Spark driver writes what it has to say: to the worker until Spark is up, and then to where the worker writes.

`worker/driver.py` starts the driver with a pipe for its standard error and, by the environment, the descriptor of its own one;
`host/driver.py` takes that over. So the worker knows why a driver did not start, and reads none of what hosts say later. The
pipe stays open for reports: why a host is not up, one line each.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial

_REPORT = "\x1ehost "
"""No line of a log begins with this control character."""
_LONGEST = 1000
VARIABLE = "KCONNECT_STDERR"
"""Environment variable: the descriptor of the worker's standard error."""


def take() -> int | None:
    """Return the descriptor, if there is one, and keep it from processes that this one starts."""
    text = os.environ.pop(VARIABLE, None)
    return None if text is None else int(text)


def become(direct: int | None) -> Callable[[int, str], None]:
    """
    Write to that descriptor from now on, instead of to the worker. Return what tells the worker why a host is not up: its
    number, and the reason.
    """
    if direct is None:
        return lambda host, reason: None
    sys.stderr.flush()
    # Not for processes that this one starts, as the copy that `dup` makes is not.
    pipe = os.dup(2)
    os.dup2(direct, 2)
    os.close(direct)

    return partial(report, pipe)


def report(pipe: int, host: int, reason: str) -> None:
    """Tell the worker, which reads from the pipe, why a host is not up."""
    line = f"{_REPORT}{host} {' '.join(reason.split())[:_LONGEST]}\n"
    with contextlib.suppress(OSError):
        os.write(pipe, line.encode("utf-8", "replace"))


def report_in(line: str) -> tuple[int, str] | None:
    """Return the host and the reason, or None for a line that is no report."""
    host, _, reason = line.removeprefix(_REPORT).partition(" ")
    return (int(host), reason) if line.startswith(_REPORT) and host.isdecimal() else None
