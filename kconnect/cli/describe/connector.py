"""`kconnect describe connector`: what is known of connectors, with the first cause of a failure and what to do about it."""

from __future__ import annotations

import time
from typing import Any

import click

from kconnect.cli import connection, output, selection
from kconnect.cli.brokers import Brokers
from kconnect.cli.selection import Wanted
from kconnect.errors import NotFoundError


@click.command()
@selection.arguments
@connection.options
@connection.topic_options
@output.option("json", "yaml")
@click.option("-v", "--verbose", is_flag=True, help="Show whole traces, and all partitions and offsets.")
@click.option("--changes", type=click.IntRange(0), default=10, show_default=True, help="How many of the last changes to show.")
def connector(target: connection.Target, brokers: Brokers, wanted: Wanted, form: str, verbose: bool, changes: int) -> None:
    """
    Show what is known of connectors, why one has failed, and what to do.

    \b
      kconnect describe connector orders
      kconnect describe connector orders --bootstrap-server localhost:9092
      kconnect describe connector 'orders-*' --worker-file worker.properties -v
      kconnect describe connector orders -o json

    It asks REST, and /metrics where the workers are kconnect's. With --bootstrap-server it asks Kafka how far a sink is behind.
    With --worker-file, or the names of the config and status topics, it tells from these since when things are as they are,
    and what changed, with secrets hidden. What can't be known says why.

    A failure is told by its first cause, the innermost "Caused by:" of the trace; -v shows the trace. The exit status is 0 also
    if something has failed.
    """
    from kconnect.cli.describe import note
    from kconnect.cli.describe.connector_report import Look

    with target.connect() as client:
        names = wanted.names(client)
        look = Look(client, brokers, names)
        reports: list[dict[str, Any]] = []
        for name in names:
            report = look.connector(name)
            if form == "table":
                lines = note.of(report, time.time(), verbose, changes)
                click.echo("\n".join([*([""] if reports else []), *lines]))
            reports.append(report)
    if form != "table":
        output.write(reports, form)
    if not reports:
        raise NotFoundError("The cluster has no connectors")
