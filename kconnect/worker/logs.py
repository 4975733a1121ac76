"""
Logging of every process of a worker: lines for people, or one JSON object a line.

`configure` is called once by the worker, the Spark driver and each task host. Modules log with `logging.getLogger(__name__)`;
structlog renders, so that the lines of libraries look alike. A unit's thread says whose it is with `bind`, and each of its
lines then carries connector and task. Known secrets are blotted out as a last line of defence: nothing should log them.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import IO, Any

import structlog

_SECRET_NAME = re.compile(r"password|secret|token|credential|jaas|\.key$|key\.pem|api\.?key|private", re.IGNORECASE)
_secrets: set[str] = set()

Line = MutableMapping[str, Any]


def configure(format: str = "text", level: str = "INFO", stream: IO[str] | None = None) -> None:
    """Log to `stream` (standard error by default) as `text` or `json`."""
    stream = stream or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=format == "json"),
    ]
    if format == "json":
        final: list[Any] = [structlog.processors.format_exc_info, _blot, structlog.processors.JSONRenderer()]
    else:
        final = [structlog.processors.format_exc_info, _blot, _for_people]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for chatty in ("py4j", "httpx", "httpcore", "asyncio", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def bind(connector: str, task: int | None) -> None:
    """From now on, every line of this thread carries the connector and task."""
    structlog.contextvars.bind_contextvars(connector=connector, **({} if task is None else {"task": task}))


def hide_secrets(properties: Mapping[str, str | None]) -> None:
    """Blot out, in every later line, the values of settings whose names say that they are secret."""
    for name, value in properties.items():
        # Short values would blot out half of every line.
        if value and len(value) >= 4 and _SECRET_NAME.search(name) and value.lower() not in ("true", "false", "none"):
            _secrets.add(value)


def _blot(_: Any, __: str, line: Line) -> Line:
    if _secrets:
        for name, value in line.items():
            if isinstance(value, str):
                for secret in _secrets:
                    if secret in value:
                        value = value.replace(secret, "[hidden]")
                line[name] = value
    return line


def _for_people(_: Any, __: str, line: Line) -> str:
    time, level, name = line.pop("timestamp", ""), line.pop("level", ""), line.pop("logger", "")
    event, trace = line.pop("event", ""), line.pop("exception", None)
    connector, task = line.pop("connector", None), line.pop("task", None)
    whose = "" if connector is None else f" [{connector}{'' if task is None else f'|task-{task}'}]"
    extra = "".join(f" {key}={value}" for key, value in line.items())
    text = f"{time[:23].replace('T', ' ')} {level.upper():7} {name}{whose} {event}{extra}"
    return text if trace is None else f"{text}\n{trace}"
