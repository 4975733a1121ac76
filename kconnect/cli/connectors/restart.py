"""`kconnect restart`: connectors, their tasks, or what of them has failed."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.connection import Target
from kconnect.cli.selection import Wanted

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_WAITING_AT_ONCE = 64


@dataclasses.dataclass(frozen=True)
class _Part:
    """A connector, or one task of it."""

    connector: str
    task: int | None = None

    def __str__(self) -> str:
        return self.connector if self.task is None else f"{self.connector}/{self.task}"


@click.command()
@selection.arguments
@click.option("--tasks", is_flag=True, help="Restart the connectors and all their tasks.")
@click.option("--failed", is_flag=True, help="Restart only the connectors and tasks that have failed.")
@click.option("--task", "numbers", metavar="NUMBER", type=click.IntRange(min=0), multiple=True, help="Restart this task alone.")
@target_states.waiting("all its tasks run")
@connection.options
def restart(
    wanted: Wanted, tasks: bool, failed: bool, numbers: tuple[int, ...], wait: bool, timeout: float, target: Target
) -> int:
    """
    Restart connectors, their tasks, or only what has failed.

    \b
      kconnect restart orders-source --failed
      kconnect restart 'orders-*' --tasks --wait
      kconnect restart orders-source/2
      kconnect restart orders-source --task 0 --task 2

    Without an option it is the connector itself, and not its tasks. --failed and --tasks need Connect 3.0 or newer.

    What runs looks the same before and after. So --wait believes a status once it has been seen to change, or after six
    seconds without a change, in which a quick restart is over unseen. A task that takes longer than that to end, where
    task.shutdown.graceful.timeout.ms allows it, can't be told from one that has restarted.
    """
    if tasks + failed + bool(numbers) > 1:
        raise click.UsageError("Give only one of --tasks, --failed and --task.")
    with target.connect() as client:
        parts = _parts(wanted, list(client.connectors()), numbers)
        if (tasks or failed) and (single := next((part for part in parts if part.task is not None), None)):
            raise click.UsageError(f"{single} is one task: give it without --tasks and --failed.")

        by_name = {str(part): part for part in parts}
        asking = threading.Semaphore(selection.AT_ONCE)

        def do(name: str) -> str:
            part = by_name[name]
            counts: set[int | None]
            with asking:
                began = target_states.Restart(client, part.connector) if wait else None
                if part.task is None:
                    line, counts = _connector(client, part.connector, tasks or failed, failed)
                else:
                    client.restart_task(part.connector, part.task)
                    line, counts = f"Restarting {part}", {part.task}
            if began is not None and counts:
                selection.then(line, functools.partial(began.settle, counts, timeout))
                return line.replace("Restarting", "Restarted", 1)
            return line

        what = "connectors" if all(part.task is None for part in parts) else "tasks"
        # To wait is no work for anybody, and takes a while.
        return selection.each(by_name, do, "Restarting", what, at_once=_WAITING_AT_ONCE if wait else selection.AT_ONCE)


def _parts(wanted: Wanted, known: Sequence[str], numbers: Sequence[int]) -> list[_Part]:
    """Return the connectors and tasks that are meant: names may be globs, and end with the number of a task."""
    tasks: Sequence[int | None] = numbers or [None]
    if wanted.all:
        return [_Part(name, task) for name in known for task in tasks]
    parts: dict[_Part, None] = {}
    for pattern in selection.without_kind(wanted.patterns, known, ("connector", "connectors", "task", "tasks")):
        connector, _, number = pattern.rpartition("/")
        # A connector's own name may look like a task.
        is_task = connector and number.isdecimal() and pattern not in known
        for name in selection.match([connector if is_task else pattern], known):
            for task in [int(number)] if is_task else tasks:
                parts[_Part(name, task)] = None
    return list(parts)


def _connector(client: ConnectClient, name: str, tasks: bool, failed: bool) -> tuple[str, set[int | None]]:
    """Restarts it; gives what to say, and the ids of what restarts, where None is the connector itself."""
    status = client.restart(name, include_tasks=tasks, only_failed=failed)
    if not tasks:
        return f"Restarting {name}", {None}
    if status is None:
        return f"Restarting {name}, but not its tasks: the worker is older than Kafka Connect 3.0", {None}
    units = {unit.get("id"): unit for unit in (status["connector"], *status["tasks"]) if unit["state"] == "RESTARTING"}
    if not units:
        return f"Nothing of {name} has failed" if failed else f"Restarting {name}, which has no tasks", set()
    restarted = ["its connector"] if None in units else []
    ids = sorted(number for number in units if number is not None)
    restarted += [f"{'task' if len(ids) == 1 else 'tasks'} {', '.join(map(str, ids))}"] if ids else []
    return f"Restarting {name}: {' and '.join(restarted)}", set(units)
