"""`kconnect get tasks`: the tasks of all connectors, or of some."""

from __future__ import annotations

from typing import Any

import click

from kconnect.cli import connection, retrying, selection, watch
from kconnect.cli.connection import Target
from kconnect.cli.connectors import get, get_connectors
from kconnect.cli.connectors.get import Column


@click.command()
@click.argument("names", metavar="[CONNECTOR|GLOB]...", nargs=-1, shell_complete=selection.complete)
@get_connectors.filters
@get.form
@watch.option
@connection.options
def tasks(
    names: tuple[str, ...], state: str | None, kind: str | None, form: str, seconds: float | None, target: Target
) -> None:
    """
    Show tasks, their states, and where they run.

    \b
      kconnect get tasks
      kconnect get tasks orders-source -o wide
      kconnect get ta --state FAILED -o name | xargs kconnect restart

    A task's name is CONNECTOR/NUMBER, as `kconnect restart` takes it. With -o wide stands why a task failed, or what it
    tries again and again, in one line; `kconnect describe` and -o json have more.
    """
    with target.connect() as client:

        def collect() -> list[dict[str, Any]]:
            rows = get_connectors.items(client, names)
            return [
                {"name": f"{item['name']}/{task['id']}", "connector": item["name"], "type": item["type"], **task}
                for item in rows
                if kind is None or item["type"] == kind
                for task in item["status"].get("tasks", ())
                if state is None or task["state"] == state
            ]

        columns = [
            Column("task", lambda task: task["name"]),
            Column("type", lambda task: task["type"]),
            Column("state", lambda task: f"{task['state']}{', retrying' if 'retrying' in task else ''}"),
            Column("worker", lambda task: task["worker_id"]),
            Column("version", lambda task: task.get("version"), wide=True),
            Column("reason", lambda task: retrying.in_words(task.get("retrying")) or _reason(task.get("trace")), wide=True),
        ]
        get.show(collect, columns, form, seconds, "No tasks" if not (state or kind) else "No tasks match")


def _reason(trace: str | None) -> str:
    from kconnect.core.state import causes

    cause = causes.of(trace)
    return "" if cause is None else cause.first
