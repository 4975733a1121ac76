"""
Chains tried on records, for `POST /kconnect/preview`: each in a process of its own (`preview/child.py`), with limits.

Held by `world.py`. A chain that hangs, crashes or takes too much memory costs its own request an error,
and nobody else anything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from kconnect import errors
from kconnect.core.settings import secrets
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConnectError, RequestTimeoutError, UnavailableError
from kconnect.plugins.child import Child, ChildEndedError

_AT_ONCE = 2
_LIMIT_S = 60.0


class Previews:
    """Of one worker. Thread-safe."""

    def __init__(self, settings: WorkerSettings, limit_s: float = _LIMIT_S) -> None:
        self._settings, self._limit_s = settings, limit_s
        self._slots = threading.BoundedSemaphore(_AT_ONCE)

    def run(self, config: Mapping[str, str], records: list[Any] | None, sample: Mapping[str, Any]) -> str:
        """
        The answer as JSON. Records are given, or taken from a topic as `kafka/sample.py` does it with `sample`.

        BadRequestError for a config or a record that can't be used, RequestTimeoutError, or ConnectError if the process died.
        """
        if not self._slots.acquire(blocking=False):
            raise UnavailableError(f"{_AT_ONCE} previews run on this worker already: try again in a moment")
        try:
            return self._run(config, records, sample)
        finally:
            self._slots.release()

    def _run(self, config: Mapping[str, str], records: list[Any] | None, sample: Mapping[str, Any]) -> str:
        settings = self._settings
        child = Child((), {"memory": settings.sandbox_memory}, "kconnect.preview.child")
        try:
            request = {"worker": dict(settings.raw), "config": dict(config), "records": records, "sample": dict(sample)}
            hidden = secrets.values(config) | secrets.values(settings.raw)
            answer = child.ask(request, time.monotonic() + self._limit_s, hidden)
        except TimeoutError:
            text = f"The chain did not answer within {self._limit_s:g} s. Its process was killed."
            raise RequestTimeoutError(text) from None
        except ChildEndedError as error:
            raise ConnectError(f"The chain's process ended ({error}); the worker's log has what it printed") from None
        finally:
            child.kill()
        if "error" in answer:
            raise errors.BY_NAME[answer["error"]](answer["message"])
        return str(answer["result"])
