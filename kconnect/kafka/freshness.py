"""
Up to when a log is known to have been read to its end, though brokers may answer slowly.

Held by whoever tails the internal topics and must know that it missed nothing: a task host (`host/main.py`) for its lease, a
worker (`worker/main.py`) for `/health`. Read next: `core/cluster/lease.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import confluent_kafka as ck

log = logging.getLogger(__name__)

_AT_ONCE_S = 0.05
"""How long to wait for answers that mostly come within milliseconds, so that who waits for them need not wait for a turn."""
_URGENT_S = 0.1
_TOLD_S = 30.0
_SHARE = 1 / 3
"""The next question waits for this share of the time for which the first of the open ones has waited."""
_MOST_ASKED = 8
"""More are not asked at a time, those included that were given up: each has a thread for each partition."""


class Tailed(Protocol):
    """
    A reader of a topic: `LogReader`, or `MetricsReader`. Places are partitions, by whatever names the reader has for them.
    """

    def places(self) -> Sequence[Any]: ...

    def end_of(self, place: Any, timeout: float) -> int | None:
        """
        Return where the partition ends now, None if that makes no sense. Raise KafkaException or RuntimeError if it can't be
        had.
        """
        ...

    def has_read(self, ends: Mapping[Any, int]) -> bool: ...


class Freshness:
    """
    `look` is called by the thread that reads, in each of its turns, and asks every `every_s` seconds where the log ends.

    Nobody waits for the answers, and several may be open: brokers that take three seconds cost three seconds of freshness, not
    the connection, and with it TLS and SCRAM anew. `timeout_s` is when librdkafka gives a question up, and closes the
    connection, as it must when a broker has vanished without a word.
    """

    def __init__(self, reader: Tailed, every_s: float, timeout_s: float) -> None:
        self._reader = reader
        self._every_s, self._timeout_s = every_s, timeout_s
        self.seen_at = self._asked_at = time.monotonic()
        """All that was in the log then has been read, by the monotonic clock."""
        self._told_at = self.seen_at
        self._open: deque[_Question] = deque()
        self._asked: list[_Question] = []
        """It holds the questions whose threads may still run."""

    def look(self, urgent: bool = False) -> None:
        """Ask for the ends of partitions when it is time; more often with `urgent`, when a caller waits for the answer."""
        now = time.monotonic()
        if now - self._asked_at >= self._pause(now, _URGENT_S if urgent else self._every_s) and self._may_ask():
            self._asked_at = now
            question = _Question(self._reader, now, self._timeout_s)
            self._open.append(question)
            self._asked.append(question)
            question.answered.wait(_AT_ONCE_S)
        for question in list(self._open):
            if not question.answered.is_set():
                # Whoever has asked it gives up by then, and if not, a later one counts as much.
                if now - question.asked_at > 2 * self._timeout_s:
                    self._open.remove(question)
            elif question.ends is None or now - question.asked_at > 2 * self._timeout_s:
                self._open.remove(question)
                self._tell(question, now)
            elif self._reader.has_read(question.ends):
                self.seen_at = max(self.seen_at, question.asked_at)
                # What was asked earlier has been read, too.
                self._open = deque(waiting for waiting in self._open if waiting.asked_at > question.asked_at)

    def _pause(self, now: float, least: float) -> float:
        """
        The longer there is no answer, the less often is asked, so that few questions are open and the answer is still hardly
        older than brokers take for it.
        """
        return max(least, (now - self._open[0].asked_at) * _SHARE) if self._open else least

    def _may_ask(self) -> bool:
        self._asked = [question for question in self._asked if question.is_asked]
        return len(self._asked) < _MOST_ASKED

    def _tell(self, question: _Question, now: float) -> None:
        """Say why nothing is known, but not for each of many questions."""
        if now - max(self.seen_at, self._told_at) > self._timeout_s:
            self._told_at = now + _TOLD_S
            log.warning(
                "The internal topics have not been read to their end for %.0f s: %s",
                now - self.seen_at,
                question.problem or "what brokers say is their end has not been reached yet",
            )


class _Question:
    """
    A question for the ends of all partitions, each asked for by a thread of its own. `ends` is None once one of them is not
    answered.
    """

    def __init__(self, reader: Tailed, asked_at: float, timeout_s: float) -> None:
        self.asked_at = asked_at
        self.answered = threading.Event()
        self.ends: dict[Any, int] | None = {}
        self.problem = ""
        self._lock = threading.Lock()
        self._reader = reader
        places = reader.places()
        self._missing = len(places)
        if not places:
            self.answered.set()
        for place in places:
            threading.Thread(target=self._ask, args=(place, timeout_s), name="ends", daemon=True).start()

    @property
    def is_asked(self) -> bool:
        """Whether a thread of it still runs: that may be so after another one had no answer, and after it was given up."""
        return self._missing > 0

    def _ask(self, place: Any, timeout_s: float) -> None:
        end: int | None = None
        try:
            end = self._reader.end_of(place, timeout_s)
            problem = f"{_name(place)} ends before what has been read of it"
        except ck.KafkaException as error:
            problem = f"{_name(place)}: {error.args[0].str()}"
        except Exception as error:  # noqa: BLE001 - a client that was closed, or replaced; whatever it is, there is no answer
            problem = f"{_name(place)}: {error!r}"
        with self._lock:
            if end is None:
                self.problem = problem
            self._missing -= 1
            if end is None or self.ends is None:
                self.ends = None
            else:
                self.ends[place] = end
            if self.ends is None or not self._missing:
                self.answered.set()


def _name(place: Any) -> str:
    """Return how a log line calls a partition."""
    return f"the {place[0].value} topic, partition {place[1]}" if isinstance(place, tuple) else f"partition {place}"
