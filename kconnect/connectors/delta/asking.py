"""
How delta-rs is called: with an end to each call, and with errors that say what becomes of them.

The library waits in its own threads, for minutes if a store says nothing, and nothing ends that. So each call has a thread, and
who asks no longer waits for it once the task is to stop. What such a call still commits is no loss: offsets are in the commit,
and whoever comes next compares them. Called by `lake.py` and `commits.py`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from deltalake.exceptions import CommitFailedError, DeltaProtocolError, TableNotFoundError

from kconnect.connectors.interrupts import Waiter
from kconnect.connectors.names import printable

T = TypeVar("T")

_STATUS = re.compile(r"status(?: code:)? (\d{3})")
_AWAY = re.compile(r"error sending request|timed? ?out|[Cc]onnection|dns error|HTTP error|retries", re.ASCII)
_ROWS = "Preview of invalid data:"
_REFUSED = re.compile(r"AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|PermissionDenied|[Pp]ermission denied|Forbidden")


class DeltaFault(Exception):
    """An error of the library. `passes`: another try may succeed. `forbids`: the user may not do that."""

    def __init__(self, text: str, passes: bool = False, forbids: bool = False) -> None:
        super().__init__(text)
        self.passes, self.forbids = passes, forbids


class ConflictError(DeltaFault):
    """Others have changed the table since it was looked at, so that nothing was committed."""


class NoTableError(DeltaFault):
    """There is no such table."""


class Asker:
    """The calls of one task. Only `end` may be called from another thread."""

    def __init__(self) -> None:
        self._waiter = Waiter()

    def end(self) -> None:
        """Wait for no call any more: all that are asked fail, now and from now on."""
        self._waiter.end()

    def ask(self, call: Callable[..., T], *arguments: Any) -> T:
        """Return what a call of these arguments does. Raise DeltaFault if it fails, or the task is to stop."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = call(*arguments)
            except BaseException as error:  # noqa: BLE001 - a panic of the library is none; who asked is told of each
                future.set_exception(error)
            else:
                future.set_result(result)

        if not self._waiter.ended:
            threading.Thread(target=run, name="delta", daemon=True).start()
        if not self._waiter.wait(future):
            raise DeltaFault("the task is to stop", passes=True)
        if (failure := future.exception()) is not None:
            raise fault(failure) from None
        return future.result()


def fault(error: BaseException) -> DeltaFault:
    """Return what an error of the library means."""
    if isinstance(error, DeltaFault):
        return error
    text = reason(error)
    if isinstance(error, TableNotFoundError):
        return NoTableError(text)
    if isinstance(error, CommitFailedError):
        return ConflictError(text, passes=True)
    # Rows that it shows are others' words.
    own = text.partition(_ROWS)[0]
    status = _STATUS.search(own)
    forbids = isinstance(error, PermissionError) or _REFUSED.search(own) is not None
    is_busy = status is not None and (status[1] in ("408", "409", "425", "429") or status[1] >= "500")
    is_away = status is None and (isinstance(error, OSError) or _AWAY.search(own) is not None)
    passes = (is_busy or is_away) and not forbids and not isinstance(error, DeltaProtocolError | FileNotFoundError)
    return DeltaFault(text, passes, forbids)


def reason(error: Any) -> str:
    """Return the reason in one line: the library adds its stack, and colours, to some."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).partition("\n   0: ")[0]
    return printable(lines) or type(error).__name__
