"""
What all processes of the cluster have logged in the last minutes, for REST: read from the topic that they write it to.

Called by `rest/logs.py`, from a thread for each request, by way of `worker/rest.py`. Whoever may write to the topic may have
written anything: what has not the form of a line is passed over. Read next: `processes/shipping.py`, `kafka/log_topic.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import orjson

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import NotFoundError
from kconnect.kafka import clients, log_topic
from kconnect.kafka.log_topic import Line
from kconnect.processes import logs
from kconnect.processes.line_forms import LEVELS, level_of, mentions, set_in

_LIMIT_S = 8.0
_TEXTS = ("worker", "process", "level", "logger", "text")
_LONGEST_TEXT, _LONGEST_NAME = 64 << 10, 1024
_MOST_BYTES = 8 << 20
"""Of the texts of one answer."""


@dataclass(frozen=True)
class Wanted:
    """
    Which lines: those of a connector, or of one task of it, with `mentions` also those whose text names it; of a worker; of a
    level and above; since a time, or behind the place that an answer before has named.
    """

    connector: str | None = None
    task: int | None = None
    mentions: bool = False
    worker: str | None = None
    level: str | None = None
    since_ms: int | None = None
    after: int | None = None
    limit: int = 1000


def read(settings: WorkerSettings, wanted: Wanted) -> dict[str, Any]:
    """
    Return `lines` in the order of their times, `next` and `more`, as `GET /kconnect/logs` answers.

    Raises:
        NotFoundError: no lines are kept
        ConnectError: no broker answers, or none lets this worker read the topic
    """
    topic = settings.log_storage_topic
    if not topic:
        raise NotFoundError("The worker keeps no lines of logs: `log.storage.topic` is empty in its file")
    entries: list[dict[str, Any]] = []
    size = 0
    is_wanted = _filter(wanted)

    def take(line: Line) -> bool | None:
        nonlocal size
        if size >= _MOST_BYTES:
            return None
        if (entry := _entry(line)) is None or not is_wanted(entry):
            return False
        size += len(entry["text"])
        entries.append(entry)
        return True

    client = clients.reader(settings, "log-lines")
    page = log_topic.read(client, topic, wanted.since_ms, wanted.after, take, wanted.limit, _LIMIT_S)
    # A line of one process may be in the topic behind a later one of another.
    entries.sort(key=lambda entry: str(entry["timestamp"]))
    return {"lines": entries, "next": page.next, "more": page.more}


def _entry(line: Line) -> dict[str, Any] | None:
    try:
        body = orjson.loads(line.value)
        at = datetime.fromtimestamp(line.at_ms / 1000, timezone.utc)
    except (orjson.JSONDecodeError, ValueError, OverflowError, OSError):
        return None
    if not isinstance(body, dict) or not all(isinstance(body.get(name), str) for name in _TEXTS):
        return None
    level = level_of(body["level"])
    connector, task = body.get("connector"), body.get("task")
    if level not in LEVELS or not isinstance(connector, str | None) or not (task is None or (type(task) is int and task >= 0)):
        return None
    texts = {name: _of_one_line(body[name]) for name in _TEXTS}
    # What is cut off takes no time: a text of control characters takes very much.
    texts["text"] = set_in(logs.printable(body["text"][:_LONGEST_TEXT]))[:_LONGEST_TEXT]
    whose = {"connector": connector and _of_one_line(connector), "task": task}
    return {"timestamp": at.isoformat(timespec="milliseconds"), **texts, "level": level, **whose}


def _of_one_line(text: str) -> str:
    return logs.printable(text[:_LONGEST_NAME]).replace("\n", "\\n")[:_LONGEST_NAME]


def _filter(wanted: Wanted) -> Callable[[dict[str, Any]], bool]:
    lowest = 0 if wanted.level is None else LEVELS.index(wanted.level)
    unit = wanted.connector if wanted.task is None else f"{wanted.connector}-{wanted.task}"

    def is_wanted(entry: dict[str, Any]) -> bool:
        if LEVELS.index(entry["level"]) < lowest or wanted.worker not in (None, entry["worker"]):
            return False
        if wanted.connector is None:
            return True
        if entry["connector"] is not None:
            return entry["connector"] == wanted.connector and wanted.task in (None, entry["task"])
        return wanted.mentions and mentions(entry["text"], unit or "")

    return is_wanted
