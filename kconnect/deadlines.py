"""
Deadlines: whatever waits for another machine is ended from outside when its time is over.

Libraries limit each wait for bytes, and not the sum of them: who sends a head without an end, "100 Continue" again and again,
or the size of a chunk digit by digit, is never late. What has been asked is ended by shutting its connections down. Used by
the clients of registries, OpenSearch, HDFS and Iceberg's catalogs; HttpSink's and HttpSource's have a dialer of their own. It
is below all folders, for connectors and converters import nothing of each other's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator

_AGAIN_S = 0.5


@contextlib.contextmanager
def within(seconds: float, end: Callable[[], object], late: Callable[[], Exception]) -> Iterator[None]:
    """
    Have `end` called, in another thread, if what is done within takes longer, and raise what `late` gives then. `end` is to
    make whatever waits fail. It is called again and again until that has happened: a library may have just made a connection
    that nobody knew of, or ask once more.
    """
    is_late, is_over = threading.Event(), threading.Event()

    def watch() -> None:
        wait_s = seconds
        while not is_over.wait(wait_s):
            is_late.set()
            end()
            wait_s = _AGAIN_S

    threading.Thread(target=watch, name="deadline", daemon=True).start()
    try:
        yield
    except Exception:
        if is_late.is_set():
            raise late() from None
        raise
    finally:
        is_over.set()
    if is_late.is_set():
        raise late()


def shut_down(number: int) -> None:
    """End the connection with this file descriptor, which stays open for who has it."""
    with contextlib.suppress(OSError, ValueError), socket.socket(fileno=os.dup(number)) as handle:
        handle.shutdown(socket.SHUT_RDWR)
