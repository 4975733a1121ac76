"""
The end of a backfill: Debezium's connector gets the offset at which the copy was taken, and goes on; the backfill is deleted.

Each step may be made again, so a command that was interrupted is given once more.
"""

from __future__ import annotations

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
    found = progress.look(client, connector)
    if found.done is None and client.offsets(connector) and not client.offsets(progress.name_of(connector)):
        # Somebody has got so far before.
        _end(client, connector)
        return found
    if found.done is None:
        raise ConflictError(f"The backfill of {connector} is not done: {found}")
    config = progress.config_of(client, connector)
    offset = {
        "last_snapshot_record": True,
        "lsn": found.done["lsn"],
        "txId": found.done["txId"],
        "ts_usec": found.done["ts_usec"],
        "snapshot": "INITIAL",
        "snapshot_completed": True,
    }
    offsets = client.offsets(connector)
    if any((entry["offset"] or {}).get("lsn", 0) < found.done["lsn"] for entry in offsets):
        raise ConflictError(
            f"{connector} has offsets of its own, from before the copy, which it would go on from: kconnect offsets reset "
            f"{connector}, then this command again"
        )
    if not offsets:
        wanted = [{"partition": {"server": config["topic.prefix"]}, "offset": offset}]
        stopped.require(client, connector, stop=False)
        stopped.write(client, connector, lambda: client.alter_offsets(connector, wanted), wanted)
    _end(client, connector)
    return found


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
