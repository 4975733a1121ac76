"""`kconnect backfill start`: makes the connector that reads, watches it, and hands over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.backfill import progress
from kconnect.cli.connection import Target
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_LOOK_S = 1.0


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.option("--tasks", type=click.IntRange(min=1), default=2, show_default=True, help="How many tasks read at once.")
@click.option("--rate", type=click.IntRange(min=1), help="How many rows a second are read at most, by all tasks together.")
@click.option(
    "--set", "more", metavar="KEY=VALUE", multiple=True, help="Another setting of the connector that reads; repeatable."
)
@click.option("--wait/--no-wait", default=True, help="Wait until all is read, and hand over then.  [default: wait]")
@target_states.timeout("24h")
@connection.options
def start(name: str, tasks: int, rate: int | None, more: tuple[str, ...], wait: bool, timeout: float, target: Target) -> None:
    """
    Copy the tables of a stopped Debezium connector, then let it go on.

    \b
      kconnect backfill start orders-cdc --tasks 8
      kconnect backfill start orders-cdc --rate 20000 --no-wait

    The connector must be STOPPED, and have no offsets. A backfill that was paused or stopped goes on with the settings that it
    has. Records go through its converters and transforms into its topics. After
    --timeout, or Ctrl-C, the reading goes on: `kconnect backfill finish` hands over then.
    """
    settings = {}
    for assignment in more:
        key, equals, value = assignment.partition("=")
        if not key or not equals:
            raise click.UsageError(f"--set {assignment} is no KEY=VALUE, such as producer.override.linger.ms=5.")
        settings[key] = value
    with target.connect() as client:
        client.start_backfill(name, tasks, rate, settings)
        if not wait:
            click.echo(f"The backfill of {name} has begun: kconnect backfill status {name}", err=True)
            return
        _watch(client, name, time.monotonic() + timeout)
        state = client.finish_backfill(name)
        click.echo(f"{progress.text(state)}; {name} goes on from there", err=True)


def _watch(client: ConnectClient, name: str, end: float) -> None:
    shown = ""
    while True:
        state = client.backfill(name)
        if state["why"] is not None:
            raise ConnectError(f"The backfill of {name} has failed: {state['why']}")
        if (text := progress.text(state)) != shown:
            shown = text
            click.echo(shown, err=True)
        if state["done"]:
            return
        if time.monotonic() > end:
            from kconnect.rest.client import WaitError

            raise WaitError(f"The backfill of {name} is not done, and goes on: {shown}", client.status(state["backfill"]))
        time.sleep(_LOOK_S)
