"""
The world of a task in a test of its plugin: nothing stops it, and all that it asks of Kafka is there.

Given by `source.py` and `sink.py` to the pumps of `core/task`; `core/task/ports.py` says what each call means.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kconnect.core.task.ports import Producer


class Always:
    """`Life` of a task that nobody stops, and `DeadLetters` that are taken at once."""

    abandoned = False

    def may_work(self) -> bool:
        return True

    def stops(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def within(self, seconds: float) -> Callable[[], bool]:
        return self.stops

    def flush(self, timeout: float) -> bool:
        return True


class NoTopics:
    """`Topics` that are all there."""

    def new(self, asked: Collection[str]) -> list[str]:
        return []

    def require(self, new: list[str], producer: Producer) -> bool:
        return True

    def written(self, new: Collection[str]) -> None:
        """Nothing depends on it."""
