"""`kconnect get loggers`: a worker's levels. `kconnect set logger` changes them."""

from __future__ import annotations

import datetime
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from kconnect.cli import connection, selection, watch
from kconnect.cli.connection import Target
from kconnect.cli.connectors import get
from kconnect.cli.connectors.get import Column
from kconnect.rest.client import RestError


def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of loggers, for the shell."""
    return selection.completed(context, begun, lambda client: list(client.loggers()))


@click.command()
@click.argument("names", metavar="[NAME|GLOB]...", nargs=-1, shell_complete=complete)
@get.form
@watch.option
@connection.options
def loggers(names: tuple[str, ...], form: str, seconds: float | None, target: Target) -> None:
    """
    Show the levels of a worker's loggers.

    \b
      kconnect get loggers
      kconnect get loggers root 'kconnect.rest*'
      kconnect get lo -o json

    They are those of the worker that answers. `kconnect set logger` sets them, on one worker or on all.
    """
    with target.connect() as client:

        def collect() -> list[dict[str, Any]]:
            levels = client.loggers()
            for name in names:
                if "." in name and "*" not in name and name not in levels:
                    # One of Java's, which runbooks use: the worker knows what it means, and lists its own.
                    with suppress(RestError):
                        levels[name] = client.logger(name)
            return get.select([{"name": name, **level} for name, level in levels.items()], names, "logger")

        columns = [
            Column("logger", lambda row: row["name"]),
            Column("level", lambda row: row["level"]),
            Column("changed", lambda row: _moment(row.get("last_modified"))),
        ]
        get.show(collect, columns, form, seconds, "No loggers")


def _moment(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "-"
    return datetime.datetime.fromtimestamp(milliseconds / 1000).astimezone().isoformat(" ", "seconds")
