"""
A sandbox's child process, seen from the worker: its pipes, its limit of time, its end. Used by `sandbox.py`, and by
`worker/errands.py` for processes that answer one request.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import struct
import subprocess
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from typing import IO, Any

import orjson
import psutil

from kconnect import interpreter
from kconnect.core.settings import secrets
from kconnect.plugins.sandbox_child import LARGEST_FRAME, frame

log = logging.getLogger(__name__)

_MARK = "KCONNECT_SANDBOX"
_MOST_LINES = 1000
_MOST_BYTES = 8 << 20
_LONGEST_LINE = 8192
_MUCH_HIDDEN = 2**20
"""In characters of what must not get into the log. It is kept as long as the process, in each form that a secret may take."""
_LONGEST_REASON = 300
_LARGE = 64 * 2**20
_GREETING_S = 10.0
_SWEEPS = 5
_ENDING_S = 5.0
"""How long a process that has closed its pipe may take to end, on a busy machine too, so that its status can be told."""


class ChildEndedError(Exception):
    """The process has ended, or what it sent can't be read; the text says how."""


class Child:
    """
    A child process that runs `module`. Not thread-safe, but for `interrupt`. `environment` names the plugin directories that it
    may import from.
    """

    def __init__(
        self, environment: tuple[str, ...], greeting: dict[str, Any], module: str = "kconnect.plugins.sandbox_child"
    ) -> None:
        self.environment, self.greeting = environment, greeting
        self.idle_since = 0.0
        self.used = False
        self.stage: dict[str, str] | None = None
        self._hidden: set[str] = set()
        self._mark = uuid.uuid4().hex
        # A session of its own: a Ctrl-C in the worker's terminal is the worker's business, and a kill reaches whatever
        # the plugin started, but for what went into a session of its own in turn: that is known by its mark.
        # Popen leaves it no descriptor of the worker but the three pipes.
        self._process = subprocess.Popen(
            interpreter.command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, _MARK: self._mark},
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert isinstance(stderr, BufferedReader)
        self._stdin, self._stdout = stdin, stdout
        self._received = bytearray()
        for pipe in (stdin, stdout):
            os.set_blocking(pipe.fileno(), False)
        self._last_line = ""
        self._output = threading.Thread(target=self._log_output, args=(stderr,), name="sandbox-output", daemon=True)
        self._output.start()
        # One that could not even start is found out by whoever asks it.
        with suppress(BrokenPipeError):
            self._write(frame(greeting), time.monotonic() + _GREETING_S)

    @property
    def hides_much(self) -> bool:
        """Whether it has been told of so much that must not get into the log that another process should take its place."""
        return sum(map(len, self._hidden)) > _MUCH_HIDDEN

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def is_large(self) -> bool:
        """Whether it takes much more memory than a new one, as one with a JVM does."""
        try:
            return self.used and bool(psutil.Process(self._process.pid).memory_info().rss > _LARGE)
        except psutil.Error:
            return False

    def ask(self, request: dict[str, Any], deadline: float, hidden: Iterable[str] = ()) -> dict[str, Any]:
        """
        The answer to a request. `hidden` are texts that must not get into the log.

        TimeoutError at the deadline (of `time.monotonic`), ChildEndedError if the process ends; it must be killed then.
        """
        self.stage, self.used = None, True
        # Those of earlier requests stay: what they printed may be read only now.
        self._hidden = self._hidden.union(hidden)
        try:
            self._write(frame(request), deadline)
            while (received := self._read(deadline)).keys() & {"stage", "hidden"}:
                if "stage" in received:
                    self.stage = received
                    continue
                # It waits until these can no longer get into the log, and only then lets plugin code see them.
                self._hidden = self._hidden.union(received["hidden"])
                self._write(frame({"noted": True}), deadline)
        except BrokenPipeError:
            raise ChildEndedError(self._end()) from None
        return received

    def where(self, plugin: str) -> str:
        """Class and stage of what it was doing."""
        if self.stage is None:
            return f"{plugin} at the stage starting"
        return f"{self.stage['class']} at the stage {self.stage['stage']}"

    def interrupt(self) -> None:
        """End it, and what it started, at once; may be called while another thread is in `ask`."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it and all that it started, and give up its pipes."""
        self.interrupt()
        self._process.wait()
        self._sweep()
        self._stdin.close()
        self._stdout.close()

    def _sweep(self) -> None:
        """End what the plugin started in other sessions, also what was started while this looks."""
        for _ in range(_SWEEPS):
            survivors = [
                suspect
                for suspect in psutil.process_iter(["environ"])
                if (suspect.info["environ"] or {}).get(_MARK) == self._mark
            ]
            if not survivors:
                return
            for process in survivors:
                with suppress(psutil.Error):
                    process.kill()
            # It raises this for one that ends just as it looks.
            with suppress(FileNotFoundError, psutil.Error):
                psutil.wait_procs(survivors, timeout=1)
        log.warning(
            "The processes that a plugin started in its sandbox could not be ended: %s",
            ", ".join(str(suspect.pid) for suspect in survivors),
        )

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._stdin.fileno(), view) :]
            except BlockingIOError:
                _wait(self._stdin, select.POLLOUT, deadline)

    def _read(self, deadline: float) -> dict[str, Any]:
        received = self._received
        while True:
            if len(received) >= 4:
                (length,) = struct.unpack_from(">I", received)
                if length > LARGEST_FRAME:
                    raise ChildEndedError("its answer could not be read")
                if len(received) >= 4 + length:
                    body = bytes(received[4 : 4 + length])
                    del received[: 4 + length]
                    return _object(body)
            try:
                data = os.read(self._stdout.fileno(), 65_536)
            except BlockingIOError:
                _wait(self._stdout, select.POLLIN, deadline)
                continue
            if not data:
                raise ChildEndedError(self._end())
            received += data

    def _end(self) -> str:
        """Return how the process ended, as a text. Kill a process that has only closed its pipe."""
        try:
            status = self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        if status > 0 and self.stage is None:
            # No plugin code was at work, so that the stage would tell nothing: why it could not start, or ended, does.
            self._output.join(1)
            return f"exit status {status}{self._last_line and ': '}{self._last_line}"
        if status >= 0:
            return f"exit status {status}"
        name = signal.Signals(-status).name
        return f"{name}, perhaps because memory ran out" if -status == signal.SIGKILL else name

    def _log_output(self, stderr: BufferedReader) -> None:
        """Log what plugin code prints, up to a limit. The pipe is emptied in any case."""
        read = 0
        with stderr:
            for number, line in enumerate(iter(lambda: stderr.readline(1 << 20), b"")):
                read += len(line)
                if number < _MOST_LINES and read <= _MOST_BYTES:
                    # Hidden before it is cut: of a secret that is cut in two neither half would be found.
                    text = secrets.hide(line.decode("utf-8", "replace").rstrip(), self._hidden)
                    log.info("%s", text[:_LONGEST_LINE])
                    self._last_line = text.strip()[:_LONGEST_REASON] or self._last_line
                else:
                    log.warning("A plugin prints too much in its sandbox (pid %d): the rest is not logged", self._process.pid)
                    break
            while stderr.read1(1 << 16):
                pass


def _wait(pipe: IO[bytes], event: int, deadline: float) -> None:
    """Return when the pipe is ready or closed; TimeoutError at the deadline."""
    remaining_s = deadline - time.monotonic()
    poll = select.poll()
    poll.register(pipe, event)
    if remaining_s <= 0 or not poll.poll(remaining_s * 1000):
        raise TimeoutError


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise ChildEndedError("its answer could not be read")
    return value
