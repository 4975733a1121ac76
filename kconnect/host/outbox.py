"""
What a host has to say to the log, on its way there: statuses, task configs, uses of topics, and what the host holds.

Held by `host/main.py`. Everything that runs in a host shares it, so nothing that one unit has to say may stand in the way of
the others: what is too long for a record is shortened, or refused, or left out. Read next: `kafka/log.py`.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from kconnect.core.state.records import Entry, UnitId
from kconnect.errors import BadRequestError, ConnectError
from kconnect.kafka.log import LogWriter

log = logging.getLogger(__name__)

_WRITE_S = 30.0
_LONGEST_TRACE = 65_536
"""In characters, of which JSON may take six bytes each."""
_BEGIN_OF_TRACE = 16_384
_HEAD_OF_RECORD = 1024
"""What a message has besides its value, at most."""

_Item = tuple[int, "UnitId | None", "Entry | None"]


def shortened(trace: str | None) -> str | None:
    """
    Return a trace that a record has room for. Errors quote records and answers of services, whoever wrote these: a status that
    can't be written would leave a task that has failed shown as running.
    """
    if trace is None or len(trace) <= _LONGEST_TRACE:
        return trace
    end = _LONGEST_TRACE - _BEGIN_OF_TRACE
    left_out = len(trace) - _LONGEST_TRACE
    return f"{trace[:_BEGIN_OF_TRACE]}\n... {left_out} characters are left out ...\n{trace[-end:]}"


def check_size(entry: Entry, what: str, most: int) -> None:
    """Raise ConnectError if an entry makes a record of more than `most` bytes. `what` is said of it, with its remedy."""
    size = len(entry.value or b"")
    if size + len(entry.key) + _HEAD_OF_RECORD > most:
        raise ConnectError(
            f"{what} make a record of {size} bytes, of which {most} are possible: lower tasks.max, make the config smaller, or "
            "raise `max.request.size` of the workers and `max.message.bytes` of the topic of assignments"
        )


class Outbox:
    """
    Writes entries in order from a thread of its own, many at a time, and again until they are acknowledged.

    Nothing is written while `holds_lease()` is false. By then some of what waits may be for others to say: see `discard`.
    """

    def __init__(self, writer: LogWriter, holds_lease: Callable[[], bool]) -> None:
        self._writer = writer
        self._holds_lease = holds_lease
        self._numbers = itertools.count(1)
        self._discarded, self._discarded_of = 0, dict[UnitId, int]()
        """Up to which number entries are dropped, all of them, or those of a unit."""
        self._entries: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def put(self, entry: Entry, unit: UnitId | None = None) -> None:
        """`unit` is whom the entry speaks of, if it is a unit."""
        self._entries.put((next(self._numbers), unit, entry))

    def discard(self, unit: UnitId | None = None) -> None:
        """
        Forget what has not been written yet: of `unit`, or all. Returns at once: the writing thread drops what is older than
        this call.
        """
        if unit is None:
            self._discarded = next(self._numbers)
            self._discarded_of.clear()
        else:
            self._discarded_of[unit] = next(self._numbers)

    def close(self) -> None:
        self._entries.put((next(self._numbers), None, None))
        self._thread.join(10)

    def _is_valid(self, number: int, unit: UnitId | None) -> bool:
        return number > self._discarded and (unit is None or number > self._discarded_of.get(unit, 0))

    def _run(self) -> None:
        closing = False
        while not closing:
            batch = [self._entries.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < 500:
                    batch.append(self._entries.get_nowait())
            closing = any(entry is None for *_, entry in batch)
            self._write(batch)

    def _write(self, batch: Sequence[_Item]) -> None:
        while entries := [entry for number, unit, entry in batch if entry is not None and self._is_valid(number, unit)]:
            if not self._holds_lease():
                time.sleep(0.05)
                continue
            try:
                self._writer.write(entries, _WRITE_S)
                return
            except BadRequestError as error:
                # It is too large, and will be so for ever: the others must not wait for it.
                if len(batch) == 1:
                    log.error("What the host has to say of %s is left out: %s", batch[0][1] or "itself", error)
                    return
                for item in batch:
                    self._write([item])
                return
            except Exception as error:  # noqa: BLE001 - a status must not be lost to a broker that restarts
                log.warning("Statuses could not be written; retrying: %s", error)
                time.sleep(1)
