"""
The other side of `child.py` for a process that answers one request and ends: `serve`, with what makes the answer.

Called by `preview/child.py`, `dlq/child.py`, `internal_topics/child.py` and `internal_topics/changes_child.py`, which
`worker/errands.py` starts as modules. They speak the sandbox's frames: one greeting, one request, one answer. The process ends
with the worker.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from kconnect.errors import BadRequestError, ConfigError, ConnectError
from kconnect.plugins.confinement import confine
from kconnect.plugins.sandbox_child import frame, pipes, read_frame

Work = Callable[[Mapping[str, Any], "int | None"], "dict[str, Any]"]
"""Given the request, and how much memory there is, in bytes."""


def serve(work: Work) -> None:
    """Answer the one request. `work` makes what is sent as JSON, or raises a ConnectError, which is sent as such."""
    requests, answers = pipes()
    memory = (read_frame(requests) or {}).get("memory")
    confine(memory)
    request = read_frame(requests)
    if request is not None:
        threading.Thread(target=_end_with_worker, args=(requests,), daemon=True).start()
        answers.write(frame(_answer(work, request, memory)))


def _end_with_worker(requests: IO[bytes]) -> None:
    requests.read()
    os._exit(1)


def _answer(work: Work, request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    try:
        # As text: half a pair of surrogates, which records may have, passes no stricter writer.
        return {"result": json.dumps(work(request, memory))}
    except ConfigError as error:
        return {"error": BadRequestError.__name__, "message": str(error)}
    except ConnectError as error:
        return {"error": type(error).__name__, "message": str(error)}
