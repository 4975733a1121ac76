"""`kconnect cluster`: the workers, who leads, what each runs on which host, and what is being handed over."""

from __future__ import annotations

from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from kconnect.api.errors import NotFoundError
from kconnect.rest.client import ConnectClient, RestError


@click.command()
@click.option(
    "--url",
    envvar="KCONNECT_URL",
    default="http://localhost:8083",
    show_default=True,
    show_envvar=True,
    help="Any worker of the cluster.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def cluster(url: str, output: str) -> None:
    """
    Show the cluster's workers, who leads, and what runs where.

    A worker's hosts are listed as number:connectors+tasks, counting what they really run. Below stands what is being
    handed over from one worker to another.
    """
    with ConnectClient(url) as client:
        try:
            found = client.cluster()
        except RestError as error:
            if error.status == 404:
                raise NotFoundError(f"The worker at {client.url} has no /cluster: it is not a kconnect worker") from error
            raise
    if output == "json":
        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    console = Console(highlight=False)
    leader = found["leader"] or "nobody (an election is under way)"
    console.print(f"Led by {leader}, generation {found['generation']}; answered by {found['answered_by']}")
    console.print(_table(found))
    for unit in found["moving"]:
        name = unit["connector"] if unit["task"] is None else f"{unit['connector']}-{unit['task']}"
        console.print(f"Moving: {name} from {unit['from'] or 'nowhere'} to {unit['to'] or '(not decided yet)'}")


def _table(found: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("WORKER", "STATE", "CONNECTORS", "TASKS", "HOSTS"):
        table.add_column(heading, justify="right" if heading in ("CONNECTORS", "TASKS") else "left", overflow="fold")
    for worker in found["workers"]:
        hosts = [f"{host['host']}:{host['connectors']}+{host['tasks']}" for host in worker["hosts"]]
        row = (worker["worker_id"], _state(worker, found["leader"]), str(worker["connectors"]), str(worker["tasks"]))
        table.add_row(*row, " ".join(hosts))
    return table


def _state(worker: dict[str, Any], leader: str | None) -> str:
    if worker["url"] is None:
        return "gone"
    if worker["leaving"]:
        return "leaving"
    if not worker["hosts"]:
        return "starting"
    return "leader" if worker["worker_id"] == leader else "member"
