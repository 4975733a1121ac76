"""`kconnect offsets reset`: a connector forgets how far it has read."""

from __future__ import annotations

import click

from kconnect.cli import asking, connection, selection
from kconnect.cli.connection import Target
from kconnect.cli.offsets import changes, stopped, subject


@click.command()
@click.argument("name", shell_complete=selection.complete)
@stopped.options
@asking.option
@connection.options
def reset(name: str, stop: bool, dry_run: bool, yes: bool, target: Target) -> None:
    """
    Reset all of a connector's offsets, so that it starts over.

    \b
      kconnect offsets reset orders-sink --stop
      kconnect offsets reset lines --dry-run

    A sink then begins where its consumer's auto.offset.reset says: with the first record there is, unless it is overridden. A
    source begins where its plugin begins. To reset one partition, set it to null: `kconnect offsets set`. One that has no
    offsets yet is stopped and reset all the same: it commits what it has read when it is stopped.
    """
    with target.connect() as client:
        of = subject.of(client, name)
        if not dry_run:
            stopped.require(client, name, stop)
        now = of.offsets(client)
        if now:
            changes.show(of.kind, now, [{**entry, "offset": None} for entry in now])
        else:
            # Not the end: what runs may have read, and commits that when it is stopped; and a plugin may keep its own places.
            remark = "has not committed any offsets yet; those that it commits until it is stopped are reset, too"
            click.echo(f"{name} {remark}", err=True)
        if dry_run:
            return
        asking.confirm(f"Reset all offsets of {name}?", yes)
        with stopped.changing(client, name, stop):
            click.echo(stopped.write(client, name, lambda: client.reset_offsets(name), None), err=True)
