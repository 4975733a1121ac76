"""
A worker's log as entries: when, how severe, whose, and all lines that belong together.

Called by `logs.py`, which chooses among them. Three kinds of lines are known: kconnect's own, its JSON (`log.format=json`),
and what Kafka's own `connect-log4j2.yaml`, and `connect-log4j.properties` before it, make a worker of Kafka Connect write.
What is in none of these forms belongs to the line before, as a trace does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

from kconnect.processes.line_forms import LEVELS, level_of

_KCONNECT = re.compile(r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) (?P<level>[A-Z]+) +\S+(?: \[(?P<whose>[^\]]*)\])? ")
_CONNECT = re.compile(r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?P<level>[A-Z]+) +(?:\[(?P<whose>[^\]]*)\] )?")
_TASK = re.compile(r"^(?P<connector>.*)\|task-(?P<task>\d+)(?:\|.*)?$|^(?P<instance>.*)\|worker(?:\|.*)?$")


@dataclass(frozen=True)
class Entry:
    """
    An entry of a log, by its first line. `connector` and `task` are None where there is no such context, `at` if it can't be
    read.
    """

    first: str
    at: datetime | None = None
    level: str | None = None
    connector: str | None = None
    task: int | None = None


class Reader:
    """Tells of each line, in order, which entry it belongs to: at once, so that a trace is shown while it is written."""

    def __init__(self) -> None:
        self._current: Entry | None = None

    def entry(self, line: str) -> Entry:
        self._current = begin(line) or self._current or Entry(line)
        return self._current


def begin(line: str) -> Entry | None:
    """The entry that begins with this line; None if it goes on with the one before."""
    if line.startswith("{") and (entry := _json(line)) is not None:
        return entry
    for form in (_CONNECT, _KCONNECT):
        if match := form.match(line):
            level = match["level"]
            connector, task = _whose(match["whose"])
            return Entry(line, _local(match["time"]), level_of(level), connector, task)
    return None


def severity(level: str | None) -> int:
    """A line without a level is as severe as any: it may be what a crash has left."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _json(line: str) -> Entry | None:
    import orjson

    try:
        body = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict) or "level" not in body:
        return None
    level = str(body["level"]).upper()
    connector, task = body.get("connector"), body.get("task")
    return Entry(
        line,
        _iso(str(body.get("timestamp", ""))),
        level_of(level),
        connector if isinstance(connector, str) else None,
        task if isinstance(task, int) else None,
    )


def _whose(context: str | None) -> tuple[str | None, int | None]:
    if not context:
        return None, None
    if match := _TASK.match(context):
        if match["task"] is not None:
            return match["connector"], int(match["task"])
        return match["instance"], None
    return context, None


def _local(text: str) -> datetime | None:
    """Parse a time. Both kinds of workers write the local time of their machine, which is taken to be this one's."""
    # Python 3.10 takes a point only, and three digits behind it.
    text = text.replace(",", ".")
    try:
        return datetime.fromisoformat(text[:23].ljust(23, "0") if "." in text else text).astimezone()
    except ValueError:
        return None


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")[:32])
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
