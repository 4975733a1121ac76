"""`kconnect get plugins`: what a worker can run. `kconnect plugin list` looks into directories instead."""

from __future__ import annotations

from typing import Any

import click

from kconnect.cli import connection, watch
from kconnect.cli.connection import Target
from kconnect.cli.connectors import get
from kconnect.cli.connectors.get import Column


@click.command()
@click.argument("names", metavar="[CLASS|GLOB]...", nargs=-1)
@click.option("--type", "kind", metavar="TYPE", help="Only these: source, sink, converter, transformation, predicate, …")
@get.form
@watch.option
@connection.options
def plugins(names: tuple[str, ...], kind: str | None, form: str, seconds: float | None, target: Target) -> None:
    """
    Show the plugins that a worker has.

    \b
      kconnect get plugins
      kconnect get plugins --type sink
      kconnect get pl '*Avro*' -o name

    A class may be given without its package. It is the worker that answers whose plugins are shown: each has its own.
    """
    with target.connect() as client:

        def collect() -> list[dict[str, Any]]:
            rows = [{"name": row["class"], **row} for row in client.plugins(connectors_only=False)]
            return [row for row in get.select(rows, names, "plugin") if kind is None or row["type"] == kind]

        columns = [
            Column("class", lambda row: row["class"]),
            Column("type", lambda row: row["type"]),
            Column("version", lambda row: row.get("version")),
        ]
        get.show(collect, columns, form, seconds, "No plugins match", shown=_as_answered)


def _as_answered(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "name"}
