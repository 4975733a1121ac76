"""`kconnect cluster drain` and `undrain`: a worker that is to run nothing, for maintenance."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from kconnect.cli import connection, target_states
from kconnect.cli.connection import Target
from kconnect.errors import NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.answers import ClusterWorker
    from kconnect.rest.client import ConnectClient

_LOOK_S = 0.5


@click.command()
@click.argument("worker")
@click.option("--wait/--no-wait", default=True, help="Wait until it runs nothing.  [default: wait]")
@target_states.timeout("10m")
@connection.options
def drain(worker: str, wait: bool, timeout: float, target: Target) -> None:
    """
    Move everything off a worker, before maintenance.

    \b
      kconnect cluster drain node-2:8083
      kconnect cluster drain node-2:8083 --no-wait

    WORKER is its name in `kconnect cluster`. It stays drained when it is restarted, until `kconnect cluster undrain`. The last
    worker that can run anything is refused.
    """
    with target.connect() as client:
        client.drain(worker)
        end = time.monotonic() + timeout
        while wait:
            units = _left(client, worker)
            if not units:
                break
            if time.monotonic() > end:
                from kconnect.rest.client import WaitError

                raise WaitError(f"{worker} is drained, but still runs {units} connectors and tasks", None)
            time.sleep(_LOOK_S)
        click.echo(f"{worker} {'runs nothing' if wait else 'is drained'}: kconnect cluster undrain {worker}", err=True)


@click.command()
@click.argument("worker")
@connection.options
def undrain(worker: str, target: Target) -> None:
    """
    Let a drained worker run something again.

    \b
      kconnect cluster undrain node-2:8083

    It gets its share of all that runs.
    """
    with target.connect() as client:
        client.drain(worker, is_drained=False)
        click.echo(f"{worker} is no longer drained", err=True)


def _left(client: ConnectClient, worker: str) -> int:
    """Return how many connectors and tasks the worker's hosts still have, or are to get."""
    workers: list[ClusterWorker] = client.cluster()["workers"]
    row = next((candidate for candidate in workers if candidate["worker_id"] == worker), None)
    if row is None:
        raise NotFoundError(f"There is no worker {worker}")
    return int(sum(place["connectors"] + place["tasks"] for place in (row, *row["hosts"])))
