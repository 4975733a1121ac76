"""`kconnect wait`: until connectors are in a state, or gone."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.connection import Target
from kconnect.cli.selection import Wanted

_STATES = ["RUNNING", "PAUSED", "STOPPED", "FAILED", "deleted"]


@click.command()
@selection.arguments
@click.option("--for", "state", type=click.Choice(_STATES, case_sensitive=False), required=True, help="The state to wait for.")
@click.option("--tasks", type=click.IntRange(min=0), help="How many tasks must be in that state.")
@target_states.timeout()
@connection.options
def wait(wanted: Wanted, state: str, tasks: int | None, timeout: float, target: Target) -> int:
    """
    Wait until connectors and all their tasks are in a state.

    \b
      kconnect wait orders-source --for running
      kconnect wait 'orders-*' --for running --tasks 3 --timeout 5m
      kconnect wait orders-source --for deleted

    FAILED is reached when the connector or one of its tasks has failed. After --timeout the exit status is 7, and what was
    seen last is told, with the reason if something failed.
    """
    if state == "deleted" and tasks is not None:
        raise click.UsageError("A connector that is deleted has no tasks: give --tasks with another state.")
    with target.connect() as client:

        def do(name: str) -> str:
            if state == "deleted":
                target_states.be_gone(client, name, timeout)
                return f"{name} is gone"
            # Somebody else may be about to mend what has failed.
            target_states.reach(client, name, state, timeout, tasks, gives_up=False)
            return f"{name} is {state}"

        if state == "deleted" and not wanted.all:
            # A name that is not there any more is what is waited for.
            existing = list(client.connectors())
            deleted = [name for name in wanted.patterns if name not in existing and not selection.is_glob(name)]
            for name in deleted:
                click.echo(f"{name} is gone")
            names = selection.match([name for name in wanted.patterns if name not in deleted], existing)
        else:
            names = wanted.names(client)
        # Each has the whole time, for they all begin at once, but for more than anybody waits for.
        return selection.each(names, do, "Waiting for", at_once=64)
