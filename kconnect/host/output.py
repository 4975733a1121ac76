"""
What a host's process prints becomes lines of its log, and its log can't hold it up. Put together by `containment.py`.

`print` in a unit's thread gives lines with that unit's names, INFO for standard output and WARNING for standard error, so many
a minute and no more. What C code, or a process that a plugin has started, writes to descriptors 1 and 2 can't be told by unit:
it is logged without one. Lines reach the real standard error from a thread of their own: who is to read them there may have
stopped reading.
"""

from __future__ import annotations

import io
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog

from kconnect.processes import logs
from kconnect.units import owners
from kconnect.units.unit import Unit

log = logging.getLogger("kconnect.output")

_MINUTE_S = 60.0
_MOST_LINES = 1000
_MOST_BYTES = 8 << 20
_LONGEST_LINE = 8192
_MOST_WAITING = 8 << 20
_DRAIN_S = 3.0


class Output:
    """The standard output and error of this process, from its construction until `close`."""

    def __init__(self) -> None:
        self._budgets: dict[Unit | None, _Budget] = {}
        self._kept = (os.dup(1), os.dup(2))
        self._before = (sys.stdout, sys.stderr)
        self._writer = Writer(self._kept[1])
        self._handlers = [handler for handler in logging.root.handlers if type(handler) is logging.StreamHandler]
        self._streams = [handler.setStream(self._writer) for handler in self._handlers]
        for descriptor, level in ((1, logging.INFO), (2, logging.WARNING)):
            reading, writing = os.pipe()
            os.dup2(writing, descriptor)
            os.close(writing)
            read = _reader(reading, lambda line, level=level: self._say(level, line, None))  # type: ignore[misc]
            threading.Thread(target=read, name=f"descriptor {descriptor}", daemon=True).start()
        self.stdout = sys.stdout = Stream(1, lambda line: self._say(logging.INFO, line, owners.current()))
        self.stderr = sys.stderr = Stream(2, lambda line: self._say(logging.WARNING, line, owners.current()))

    def look(self) -> None:
        """Now and then, from the host's loop: tell what was not logged."""
        for whose, budget in list(self._budgets.items()):
            if budget.is_over():
                self._tell(whose, self._budgets.pop(whose))

    def close(self) -> None:
        """Restore the streams, and write all that was to be logged, unless nobody reads it."""
        for whose, budget in list(self._budgets.items()):
            self._tell(whose, budget)
        sys.stdout, sys.stderr = self._before
        for saved, descriptor in zip(self._kept, (1, 2)):
            os.dup2(saved, descriptor)
        self._writer.drain(_DRAIN_S)
        for handler, stream in zip(self._handlers, self._streams):
            if stream is not None:
                handler.setStream(stream)

    def _say(self, level: int, line: str, whose: Unit | None) -> None:
        budget = self._budgets.setdefault(whose, _Budget())
        if budget.is_over():
            self._tell(whose, budget)
            budget = self._budgets[whose] = _Budget()
        if budget.takes(line):
            # Hidden before it is cut: of a secret that is cut in two neither half would be found.
            log.log(level, "%s", logs.hide(line)[:_LONGEST_LINE])

    def _tell(self, whose: Unit | None, budget: _Budget) -> None:
        if not budget.dropped:
            return
        names: dict[str, Any] = {}
        if whose is not None:
            names = {"connector": whose.spec.connector} | ({} if whose.spec.task is None else {"task": whose.spec.task})
        with structlog.contextvars.bound_contextvars(**names):
            log.warning("%d more lines were printed within a minute and are not logged", budget.dropped)


class _Budget:
    """The output that one unit may print within a minute. Threads of one unit may be off by a line."""

    def __init__(self) -> None:
        self._ends = time.monotonic() + _MINUTE_S
        self._lines = self._bytes = 0
        self.dropped = 0

    def is_over(self) -> bool:
        return time.monotonic() >= self._ends

    def takes(self, line: str) -> bool:
        self._lines += 1
        self._bytes += len(line)
        if self._lines <= _MOST_LINES and self._bytes <= _MOST_BYTES:
            return True
        self.dropped += 1
        return False


class Stream(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` of a host; what a thread sets in its place holds for that thread only."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, descriptor: int, say: Callable[[str], None]) -> None:
        self._descriptor, self._say = descriptor, say
        self._pid = os.getpid()
        self._local = threading.local()
        self.buffer = io.FileIO(descriptor, "wb", closefd=False)

    def redirect(self, target: Any) -> None:
        """Redirect the calling thread's output; to this stream itself, or None, to restore it."""
        self._local.target = None if target is self else target

    def write(self, text: str) -> int:
        local = self._local.__dict__
        if (target := local.get("target")) is not None:
            target.write(text)
            return len(text)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        # In a process that was forked from this one nobody takes lines from the queue. Nor must a handler that fails, and
        # says so on standard error, make a line of that.
        if os.getpid() != self._pid or local.get("saying"):
            with suppress(OSError):
                os.write(self._descriptor, text.encode("utf-8", "backslashreplace"))
            return len(text)
        *lines, local["rest"] = (local.get("rest", "") + text).split("\n")
        if len(local["rest"]) > 2 * _LONGEST_LINE:
            lines.append(local.pop("rest"))
        local["saying"] = True
        try:
            for line in lines:
                self._say(line)
        finally:
            local["saying"] = False
        return len(text)

    def flush(self) -> None:
        local = self._local.__dict__
        if (target := local.get("target")) is not None:
            target.flush()
        elif rest := local.pop("rest", ""):
            self._say(rest)

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True


class Writer:
    """A stream for log handlers: it returns at once, and keeps up to 8 MiB for a descriptor that takes nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pid = os.getpid()
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting = 0
        self._dropped = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="log lines", daemon=True).start()

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        if os.getpid() != self._pid:
            with suppress(OSError):
                os.write(self._descriptor, data)
            return
        with self._lock:
            if self._waiting + len(data) > _MOST_WAITING:
                self._dropped += 1
                return
            self._waiting += len(data)
        self._queue.put(data)

    def flush(self) -> None:
        """Do nothing: nobody waits for that."""

    def drain(self, timeout: float) -> None:
        """Wait until all is written, or the time is up."""
        limit = time.monotonic() + timeout
        while self._waiting and time.monotonic() < limit:
            time.sleep(0.005)

    def _run(self) -> None:
        while True:
            data = self._queue.get()
            _write(self._descriptor, data)
            with self._lock:
                self._waiting -= len(data)
                dropped, self._dropped = self._dropped, 0
            if dropped:
                _write(self._descriptor, b"%d lines of this log were lost, for nobody read it\n" % dropped)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    with suppress(OSError):
        while view:
            view = view[os.write(descriptor, view) :]


def _reader(descriptor: int, say: Callable[[str], None]) -> Callable[[], None]:
    def read() -> None:
        rest = b""
        while data := os.read(descriptor, 1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > 2 * _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                say(line.decode("utf-8", "replace"))

    return read
