"""`kconnect backfill start`: makes the connector that reads, watches it, and hands over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.backfill import handover, progress
from kconnect.cli.connection import Target
from kconnect.errors import ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_LOOK_S = 1.0


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.option("--tasks", type=click.IntRange(min=1), default=2, show_default=True, help="How many tasks read at once.")
@click.option("--wait/--no-wait", default=True, help="Wait until all is read, and hand over then.  [default: wait]")
@target_states.timeout("24h")
@connection.options
def start(name: str, tasks: int, wait: bool, timeout: float, target: Target) -> None:
    """
    Copy the tables that a stopped Debezium connector captures, then let it go on.

    \b
      kconnect backfill start orders-cdc --tasks 8
      kconnect backfill start orders-cdc --no-wait

    The connector must be STOPPED, and have no offsets. Records go through its converters and transforms into its topics. After
    --timeout, or Ctrl-C, the reading goes on: `kconnect backfill finish` hands over then.
    """
    with target.connect() as client:
        config = progress.config_of(client, name)
        if progress.name_of(name) not in client.connectors():
            handover.check_fresh(client, name)
            client.create(progress.name_of(name), progress.reading_config(config, tasks, _version(client)))
        if not wait:
            click.echo(f"The backfill of {name} has begun: kconnect backfill status {name}", err=True)
            return
        _watch(client, name, time.monotonic() + timeout)
        found = handover.finish(client, name)
        click.echo(f"{found}; {name} goes on from there", err=True)


def _version(client: ConnectClient) -> str:
    found = [plugin["version"] for plugin in client.plugins() if plugin["class"] == progress.DEBEZIUM]
    if not found:
        raise NotFoundError(f"The worker has no {progress.DEBEZIUM}: kconnect plugin install")
    return str(found[-1])


def _watch(client: ConnectClient, name: str, end: float) -> None:
    shown = ""
    while True:
        found = progress.look(client, name)
        if found.trace:
            raise ConnectError(f"The backfill of {name} has failed: {found.trace.splitlines()[0]}")
        if str(found) != shown:
            shown = str(found)
            click.echo(shown, err=True)
        if found.done is not None:
            return
        if time.monotonic() > end:
            from kconnect.rest.client import WaitError

            raise WaitError(f"The backfill of {name} is not done, and goes on: {found}", client.status(progress.name_of(name)))
        time.sleep(_LOOK_S)
