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
        state = progress.look(client, name)
        click.echo(str(state))
        if state.trace:
            click.echo(state.trace.splitlines()[0], err=True)
