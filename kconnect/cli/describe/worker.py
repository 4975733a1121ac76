"""`kconnect describe worker`: one worker of a cluster of kconnect's, the processes that run its tasks, and the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection, output, scrape
from kconnect.errors import NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient


@click.command()
@click.argument("name", metavar="[WORKER]", required=False)
@connection.options
@output.option("json", "yaml")
def worker(target: connection.Target, name: str | None, form: str) -> None:
    """
    Show what is known of a worker, its hosts, and what it runs.

    \b
      kconnect describe worker
      kconnect describe worker node-1:8083 -o json

    Without a name it is the one that answers. The cluster must be kconnect's: Kafka Connect has no resource for its workers,
    and `kconnect get workers` shows what can be told there.
    """
    with target.connect() as client:
        output.note(gather(client, name), form, text)


def gather(client: ConnectClient, name: str | None) -> dict[str, Any]:
    """NotFoundError if there is no such worker, BadRequestError if the cluster is not kconnect's."""
    now = scrape.scrape(client)
    worker_id = name or now.cluster["answered_by"]
    row = next((entry for entry in now.cluster["workers"] if entry["worker_id"] == worker_id), None)
    if row is None:
        names = ", ".join(entry["worker_id"] for entry in now.cluster["workers"])
        raise NotFoundError(f"There is no worker {worker_id}; the cluster has {names}")
    numbers = now.hosts.get(worker_id, {})
    runs = []
    for connector, entry in client.connectors("status").items():
        status = entry["status"]
        if status["connector"].get("worker_id") == worker_id:
            runs.append({"connector": connector, "task": None, "state": status["connector"]["state"]})
        runs += [
            {"connector": connector, "task": task["id"], "state": task["state"]}
            for task in status["tasks"]
            if task["worker_id"] == worker_id
        ]
    return {
        **row,
        "leads": now.cluster["leader"] == worker_id,
        "silent": now.silent.get(worker_id),
        "hosts": [{**host, **numbers.get(host["host"], {})} for host in row["hosts"]],
        "moving": [unit for unit in now.cluster["moving"] if worker_id in (unit["from"], unit["to"])],
        "runs": runs,
    }


def text(found: dict[str, Any]) -> list[str]:
    from kconnect.cli.layout import labelled, number, size, table

    state = "gone" if found["url"] is None else "leaving" if found["leaving"] else "leader" if found["leads"] else "member"
    # Of an older version's answer nothing is known.
    drained = ", drained" if found.get("drained") else ""
    lines = labelled("Worker", [f"{found['worker_id']}  ({state}{drained}, {found['url'] or 'no URL'})"])
    if found["silent"]:
        lines += labelled("Silent", [found["silent"]])
    lines += labelled("Assigned", [f"{found['connectors']} connectors, {found['tasks']} tasks"])
    rows = [
        (
            str(host["host"]),
            f"{host['node']}" if host["node"] else "",
            str(host["pid"] or ""),
            str(host["connectors"]),
            str(host["tasks"]),
            size(host.get("memory_bytes")),
            number(host.get("cpu_seconds")),
            _purpose(host),
        )
        for host in found["hosts"]
    ]
    right = ("HOST", "PID", "CONNECTORS", "TASKS", "MEMORY", "CPU SECONDS")
    lines += labelled("Hosts", [] if rows else ["none: Spark is starting, or has no room for them"])
    if rows:
        lines.append("Hosts")
        head = ("HOST", "NODE", "PID", "CONNECTORS", "TASKS", "MEMORY", "CPU SECONDS", "FOR")
        lines += table(head, rows, right, lead="  ")
    if found["runs"]:
        lines.append("Runs")
        units = [(_unit(run["connector"], run["task"]), run["state"]) for run in found["runs"]]
        lines += table(("UNIT", "STATE"), units, lead="  ")
    for unit in found["moving"]:
        way = f"from {unit['from'] or 'nowhere'} to {unit['to'] or '(not decided yet)'}"
        lines += labelled("Moving", [f"{_unit(unit['connector'], unit['task'])} {way}"])
    return lines


def _unit(connector: str, task: int | None) -> str:
    return connector if task is None else f"{connector}/{task}"


def _purpose(host: dict[str, Any]) -> str:
    purposes = [f"plugins of {', '.join(host['directories'])}"] if host["directories"] else []
    if host["dedicated_to"]:
        purposes.append(f"{_unit(host['dedicated_to']['connector'], host['dedicated_to']['task'])} alone")
    if host["stuck"]:
        purposes.append(f"{host['stuck']} that do not stop")
    return ", ".join(purposes)
