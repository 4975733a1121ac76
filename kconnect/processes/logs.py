"""
Logging of every process of a worker: lines for people, or one JSON object a line.

All modules log with the standard `logging.getLogger(__name__)`, so that the lines of libraries look like ours and obey
`/admin/loggers`; structlog only renders. `configure` is called once by the worker, the Spark driver and each task host. A
unit's thread says whose it is with `bind`, and each of its lines then carries connector and task. Known secrets are
blotted out as a last line of defence: nothing should log them.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from functools import partial
from typing import IO, Any

import structlog

from kconnect.core.settings import secrets
from kconnect.core.state.records import LoggerLevel
from kconnect.errors import NotFoundError
from kconnect.processes import traces
from kconnect.processes.covered import Covered
from kconnect.processes.levels import LEVELS, Loggers
from kconnect.processes.line_forms import set_in

log = logging.getLogger(__name__)

_secrets: set[str] = set()
_covered = Covered()
"""What references of configs stand for."""
_always = Covered()
"""The same of the worker's own texts."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONGEST_TEXT = 32 << 10
Line = MutableMapping[str, Any]

_CHATTY = ("py4j", "httpx", "httpcore", "asyncio", "uvicorn.error")
"""Libraries that tell at INFO what is of no interest to those who run a worker."""


def configure(format: str = "text", level: str = "INFO", stream: IO[str] | None = None) -> None:
    """Log to `stream` (standard error by default) as `text` or `json`. May be called again."""
    shared = _shared(utc=format == "json")
    formatter = _formatter(shared, _json if format == "json" else _for_people, _blot)
    # A plugin that logs with structlog comes out the same way.
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    logging.addLevelName(5, "TRACE")
    logging.captureWarnings(True)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)


def entries(place: Mapping[str, str]) -> logging.Formatter:
    """
    Return a formatter that makes each line a JSON object: `level`, `logger`, `connector`, `task`, `text` with the trace, and
    what `place` has. Nothing in it is secret, and no text is longer than 32 KiB.
    """
    return _formatter(_shared(utc=True), partial(_entry, place))


def _shared(utc: bool) -> list[Any]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=utc),
    ]


def _formatter(shared: list[Any], *last: Any) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _java_trace,
            structlog.processors.format_exc_info,
            *last,
        ],
    )


def set_level(loggers: Loggers, change: LoggerLevel) -> None:
    """Apply a level that was set for the whole cluster (KIP-976), and say so. Whoever wrote it may know other levels."""
    level = change.level.upper()
    if level not in LEVELS:
        log.warning("Ignoring the log level %.40r that the config topic has for %.200r", change.level, change.namespace)
        return
    try:
        loggers.set_level(change.namespace, level)
    except NotFoundError:
        # Connect's own workers may have written it.
        log.info("The cluster's log level of %.200r has an effect on Java plugins only", change.namespace)
        return
    log.info("The cluster's log level of %s is now %s", change.namespace, level)


def bind(connector: str, task: int | None = None) -> None:
    """Put the connector, and the task if there is one, into every further line of this thread."""
    structlog.contextvars.unbind_contextvars("connector", "task")
    structlog.contextvars.bind_contextvars(connector=connector, **({} if task is None else {"task": task}))


def hide_secrets(properties: Mapping[str, str | None]) -> None:
    """Register the values of all settings whose names say that they are secret."""
    _secrets.update(secrets.values(properties))


def cover(covered: Mapping[str, str], always: bool = False, owner: str = "") -> None:
    """
    Show references in all further lines of this process, in place of the values that they stand for. `covered` has the
    references by value, as `Resolved.cover` returns them. Those that `always` hold are the worker's own; others are those of
    `owner`, a connector.
    """
    (_always if always else _covered).put(covered, owner)


def hide(text: str) -> str:
    """A text for others to read, such as a status, without what is hidden in the log."""
    text = _always.hide(_covered.hide(text))
    return secrets.hide(text, tuple(_secrets)) if _secrets else text


def printable(text: str) -> str:
    """
    Return the text with control characters escaped as in JSON, but for the ends of lines and tabulators: a plugin's text may
    have some that a terminal obeys.
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _java_trace(_: Any, __: str, line: Line) -> Line:
    """Give the line of an exception that Java threw Java's trace, with its causes, in the place of Python's."""
    info = line.get("exc_info")
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException) and (trace := traces.of_java(error)) is not None:
        del line["exc_info"]
        line["exception"] = trace
    return line


def _blot(_: Any, __: str, line: Any) -> str:
    # Over the whole line, because a secret may be in a traceback or deep in a value.
    return printable(hide(line))


def _json(_: Any, __: str, line: Line) -> str:
    ordered = {"timestamp": line.pop("timestamp", None), "level": line.pop("level", None)}
    ordered["logger"] = line.pop("logger", None)
    ordered["message"] = line.pop("event", "")
    return json.dumps({**ordered, **line}, default=str, ensure_ascii=False)


def _entry(place: Mapping[str, str], _: Any, __: str, line: Line) -> str:
    line.pop("timestamp", None)
    event, trace = str(line.pop("event", "")), line.pop("exception", None)
    level, name = str(line.pop("level", "")).upper(), str(line.pop("logger", ""))
    connector, task = line.pop("connector", None), line.pop("task", None)
    text = " ".join((event, *(f"{key}={value}" for key, value in line.items())))
    # Hidden before it is cut, and before quotes are escaped: of a secret that looks otherwise nothing would be found.
    text = set_in(printable(hide(text if trace is None else f"{text}\n{trace}")))[:_LONGEST_TEXT]
    whose = {} if connector is None else {"connector": str(connector)} | ({} if task is None else {"task": task})
    return json.dumps({**place, "level": level, "logger": name, **whose, "text": text}, default=str, ensure_ascii=False)


def _for_people(_: Any, __: str, line: Line) -> str:
    time, level, name = line.pop("timestamp", ""), line.pop("level", ""), line.pop("logger", "")
    event, trace = line.pop("event", ""), line.pop("exception", None)
    connector, task = line.pop("connector", None), line.pop("task", None)
    whose = "" if connector is None else f" [{connector}{'' if task is None else f'|task-{task}'}]"
    extra = "".join(f" {key}={value}" for key, value in line.items())
    text = f"{time[:23].replace('T', ' ')} {level.upper():7} {name}{whose} {event}{extra}"
    return set_in(text if trace is None else f"{text}\n{trace}")
