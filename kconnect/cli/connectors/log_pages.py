"""
Lines of logs as a worker's REST has them: those of all workers and hosts, wherever they run.

Called by `logs.py`, where neither a file nor standard input has a log.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kconnect.rest.answers import LogLine
    from kconnect.rest.client import ConnectClient

_PAUSE_S = 2.0


def show(client: ConnectClient, wanted: Mapping[str, Any], tail: int | None, follow: bool) -> None:
    """
    Print the lines that are wanted, `wanted` as `GET /kconnect/logs` takes it; those of the last minutes, then, with `follow`,
    new ones for ever.
    """
    last: deque[str] = deque(maxlen=tail)
    any_shown = False
    for lines in _pages(client, wanted, follow):
        if lines is None:
            # All that was there is known.
            for text in last:
                click.echo(text)
            any_shown = any_shown or bool(last)
            last.clear()
            tail = None
            continue
        for line in lines:
            if tail is None:
                click.echo(_text(line))
                any_shown = True
            else:
                last.append(_text(line))
    if not any_shown:
        connector = wanted.get("connector")
        whose = "No line" if connector is None else f"No line of {connector}"
        hint = "" if connector is None or "mentions" in wanted else " --mentions searches the texts of others, too."
        click.echo(f"{whose} that matches is in the logs of the last half hour, which is what workers keep.{hint}", err=True)


def _pages(client: ConnectClient, wanted: Mapping[str, Any], follow: bool) -> Iterator[list[LogLine] | None]:
    """
    Yield the lines of each answer, and None once after the last of those that were there. A worker that is away while it is
    followed, as in a restart, is waited for: what was logged meanwhile comes then.
    """
    from kconnect.rest.client import RestError

    place: dict[str, Any] = {}
    caught_up, away = False, False
    while True:
        try:
            page = client.log_lines(**{**wanted, **place})
        except RestError as error:
            if not (follow and place) or (error.status is not None and error.status < HTTPStatus.INTERNAL_SERVER_ERROR):
                raise
            if not away:
                click.echo(f"{error} Waiting for the worker; Ctrl-C ends this.", err=True)
            away = True
            time.sleep(_PAUSE_S)
            continue
        away = False
        place = {"after": page["next"]}
        yield page["lines"]
        if page["more"]:
            continue
        if not caught_up:
            caught_up = True
            yield None
        if not follow:
            return
        time.sleep(_PAUSE_S)


def _text(line: Mapping[str, Any]) -> str:
    at = datetime.fromisoformat(line["timestamp"]).astimezone()
    connector, task = line["connector"], line["task"]
    whose = "" if connector is None else f" [{connector}{'' if task is None else f'|task-{task}'}]"
    where = f"{line['worker']}/{line['process']}"
    return (
        f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03} {line['level']:5} {where} {line['logger']}{whose} {line['text']}"
    )
