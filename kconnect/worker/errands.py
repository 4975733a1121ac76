"""
What requests have done in a process of their own: chains tried on records (`preview/child.py`), dead letters (`dlq/child.py`),
internal topics (`internal_topics/child.py`), what became of a connector (`internal_topics/changes_child.py`), what brokers that
only a config names are asked (`brokers.py`).

Held by `world.py`. A chain that hangs, crashes or takes too much memory costs its own request an error,
and nobody else anything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import orjson

from kconnect import errors
from kconnect.core.settings import secrets
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConnectError, RequestTimeoutError, UnavailableError
from kconnect.plugins.child import Child, ChildEndedError

_BROKERS = "kconnect.worker.brokers"
_CHANGES = "kconnect.internal_topics.changes_child"
_AT_ONCE = {
    "kconnect.preview.child": 2,
    "kconnect.dlq.child": 2,
    "kconnect.internal_topics.child": 1,
    _CHANGES: 2,
    _BROKERS: 40,
}
"""
Of each kind, as `rest/errands.py` lets callers have them in turns: one kind takes no place of another's. Of brokers as many are
asked as there are threads for it (`loop.py`).
"""
_LIMIT_S = 60.0


class Errands:
    """The errands of one worker: calls in child processes. Thread-safe."""

    def __init__(self, settings: WorkerSettings, limit_s: float = _LIMIT_S) -> None:
        self._settings, self._limit_s = settings, limit_s
        self._slots = {module: threading.BoundedSemaphore(most) for module, most in _AT_ONCE.items()}

    def preview(self, config: Mapping[str, str], records: list[Any] | None, sample: Mapping[str, Any]) -> str:
        """
        The answer as JSON. Records are given, or taken from a topic as `kafka/sample.py` does it with `sample`.

        BadRequestError for a config or a record that can't be used, RequestTimeoutError, or ConnectError if the process died.
        """
        secrets.require_few(config)
        request = {"config": dict(config), "records": records, "sample": dict(sample)}
        return self._run("kconnect.preview.child", request, secrets.values(config))

    def dead_letters(self, connector: str, configs: Mapping[str, Mapping[str, str]], wanted: Mapping[str, Any]) -> str:
        """
        The answer as JSON. `configs` are those of the connectors that name the same queue as this one.

        NotFoundError if there is no queue yet, ConflictError if somebody else replays it, else as `preview`.
        """
        request = {"connector": connector, "configs": {name: dict(config) for name, config in configs.items()}, **wanted}
        return self._run("kconnect.dlq.child", request, set().union(*map(secrets.values, configs.values())))

    def check_topics(self) -> str:
        """The answer as JSON."""
        return self._run("kconnect.internal_topics.child", {}, set())

    def changes(self, connector: str) -> str:
        """The answer as JSON."""
        return self._run(_CHANGES, {"connector": connector}, set())

    def ask_brokers(self, request: Mapping[str, Any]) -> Any:
        """
        Return the answer of `brokers.py`, as JSON has it. Raise ConnectError, also if the process died, or RequestTimeoutError.
        """
        return orjson.loads(self._run(_BROKERS, dict(request), secrets.values(request["config"])))

    def _run(self, module: str, request: dict[str, Any], hidden: set[str]) -> str:
        if not self._slots[module].acquire(blocking=False):
            raise UnavailableError(f"{_AT_ONCE[module]} such requests are being answered by this worker: try again in a moment")
        try:
            return self._run_now(module, request, hidden)
        finally:
            self._slots[module].release()

    def _run_now(self, module: str, request: dict[str, Any], hidden: set[str]) -> str:
        settings = self._settings
        child = Child((), {"memory": settings.sandbox_memory}, module)
        try:
            request = {"worker": dict(settings.raw), **request}
            answer = child.ask(request, time.monotonic() + self._limit_s, hidden | secrets.values(settings.raw))
        except TimeoutError:
            raise RequestTimeoutError(f"There was no answer within {self._limit_s:g} s. The process was killed.") from None
        except ChildEndedError as error:
            raise ConnectError(f"The process ended ({error}); the worker's log has what it printed") from None
        finally:
            child.kill()
        if "error" in answer:
            raise errors.BY_NAME[answer["error"]](answer["message"])
        return str(answer["result"])
