"""
A source task that waits in `poll` for what can only come once `poll` has returned: it is told, for it would wait for ever.

`commit_record` of a task in Python is called between two polls, in the task's own thread, so that a task needs no locks; and
exactly once so it is for tasks in Java, as in Kafka Connect. Held by `source_task.py`, for tasks that have that method. Read
next: `hearing.py`, for tasks in Java that hear meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kconnect.core.task.errors import Counts
from kconnect.core.task.ports import Producer
from kconnect.units import owners
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_LOOK_S = 5.0
_LONG_S = 30.0


class LongPolls:
    """A thread that looks at the task's `poll` now and then. It ends with `end`."""

    def __init__(self, unit: Unit, producer: Producer, counts: Counts, long_s: float = _LONG_S) -> None:
        self._producer, self._counts, self._long_s = producer, counts, long_s
        self._since: float | None = None
        self._told = False
        self._over = threading.Event()
        self._thread = owners.thread(unit, self._look, f"{unit.spec.unit} polls")
        self._thread.start()

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Within it, the task is in its `poll`."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = None
            if self._told:
                self._told = False
                self._counts.has_come()

    def end(self) -> None:
        """Stop the thread that watches the polls."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(min(_LOOK_S, self._long_s)):
            since = self._since
            if since is None or time.monotonic() - since < self._long_s or not self._owes():
                continue
            text = (
                f"poll() has not returned for {time.monotonic() - since:.0f} s, and until it does the task hears of no record: "
                "commit_record() is called between two polls. A poll() must not wait for that"
            )
            self._counts.awaits("poll()", text, since)
            if not self._told:
                self._told = True
                log.warning("%s", text)

    def _owes(self) -> bool:
        """Whether the task has not heard of all that it has given."""
        return self._producer.active > 0 or bool(getattr(self._producer, "open", False))
