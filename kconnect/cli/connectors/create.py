"""`kconnect create`: the connectors that files describe, which must not be there yet. Read next: `cli/manifests.py`."""

from __future__ import annotations

from pathlib import Path

import click

from kconnect.cli import connection, selection, target_states
from kconnect.cli.apply import plan as apply_plan
from kconnect.cli.apply import run as apply_run
from kconnect.cli.apply.options import files, read
from kconnect.cli.connection import Target


@click.command()
@files
@target_states.waiting("all its tasks run")
@connection.options
def create(target: Target, paths: tuple[Path, ...], recursive: bool, wait: bool, timeout: float) -> int:
    """
    Create connectors from files; names that exist are refused.

    \b
      kconnect create -f orders.json
      kconnect create -f orders.yaml --wait
      kconnect create -f - < orders.json

    The files are those of `kconnect apply`, also with the state and the offsets at which a connector begins. Exit status 5: a
    connector of that name is there already.
    """
    by_name = {manifest.name: manifest for manifest in read(paths, recursive)}
    with target.connect() as client:

        def one(name: str) -> str:
            apply_run.do(client, apply_plan.make([by_name[name]], {}, {})[0])
            line = f"created {name}"
            if wait:
                selection.then(line, lambda: apply_run.wait(client, name, by_name[name].state or "RUNNING", timeout))
            return line

        return selection.each(by_name, one, "Creating")
