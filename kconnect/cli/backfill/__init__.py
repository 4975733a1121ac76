"""
`kconnect backfill`: a first copy of tables by all tasks at once, from which Debezium's connector then goes on.

A command is a module; what they share is `progress.py`. The steps are the worker's (`core/herder/requests/backfill.py`), and
the reading itself is a connector's (`kconnect/connectors/backfill/`).
"""

from __future__ import annotations

import click

from kconnect.cli.lazy import LazyGroup

_COMMANDS = {
    "start": ("kconnect.cli.backfill.start", "Copy the tables of a stopped Debezium connector, then let it go on."),
    "status": ("kconnect.cli.backfill.status", "Show how far a backfill is."),
    "finish": ("kconnect.cli.backfill.finish", "Hand over to Debezium once all is read."),
    "cancel": ("kconnect.cli.backfill.cancel", "Give a backfill up, with its replication slot."),
    "again": ("kconnect.cli.backfill.again", "Have tables read again beside the change stream."),
}


@click.group(cls=LazyGroup, commands_in=_COMMANDS)
def backfill() -> None:
    """
    Copy tables by all tasks at once, then let Debezium go on from there.

    \b
      kconnect backfill start orders-cdc --tasks 8
      kconnect backfill status orders-cdc
      kconnect backfill finish orders-cdc
      kconnect backfill cancel orders-cdc
      kconnect backfill again orders-cdc public.orders --where "id > 1000"

    The connector must be STOPPED and have no offsets yet. Its change stream begins exactly where the copy was taken.
    """
