"""`kconnect backfill again`."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection
from kconnect.cli.connection import Target


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option("--where", metavar="SQL", help="Only rows that fulfil this condition.")
@click.option("--stop", is_flag=True, help="Stop reading again.")
@connection.options
def again(name: str, tables: tuple[str, ...], where: str | None, stop: bool, target: Target) -> None:
    """
    Have tables read again beside the change stream.

    \b
      kconnect backfill again orders-cdc public.orders
      kconnect backfill again orders-cdc public.orders --where "id > 1000"
      kconnect backfill again orders-cdc
      kconnect backfill again orders-cdc --stop

    Debezium's connector goes on meanwhile: no row comes behind a newer change of it, or before an older one. It must take
    signals by Kafka, and have a table for its marks: signal.enabled.channels, signal.kafka.topic,
    signal.kafka.bootstrap.servers, signal.data.collection. Without a TABLE it shows those that are still to be read.
    """
    if stop and (tables or where is not None):
        raise click.UsageError("--stop ends all reading again: give it without TABLE and --where.")
    if where is not None and not tables:
        raise click.UsageError("--where needs a TABLE, such as public.orders.")
    with target.connect() as client:
        if stop:
            client.stop_reread(name)
            click.echo(f"{name} is told to read nothing again", err=True)
        elif tables:
            client.begin_reread(name, tables, where)
            click.echo(f"{name} is told to read again: {', '.join(tables)}", err=True)
        else:
            unread = client.reread(name)
            click.echo("\n".join(unread) if unread else f"{name} reads nothing again", err=not unread)
