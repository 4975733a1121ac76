"""
Keeps plugin code in its process: what it may use there, and what it has left behind that a later request would meet.

Used by `sandbox_child.py`, in the disposable process itself, and by `host/memory.py` in a host's. It guards against slips,
not against malice: whoever may install plugins may do what the worker may.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


def confine(memory: int | None) -> None:
    """Limit the process's data to `memory` bytes (None: no limit), leave no core dumps, and adopt what it orphans."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        limit_data(memory, memory)
    # Linux only. Elsewhere a daemon of a plugin's is noticed when the process ends, not before.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def limit_data(soft: int, hard: int) -> None:
    """Limit what the process may reserve for data, in bytes; up to `hard` it may raise that itself."""
    # Not RLIMIT_AS: JVMs and allocators reserve far more addresses than they ever use.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


class Traces:
    """The process's state before any plugin code ran, for comparing later."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._handlers = _handlers()
        self._directory = os.getcwd()
        self._builtins = dict(vars(builtins))

    def left(self) -> list[str]:
        """Return what plugin code has left behind, in words. If there is anything, the process must not be used again."""
        return list(self._left())

    def _left(self) -> Iterator[str]:
        threads = [thread.name for thread in threading.enumerate() if thread not in self._threads]
        if threads:
            yield f"{len(threads)} threads ({', '.join(sorted(threads)[:3])})"
        if _has_children():
            yield "child processes"
        handlers = _handlers()
        changed = [signal.Signals(number).name for number, handler in handlers.items() if handler != self._handlers[number]]
        if changed:
            yield f"signal handlers ({', '.join(changed)})"
        if any(signal.getitimer(timer)[0] for timer in _TIMERS):
            yield "a timer"
        changed = sorted(name for name, value in self._builtins.items() if vars(builtins).get(name) is not value)
        if changed:
            yield f"replaced builtins ({', '.join(changed[:3])})"
        if _directory() != self._directory:
            yield "another working directory"


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _has_children() -> bool:
    """Whether any still runs; those that have ended are reaped."""
    with suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
    return False


def _directory() -> str | None:
    with suppress(OSError):
        return os.getcwd()
    return None
