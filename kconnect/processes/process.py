"""
Whether a process that the log names still lives, as far as this machine can tell.

Used by `worker/main.py` for a worker's earlier lives and their hosts, and by `host/main.py` for its own predecessor.
"""

from __future__ import annotations

import os
import platform
import secrets
import time

import psutil

from kconnect.core.state.assignment_records import Held, Placement

Identity = tuple[str, int, float]


def incarnation() -> str:
    """A name for one life of a worker or host; a later life's name is greater."""
    return f"{int(time.time() * 1000):013d}-{secrets.token_hex(4)}"


def identity() -> Identity:
    """Node name, pid and start time: the start time tells a process from a later one with the same pid."""
    return platform.node(), os.getpid(), psutil.Process().create_time()


def is_dead(life: Held | Placement) -> bool:
    """True only if the process ran on this node and is surely gone."""
    if life.process is None or life.process[0] != platform.node():
        return False
    try:
        began: float = psutil.Process(life.process[1]).create_time()
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
    return abs(began - life.process[2]) > 1.0
