"""
Whether the worker's machine has memory for one more process of a dedicated task.

Each takes some 100 MB, and whoever may create connectors may ask for hundreds. So they start a few at a time, and none once the
machine is short of memory: what runs needs the rest. Asked by `hosts.py`, where hosts are on the worker's machine;
`host/memory.py` and `host/threads.py` look at the same machine from within a host.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

SHORT = 0.1
"""Part of the machine's memory that is available when it is short of it: soon the system will end some process."""
_OF_A_HOST = 100 * 2**20
_YOUNG_S = 10.0
"""A process that began later has not yet taken what it will."""
_AT_ONCE = 16
"""So many may be young."""
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")
_KERNEL, _LOAD = Path("/proc/sys/kernel"), Path("/proc/loadavg")


class Room:
    """`memory` returns all bytes that there are and those that are available. Thread-safe."""

    def __init__(
        self, memory: Callable[[], tuple[int, int]] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._memory, self._clock = memory or machine, clock
        self._begun: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self) -> str | None:
        """Take the room for a process that is about to begin. Return why there is none, or None if there is."""
        with self._lock:
            now = self._clock()
            while self._begun and now - self._begun[0] > _YOUNG_S:
                self._begun.popleft()
            if len(self._begun) >= _AT_ONCE:
                return "other dedicated tasks are starting"
            total, available = self._memory()
            if available - (len(self._begun) + 1) * _OF_A_HOST < SHORT * total:
                return (
                    f"only {available >> 20} MiB of the machine's {total >> 20} MiB of memory are left, and a dedicated task "
                    "takes some 100 MiB: lower tasks.max of connectors with tasks.isolation=dedicated, or give the worker more"
                )
            self._begun.append(now)
            return None


def machine() -> tuple[int, int]:
    """
    Return all memory that there is and what is available of it, in bytes: of the machine, or of the container or the service of
    systemd if these may take less.
    """
    memory = psutil.virtual_memory()
    total, available = memory.total, memory.available
    for group in _groups():
        with suppress(OSError, ValueError):
            most = int((group / "memory.max").read_text())  # "max" where there is no limit
            cached = re.search(r"^inactive_file (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE)
            in_use = int((group / "memory.current").read_text()) - (int(cached[1]) if cached else 0)
            total, available = min(total, most), min(available, max(0, most - in_use))
    return total, available


def threads() -> tuple[int, int] | None:
    """Return how many threads there may be, and how many of these are left: as for `machine`. None where nobody says so."""
    with suppress(OSError, ValueError, IndexError):
        total = min(int((_KERNEL / name).read_text()) for name in ("pid_max", "threads-max"))
        left = total - int(_LOAD.read_text().split()[3].partition("/")[2])
        for group in _groups():
            with suppress(OSError, ValueError):
                most = int((group / "pids.max").read_text())  # "max" where there is no limit
                total, left = min(total, most), min(left, most - int((group / "pids.current").read_text()))
        return total, left
    return None


def _groups() -> Iterator[Path]:
    """Yield the control groups that limit this process: from the outermost, a container's own, to that of a service."""
    group = _GROUPS
    yield group
    with suppress(OSError):
        own = re.search(r"^0::/(.*)$", _OWN_GROUP.read_text(), re.MULTILINE)
        parts = Path(own[1]).parts if own else ()
        for part in () if ".." in parts else parts:  # It may be a group outside of the container's, which can't be seen.
            group /= part
            yield group
