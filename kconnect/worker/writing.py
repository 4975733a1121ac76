"""
The writes of a worker, in the order in which its herder asked for them. Used by `loop.py`. Read next: `kafka/log.py`.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from kconnect.core.herder import events
from kconnect.core.herder.effects import Effect, Write
from kconnect.errors import BadRequestError

_TOGETHER = 1000
"""Entries that one transaction may grow to when several ask at once."""


class Writing:
    """
    A thread that performs one thing after another and posts how each ended. A transaction takes some 10 ms, however much is
    in it: what several requests have the leader write meanwhile is one.
    """

    def __init__(self, perform: Callable[[Effect[Any]], Any], post: Callable[[events.Event], None]) -> None:
        self._perform_one, self._post = perform, post
        self._todo: queue.SimpleQueue[Effect[Any] | None] = queue.SimpleQueue()
        self._next: Effect[Any] | None = None
        """Taken from `_todo`, and not done yet."""
        self._closed = False
        threading.Thread(target=self._run, name="write", daemon=True).start()

    def put(self, effect: Effect[Any]) -> None:
        """A write, or anything else that must not overtake one, nor be overtaken."""
        self._todo.put(effect)

    def close(self) -> None:
        """Stop writing: what has not been begun is not done. Returns at once."""
        self._closed = True
        self._todo.put(None)

    def _run(self) -> None:
        while not self._closed:
            first, self._next = self._next or self._todo.get(), None
            if isinstance(first, Write) and first.as_leader:
                self._write(self._with_followers(first))
            elif first is not None:
                self._perform([first], first)

    def _with_followers(self, first: Write) -> list[Write]:
        group, size = [first], len(first.entries)
        while size < _TOGETHER:
            try:
                self._next = self._todo.get_nowait()
            except queue.Empty:
                break
            if not isinstance(self._next, Write) or not self._next.as_leader:
                break
            group.append(self._next)
            size += len(self._next.entries)
            self._next = None
        return group

    def _write(self, group: list[Write]) -> None:
        together = Write(tuple(entry for write in group for entry in write.entries), True)
        if self._perform(group, together, len(group) == 1):
            return
        for write in group:
            self._perform([write], write)

    def _perform(self, asked: Sequence[Effect[Any]], effect: Effect[Any], alone: bool = True) -> bool:
        """
        Perform `effect`, and tell those who `asked` how it ended. False, and nobody is told yet, if one was refused and they
        are not `alone`.
        """
        answers: list[events.Event]
        try:
            result = self._perform_one(effect)
            answers = [events.Done(waiting.id, result) for waiting in asked]
        except Exception as error:  # noqa: BLE001 - the herder decides what a failure means
            if isinstance(error, BadRequestError) and not alone:
                return False
            answers = [events.Failed(waiting.id, error) for waiting in asked]
        for event in answers:
            self._post(event)
        return True
