"""
Units that were asked to stop, until nothing of them is left, or until they are given up. Held by `main.py`.

A unit has stopped when its own thread and all that its code has started have ended; in Java, all but a few of those: what a
plugin's class keeps for all its connectors begins in one of them (`java_threads.py`). One whose thread is in a plugin's code
has `task.shutdown.graceful.timeout.ms` for it. One that waits for Kafka, in our code, may take longer: a broker that is away
comes back, and the host is not to be ended for it. What is given up ends with the host's process (`core/cluster/host.py`).
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from dataclasses import dataclass
from types import FrameType

from kconnect.jvm import threads
from kconnect.units import owners
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_PATIENCE_S = 60.0
_POOL = "concurrent.futures.thread"
"""Its threads run `_worker`, and within it `run` of what they were given."""
_LONGEST_STACK = 30
_MOST_IN_JAVA = 50


@dataclass(slots=True)
class Stop:
    """The stop of one unit, asked for at `since` by the monotonic clock."""

    unit: Unit
    since: float
    ended_at: float | None = None
    """When the unit's own thread was seen to have ended; threads that its code started have as long from then on."""
    given_up: bool = False


def begin(unit: Unit) -> Stop:
    return Stop(unit, time.monotonic())


def is_over(stop: Stop) -> bool:
    """Whether nothing of the unit is left. Costs next to nothing for a unit that ends in order."""
    if not stop.unit.join(0):
        return False
    if stop.ended_at is None:
        stop.ended_at = time.monotonic()
    return not _left(stop) and not _many_in_java(stop)


def is_late(stop: Stop, limit_s: float, flush_s: float) -> bool:
    """
    Whether a unit that is not over has had its time. True once; then the log says where it stands. `limit_s` is for plugin
    code, `flush_s` what Kafka is given for what was not acknowledged yet.
    """
    now = time.monotonic()
    if stop.given_up or now - stop.since < limit_s:
        return False
    remaining, in_java = _left(stop), _many_in_java(stop)
    if not remaining and not in_java:
        return False
    frames = sys._current_frames()
    places = [(owned.thread.name, frames.get(owned.thread.ident or 0)) for owned in remaining]
    is_plugins = bool(in_java) or any(owned.by_plugin for owned in remaining)
    stands_in_plugin = is_plugins or any(owners.in_plugin_code(frame) for _, frame in places)
    limit = limit_s if stands_in_plugin else max(_PATIENCE_S, 2 * flush_s + 30)
    # One that the engine has started is not the plugin's to end: the task's stop() runs there.
    since = stop.ended_at if stop.ended_at is not None and all(owned.by_plugin for owned in remaining) else stop.since
    if now - since < limit:
        return False
    stop.given_up = True
    what = "has not stopped"
    if stop.ended_at is not None:
        what = f"has left {len(remaining) + in_java} threads behind that did not end"
    log.error(
        "%s %s within %.0f s and counts as stuck: its host ends once nothing else runs there. It is in\n%s",
        stop.unit.spec.unit,
        what,
        limit,
        "\n".join(f"{name}:\n{_stack(frame)}" for name, frame in places[:3]) or threads.stacks(stop.unit.spec.unit, 3),
    )
    return True


def _many_in_java(stop: Stop) -> int:
    """Return how many of Java's threads the unit has left; 0 if that is not too many."""
    count = threads.count(stop.unit.spec.unit)
    return count if count > _MOST_IN_JAVA else 0


def _left(stop: Stop) -> list[owners.Owned]:
    unit = stop.unit
    remaining = [owners.Owned(unit, unit.thread, False, 0)] if unit.thread.is_alive() else []
    started = owners.threads(unit)
    if started:
        frames = sys._current_frames()
        remaining += [owned for owned in started if _counts(owned, frames.get(owned.thread.ident or 0))]
    return remaining


def _counts(owned: owners.Owned, frame: FrameType | None) -> bool:
    """A pool's thread that has nothing to do keeps nobody; nor does one in which our code, or a client's, tidies up."""
    if not owned.by_plugin:
        return owners.in_plugin_code(frame) is True
    while frame is not None:
        if frame.f_globals.get("__name__") == _POOL:
            return frame.f_code.co_name != "_worker"
        frame = frame.f_back
    return True


def _stack(frame: FrameType | None) -> str:
    if frame is None:
        return "  (it has just ended)\n"
    return "".join(traceback.format_stack(frame, _LONGEST_STACK))
