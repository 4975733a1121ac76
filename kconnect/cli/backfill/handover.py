"""
The end of a backfill: Debezium's connector gets the offset at which the copy was taken, and goes on; the backfill is deleted.

Each step may be made again, so a command that was interrupted is given once more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kconnect.cli.backfill import progress
from kconnect.cli.backfill.progress import Progress
from kconnect.cli.offsets import stopped
from kconnect.errors import BadRequestError, ConflictError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_STOP_S = 120.0


def finish(client: ConnectClient, connector: str) -> Progress:
    """Hand over. ConflictError if not all is read."""
    state, offsets = progress.look(client, connector), client.offsets(connector)
    if state.done is None:
        if offsets and _is_given_up(client, progress.name_of(connector)):
            # Somebody has got so far before, and was interrupted.
            _end(client, connector)
            return state
        raise ConflictError(f"The backfill of {connector} is not done: {state}")
    begin = json.loads(state.done["debezium"])
    if any((entry["offset"] or {}).get("lsn", 0) < state.done["lsn"] for entry in offsets):
        raise ConflictError(
            f"{connector} has offsets of its own, from before the copy, which it would go on from: kconnect offsets reset "
            f"{connector}, then this command again"
        )
    if not offsets:
        stopped.require(client, connector, stop=False)
        stopped.write(client, connector, lambda: client.alter_offsets(connector, [begin]), [begin])
    _end(client, connector)
    return state


def _is_given_up(client: ConnectClient, name: str) -> bool:
    """Whether a backfill is as `remove` leaves it before it deletes it."""
    return client.status(name)["connector"]["state"] == "STOPPED" and not client.offsets(name)


def _end(client: ConnectClient, connector: str) -> None:
    # In this order: as long as the backfill is there, the command may be given again.
    client.resume(connector)
    remove(client, connector)


def remove(client: ConnectClient, connector: str) -> None:
    """Delete the backfill and its offsets, with which another one would take itself for done."""
    name = progress.name_of(connector)
    client.stop(name)
    client.wait_for(name, "STOPPED", tasks=0, timeout=_STOP_S)
    stopped.write(client, name, lambda: client.reset_offsets(name), None)
    client.delete(name)


def check_fresh(client: ConnectClient, connector: str) -> None:
    """Raise BadRequestError unless a connector is stopped and has read nothing."""
    stopped.require(client, connector, stop=False)
    if client.offsets(connector):
        raise BadRequestError(
            f"{connector} has offsets already, so it has begun to read: a backfill is for one that has not. To begin anew: "
            f"kconnect offsets reset {connector}"
        )
