"""
The writes of a worker, in the order in which its herder asked for them. Used by `loop.py`. Read next: `kafka/log.py`.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from kconnect.core.herder import events
from kconnect.core.state.records import Entry, Topic
from kconnect.errors import BadRequestError

_TOGETHER = 1000
"""Entries that one transaction may grow to when several ask at once."""


class Writes(Protocol):
    def write(self, entries: tuple[Entry, ...], as_leader: bool) -> dict[tuple[Topic, int], int]: ...


class _Leaders(NamedTuple):
    id: int
    entries: tuple[Entry, ...]


class _Other(NamedTuple):
    id: int
    work: Callable[[], Any]


class Writing:
    """
    A thread that performs one thing after another and posts how each ended. A transaction takes some 10 ms, however much is
    in it: what several requests have the leader write meanwhile is one.
    """

    def __init__(self, outside: Writes, post: Callable[[events.Event], None]) -> None:
        self._outside, self._post = outside, post
        self._todo: queue.SimpleQueue[_Leaders | _Other | None] = queue.SimpleQueue()
        self._next: _Leaders | _Other | None = None
        """Taken from `_todo`, and not done yet."""
        self._closed = False
        threading.Thread(target=self._run, name="write", daemon=True).start()

    def write(self, id: int, entries: tuple[Entry, ...], as_leader: bool) -> None:
        if as_leader:
            self._todo.put(_Leaders(id, entries))
        else:
            self.do(id, partial(self._outside.write, entries, False))

    def do(self, id: int, work: Callable[[], Any]) -> None:
        """Anything else that must not overtake a write, nor be overtaken."""
        self._todo.put(_Other(id, work))

    def close(self) -> None:
        """What has not been begun is not done. Returns at once."""
        self._closed = True
        self._todo.put(None)

    def _run(self) -> None:
        while not self._closed:
            first, self._next = self._next or self._todo.get(), None
            if isinstance(first, _Other):
                self._perform([first.id], first.work)
            elif first is not None:
                self._write(self._with_followers(first))

    def _with_followers(self, first: _Leaders) -> list[_Leaders]:
        group, size = [first], len(first.entries)
        while size < _TOGETHER:
            try:
                self._next = self._todo.get_nowait()
            except queue.Empty:
                break
            if not isinstance(self._next, _Leaders):
                break
            group.append(self._next)
            size += len(self._next.entries)
            self._next = None
        return group

    def _write(self, group: list[_Leaders]) -> None:
        entries = tuple(entry for each in group for entry in each.entries)
        if self._perform([each.id for each in group], partial(self._outside.write, entries, True), len(group) == 1):
            return
        for each in group:
            self._perform([each.id], partial(self._outside.write, each.entries, True))

    def _perform(self, ids: list[int], work: Callable[[], Any], alone: bool = True) -> bool:
        """Tell all of them how it ended. False, and nobody is told yet, if one was refused and they are not `alone`."""
        told: list[events.Event]
        try:
            result = work()
            told = [events.Done(id, result) for id in ids]
        except Exception as error:  # noqa: BLE001 - the herder decides what a failure means
            if isinstance(error, BadRequestError) and not alone:
                return False
            told = [events.Failed(id, error) for id in ids]
        for event in told:
            self._post(event)
        return True
