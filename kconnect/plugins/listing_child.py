"""
Asks connectors what they are, in a fork for each plugin's directory, so that none meets what another has imported.

`listing.py` starts it as `python -m kconnect.plugins.listing_child`. It gets one frame with the plugins and one request, and
gives one answer: `found`, in their order; each is what `asking.describe` says, an `error`, or null if time was up before.
It has one thread only, for it forks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kconnect.plugins import environments
from kconnect.plugins.asking import Asking, describe
from kconnect.plugins.confinement import confine
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.sandbox_child import frame, pipes, read_frame
from kconnect.plugins.scan import INSTALLED

_SLOW_S = 1.0
"""One that has not said anything for so long waits for something, and others may begin beside it."""
_MOST = 32
_LONGEST_ERROR = 2000


def main() -> None:
    requests, answers = pipes()
    confine((read_frame(requests) or {}).get("memory"))
    request = read_frame(requests)
    if request is not None:
        plugins = [PluginDesc(**row) for row in request["plugins"]]
        asked = Asked(plugins, request["each"], (requests.fileno(), answers.fileno()))
        answers.write(frame({"found": asked.until(request["until"])}))


@dataclass
class _Fork:
    """A process that asks `left`, one after the other, and has said of the first of them where it is."""

    pid: int
    pipe: int
    left: list[int]
    since: float
    stage: str = "starting"
    received: bytearray = field(default_factory=bytearray)


class Asked:
    """The answers of plugins. `each` limits one, in seconds; `pipes` are those from and to the worker."""

    def __init__(self, plugins: Sequence[PluginDesc], each: float, pipes: tuple[int, int]) -> None:
        self._plugins, self._each, self._pipes = plugins, each, pipes
        self._found: list[dict[str, Any] | None] = [None] * len(plugins)
        self._forks: dict[int, _Fork] = {}
        by_location: dict[str, list[int]] = {}
        for index, plugin in enumerate(plugins):
            by_location.setdefault(plugin.location, []).append(index)
        # Taken from the end: in the order of the plugins.
        self._waiting = list(by_location.values())[::-1]

    def until(self, end: float) -> list[dict[str, Any] | None]:
        while (self._waiting or self._forks) and time.monotonic() < end:
            while self._waiting and self._has_room():
                self._begin(self._waiting.pop())
            self._listen(min(0.2, max(0.0, end - time.monotonic())))
            for fork in [pending for pending in self._forks.values() if time.monotonic() - pending.since > self._each]:
                self._end(fork, f"it did not answer within {self._each:g} s")
        for fork in list(self._forks.values()):
            self._reap(fork)
        return self._found

    def _has_room(self) -> bool:
        now = time.monotonic()
        busy = [fork for fork in self._forks.values() if now - fork.since < _SLOW_S]
        return len(busy) <= (os.cpu_count() or 1) and len(self._forks) < _MOST

    def _begin(self, indexes: list[int]) -> None:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            for inherited in self._pipes:
                os.close(inherited)
            self._tell(indexes, write)
        os.close(write)
        self._forks[read] = _Fork(pid, read, indexes, time.monotonic())

    def _tell(self, indexes: list[int], pipe: int) -> None:
        """Ask the plugins in the fork. Does not return."""
        try:
            # Should nobody be left to end it.
            signal.setitimer(signal.ITIMER_REAL, self._each * len(indexes) + _SLOW_S)
            location = self._plugins[indexes[0]].location
            environments.enter(() if location == INSTALLED else (location,))
            for index in indexes:
                os.write(pipe, json.dumps(_describe(self._plugins[index], pipe)).encode() + b"\n")
        finally:
            os._exit(0)

    def _listen(self, seconds: float) -> None:
        poll = select.poll()
        from_worker = self._pipes[0]
        for pipe in (*self._forks, from_worker):
            poll.register(pipe, select.POLLIN)
        for pipe, _ in poll.poll(seconds * 1000):
            if pipe == from_worker:
                # Nothing more is sent to this process: the worker has ended.
                os.killpg(0, signal.SIGKILL)
            fork = self._forks[pipe]
            data = os.read(pipe, 65_536)
            if not data:
                self._end(fork, None)
                continue
            fork.received += data
            *lines, rest = bytes(fork.received).split(b"\n")
            fork.received[:] = rest
            for line in lines:
                self._hear(fork, json.loads(line))

    def _hear(self, fork: _Fork, message: dict[str, Any]) -> None:
        if "stage" in message:
            fork.stage = message["stage"]
            return
        self._found[fork.left.pop(0)] = message
        fork.since, fork.stage = time.monotonic(), "starting"

    def _end(self, fork: _Fork, reason: str | None) -> None:
        """
        Handle the end of a fork that has ended, or must. The connector that it was asking has caused it, and the others get
        another process.
        """
        status = self._reap(fork)
        if fork.left:
            died = f"its process ended ({status})" if reason is None else f"{reason}, and its process was killed"
            self._found[fork.left[0]] = {"error": f"{died}, at the stage {fork.stage}"}
            if fork.left[1:]:
                self._waiting.append(fork.left[1:])

    def _reap(self, fork: _Fork) -> str:
        os.kill(fork.pid, signal.SIGKILL)
        _, status = os.waitpid(fork.pid, 0)
        os.close(fork.pipe)
        del self._forks[fork.pipe]
        code = os.waitstatus_to_exitcode(status)
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _describe(plugin: PluginDesc, pipe: int) -> dict[str, Any]:
    asking = Asking(Registry([plugin]), lambda stage: _write(pipe, stage), {})
    try:
        return describe(asking, plugin)
    except BaseException as error:  # noqa: BLE001 - a plugin's own
        return {"error": f"{asking.where()}: {type(error).__name__}: {_text(error)}"[:_LONGEST_ERROR]}


def _write(pipe: int, stage: dict[str, str]) -> None:
    os.write(pipe, json.dumps(stage).encode() + b"\n")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - the error is a plugin's class, too
        return f"its text can't be had ({type(second).__name__})"


if __name__ == "__main__":
    main()
