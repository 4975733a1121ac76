"""`kconnect backfill start`: makes the connector that reads, watches it, and hands over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.backfill import handover, lake, progress
from kconnect.cli.connection import Target
from kconnect.errors import ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_LOOK_S = 1.0


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.option("--tasks", type=click.IntRange(min=1), default=2, show_default=True, help="How many tasks read at once.")
@click.option("--rate", type=click.IntRange(min=1), help="How many rows a second are read at most, by all tasks together.")
@click.option(
    "--into", "sink", metavar="SINK", help="Write straight into the tables of this SparkSink, which goes on from the topics."
)
@click.option(
    "--set", "more", metavar="KEY=VALUE", multiple=True, help="Another setting of the connector that reads; repeatable."
)
@click.option("--wait/--no-wait", default=True, help="Wait until all is read, and hand over then.  [default: wait]")
@target_states.timeout("24h")
@connection.options
def start(
    name: str,
    tasks: int,
    rate: int | None,
    sink: str | None,
    more: tuple[str, ...],
    wait: bool,
    timeout: float,
    target: Target,
) -> None:
    """
    Copy the tables of a stopped Debezium connector, then let it go on.

    \b
      kconnect backfill start orders-cdc --tasks 8
      kconnect backfill start orders-cdc --rate 20000 --no-wait
      kconnect backfill start orders-cdc --into lake-sink

    The connector must be STOPPED, and have no offsets. Records go through its converters and transforms into its topics. After
    --timeout, or Ctrl-C, the reading goes on: `kconnect backfill finish` hands over then. With --into, rows go into the tables
    of a SparkSink that reads these topics, by its settings as they are now, and none into the topics.
    """
    settings = {"backfill.rows.per.second": str(rate)} if rate else {}
    for assignment in more:
        key, equals, value = assignment.partition("=")
        if not key or not equals:
            raise click.UsageError(f"--set {assignment} is no KEY=VALUE, such as producer.override.linger.ms=5.")
        settings[key] = value
    with target.connect() as client:
        config = progress.config_of(client, name)
        if progress.name_of(name) not in client.connectors():
            handover.check_fresh(client, name)
            client.create(
                progress.name_of(name),
                {
                    **progress.reading_config(config, tasks, _version(client, config.get("connector.plugin.version"))),
                    **(lake.sink_config(client, sink) if sink else {}),
                    **settings,
                },
            )
        elif client.status(progress.name_of(name))["connector"]["state"] in ("PAUSED", "STOPPED"):
            progress.look(client, name)
            click.echo(f"The backfill of {name} goes on, with the settings that it has", err=True)
            client.resume(progress.name_of(name))
        if not wait:
            click.echo(f"The backfill of {name} has begun: kconnect backfill status {name}", err=True)
            return
        _watch(client, name, time.monotonic() + timeout)
        state = handover.finish(client, name)
        click.echo(f"{state}; {name} goes on from there", err=True)


def _version(client: ConnectClient, pinned: str | None) -> str:
    """Return the version of Debezium that the connector has: the one that its config names, or else the newest."""
    versions = [plugin["version"] for plugin in client.plugins() if plugin["class"] == progress.DEBEZIUM]
    if not versions:
        raise NotFoundError(f"The worker has no {progress.DEBEZIUM}: kconnect plugin install")
    return str(pinned if pinned in versions else versions[-1])


def _watch(client: ConnectClient, name: str, end: float) -> None:
    first, began, shown = progress.look(client, name), time.monotonic(), ""
    while True:
        state = progress.look(client, name)
        if not first.ranges:
            first, began = state, time.monotonic()
        if state.trace:
            raise ConnectError(f"The backfill of {name} has failed: {state.trace.splitlines()[0]}")
        if str(state) != shown:
            shown, seconds = str(state), time.monotonic() - began
            rest_s = state.rest_s(first, seconds)
            rate = f"; {(state.rows - first.rows) / seconds:,.0f} rows a second" if state.rows > first.rows else ""
            click.echo(f"{shown}{rate}{'' if rest_s is None else f', some {rest_s:,.0f} s left'}", err=True)
        if state.done is not None:
            return
        if time.monotonic() > end:
            from kconnect.rest.client import WaitError

            raise WaitError(f"The backfill of {name} is not done, and goes on: {state}", client.status(progress.name_of(name)))
        time.sleep(_LOOK_S)
