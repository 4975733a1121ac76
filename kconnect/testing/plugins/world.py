"""
The surroundings of a task in a test of its plugin: nothing stops the task, and everything that it needs in Kafka exists.

`source.py` and `sink.py` pass these doubles to the pumps of `core/task`; `core/task/ports.py` says what each call means.
"""

from __future__ import annotations

from collections.abc import Callable

from kconnect.api.record import TopicPartition


class Always:
    """The `Life` of a task that nobody stops, and `DeadLetters` that are accepted at once."""

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

    def refused_records(self) -> None:
        return None

    def refused(self) -> dict[TopicPartition, int]:
        return {}
