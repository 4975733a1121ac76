"""
What a Java source task is to hear of its records: a task whose class overrides `commitRecord` is called once for each of them.

Made by `source_task.py` for such a task; others pay nothing. At least once, `units/hearing.py` gives it a thread (`run`), as in
Connect, where the producer's thread makes these calls: a task may wait in `poll` until all that it gave before is acknowledged.
That thread serves the producer, too, while the task's own is in `poll`: by `_turn`, one of the two at a time is at work.
Exactly once, the task hears in its own thread, after the commit. Read next: `committed` in `shim/SourceBatches.java`.
"""

from __future__ import annotations

import logging
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from kconnect.api.record import RecordMetadata
from kconnect.jvm import logs, machine
from kconnect.jvm.errors import translated

log = logging.getLogger(__name__)

_DROPPED = -2
_LAST = 2**31 - 1
_MOST = 100_000
"""As many records as a producer has under way at most: one whose task is slow to hear is not polled for more."""
_SETTLE_S, _GLANCE_S = 5.0, 0.05
_SHORTEST_S, _LONGEST_S, _LONGER = 0.001, 0.02, 1.25
"""How long to wait before the producer is served again, while something is under way: it can't be woken while it is served."""


class Acknowledgements:
    """`add` from any thread; `run` in a thread of its own; the rest from the task's thread."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self._heard: list[tuple[int, RecordMetadata | None]] = []
        self._changed = threading.Condition()
        self._turn = threading.Lock()
        self._serve: Callable[[bool], int] | None = None
        self._fail: Callable[[BaseException], None] = lambda error: None
        self._waits = self._wanted = self._settles = self._telling = self._over = False
        self._settled = True
        self._raised: BaseException | None = None

    def begin(self, serve: Callable[[bool], int], fail: Callable[[BaseException], None]) -> None:
        """
        Prepare for `run`, which calls the task. `serve(hurries)` has the producer report what was acknowledged, and returns how
        many records are under way; it `hurries` once the task has been waiting for a moment, for then nothing else may come
        before that. What it raises is passed to `fail`, as the task may wait for what will never come.
        """
        self._serve, self._fail = serve, fail

    def add(self, number: int, metadata: RecordMetadata | None) -> None:
        """Kafka has the record of this number, or it was dropped: then there is no metadata."""
        # Nobody is woken: `run` adds most of it itself, and for the rest the next `poll` or `settle` is soon enough. Many calls
        # of Java with a few records each cost more than all else.
        with self._changed:
            self._heard.append((number & _LAST, metadata))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within it, the task's thread waits for `poll`: everything else may be done by `run`. Raises what `run` has met."""
        if self._serve is None:
            self.tell()
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._over or len(self._heard) < _MOST)
            self._waits = self._wanted = True
            self._changed.notify_all()
        try:
            yield
        finally:
            self._waits = False
            # Until the producer, if it is being served, has been.
            with self._turn:
                pass
        if self._raised is not None:
            raise self._raised

    def settle(self) -> bool:
        """
        Wait until the task has heard of all that was added. False if it has not for a while: a call that hangs must not hold up
        the task, which Kafka Connect makes in another thread as well. From then on it is hardly waited for until it goes on.
        """
        if self._serve is None:
            self.tell()
            return True
        with self._changed:
            self._settles = True
            self._changed.notify_all()
            limit_s = _SETTLE_S if self._settled else _GLANCE_S
            settled = self._changed.wait_for(lambda: self._over or not (self._heard or self._telling), limit_s)
            self._settles = False
        if self._settled and not settled:
            log.warning("commitRecord() has not returned for %.0f s: commit() is not called until it does", _SETTLE_S)
        self._settled = settled
        return settled

    def end(self) -> None:
        """Have `run` end, after the call that it makes: the task has stopped."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def run(self) -> None:
        """Call the task as long as it runs."""
        pause, hurries = _SHORTEST_S, False
        try:
            machine.attach()
            logs.adopt()
            while True:
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._over or (self._wanted and self._waits) or (self._heard and self._settles)
                    )
                    if self._over:
                        return
                    self._telling = True
                under_way = self._serve_now(hurries)
                was_called = self.tell()
                with self._changed:
                    self._telling = False
                    self._changed.notify_all()
                    pause = _SHORTEST_S if was_called or not under_way else min(_LONGEST_S, pause * _LONGER)
                    if under_way:
                        self._wanted = True
                        self._changed.wait_for(lambda: self._over or self._settles, pause)
                    # Still in the same `poll`, or in one so much later that it comes to the same.
                    hurries = under_way and self._waits
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may throw anything
            self._raised = error
            self._fail(error)
        finally:
            self.end()

    def _serve_now(self, hurries: bool) -> bool:
        """Serve the producer if that is this thread's business now. Return whether something is under way."""
        with self._turn:
            if not self._waits or self._serve is None:
                return False
            # Before: what is sent from now on is asked for anew.
            self._wanted = False
            return self._serve(hurries) > 0

    def tell(self) -> bool:
        """Call the task with what was added so far. Return whether there was anything."""
        with self._changed:
            heard, self._heard = self._heard, []
        if not heard:
            return False
        numbers, places = zip(*heard)
        topics: dict[str, int] = {"": 0}
        columns = (
            array("i", numbers),
            array("i", [0 if place is None else topics.setdefault(place.topic, len(topics)) for place in places]),
            array("i", [0 if place is None else place.partition for place in places]),
            array("q", [_DROPPED if place is None else place.offset for place in places]),
            array("q", [-1 if place is None or place.timestamp is None else place.timestamp for place in places]),
        )
        ints, longs = jpype.JInt[:], jpype.JLong[:]
        try:
            self._batches.committed(*map(ints, columns[:3]), list(topics), *map(longs, columns[3:]))
        except jpype.JException as thrown:
            raise translated(thrown) from None
        return True
