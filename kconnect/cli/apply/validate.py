"""`kconnect validate`: what the worker finds wrong with the configs of files. Read next: `run.py`, which asks."""

from __future__ import annotations

from pathlib import Path

import click

from kconnect.cli import connection, selection
from kconnect.cli.apply import run
from kconnect.cli.apply.options import files, read
from kconnect.cli.connection import Target


@click.command()
@files
@connection.options
def validate(target: Target, paths: tuple[Path, ...], recursive: bool) -> int:
    """
    Check connectors' configs as the worker would, and change nothing.

    \b
      kconnect validate -f orders.yaml
      kconnect validate -f connectors/ -R

    The worker asks the connectors' own code, which may look whether a database or a service answers. A setting that nothing
    knows is warned of. `kconnect diff` does the same, and shows what would change.

    Exit status: 0 all are right; that of `kconnect create` for the rest, such as 6 for a config that is refused and 3 for no
    answer, and 1 for failures of several kinds.
    """
    manifests = {manifest.name: manifest for manifest in read(paths, recursive)}
    with target.connect() as client:

        def check(name: str) -> str:
            run.check(client, manifests[name])
            return f"{name} is valid"

        return selection.each(manifests, check, "Checking")
