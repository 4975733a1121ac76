"""
Which task hosts do not run their units though nobody has taken them away: those that are not heard, and those that say so.

A host says every second how long it has not read the log (`host/metrics.py`, through the metrics topic). `worker/metrics.py`
collects that in `Beats`; the herder shows it in statuses, `/health` and metrics (`herder/waiting.py`). Nothing depends on it:
a host that is silent still has what it has. Read next: `lease.py`, by which a host holds back what it runs.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple

from kconnect.core.state.records import UnitId, Units

Host = tuple[str, int, str]
"""Worker id, number, incarnation."""

BEAT_S = 1.0
_SHORTEST_S = 5.0
_FORGOTTEN_S = 86_400.0
"""Workers may have new names at each start: what is left of the earlier ones is not kept for ever."""


def silent_after_s(session_ms: int) -> float:
    """
    Return after how many seconds without a word a host counts as silent, and a worker's own reading as interrupted.

    Who allows for long pauses by `session.timeout.ms` does not want to hear of short ones.
    """
    return max(_SHORTEST_S, session_ms / 2000)


class Silence(NamedTuple):
    """`since_ms` is by the monotonic clock. With `is_heard` the host itself says that it can't read the log."""

    since_ms: int
    is_heard: bool

    def reason(self, worker: str, number: int) -> str:
        """Return what to tell a user, without a time: answers stay the same while nothing changes."""
        host = f"task host {number} of the worker {worker}"
        if self.is_heard:
            return f"not running: {host} cannot read the internal topics, and goes on by itself once it can"
        return (
            f"not running: {host} is not heard in the metrics topic. It is cut off from Kafka, suspended, overloaded or dead. "
            "What it ran goes on by itself once it is back"
        )


class Absences:
    """
    Since when no host has what is assigned to a worker, in milliseconds of the monotonic clock. What ran it has ended, and the
    next host is not up, because Spark has no core for it, say: nobody is there to write a status.
    """

    def __init__(self, silent_s: float) -> None:
        self._silent_ms = int(silent_s * 1000)
        self._seen: tuple[Units, ...] = ()
        self._since: dict[UnitId, int] = {}

    def late(self, assigned: Sequence[Units], held: Sequence[Units], now: int) -> frozenset[UnitId]:
        """Return those for which that is longer than a host may be silent. Called again and again, with what the log says."""
        seen = (*assigned, *held)
        if len(seen) != len(self._seen) or not all(map(operator.is_, seen, self._seen)):
            self._seen = seen
            absent = frozenset().union(*assigned).difference(*held)
            self._since = {unit: self._since.get(unit, now) for unit in absent}
        return frozenset(unit for unit, since in self._since.items() if now - since > self._silent_ms)


class Beats:
    """The last word of each host. Times are seconds of the monotonic clock."""

    def __init__(self, silent_s: float) -> None:
        self._silent_s = silent_s
        self._beats: dict[tuple[str, int], tuple[str, float, float]] = {}
        """Incarnation, when it was heard, and for how long it had not read the log by then."""

    def take(self, host: Host, unread_s: float, now: float) -> None:
        """Incarnations grow: the last words of an earlier process under the same number count no more."""
        worker, number, incarnation = host
        before = self._beats.get((worker, number))
        if before is None or incarnation >= before[0]:
            self._beats[worker, number] = incarnation, now, unread_s

    def silences(self, now: float, fresh_at: float) -> dict[Host, Silence]:
        """
        Return the hosts that have spoken before and are silent now.

        `fresh_at` is up to when all words have been heard: whoever can't hear doesn't know who is silent. Hosts that never
        spoke may be of an earlier release, or have no right to write to the topic.
        """
        silences: dict[Host, Silence] = {}
        for (worker, number), (incarnation, heard_at, unread_s) in list(self._beats.items()):
            if now - heard_at > _FORGOTTEN_S:
                del self._beats[worker, number]
                continue
            if fresh_at - heard_at > self._silent_s:
                silences[worker, number, incarnation] = Silence(int((heard_at - unread_s) * 1000), is_heard=False)
            elif unread_s > self._silent_s >= now - heard_at:
                silences[worker, number, incarnation] = Silence(int((heard_at - unread_s) * 1000), is_heard=True)
        return silences
