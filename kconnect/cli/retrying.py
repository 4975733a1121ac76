"""
Tasks that are RUNNING and make a call again and again, which no state tells: for `kconnect get`, `describe` and `top`.

Only kconnect's workers say so, see `core/herder/requests/own.py`; of Kafka Connect's nothing is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any


def add(own: Mapping[str, Any], name: str, tasks: Iterable[dict[str, Any]]) -> None:
    """Put `retrying` and `memory` into the tasks of a connector's status, where there is any. `own` as the client has it."""
    by_task = {row["id"]: row for row in own.get(name, {}).get("tasks", ())}
    for task in tasks:
        of_task = by_task.get(task["id"], {})
        task.update({key: of_task[key] for key in ("memory", "retrying") if of_task.get(key) is not None})


def in_words(retrying: Mapping[str, Any] | None) -> str:
    """`retrying since 12:03:11 (5 min): put(): …`; empty for a task that does not."""
    from kconnect.cli.layout import age, clock

    if retrying is None:
        return ""
    return f"retrying since {clock(retrying['since'])} ({age(time.time() - retrying['since'] / 1000)}): {retrying['reason']}"


def count(tasks: Iterable[Mapping[str, Any]]) -> str:
    """`, 2 retrying`, for behind the states of tasks."""
    number = sum(task.get("retrying") is not None for task in tasks)
    return f", {number} retrying" if number else ""
