"""
`kconnect cluster`: the workers, who leads, what each runs on which host, and what is being handed over. `drain.py` changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kconnect.cli import connection, output
from kconnect.cli.connection import Target
from kconnect.cli.lazy import LazyGroup
from kconnect.errors import NotFoundError
from kconnect.rest.client import RestError

if TYPE_CHECKING:
    from kconnect.rest.answers import Cluster, ClusterWorker, Demand, TaskHost
    from kconnect.rest.client import ConnectClient

_COMMANDS = {
    "drain": ("kconnect.cli.cluster.drain:drain", "Move everything off a worker, before maintenance."),
    "undrain": ("kconnect.cli.cluster.drain:undrain", "Let a drained worker run something again."),
}


class _Cluster(LazyGroup):
    """Without a command it has options of its own, and `-o json` names none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if _COMMANDS.keys() & set(args):
            return super().parse_args(ctx, args)
        return click.Group.parse_args(self, ctx, args)


@click.group(cls=_Cluster, commands_in=_COMMANDS, invoke_without_command=True)
@click.pass_context
@connection.options
@click.option("-o", "--output", "form", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def cluster(context: click.Context, target: Target, form: str) -> None:
    """
    Show the workers, which one leads, and what runs where.

    \b
      kconnect cluster
      kconnect cluster --url http://node-2:8083 -o json
      kconnect cluster drain node-2:8083

    A worker's hosts are listed as number:connectors+tasks, counting what they really run; those for plugins of other
    directories, or for one task alone, have a line each. Below stands what is being handed over from one worker to another.
    """
    if context.invoked_subcommand is not None:
        return
    with target.connect() as client:
        try:
            answer = client.cluster()
            demand = _demand(client) if form == "table" else None
        except RestError as error:
            if error.status == 404:
                raise NotFoundError(f"The worker at {client.url} has no /cluster: it is not a kconnect worker") from error
            raise
    if form != "table":
        output.write(answer, form)
        return
    leader = answer["leader"] or "nobody (an election is under way)"
    click.echo(f"Led by {leader}, generation {answer['generation']}; answered by {answer['answered_by']}")
    click.echo("\n".join(_table(answer)))
    for worker in answer["workers"]:
        for host in worker["hosts"]:
            if what := _purpose(host):
                click.echo(f"Host {host['host']} of {worker['worker_id']} {what}")
    if demand is not None and demand["cores"] is not None:
        workers = demand["workers"]
        click.echo(f"All hosts take {demand['cores']:g} cores, which want {workers} worker{'s' * (workers != 1)}")
    for unit in answer["moving"]:
        name = unit["connector"] if unit["task"] is None else f"{unit['connector']}-{unit['task']}"
        click.echo(f"Moving: {name} from {unit['from'] or 'nowhere'} to {unit['to'] or '(not decided yet)'}")


def _demand(client: ConnectClient) -> Demand | None:
    """Return what the load wants; None if the worker is of a version that does not know it."""
    try:
        return client.demand()
    except RestError as error:
        if error.status == 404:
            return None
        raise


def _purpose(host: TaskHost) -> str:
    purposes = []
    if host["directories"]:
        purposes.append(f"has plugins of {', '.join(host['directories'])}")
    if host["dedicated_to"]:
        purposes.append(f"is for {host['dedicated_to']['connector']}-{host['dedicated_to']['task']} alone")
    if host["stuck"]:
        purposes.append(f"has {host['stuck']} that do not stop")
    return ", ".join(purposes)


def _table(cluster: Cluster) -> list[str]:
    from kconnect.cli.layout import table

    rows = []
    for worker in cluster["workers"]:
        hosts = [f"{host['host']}:{host['connectors']}+{host['tasks']}" for host in worker["hosts"]]
        row = (worker["worker_id"], state(worker, cluster["leader"]), str(worker["connectors"]), str(worker["tasks"]))
        rows.append((*row, " ".join(hosts)))
    heads = ("WORKER", "STATE", "CONNECTORS", "TASKS", "HOSTS (NUMBER:CONNECTORS+TASKS)")
    return table(heads, rows, right=("CONNECTORS", "TASKS"))


def state(worker: ClusterWorker, leader: str | None) -> str:
    """Return the state of a worker of `/cluster`, in one word."""
    if worker["url"] is None:
        return "gone"
    if worker["leaving"]:
        return "leaving"
    # A worker of an older version does not know of it.
    if worker.get("drained"):
        return "draining" if any(host["connectors"] + host["tasks"] for host in worker["hosts"]) else "drained"
    if worker.get("resting"):
        return "resting"
    if not worker["hosts"]:
        return "starting"
    return "leader" if worker["worker_id"] == leader else "member"
