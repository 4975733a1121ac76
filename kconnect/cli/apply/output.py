"""What `apply` and `diff` write: the steps, for people and for programs, and how many there were of each kind."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

import click

from kconnect.cli import layout, output
from kconnect.cli.apply import plan as apply_plan
from kconnect.cli.apply.plan import CHANGE, CREATE, DELETE, DONE, UNCHANGED, Step
from kconnect.rest.client import ConnectClient, RestError


class Show:
    """Steps for people and programs; asks the worker which settings of a class are passwords."""

    def __init__(self, client: ConnectClient, hidden: bool) -> None:
        self._client = client
        self._hidden = hidden
        self._passwords: dict[str, set[str]] = {}

    def steps(self, steps: Sequence[Step]) -> None:
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False, soft_wrap=True)
        colours = {"+": "green", "-": "red", "~": "yellow"}
        for step in steps:
            for line in self.lines(step):
                if console.is_terminal and sys.stdout.isatty():
                    # Names, keys and values are the cluster's, too, and rich passes on what a terminal obeys.
                    console.print(Text(layout.unobeyed(line), colours.get(line.strip()[0], "")))
                else:
                    click.echo(line)

    def lines(self, step: Step) -> list[str]:
        return apply_plan.lines(step, self._secret(step), self._hidden)

    def write(self, steps: Sequence[Step], form: str, failed: set[str]) -> None:
        rows = [apply_plan.data(step, self._secret(step), self._hidden) for step in steps]
        output.write([{**row, "failed": row["name"] in failed} for row in rows], form)

    def _secret(self, step: Step) -> set[str]:
        classes = {
            value
            for difference in step.differences
            if difference.key == "connector.class"
            for value in (difference.old, difference.new)
        }
        if step.manifest is not None and step.differences:
            classes.add(step.manifest.config.get("connector.class"))
        for name in classes - {None}:
            if name not in self._passwords:
                try:
                    rows = self._client.plugin_config(str(name))
                except RestError:
                    # A class that is not there, or a worker before 3.2: the settings' names are all that is left to go by.
                    rows = []
                self._passwords[str(name)] = {row["name"] for row in rows if row.get("type") == "PASSWORD"}
        return set().union(*(self._passwords[str(name)] for name in classes - {None}))


def summary(steps: Sequence[Step], failed: set[str], would: bool = False, late: Collection[str] = ()) -> None:
    """Write how many there are of each kind. Those of `failed` that are `late` were done all the same."""

    def count(action: str) -> int:
        return sum(step.action == action and (step.name not in failed or step.name in late) for step in steps)

    counts = [f"{DONE[action]} {count(action)}" for action in (CREATE, CHANGE, DELETE, UNCHANGED)]
    # Who prunes nothing need not read of it.
    if not any(step.action == DELETE for step in steps):
        del counts[2]
    click.echo(f"{'would be ' if would else ''}{', '.join(counts)}, {'refused' if would else 'failed'} {len(failed)}", err=True)
