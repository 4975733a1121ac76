"""
What Spark's JVM says on its standard error, which the task hosts of local mode share. Called by `session.py`.

Until Spark is up, the lines are its own: they go through our log, in its form and without secrets. From then on they pass as
they are, for mostly they are lines of the hosts' logs.
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
_IDLE = re.compile(r"WARNING: Using incubator modules|Using Spark's default log4j|Setting |To adjust |.* NativeCodeLoader: ")
"""What Spark says at each start, and nobody can do anything about."""
_STACK = re.compile(r"\s+at [\w.$/<>]+\(|\s+\.\.\. \d+ |\s+(Suppressed|Caused by): |Caused by: ")
"""Of an exception whose first line is told, and whose cause is in what ends the driver (`errors.py`)."""


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
        with open(self._from, "rb", closefd=False) as lines:
            for line in iter(lambda: lines.readline(1 << 16), b""):
                if self._up.is_set():
                    os.write(2, line)
                else:
                    tell(line.decode("utf-8", "replace").rstrip())


def tell(line: str) -> None:
    """Log a line of Spark's start."""
    if not line or _IDLE.match(line) or _STACK.match(line):
        log.debug("%s", line)
        return
    found = _LINE.match(line)
    level = logging.getLevelName(found["level"]) if found else logging.WARNING
    log.log(level if isinstance(level, int) else logging.WARNING, "%s", found["text"] if found else line)
