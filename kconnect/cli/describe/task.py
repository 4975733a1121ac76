"""`kconnect describe task`: one task with its numbers, its config and the whole trace of its failure."""

from __future__ import annotations

import time

import click

from kconnect.cli import connection, output
from kconnect.cli.brokers import Brokers
from kconnect.errors import NotFoundError


@click.command()
@click.argument("name", metavar="NAME/NUMBER")
@connection.options
@connection.topic_options
@output.option("json", "yaml")
def task(target: connection.Target, brokers: Brokers, name: str, form: str) -> None:
    """
    Show what is known of a task, with the trace of its failure.

    \b
      kconnect describe task orders/0
      kconnect describe task orders/0 --worker-file worker.properties -o json

    Its config is what the connector gave it, with secrets hidden. As with connectors, --worker-file tells since when it is in
    its state, and what changed.
    """
    from kconnect.cli.describe import note
    from kconnect.cli.describe.connector_report import Look

    connector, slash, number = name.rpartition("/")
    if not slash or not number.isdecimal():
        raise click.UsageError(f"{name} is not a task: give the connector's name and the task's number, such as orders/0.")
    with target.connect() as client:
        report = Look(client, brokers, [connector]).task(connector, int(number))
    if report is None:
        raise NotFoundError(f"The connector {connector} has no task {number}: `kconnect get tasks` lists all")
    output.note(report, form, lambda told: note.of_task(told, time.time()))
