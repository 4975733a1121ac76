"""`kconnect plugin doctor`: what would keep plugins from working, each with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from kconnect.cli import findings, output
from kconnect.cli.plugins import plugin


@click.command("doctor")
@plugin.where
@output.option("json", "yaml")
def doctor(plugin_path: tuple[str, ...], worker_file: Path | None, form: str) -> int:
    """
    Find what would keep plugins from working.

    \b
      kconnect plugin doctor -w worker.properties
      kconnect plugin doctor -p /opt/kconnect/plugins -o json

    Reads the metadata of all that is in plugin.path, compares what plugins need with what is there, and has each class
    imported and made once, in a process of its own. The exit status is 1 if something is wrong, 0 if there are warnings
    only.
    """
    from kconnect.plugins import doctor as doctors
    from kconnect.plugins import examination

    directories = plugin.directories(plugin_path, worker_file)
    with progress() as tell:
        problems = doctors.examine(directories, tell)
    errors = sum(each.severity == examination.ERROR for each in problems)
    if form == "table":
        findings.write(problems)
        where = ", ".join(map(str, directories)) or "what is installed beside kconnect (no plugin.path was given)"
        if not problems:
            click.echo(f"No problems in {where}")
        else:
            click.echo(f"{findings.count(errors, 'error')}, {findings.count(len(problems) - errors, 'warning')}")
    else:
        output.write({"problems": [asdict(each) for each in problems], "errors": errors}, form)
    return 1 if errors else 0


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done, where that is a terminal."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status("") as status:
        yield lambda doing: status.update(escape(doing))
