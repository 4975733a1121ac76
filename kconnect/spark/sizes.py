"""
How many task hosts a worker has if nobody says it, and for how many cores it asks a standalone cluster.

Asked by `worker/main.py`, `host/driver.py` and `host/memory.py`, which must find the same. Read next: `session.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

ROOM = 1
"""Hosts beside `task.hosts` for which a standalone cluster is asked: one for plugins."""


def default_hosts(user: Mapping[str, str]) -> int:
    """
    How many hosts ordinary connectors share if nobody has said it: one for each core, but for one on a standalone cluster,
    which may have no more cores than this machine: then plugins' hosts would get none.
    """
    cores = os.cpu_count() or 1
    return max(1, cores - ROOM) if user.get("spark.master", "").startswith("spark://") else cores
