"""`kconnect get workers`: who is in the cluster. `kconnect cluster` shows what runs on which host."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection, watch
from kconnect.cli.cluster import cluster
from kconnect.cli.connection import Target
from kconnect.cli.connectors import get
from kconnect.cli.connectors.get import Column

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient


@click.command()
@click.argument("names", metavar="[WORKER|GLOB]...", nargs=-1)
@get.form
@watch.option
@connection.options
def workers(names: tuple[str, ...], form: str, seconds: float | None, target: Target) -> None:
    """
    Show the workers of the cluster.

    \b
      kconnect get workers
      kconnect get wo -o wide --watch

    Apache Kafka Connect does not say who is in its cluster: only those of its workers are shown that have a connector or a
    task, and not their states or the leader.
    """
    with target.connect() as client:
        is_told = False

        def collect() -> list[dict[str, Any]]:
            nonlocal is_told
            rows = _of_kconnect(client)
            if rows is None:
                rows = _of_statuses(client)
                if not is_told:
                    click.echo("The cluster does not list its workers; these are the ones that have work", err=True)
                is_told = True
            return get.select(rows, names, "worker")

        columns = [
            Column("worker", lambda row: row["name"]),
            Column("state", lambda row: row["state"]),
            Column("connectors", lambda row: str(row["connectors"])),
            Column("tasks", lambda row: str(row["tasks"])),
            Column("hosts", lambda row: row["hosts"] and str(row["hosts"]), wide=True),
            Column("url", lambda row: row["url"], wide=True),
        ]
        get.show(collect, columns, form, seconds, "No worker has work")


def _of_kconnect(client: ConnectClient) -> list[dict[str, Any]] | None:
    """Return the workers; None if the worker has no `/cluster`."""
    from kconnect.rest.client import RestError

    try:
        answer = client.cluster()
    except RestError as error:
        if error.status == 404:
            return None
        raise
    return [
        {
            "name": row["worker_id"],
            "state": cluster.state(row, answer["leader"]),
            "connectors": row["connectors"],
            "tasks": row["tasks"],
            "hosts": len(row["hosts"]),
            "url": row["url"],
        }
        for row in answer["workers"]
    ]


def _of_statuses(client: ConnectClient) -> list[dict[str, Any]]:
    statuses = [entry["status"] for entry in client.connectors("status").values()]
    connectors = Counter(status["connector"]["worker_id"] for status in statuses)
    tasks = Counter(task["worker_id"] for status in statuses for task in status["tasks"])
    return [
        {"name": name, "state": None, "connectors": connectors[name], "tasks": tasks[name], "hosts": None, "url": None}
        for name in sorted(connectors.keys() | tasks.keys())
    ]
