"""
`kconnect get KIND [NAME…]`: the group, its short names, and how what was found is shown. One kind a module, `get_<kind>.py`.

A kind's module makes items, dicts for `-o json|yaml`, and gives `show` the columns of its table. Read next:
`get_connectors.py`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import output, watch
from kconnect.cli.lazy import KindsGroup
from kconnect.errors import NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_COMMANDS = {
    "connectors": ("kconnect.cli.connectors.get_connectors:connectors", "Show connectors, their states and tasks."),
    "tasks": ("kconnect.cli.connectors.get_tasks:tasks", "Show tasks, their states, and where they run."),
    "plugins": ("kconnect.cli.plugins.get:plugins", "Show the plugins that a worker has."),
    "loggers": ("kconnect.cli.cluster.get_loggers:loggers", "Show the levels of a worker's loggers."),
    "workers": ("kconnect.cli.cluster.get_workers:workers", "Show the workers of the cluster."),
}


@click.group(cls=KindsGroup, commands_in=_COMMANDS)
def get() -> None:
    """
    Show connectors, tasks, plugins, loggers or workers.

    \b
      kconnect get connectors
      kconnect get connector orders-source -o yaml
      kconnect get co 'orders-*' --state FAILED
      kconnect get tasks --watch

    The singular and two letters work, too: connector and co, task and ta, plugin and pl, logger and lo, worker and wo. Any
    other word is the name of a connector.
    """


@dataclass(frozen=True)
class Column:
    """`of` gives an item's cell; `wide` ones are for `-o wide` only."""

    heading: str
    of: Callable[[dict[str, Any]], str | None]
    wide: bool = False


form = output.option("wide", "json", "yaml", "name")


def show(
    collect: Callable[[], Sequence[dict[str, Any]]],
    columns: Sequence[Column],
    form: str,
    seconds: float | None,
    none: str,
    single: bool = False,
    shown: Callable[[dict[str, Any]], dict[str, Any]] = lambda item: item,
) -> None:
    """
    Write the items that `collect` finds, again and again with `seconds`.

    Args:
        none: what is said, on standard error, if there are none.
        single: one item was asked for by its name: JSON and YAML are the item rather than a list.
        shown: what of an item JSON and YAML have.
    """

    def draw() -> str:
        items = collect()
        if form in ("json", "yaml"):
            return output.text_of(shown(items[0]) if single and items else [shown(item) for item in items], form)
        if not items:
            click.echo(none, err=True)
            return ""
        if form == "name":
            return "\n".join(item["name"] for item in items)
        chosen = [column for column in columns if form == "wide" or not column.wide]
        rows = [[column.of(item) for column in chosen] for item in items]
        return output.text_of_table([column.heading for column in chosen], rows, whole=form == "wide")

    watch.show(seconds, draw)


def tell_if_unwell(client: ConnectClient) -> None:
    """Say so where what a worker shows may be what was, as when it has lost Kafka."""
    from kconnect.rest.client import RestError

    try:
        health = client.health()
    except RestError:
        # Connect before 3.9 has none; who does not answer at all is told by the next request.
        return
    if health["status"] == "unhealthy":
        text = f"kconnect: the worker at {client.url} is unhealthy, and what it shows may be old. {health.get('message', '')}"
        click.echo(text, err=True)


def select(items: Sequence[dict[str, Any]], patterns: Sequence[str], what: str) -> list[dict[str, Any]]:
    """
    Return the items whose `name` is one of the patterns or matches it as a glob. Raise NotFoundError for a pattern that matches
    none.
    """
    if not patterns:
        return list(items)
    for pattern in patterns:
        if not any(_is_meant(item["name"], pattern) for item in items):
            raise NotFoundError(f"There is no {what} {pattern}; `kconnect get {what}s` lists all")
    return [item for item in items if any(_is_meant(item["name"], pattern) for pattern in patterns)]


def _is_meant(name: str, pattern: str) -> bool:
    # A class without its package and the word Connector, as in configs.
    short = name.rsplit(".", 1)[-1]
    return any(text == pattern or fnmatch.fnmatchcase(text, pattern) for text in (name, short, short.removesuffix("Connector")))
