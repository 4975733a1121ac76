"""`kconnect delete`: takes connectors away; their offsets stay."""

from __future__ import annotations

import click

from kconnect.cli import asking, connection, selection, target_states
from kconnect.cli.connection import Target
from kconnect.cli.selection import Wanted

_SHOWN = 10


@click.command()
@selection.arguments
@asking.option
@target_states.waiting("it is gone")
@connection.options
def delete(wanted: Wanted, yes: bool, wait: bool, timeout: float, target: Target) -> int:
    """
    Delete connectors; their offsets stay.

    \b
      kconnect delete orders-source
      kconnect delete 'test-*' --yes --wait

    A connector of the same name goes on where this one was. To make it start over, reset the offsets first: kconnect stop
    orders-source --wait, then kconnect offsets reset orders-source. Topics and their records stay, too.
    """
    with target.connect() as client:
        names = wanted.names(client)
        if not names:
            click.echo("No connectors", err=True)
            return 0
        asking.confirm(_question(names), yes)

        def do(name: str) -> str:
            client.delete(name)
            if wait:
                selection.then(f"Deleting {name}", lambda: target_states.be_gone(client, name, timeout))
            return f"Deleted {name}"

        return selection.each(names, do, "Deleting")


def _question(names: list[str]) -> str:
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    what = "connector" if len(names) == 1 else f"{len(names)} connectors:"
    return f"Delete the {what} {listed}? Offsets stay: a new connector of the same name continues from them."
