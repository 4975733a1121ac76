"""
How a task ends that has failed: for good, to be started again, or as one that is to be stopped anyway.

Rights and passwords are changed in two steps, so what had worked is tried until it works again, and shown meanwhile. What the
brokers have refused from the first try on fails the task. Called by `source_task.py` and `sink_task.py`, from the task's
thread. Read next: `kafka/refusals.py`, for what clients get over by themselves, and `host/renewals.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kconnect.core.state.records import UnitId
from kconnect.core.task.errors import Counts
from kconnect.errors import NotAuthorizedError, StartAgainError, SupersededError, WithdrawnError
from kconnect.units.unit import Unit

_FORGOTTEN_S = 300.0
"""A task that was refused nothing for so long has worked meanwhile: it is started again within a minute or so."""
_SUPERSEDED_S = 5.0
"""How long a task that others have fenced waits to be stopped, until that is a failure."""
_SINCE: dict[UnitId, tuple[float, float]] = {}
"""When a task of this process was first refused something, and when last."""


def end(unit: Unit, error: BaseException, counts: Counts, has_written: Callable[[str | None], bool]) -> None:
    """
    Report a task's failure, or have it started again, and return once it is to end.

    `has_written` says whether Kafka has taken something from the task for a topic; of None, for any.
    """
    if isinstance(error, NotAuthorizedError) and all(map(has_written, error.topics or (None,))):
        now = time.monotonic()
        since, last = _SINCE.get(unit.spec.unit, (now, now))
        since = since if now - last < _FORGOTTEN_S else now
        _SINCE[unit.spec.unit] = since, now
        counts.tries_again(f"writing to {', '.join(error.topics) or 'Kafka'}", error, since)
        error = WithdrawnError(str(error)).with_traceback(error.__traceback__)
    if isinstance(error, SupersededError):
        # A newer set of tasks has this one stopped, but the leader, which fences, may read that sooner than this host does.
        unit.wait_for(lambda: False, _SUPERSEDED_S)
    if isinstance(error, StartAgainError):
        unit.start_again(error)
    else:
        unit.fail(error)
