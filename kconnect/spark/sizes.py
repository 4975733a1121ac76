"""
How many task hosts a worker has for ordinary connectors, and for how many cores it asks a standalone cluster.

Asked by `worker/main.py` and `host/driver.py`, which are on one machine and so find the same, and by `host/memory.py`, for its
share of the machine that it is on. Read next: `session.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

ROOM = 1
"""Hosts beside `task.hosts` for which a standalone cluster is asked: one for plugins."""


class Hosts(NamedTuple):
    least: int
    most: int


def hosts(given: tuple[int, int] | None, spark: Mapping[str, str]) -> Hosts:
    """
    Return how many hosts ordinary connectors share, by the range that `task.hosts` gives and Spark's settings.

    If nobody has said it, it is one for each core of this machine, but for one on a standalone cluster: that may have no more
    cores, and plugins' hosts would get none.
    """
    if given is not None:
        return Hosts(*given)
    cores = os.cpu_count() or 1
    number = max(1, cores - ROOM) if spark.get("spark.master", "").startswith("spark://") else cores
    return Hosts(number, number)
