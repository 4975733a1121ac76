"""
A lock between processes, held by whoever has a file open: it ends with its holder, even when that is killed.

Used by `jars.py` (one download at a time), `local/broker.py` (one start at a time in a directory) and others that fetch or
install something once.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Wait for the lock, hold it for the block. The file stays: removing it would let two holders in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
