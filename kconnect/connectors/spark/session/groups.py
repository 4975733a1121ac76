"""
What waits to be written: one thread at a time writes to a table, and what has come for it meanwhile becomes one commit.

So tasks that feed one table share its commits, without knowing of each other. Called by `main.py`. Read next: `tables.py`.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_MOST = 64
_ALIKE = ("format", "where", "connector", "identity", "partitions", "ids", "mark", "order", "creates", "widens")
"""What requests must have in common to be one commit."""


class Request(NamedTuple):
    """`rows` is a table of Arrow; None of what has none."""

    head: dict[str, Any]
    rows: Any = None


class Writes:
    """Requests by table, those that have waited longest first. Any thread may use it."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Request]] = {}
        self._busy: set[str] = set()
        self._changed = threading.Condition()

    def put(self, request: Request) -> None:
        with self._changed:
            self._waiting.setdefault(_table(request), []).append(request)
            self._changed.notify()

    @contextlib.contextmanager
    def taken(self) -> Iterator[Sequence[Request]]:
        """Wait for requests, and give those of one table; nobody else gets any for it within the `with`."""
        with self._changed:
            while (table := next((table for table in self._waiting if table not in self._busy), None)) is None:
                self._changed.wait()
            waiting = self._waiting.pop(table)
            requests, later = waiting[:_MOST], waiting[_MOST:]
            if later:
                self._waiting[table] = later
            self._busy.add(table)
        try:
            yield requests
        finally:
            with self._changed:
                self._busy.discard(table)
                self._changed.notify()


def _table(request: Request) -> str:
    return json.dumps([request.head["format"], request.head["where"]], sort_keys=True)


def combined(requests: Sequence[Request]) -> Request | None:
    """Return requests of one table as one; None if there is one only, or they can't be one commit."""
    import pyarrow as pa

    first = requests[0].head
    alike = all(request.head[name] == first[name] for request in requests for name in _ALIKE)
    if len(requests) < 2 or not alike or any(request.head["empties"] for request in requests):
        return None
    places = [(topic, partition) for request in requests for topic, partition, _ in request.head["begins"]]
    if len(set(places)) < len(places):
        # One of them is of a task that has lost the partition.
        return None
    if any(request.rows.schema != requests[0].rows.schema for request in requests):
        return None
    rows = pa.concat_tables([request.rows for request in requests])
    if first["mark"] is not None and len(rows.group_by(first["ids"]).aggregate([])) < len(rows):
        # Of rows with one id, a merge takes the last only where there is an order.
        return None
    head = {
        **first,
        "begins": [begin for request in requests for begin in request.head["begins"]],
        "ends": [end for request in requests for end in request.head["ends"]],
        "topic_ids": {topic: topic_id for request in requests for topic, topic_id in request.head["topic_ids"].items()},
    }
    return Request(head, rows)
