"""
Deadlines: whatever waits for another machine is ended from outside when its time is over.

Libraries limit each wait for bytes, and not the sum of them: who sends a head without an end, "100 Continue" again and again,
or the size of a chunk digit by digit, is never late. What has been asked is ended by shutting its connections down. Used by
the clients of registries, OpenSearch and HDFS; HttpSink's and HttpSource's have a dialer of their own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def within(seconds: float, end: Callable[[], object], late: Callable[[], Exception]) -> Iterator[None]:
    """
    Have `end` called, in another thread, if what is done within takes longer, and raise what `late` gives then. `end` is to
    make whatever waits fail.
    """
    is_late = threading.Event()

    def over() -> None:
        is_late.set()
        end()

    watch = threading.Timer(seconds, over)
    watch.daemon = True
    watch.start()
    try:
        yield
    except Exception:
        if is_late.is_set():
            raise late() from None
        raise
    finally:
        watch.cancel()
    if is_late.is_set():
        raise late()


def shut_down(number: int) -> None:
    """End the connection with this file descriptor, which stays open for who has it."""
    with contextlib.suppress(OSError, ValueError), socket.socket(fileno=os.dup(number)) as handle:
        handle.shutdown(socket.SHUT_RDWR)
