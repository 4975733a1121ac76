"""`kconnect resume`. Read next: `target_states.py`."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection
from kconnect.cli.connection import Target
from kconnect.cli.connectors import target_states
from kconnect.cli.selection import Wanted


@click.command()
@selection.arguments
@target_states.waiting
@connection.options
def resume(wanted: Wanted, wait: bool, timeout: float, target: Target) -> int:
    """
    Resume connectors that are paused or stopped.

    \b
      kconnect resume orders-source
      kconnect resume 'orders-*' invoices --wait --timeout 2m
      kconnect resume --all

    They go on where they were. With --wait it is done when the connector and all its tasks are RUNNING.
    """
    return target_states.change(
        target, wanted, lambda client, name: client.resume(name), "RUNNING", wait, timeout, ("Resuming", "Resumed")
    )
