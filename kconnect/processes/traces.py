"""
What stands below the first line of a failure: the frames in which it happened, in a status, a dead letter and the log alike.

Called by `units/unit.py` for statuses, and by `logs.py` for each exception that is logged. A Java plugin's error has Java's own
trace (`kconnect/jvm/errors.py`), in which people look for the plugin's classes and for the causes.
"""

from __future__ import annotations

import traceback


def frames(error: BaseException) -> str:
    """Return where it happened: of what Java threw, Java's own trace."""
    return of_java(error) or "".join(traceback.format_exception(error))


def of_java(error: BaseException) -> str | None:
    """Return Java's trace of the error, or of the first of its causes that has one; None if Java threw none of them."""
    cause: BaseException | None = error
    visited: set[int] = set()
    # An error may be its own cause: `raise error from error`.
    while cause is not None and id(cause) not in visited:
        java: str | None = getattr(cause, "java_trace", None)
        if java is not None:
            return java if cause is error else f"Caused by: {java}"
        visited.add(id(cause))
        cause = cause.__cause__
    return None
