"""
How many threads a host's process has, and when these are too many.

A client of Kafka has a thread for each broker of its cluster, and believes a cluster that says it has ten thousand. Without
threads no process of the machine, or of the container or service, does anything new: the worker neither. Asked by `main.py`, in
each turn of its loop. Read next: `memory.py`.
"""

from __future__ import annotations

import psutil

from kconnect.core.settings.worker import WorkerSettings, host_range
from kconnect.spark import room, sizes

_FEWEST = 500
"""A host with so many has few."""
_SHARE, _SHORT = 0.75, 0.02
"""Part of all threads that one host may have, and part that is left when they run out."""


class Threads:
    def __init__(self, settings: WorkerSettings) -> None:
        self._process = psutil.Process()
        self._hosts = sizes.hosts(host_range(settings.task_hosts), settings.spark).most

    def excess(self) -> str | None:
        """Why this process has to end, in words for who looks at what it ran; None if it need not. Costs 0.1 ms."""
        count = self._process.num_threads()
        if count < _FEWEST or (machine := room.threads()) is None:
            return None
        total, left = machine
        brokers = "A client of Kafka has one for each broker that its cluster says it has"
        if count > _SHARE * total:
            return f"took {count} threads, and a host may have {_SHARE:.0%} of the {total} that there are. {brokers}"
        if left > _SHORT * total or count < total / self._hosts / 2:
            return None
        return f"took {count} threads while only {max(left, 0)} of {total} were left. {brokers}"
