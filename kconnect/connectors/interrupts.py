"""
Interrupts: how a sink that waits for an outside system is brought to an end when its task is to stop.

A put that is nearly over may go on for a moment: what is delivered need not be delivered again. Then its connections are shut
down under it, so that whatever waits for them fails, as if the other side had gone away. Used by the sinks' tasks.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable

GRACE_S = 2.0
"""Less than what hosts wait for a task by default."""


def after_grace(end: Callable[[], None]) -> None:
    """Call `end` in a moment, in a thread of its own."""
    timer = threading.Timer(GRACE_S, end)
    timer.daemon = True
    timer.start()


def shut_down(number: int) -> None:
    """End the connection with this file descriptor, which stays open for who has it."""
    with contextlib.suppress(OSError, ValueError), socket.socket(fileno=os.dup(number)) as handle:
        handle.shutdown(socket.SHUT_RDWR)
