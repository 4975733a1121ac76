"""`kconnect diff`: what `kconnect apply` would change. Read next: `apply.py`."""

from __future__ import annotations

from pathlib import Path

import click

from kconnect.cli import connection, output
from kconnect.cli.apply import applying
from kconnect.cli.apply.options import files, hiding, pruning, read
from kconnect.cli.apply.output import Show
from kconnect.cli.connection import Target
from kconnect.cli.detailed_exit import DetailedExit


@click.command(cls=DetailedExit)
@files
@pruning
@hiding
@output.option("json", "yaml")
@connection.options
def diff(
    target: Target,
    paths: tuple[Path, ...],
    recursive: bool,
    prune: tuple[str, ...] | None,
    show_secrets: bool,
    form: str,
) -> int:
    """
    Show what apply would change, line by line.

    \b
      kconnect diff -f connectors/
      kconnect diff -f connectors/ -R --prune || echo "exit status $?"

    It writes nothing, and lets the worker check the configs. A secret that changes is shown without its values.

    Exit status: 0 nothing differs, 2 something does, 1 any error.
    """
    read_manifests = read(paths, recursive)
    with target.connect() as client:
        steps = applying.compare(client, read_manifests, prune)
        show = Show(client, not show_secrets)
        if form == "table":
            show.steps(steps)
        return applying.dry_run(client, steps, show, form, quiet=True)
