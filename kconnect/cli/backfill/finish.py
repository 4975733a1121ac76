"""`kconnect backfill finish`."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection
from kconnect.cli.backfill import progress
from kconnect.cli.connection import Target


@click.command()
@click.argument("name", shell_complete=selection.complete)
@connection.options
def finish(name: str, target: Target) -> None:
    """
    Hand over to Debezium once all is read.

    \b
      kconnect backfill finish orders-cdc

    Its connector gets the offset at which the copy was taken, and is resumed; the backfill is deleted. For one that was started
    with --no-wait, or interrupted.
    """
    with target.connect() as client:
        state = client.finish_backfill(name)
        click.echo(f"{progress.text(state)}; {name} goes on from there", err=True)
