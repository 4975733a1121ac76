"""
What is seen from outside while a plugin misbehaves: how long the neighbours' data and REST's answers took, and what is left.

Each watcher is a thread that `run.py` starts and ends. Times are those of `time.monotonic`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from kconnect.rest.client import ConnectClient, RestError
from tests.rig.systems.watcher import Watcher


class Neighbours(Watcher):
    """Reads along what the good sink of a lane writes down, which the good source has sent."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"neighbours {file.stem}", 0.05)
        self._file, self._position, self._rest = file, 0, ""
        self._lock = threading.Lock()
        self._arrivals: list[float] = []
        self._numbers: set[int] = set()
        self.pids: set[int] = set()
        """The processes that they have ever run in."""
        self.patched: list[float] = []
        """When records came whose source had met replaced builtins."""

    def look(self) -> None:
        if not self._file.exists():
            return
        with open(self._file, encoding="utf-8") as file:
            file.seek(self._position)
            text = self._rest + file.read()
            self._position = file.tell()
        *lines, self._rest = text.split("\n")
        now = time.monotonic()
        for line in lines:
            number, state, *pids = line.split()
            with self._lock:
                self._arrivals.append(now)
                self._numbers.add(int(number))
                self.pids.update(map(int, pids))
            if state == "patched":
                self.patched.append(now)

    def last(self) -> float:
        """When the last record came; 0 if none has."""
        with self._lock:
            return self._arrivals[-1] if self._arrivals else 0.0

    def longest_gap(self, begin: float, end: float) -> float:
        """Seconds between two records, or between a record and one of these ends."""
        with self._lock:
            times = [begin, *(at for at in self._arrivals if begin < at < end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    def missing(self) -> int:
        """How many numbers up to the highest have not come."""
        with self._lock:
            return max(self._numbers, default=0) - len(self._numbers)


class Answers(Watcher):
    """Asks the worker for all statuses, and how long that takes."""

    LIMIT_S = 90.0

    def __init__(self, url: str) -> None:
        super().__init__("answers", 0.2)
        self._client = ConnectClient(url, timeout=self.LIMIT_S)
        self._seen: list[tuple[float, float]] = []

    def look(self) -> None:
        began = time.monotonic()
        with contextlib.suppress(RestError):
            self._client.connectors("status")
        self._seen.append((began, time.monotonic()))

    def longest(self, begin: float, end: float) -> float:
        return max((ended - began for began, ended in list(self._seen) if ended > begin and began < end), default=0.0)


@dataclass(frozen=True)
class Struck:
    """A line of a plugin's journal: it did what it should, in this thread of this process."""

    place: str
    kind: str
    pid: int
    tid: int

    def lives(self) -> bool:
        """Whether that thread, which may have ended and never begins again, is still there."""
        return Path(f"/proc/{self.pid}/task/{self.tid}").exists()


def journal(homes: Iterable[Path]) -> list[Struck]:
    found: list[Struck] = []
    for home in homes:
        with contextlib.suppress(FileNotFoundError):
            # The last one may be being written.
            for line in (home / "journal.jsonl").read_text("utf-8").split("\n")[:-1]:
                row = json.loads(line)
                found.append(Struck(row["place"], row["kind"], row["pid"], row["tid"]))
    return found


def threads_of(pid: int) -> int:
    try:
        return psutil.Process(pid).num_threads()
    except psutil.Error:
        return 0
