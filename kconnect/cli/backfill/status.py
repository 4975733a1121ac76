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
        state = client.backfill(name)
        click.echo(progress.text(state))
        if (cost := progress.held(state)) is not None:
            click.echo(cost)
        # A worker of an older version does not say it.
        for text in state.get("left_out", ()):
            click.echo(f"Left out: {text}")
        if state["why"] is not None:
            click.echo(state["why"], err=True)
