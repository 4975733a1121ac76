"""`kconnect backfill cancel`."""

from __future__ import annotations

import click

from kconnect.cli import asking, connection, selection
from kconnect.cli.backfill import progress
from kconnect.cli.connection import Target


@click.command()
@click.argument("name", shell_complete=selection.complete)
@asking.option
@connection.options
def cancel(name: str, yes: bool, target: Target) -> None:
    """
    Give a backfill up, with its replication slot.

    \b
      kconnect backfill cancel orders-cdc

    Records that were written stay in their topics. Debezium's connector stays as it is.
    """
    with target.connect() as client:
        state = client.backfill(name)
        asking.confirm(f"Give up the backfill of {name} ({progress.text(state)})?", yes)
        client.cancel_backfill(name)
        click.echo(f"The backfill of {name} is gone", err=True)
