"""
What a fault cost, from stamps of time: how long a task was silent, REST gave no answers, and statuses did not tell the truth.

Pure, by the machine's monotonic clock in seconds; called by `evidence.py`. Read next: `tests/rig/systems/history.py` for what
must never happen, whatever it costs.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

QUIET_S = 5.0
"""A task may be silent for so long before a status that says RUNNING is a lie."""
_FRESH_S = 6.0
"""A worker that has given no answer for longer says nothing."""

Gap = tuple[float, float]


@dataclass(frozen=True)
class Attempt:
    """A request to REST, from its begin to its answer or failure."""

    began: float
    ended: float
    succeeded: bool


@dataclass(frozen=True)
class Look:
    """
    What one worker answered at a time: the tasks that are RUNNING by their statuses, whether `/health` was 200, and the tasks
    that it says wait for something.
    """

    at: float
    worker: str
    running: frozenset[str]
    healthy: bool
    retrying: frozenset[str] = frozenset()


def gaps(stamps: Sequence[float], begin: float, end: float) -> Iterator[Gap]:
    """
    Yield the times between two stamps that lie in the window at least in part. `stamps` are in order. The time before the first
    stamp begins with the window, and the time after the last ends with it.
    """
    first, last = bisect.bisect_left(stamps, begin), bisect.bisect_right(stamps, end)
    before = stamps[first - 1] if first else begin
    after = stamps[last] if last < len(stamps) else end
    yield from itertools.pairwise([before, *stamps[first:last], after])


def silence(stamps: Sequence[float], begin: float, end: float) -> float:
    """Return the longest time in the window without a stamp, in seconds."""
    return max((after - before for before, after in gaps(stamps, begin, end)), default=0.0)


def outage(attempts: Iterable[Attempt], begin: float, end: float) -> float:
    """Return the longest time from a failed attempt in the window to the end of the next one that succeeded."""
    longest = 0.0
    since: float | None = None
    for attempt in attempts:
        if since is None and attempt.succeeded:
            continue
        if since is None and not begin <= attempt.began <= end:
            continue
        since = attempt.began if since is None else since
        longest = max(longest, attempt.ended - since)
        if attempt.succeeded:
            since = None
    return longest


def silent_together(looks: Iterable[float], begin: float, end: float) -> float:
    """Return the longest time for which no worker at all gave an answer."""
    return silence(sorted(looks), begin, end)


def lies(looks: Iterable[Look], stamps: Sequence[float], unit: str, begin: float, end: float) -> float:
    """
    Return for how many seconds of the window a task had been silent for longer than `QUIET_S`, while every worker that answered
    said that it was RUNNING, that it waited for nothing, and that all was well.
    """
    ordered = sorted((look for look in looks if begin - _FRESH_S <= look.at), key=lambda look: look.at)
    return sum(_untrue(ordered, unit, before + QUIET_S, after) for before, after in gaps(stamps, begin, end))


def _untrue(looks: Sequence[Look], unit: str, begin: float, end: float) -> float:
    latest: dict[str, Look] = {}
    seconds = 0.0
    for look, following in itertools.zip_longest(looks, looks[1:]):
        latest[look.worker] = look
        until = min(end, look.at + _FRESH_S, end if following is None else following.at)
        if until <= begin or look.at >= end:
            continue
        fresh = [other for other in latest.values() if look.at - other.at <= _FRESH_S]
        if all(unit in other.running and other.healthy and unit not in other.retrying for other in fresh):
            seconds += until - max(begin, look.at)
    return seconds


def by_unit(stamps: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """Return the stamps of each task in order."""
    times: dict[str, list[float]] = defaultdict(list)
    for unit, at in stamps:
        times[unit].append(at)
    return {unit: sorted(of_unit) for unit, of_unit in times.items()}
