"""
The Spark driver as the worker has it: a child process that is started again when it ends, and what it said before it ended.

Held by `main.py`, and by `world.py`, since the herder says when there is to be none. `main.py` tells the herder why there is no
Spark: `/health`, statuses and `kconnect describe` show that. Read next: `host/driver.py`, which is what runs in the process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

import orjson

from kconnect import interpreter
from kconnect.core.settings.secrets import hide
from kconnect.processes import standard_error

log = logging.getLogger(__name__)

_BACKOFF_S = (0.5, 2.0, 5.0, 15.0)
_ENDS_S = 15.0
_LOOK_S = 5.0
_LINES = 3
_LONGEST = 500
_ROOM = 60
"""What stands before the last words in a reason."""


class Driver:
    """
    The process, and the thread that keeps it. `on_end` is called with the reason each time that it ends, and `on_host_absent`
    with a host's number and the reason for which one of its hosts is not up. `hidden` are texts that no reason must have.
    """

    def __init__(
        self,
        order: dict[str, Any],
        on_end: Callable[[str], object],
        on_host_absent: Callable[[int, str], object],
        hidden: Collection[str] = (),
    ) -> None:
        self._order = orjson.dumps(order)
        self._on_end = on_end
        self._on_host_absent = on_host_absent
        self._hidden = hidden
        self._child: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        """Who asks a process to end waits until it has read its order."""
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        self._wanted.set()
        self._dismissed: subprocess.Popen[bytes] | None = None
        """The process that was asked to end because none is wanted, and since when."""
        self._dismissed_at = 0.0
        self._thread = threading.Thread(target=self._keep, name="driver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def restart(self) -> None:
        self._close()

    def keep(self, is_wanted: bool) -> None:
        """Have a process running, or none until it is wanted again. Does not wait for it."""
        if is_wanted:
            self._wanted.set()
        else:
            self._wanted.clear()
            self._dismissed, self._dismissed_at = self._close(), time.monotonic()

    def stop(self) -> None:
        self._stopping.set()
        self._wanted.set()
        child = self._close()
        if child is not None:
            try:
                child.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                log.warning("The Spark driver (pid %d) did not stop, so it is killed", child.pid)
                child.kill()
        self._thread.join(5)

    def _keep(self) -> None:
        failures = 0
        while self._wanted.wait() and not self._stopping.is_set():
            started = time.monotonic()
            begun = self._start()
            if begun is None:
                continue
            status, last = self._end(*begun)
            if self._stopping.is_set():
                return
            if self._dismissed is begun[0]:
                failures = 0
                continue
            reason = hide(f"the Spark driver ended with status {status}{last and ': '}{last}", self._hidden)[:_LONGEST]
            self._on_end(reason)
            failures = 0 if time.monotonic() - started > 60 else failures + 1
            pause = _BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)]
            log.error("The Spark driver ended with status %s; it is started again in %.1f s", status, pause)
            self._stopping.wait(pause)

    def _start(self) -> tuple[subprocess.Popen[bytes], int] | None:
        """Start one driver, and give what reads its output; None if nobody wants it any more."""
        with self._starting:
            if self._stopping.is_set() or not self._wanted.is_set():
                return None
            read, write = os.pipe()
            direct = os.dup(2)
            try:
                # A session of its own: Ctrl-C in a terminal must reach the worker only, which then ends the rest in order.
                child = self._child = subprocess.Popen(
                    interpreter.command("kconnect.host.driver"),
                    stdin=subprocess.PIPE,
                    stderr=write,
                    pass_fds=(direct,),
                    env={**os.environ, standard_error.VARIABLE: str(direct)},
                    start_new_session=True,
                )
            except BaseException:
                os.close(read)
                raise
            finally:
                os.close(write)
                os.close(direct)
            try:
                assert child.stdin is not None
                child.stdin.write(self._order + b"\n")
                child.stdin.flush()
            except BrokenPipeError:
                log.debug("The Spark driver ended before it could read its order")
            return child, read

    def _end(self, child: subprocess.Popen[bytes], read: int) -> tuple[int, str]:
        """Wait for a driver's end. Return its status, and its last lines if it has not come to run hosts."""
        lines: deque[str] = deque(maxlen=_LINES)
        reading = threading.Thread(target=self._pass, args=(read, lines), name="driver-output", daemon=True)
        reading.start()
        status = None
        while status is None:
            try:
                status = child.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                if self._dismissed is child and time.monotonic() - self._dismissed_at > _ENDS_S:
                    log.warning("The Spark driver (pid %d) did not stop, so it is killed", child.pid)
                    child.kill()
        reading.join(2)
        return status, last_words(lines)

    def _close(self) -> subprocess.Popen[bytes] | None:
        """Ask the process, if there is one, to end."""
        with self._starting:
            child = self._child
        if child is not None:
            _close(child)
        return child

    def _pass(self, read: int, lines: deque[str]) -> None:
        """
        Pass on what the driver says until its hosts can run: from then on it writes to where the worker does, and here only
        why a host is not up.
        """
        with open(read, "rb") as pipe:
            for line in iter(lambda: pipe.readline(1 << 16), b""):
                text = line.decode("utf-8", "replace").rstrip("\n")
                report = standard_error.report_in(text)
                if report is not None:
                    host, reason = report
                    self._on_host_absent(host, hide(reason, self._hidden)[:_LONGEST])
                    continue
                os.write(2, line)
                if text.strip():
                    lines.append(text.strip())


def last_words(lines: Sequence[str]) -> str:
    """Return the last of the lines, as many as a reason has room for: what ended the driver stands at the end."""
    text = ""
    for line in reversed(lines):
        longer = f"{line} / {text}" if text else line
        if text and len(longer) > _LONGEST - _ROOM:
            break
        text = longer
    return text


def _close(child: subprocess.Popen[bytes]) -> None:
    try:
        assert child.stdin is not None
        if not child.stdin.closed:
            # The end alone would mean that this process has died.
            child.stdin.write(b"stop\n")
            child.stdin.close()
    except BrokenPipeError:
        log.debug("The Spark driver had ended before it was asked to")
