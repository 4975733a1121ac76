"""`kconnect get connectors`: connectors with their states, all of them with two requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kconnect.api.config import HIDDEN
from kconnect.cli import connection, retrying, selection, watch
from kconnect.cli.connection import Target
from kconnect.cli.connectors import get
from kconnect.cli.connectors.get import Column

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_STATES = ["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"]
_WANTABLE = {"RUNNING": "running", "PAUSED": "paused", "STOPPED": "stopped"}


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--state` and `--type`, which `get tasks` has as well."""
    state = click.option("--state", type=click.Choice(_STATES, case_sensitive=False), help="Only those in this state.")
    kind = click.option("--type", "kind", type=click.Choice(["source", "sink"]), help="Only sources, or sinks.")
    return state(kind(command))


@click.command()
@click.argument("names", metavar="[NAME|GLOB]...", nargs=-1, shell_complete=selection.complete)
@filters
@get.form
@click.option("--show-secrets", is_flag=True, help="With -o json or yaml: show values that may be secrets.")
@watch.option
@connection.options
def connectors(
    names: tuple[str, ...],
    state: str | None,
    kind: str | None,
    form: str,
    show_secrets: bool,
    seconds: float | None,
    target: Target,
) -> None:
    """
    Show connectors, their states and tasks.

    \b
      kconnect get connectors
      kconnect get connectors 'orders-*' --state FAILED -o wide
      kconnect get connector orders-source -o yaml > orders-source.yaml
      kconnect get co --watch 5

    With --state a connector is shown if it or one of its tasks is in that state. JSON and YAML have the config as it was
    submitted, for `kconnect apply`, and the status; -o name has one name a line, for xargs.
    """
    with target.connect() as client:

        def collect() -> list[dict[str, Any]]:
            chosen = [item for item in items(client, names) if _is_wanted(item, state, kind)]
            if form == "wide":
                _add_topics(client, chosen)
            shown = chosen if show_secrets else [_masked(item) for item in chosen]
            if form in ("json", "yaml") and shown != chosen:
                click.echo(f"Values that may be secret are {HIDDEN}: --show-secrets shows them", err=True)
            return shown

        single = len(names) == 1 and not selection.is_glob(names[0])
        columns = [
            Column("name", lambda item: item["name"]),
            Column("type", lambda item: item.get("type")),
            Column("state", _state),
            Column("tasks", lambda item: tasks_in_words(item["status"].get("tasks", ()))),
            Column("worker", lambda item: item["status"].get("connector", {}).get("worker_id")),
            Column("class", lambda item: item.get("config", {}).get("connector.class", "").rsplit(".", 1)[-1]),
            Column("version", lambda item: item["status"].get("connector", {}).get("version"), wide=True),
            Column("topics", lambda item: item["topics"], wide=True),
        ]
        none = "No connectors" if not (state or kind) else "No connectors match"
        get.show(collect, columns, form, seconds, none, single)


def items(client: ConnectClient, patterns: Sequence[str]) -> list[dict[str, Any]]:
    """
    Sorted by name: `name`, `config`, `state` (what `kconnect apply` would take for it, if the status tells), `type`, `status`.

    One that has only just been created has no status yet.
    """
    get.tell_if_unwell(client)
    expanded = client.connectors("info", "status")
    names = client.connectors()
    if not expanded.keys() >= set(names):
        # Connect leaves out what has no status when it is asked for both.
        expanded = {**client.connectors("info"), **expanded}
    chosen = selection.match(patterns, names) if patterns else names
    of_kconnect = client.own()
    rows = [_item(name, expanded.get(name, {})) for name in sorted(chosen)]
    for item in rows:
        retrying.add(of_kconnect, item["name"], item["status"].get("tasks", ()))
    return rows


def tasks_in_words(tasks: Sequence[Mapping[str, Any]]) -> str:
    """`3/3 RUNNING`, `1 FAILED of 3`, `2 RUNNING, 1 UNASSIGNED`, each with `, 1 retrying`; 0 if there are none."""
    states, tried = Counter(task["state"] for task in tasks), retrying.count(tasks)
    if states["FAILED"]:
        return f"{states['FAILED']} FAILED of {len(tasks)}{tried}"
    if len(states) == 1:
        return f"{len(tasks)}/{len(tasks)} {next(iter(states))}{tried}"
    return (", ".join(f"{count} {state}" for state, count in sorted(states.items()) if count) or "0") + tried


def _item(name: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    status = parts.get("status", {})
    item: dict[str, Any] = {"name": name}
    if "info" in parts:
        item["config"] = dict(parts["info"]["config"])
    state = _WANTABLE.get(status.get("connector", {}).get("state"))
    if state is not None:
        item["state"] = state
    item["type"] = parts.get("info", {}).get("type") or status.get("type")
    item["status"] = {key: value for key, value in status.items() if key in ("connector", "tasks")}
    return item


def _state(item: Mapping[str, Any]) -> str:
    state: str = item["status"].get("connector", {}).get("state", "-")
    return state


def _is_wanted(item: Mapping[str, Any], state: str | None, kind: str | None) -> bool:
    states = {_state(item), *(task["state"] for task in item["status"].get("tasks", ()))}
    return (state is None or state in states) and (kind is None or item.get("type") == kind)


def _add_topics(client: ConnectClient, connectors: Sequence[dict[str, Any]]) -> None:
    topics = selection.of_each([item["name"] for item in connectors], lambda name: topics_in_words(client, name))
    for item in connectors:
        item["topics"] = topics[item["name"]]


def topics_in_words(client: ConnectClient, name: str) -> str:
    from kconnect.rest.client import RestError

    try:
        return ",".join(sorted(client.topics(name)))
    except RestError as error:
        # Gone in between, topics are not tracked there, or a name that no path can have.
        if error.status in (400, 403, 404):
            return "-"
        raise


def _masked(item: dict[str, Any]) -> dict[str, Any]:
    from kconnect.core.settings import secrets

    return {**item, "config": secrets.masked(item["config"])} if "config" in item else item
