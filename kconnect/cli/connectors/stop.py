"""`kconnect stop`. Read next: `target_states.py`."""

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
def stop(wanted: Wanted, wait: bool, timeout: float, target: Target) -> int:
    """
    Stop connectors: their tasks end, and their configs and offsets stay.

    \b
      kconnect stop orders-source
      kconnect stop 'orders-*' invoices --wait --timeout 2m
      kconnect stop --all

    Offsets can be changed while a connector is stopped: see `kconnect offsets`. Connect has this since version 3.5.
    """
    return target_states.change(
        target, wanted, lambda client, name: client.stop(name), "STOPPED", wait, timeout, ("Stopping", "Stopped")
    )
