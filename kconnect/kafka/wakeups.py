"""
What ends the wait of a consumer's thread: something to poll, or somebody who calls it.

confluent-kafka's own `poll` wakes up five times a second to look for signals, and nobody can interrupt it: a host of hundreds
of idle sinks did little else. librdkafka can write to a file as soon as a client's queue has something. confluent-kafka (2.16)
has no call for that, so librdkafka is called here beside it. Where that can't be done, a wait is a short `poll`. Used by
`consumer.py`, `resting.py` and `watch.py`. Read next: librdkafka's `rd_kafka_queue_io_event_enable`.
"""

from __future__ import annotations

import ctypes
import logging
import os
import select
import sys
from functools import cache
from typing import Any

import confluent_kafka as ck

log = logging.getLogger(__name__)

_BLIND_S = 0.5
_ONE = (1).to_bytes(8, sys.byteorder)


class Wakeups:
    """The wake-ups of one thread, which attaches one client at a time. `wake` may be called from any thread until `close`."""

    def __init__(self) -> None:
        self._fd: int | None = None
        if _library() is not None:
            self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLIN)

    def attach(self, consumer: ck.Consumer) -> None:
        if self._fd is not None:
            _tell(consumer, self._fd)

    def detach(self, consumer: ck.Consumer) -> None:
        """Detach a client before it is closed: what it wrote afterwards might go to another file."""
        if self._fd is not None:
            _tell(consumer, -1)

    def next(self, consumer: ck.Consumer, timeout: float) -> ck.Message | None:
        """The next message; None after `timeout` seconds, or earlier if somebody called."""
        if self._fd is None:
            return consumer.poll(min(timeout, _BLIND_S))
        # librdkafka writes when an empty queue gets something: only who has found it empty may wait.
        message = consumer.poll(0)
        if message is None and timeout > 0 and self._poll.poll(timeout * 1000):
            os.eventfd_read(self._fd)
            message = consumer.poll(0)
        return message

    @property
    def blind(self) -> bool:
        """Whether nothing can end a wait but time and messages."""
        return self._fd is None

    def wait(self, timeout: float) -> None:
        """Wait for a call of `wake`, with no client at all. Not to be used while blind."""
        assert self._fd is not None
        if self._poll.poll(timeout * 1000):
            os.eventfd_read(self._fd)

    def wake(self) -> None:
        if self._fd is not None:
            os.eventfd_write(self._fd, 1)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _tell(consumer: ck.Consumer, fd: int) -> None:
    library = _library()
    queue = library.rd_kafka_queue_get_consumer(_handle(consumer))
    library.rd_kafka_queue_io_event_enable(queue, fd, _ONE, len(_ONE))
    library.rd_kafka_queue_destroy(queue)


def _handle(client: ck.Consumer) -> int | None:
    """The client's `rd_kafka_t`, which is the first thing behind the head of its object."""
    return ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value


@cache
def _library() -> Any:
    """librdkafka, as confluent-kafka has loaded it; None where it can't be called, or a client's object looks different."""
    if not hasattr(os, "eventfd") or sys.implementation.name != "cpython":
        return None
    library = ctypes.CDLL(ck.cimpl.__file__)
    try:
        library.rd_kafka_queue_get_consumer.restype = ctypes.c_void_p
        library.rd_kafka_queue_get_consumer.argtypes = [ctypes.c_void_p]
        library.rd_kafka_queue_io_event_enable.restype = None
        library.rd_kafka_queue_io_event_enable.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
        library.rd_kafka_queue_destroy.restype = None
        library.rd_kafka_queue_destroy.argtypes = [ctypes.c_void_p]
    except AttributeError:
        log.info("librdkafka can't be called: idle sinks take more CPU")
        return None
    client = ck.Consumer({"group.id": "none"})
    before = _handle(client)
    client.close()
    return library if before and before % 8 == 0 and _handle(client) is None else None
