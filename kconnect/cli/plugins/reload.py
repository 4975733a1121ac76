"""`kconnect plugin reload`: all workers of a cluster look at plugin.path anew, without a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection, output
from kconnect.errors import BadRequestError

if TYPE_CHECKING:
    from kconnect.rest.answers import ReloadedPlugins
    from kconnect.rest.client import ConnectClient


@click.command("reload")
@connection.options
@output.option("json", "yaml")
def reload(target: connection.Target, form: str) -> int:
    """
    Make running workers read plugin.path again.

    \b
      kconnect plugin install acme-connector -w worker.properties && kconnect plugin reload

    Each worker of the cluster looks into the plugin.path of its own machine, as after a restart, and says what is different.
    What runs goes on, but for connectors whose plugins have become others: those that name no version get the newest, and
    their tasks start anew with it. A version that was replaced by another of the same number is used by processes that start
    from then on. Config providers, and what is installed beside kconnect, wait for the worker's restart.

    It ends with 1 if a worker could not be asked.
    """
    with target.connect() as client:
        rows = _all(client)
    if form != "table":
        output.write(rows, form)
    for row in rows if form == "table" else ():
        click.echo(f"{row['worker_id']}: {_in_words(row)}")
        for broken in row.get("broken", ()):
            click.echo(f"  {broken['location']}: {broken['reason']}")
    return int(any("error" in row for row in rows))


def _all(client: ConnectClient) -> list[dict[str, Any]]:
    from kconnect.rest.client import RestError

    try:
        cluster = client.cluster()
    except RestError as error:
        if error.status in (404, 405):
            raise BadRequestError(
                f"The worker at {client.url} is not a kconnect worker: Kafka Connect reads plugin.path only when it starts. "
                "Restart it"
            ) from None
        raise
    rows = []
    for worker in cluster["workers"]:
        if (url := worker["url"]) is not None:
            try:
                # The one that was asked is reached as the user has it, whatever it advertises.
                answer: ReloadedPlugins | dict[str, str] = client.reload_plugins(
                    None if worker["worker_id"] == cluster["answered_by"] else url
                )
            except RestError as error:
                answer = {"error": error.message}
            rows.append({"worker_id": worker["worker_id"], **answer})
    return rows


def _in_words(row: dict[str, Any]) -> str:
    if "error" in row:
        return str(row["error"])
    texts = [f"{key} {', '.join(row[key])}" for key in ("added", "removed") if row[key]]
    if row["installed"]:
        texts.append(f"installed with kconnect, used after a restart: {', '.join(row['installed'])}")
    return "; ".join(texts) or "nothing new"
