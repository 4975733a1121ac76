"""
What a host's process takes of its machine, and when that is too much.

`Memory` is held by `main.py`, which asks `excess` in each turn of its loop and ends the process, by SIGKILL, if it says why:
the next one begins without what has filled this one, whatever held it. Who is to blame is known if nothing else ran here;
else `core/herder/suspects.py` finds out. `host/metrics.py` reports `usage`.
"""

from __future__ import annotations

import re
import resource
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

import psutil

from kconnect.core.metrics.report import Usage
from kconnect.core.settings.worker import WorkerSettings, host_range
from kconnect.plugins import confinement
from kconnect.spark import room, sizes

_HEADROOM = 256 * 2**20
"""
What the process may reserve beyond its limit: the stacks of its threads, 8 MiB each, of which a client of Kafka has four to
eight. A thread uses a hundredth of that, so what is resident is watched, and this limit is for what is quicker than that.
"""
_RESERVE = 32 * 2**20
"""What there is left to report a MemoryError with."""
_SHARE, _LEAST = 0.75, 2**29
"""What a host may take unless a setting says otherwise: part of the memory of machine or container, and bytes in any case."""
_LEAP, _LEAP_S = 0.25, 30.0
"""Part of what a host may take that comes at once, within seconds."""


class Memory:
    """
    The memory of this process. `dedicated` is the limit of a host for one task (`tasks.memory.max`), in bytes; other hosts have
    that of `task.host.memory.max.bytes`. To be made before any plugin code runs.
    """

    def __init__(self, settings: WorkerSettings, dedicated: int | None = None) -> None:
        self._process = psutil.Process()
        self.most = settings.host_memory if dedicated is None else dedicated
        self._setting = "task.host.memory.max.bytes" if dedicated is None else "tasks.memory.max"
        self._guarded = self.most is None and settings.guards_memory
        self._hosts = sizes.hosts(host_range(settings.task_hosts), settings.spark).most
        self._seen: deque[tuple[float, int]] = deque()
        """When looks were, and what was resident: those after which there was never less."""
        self._soft: int | None = None
        if dedicated is not None:
            self._soft = _reserved() + dedicated + _HEADROOM
            self.limit()

    @property
    def limited(self) -> tuple[int | None, str]:
        """The limit, in bytes, and the setting that says so."""
        return self.most, self._setting

    def limit(self) -> None:
        """Have the limit hold again, once what `explain` was asked for is over."""
        if self._soft is not None:
            confinement.limit_data(self._soft, self._soft + _RESERVE)

    def usage(self) -> Usage:
        times = self._process.cpu_times()
        return Usage(self._process.memory_info().rss, self.most, round(times.user + times.system, 2))

    def excess(self) -> str | None:
        """Why this process has to end, in words for who looks at what it ran; None if it need not. Costs 0.1 ms."""
        resident = self._process.memory_info().rss
        self._see(resident)
        if self.most is not None:
            return None if resident <= self.most else f"took {_mib(resident)} of memory, and {self._setting} is {self.most}"
        if not self._guarded or resident < 2**28:
            return None
        total, available = room.machine()
        if resident > max(_LEAST, _SHARE * total):
            return (
                f"took {_mib(resident)} of memory, and a host may take {_SHARE:.0%} of the machine's {_mib(total)}, because "
                "task.host.memory.max.bytes in the worker file names no other limit"
            )
        if available > room.SHORT * total or resident < total / self._hosts / 2:
            return None
        return (
            f"took {_mib(resident)} of memory while only {_mib(available)} of the machine's {_mib(total)} were left. "
            "task.host.memory.max.bytes in the worker file is the limit for a host"
        )

    @property
    def has_leapt(self) -> bool:
        """Whether much of what the process has was taken at once, as by a batch that unpacks to gigabytes."""
        most = _SHARE * room.machine()[0] if self.most is None else self.most
        return bool(self._seen) and self._seen[-1][1] - self._seen[0][1] > _LEAP * most

    def _see(self, resident: int) -> None:
        now = time.monotonic()
        # In rising order: the first one is the least of the last seconds.
        while self._seen and self._seen[-1][1] >= resident:
            self._seen.pop()
        self._seen.append((now, resident))
        while self._seen[0][0] < now - _LEAP_S:
            self._seen.popleft()

    def explain(self, error: MemoryError) -> str | None:
        """
        Why a unit's code got no memory, if that is for a limit of ours. To be asked for before anything else is done about the
        error: there is memory again, for that.
        """
        if self._soft is None:
            return None
        confinement.limit_data(self._soft + _RESERVE, self._soft + _RESERVE)
        return f"The task got no more memory: {self._setting} is {self.most}"


def _reserved() -> int:
    """Return what RLIMIT_DATA counts of this process, in bytes; on Linux."""
    with suppress(OSError):
        match = re.search(r"^VmData:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
        if match:
            return int(match[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _mib(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"
