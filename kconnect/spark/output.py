"""
What Spark's JVM says on its standard error, which the task hosts of local mode share. Called by `session.py`.

Until Spark is up, the lines are its own: they go through our log, in its form and without secrets. From then on they pass as
they are, for mostly they are lines of the hosts' logs. Java stacks below Spark's own lines are left out: `hosts.py` tells why.
"""

from __future__ import annotations

import logging
import os
import re
import select
import threading
import time

log = logging.getLogger("spark")

_LINE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?P<level>[A-Z]+) (?P<text>.*)")
_IDLE = re.compile(
    r"WARNING: Using incubator modules|Using Spark's default log4j|Setting |To adjust |.* NativeCodeLoader: "
    r"|org\.apache\.spark\.SparkException: Exception thrown in awaitResult: *$"
)
"""What Spark says at each start, and nobody can do anything about; and what says nothing: the cause stands below it."""
_STACK = re.compile(r"\s+at [\w.$/<>]+\(|\s+\.\.\. \d+ |\s+(Suppressed|Caused by): |Caused by: ")
"""Of an exception whose first line is told, and whose cause is in what ends the driver (`errors.py`)."""


_EXCEPTION = re.compile(r"[\w.$]+(?:Exception|Error)\b")
_PYTHON = re.compile(r"Error from python worker:|PYTHONPATH was:|  \S")
"""What an executor's Python has said that did not come up stands between Spark's line and the exception."""


class Output:
    """`end` is for the JVM to write to."""

    def __init__(self) -> None:
        self._from, self.end = os.pipe()
        self._up = threading.Event()
        threading.Thread(target=self._pass, name="spark-output", daemon=True).start()

    def started(self) -> None:
        """The JVM has `end` as its own: this process is not to keep it open."""
        os.close(self.end)

    def up(self) -> None:
        self._up.set()

    def drain(self, timeout: float) -> None:
        """Wait for what has been written, but not for more."""
        end = time.monotonic() + timeout
        while select.select([self._from], [], [], 0)[0] and time.monotonic() < end:
            time.sleep(0.02)

    def _pass(self) -> None:
        stacks = Stacks()
        with open(self._from, "rb", closefd=False) as lines:
            for line in iter(lambda: lines.readline(1 << 16), b""):
                text = line.decode("utf-8", "replace").rstrip()
                if not self._up.is_set():
                    tell(text)
                elif stacks.has(text):
                    log.debug("%s", text)
                else:
                    os.write(2, line)


class Stacks:
    """A filter of the stacks below lines of Spark's. Plugins' own stacks stand below lines of the hosts' logs."""

    def __init__(self) -> None:
        self._below = False

    def has(self, line: str) -> bool:
        """Return whether the next line is of such a stack."""
        if self._below and _STACK.match(line):
            return True
        # The exception that a stack is of stands between Spark's line and the stack, with what led to it.
        between = _EXCEPTION.match(line) or _PYTHON.match(line)
        self._below = _LINE.match(line) is not None or (self._below and between is not None)
        return False


def tell(line: str) -> None:
    """Log a line of Spark's start."""
    if not line or _IDLE.match(line) or _STACK.match(line):
        log.debug("%s", line)
        return
    match = _LINE.match(line)
    level = logging.getLevelName(match["level"]) if match else logging.WARNING
    log.log(level if isinstance(level, int) else logging.WARNING, "%s", match["text"] if match else line)
