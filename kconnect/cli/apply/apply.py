"""
`kconnect apply`: the connectors that files describe, made so.

Read next: `cli/manifests.py` for the files, `plan.py` for what is found to do, `applying.py` for how it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kconnect.cli import asking, connection, output, target_states
from kconnect.cli.apply import applying
from kconnect.cli.apply.options import files, hiding, pruning, read
from kconnect.cli.apply.output import Show, summary
from kconnect.cli.apply.plan import DELETE, UNCHANGED
from kconnect.cli.connection import Target
from kconnect.cli.detailed_exit import DIFFERS, DetailedExit


@click.command(cls=DetailedExit, only_with=("--dry-run", "--diff"))
@files
@click.option("--diff", "diff", is_flag=True, help="Show what differs, too; exit status 2 if something did.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and let the worker check the configs; change nothing.")
@pruning
@click.option("--wait", is_flag=True, help="Wait for all their tasks, too; a connector that is late counts as failed.")
@target_states.timeout()
@asking.option
@hiding
@output.option("json", "yaml")
@connection.options
def apply(
    target: Target,
    paths: tuple[Path, ...],
    recursive: bool,
    diff: bool,
    dry_run: bool,
    prune: tuple[str, ...] | None,
    wait: bool,
    timeout: float,
    yes: bool,
    show_secrets: bool,
    form: str,
) -> int:
    """
    Create and change connectors so that they match files.

    \b
      kconnect apply -f connectors/
      kconnect apply -f connectors/ -R --diff --dry-run
      kconnect apply -f orders.yaml --wait --timeout 120
      kconnect apply -f connectors/ --prune-only 'orders-*'
      kconnect get connectors -o yaml --show-secrets | kconnect apply -f - --url http://other:8083

    A file has a connector, or many, as REST takes and gives them:

    \b
      name: orders
      config:
        connector.class: FileStreamSource
        file: /var/orders
        topic: orders
      state: paused
      offsets:
        - partition: {filename: /var/orders}
          offset: {position: 100}

    `state` is running, paused or stopped; without it the state stays what it is. `offsets` count only for a connector that is
    created, or is STOPPED and has none. References such as ${file:/etc/secrets:orders} are left to the worker. Nothing is done
    if a file has a mistake.

    What is compared is what was submitted last: a connector of which nothing differs is not touched, and so not restarted. One
    that is refused does not stop the others. Connectors that no file has stay, unless --prune or --prune-only names them; these
    are deleted last, if all else went well. Their offsets stay.

    Exit status: 0 done; if something failed that of `kconnect create`, such as 6 for a config that is refused, and 1 for
    failures of several kinds. With --diff or --dry-run: 0 nothing differs, 2 something does, 1 any error.
    """
    read_manifests = read(paths, recursive)
    with target.connect() as client:
        steps = applying.compare(client, read_manifests, prune)
        show = Show(client, not show_secrets)
        if diff and form == "table":
            show.steps(steps)
        if dry_run:
            return applying.dry_run(client, steps, show, form, quiet=diff)
        doomed = [step.name for step in steps if step.action == DELETE]
        if doomed:
            asking.confirm(f"{_count(doomed)} in no file: {', '.join(doomed)}. Delete {_them(doomed)}?", yes)
        outcome = applying.perform(client, steps, timeout if wait else None, verbose=form == "table")
        if form != "table":
            show.write(steps, form, outcome.failed)
        else:
            summary(steps, outcome.failed, late=outcome.late)
    if outcome.failed:
        return 1 if diff else outcome.status
    return DIFFERS if diff and any(step.action != UNCHANGED for step in steps) else 0


def _count(names: Sequence[str]) -> str:
    return "1 connector is" if len(names) == 1 else f"{len(names)} connectors are"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
