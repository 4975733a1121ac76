"""`kconnect pause`, `kconnect resume` and `kconnect stop`. Read next: `cli/target_states.py`."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.connection import Target
from kconnect.cli.selection import Wanted


@click.command()
@selection.arguments
@target_states.waiting("it and all its tasks are PAUSED")
@connection.options
def pause(wanted: Wanted, wait: bool, timeout: float, target: Target) -> int:
    """
    Pause connectors: their tasks stay, and do nothing.

    \b
      kconnect pause orders-source
      kconnect pause 'orders-*' invoices --wait --timeout 2m
      kconnect pause --all

    A task that is paused keeps what it holds, such as its memory and its clients. `kconnect stop` gives that up too.
    """
    return target_states.change(
        target, wanted, lambda client, name: client.pause(name), "PAUSED", wait, timeout, ("Pausing", "Paused")
    )


@click.command()
@selection.arguments
@target_states.waiting("it and all its tasks are RUNNING")
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


@click.command()
@selection.arguments
@target_states.waiting("it is STOPPED")
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
