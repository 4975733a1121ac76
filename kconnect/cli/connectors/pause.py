"""`kconnect pause`. Read next: `target_states.py`."""

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
def pause(wanted: Wanted, wait: bool, timeout: float, target: Target) -> int:
    """
    Pause connectors: their tasks stay, and do nothing.

    \b
      kconnect pause orders-source
      kconnect pause 'orders-*' invoices --wait --timeout 2m
      kconnect pause --all

    A task that is paused keeps what it holds: its memory, its part of a consumer group. `kconnect stop` gives that up too.
    """
    return target_states.change(
        target, wanted, lambda client, name: client.pause(name), "PAUSED", wait, timeout, ("Pausing", "Paused")
    )
