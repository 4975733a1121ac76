"""`kconnect backfill status`."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection
from kconnect.cli.backfill import progress
from kconnect.cli.connection import Target


@click.command()
@click.argument("name", shell_complete=selection.complete)
@connection.options
def status(name: str, target: Target) -> None:
    """
    Show how far a backfill is.

    \b
      kconnect backfill status orders-cdc

    NAME is that of Debezium's connector.
    """
    with target.connect() as client:
        found = progress.look(client, name)
        click.echo(str(found))
        if found.trace:
            click.echo(found.trace.splitlines()[0], err=True)
