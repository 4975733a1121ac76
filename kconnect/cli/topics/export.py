"""`kconnect topics export`: a snapshot, in the file form of `snapshot.py`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect.cli import connection
from kconnect.cli.topics import topics

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), metavar="FILE|-")
@connection.topic_options
def export(file: Path, brokers: Brokers) -> None:
    """
    Write a snapshot of the internal topics to a file.

    \b
      kconnect topics export backup.jsonl.gz --worker-file worker.properties
      kconnect topics export - --worker-file worker.properties | age -r KEY > backup.age

    It holds every record that is committed when the command begins, byte by byte with its time, and the settings of the topics.
    A name that ends in .gz is compressed. The file holds all secrets that the topics hold, and the workers' session key: it is
    readable by you only, so keep it as you keep passwords.

    Offsets of sink connectors are not in these topics but in their consumer groups. Stop the workers first if the snapshot must
    agree in itself; else each topic is as it was within a moment of the others.
    """
    from kconnect.cli.topics import snapshot
    from kconnect.errors import AlreadyExistsError, NotFoundError
    from kconnect.internal_topics.meaning import counted

    to_stdout = str(file) == "-"
    if to_stdout and sys.stdout.isatty():
        raise click.UsageError(
            "A snapshot holds secrets and is long, so it is not written to a terminal: name a file, or use a pipe."
        )
    if not to_stdout and file.exists():
        raise AlreadyExistsError(f"{file} exists already; choose another name, or remove it")
    if not to_stdout and not file.absolute().parent.is_dir():
        # Before all topics are read for it.
        raise NotFoundError(f"There is no directory {file.absolute().parent}: make it, or choose another place")
    contents = topics.load(brokers, None)
    topics.refuse_foreign(contents)
    contents.created_ms = int(time.time() * 1000)
    if to_stdout:
        snapshot.write_to(contents, sys.stdout.buffer)
    else:
        snapshot.write(contents, file)
    for facts in contents.topics.values():
        if facts.open_at:
            click.echo(
                f"A transaction is open on {facts.name}: records after its beginning are not in the snapshot. Export again "
                "once it has ended.",
                err=True,
            )
    counts = ", ".join(f"{len(contents.of(role))} of {facts.name}" for role, facts in contents.topics.items())
    click.echo(f"{counted(len(contents.records), 'record')}: {counts}. They hold secrets: keep the snapshot safe.", err=True)
