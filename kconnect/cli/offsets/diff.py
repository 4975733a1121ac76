"""`kconnect offsets diff`: a connector's offsets against a file, or against another cluster's."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection
from kconnect.cli.connection import Target
from kconnect.cli.detailed_exit import DIFFERS, DetailedExit
from kconnect.cli.offsets import changes, entries, snapshot, subject
from kconnect.errors import ConnectError


@click.command(cls=DetailedExit)
@click.argument("name", shell_complete=selection.complete)
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--to-url", metavar="URL", help="Compare with the cluster of this worker, rather than with a file.")
@click.option("--to-user", metavar="NAME", help="Your user name there, as --user is here.")
@click.option("--to-name", metavar="NAME", help="The connector's name there, if it differs.")
@connection.options
def diff(name: str, file: str | None, to_url: str | None, to_user: str | None, to_name: str | None, target: Target) -> int:
    """
    Compare a connector's offsets with those of a file or of another cluster.

    \b
      kconnect offsets diff orders-sink offsets.yaml
      kconnect offsets diff orders-sink --to-url http://connect-b:8083

    The file is what `export` wrote, or the REST API's body. Exit status 0: no difference; 2: there are some; 1: an error.
    """
    if (file is None) == (to_url is None):
        raise click.UsageError("Give what to compare with: a FILE, or --to-url URL.")
    with target.connect() as client:
        own_subject = subject.of(client, name)
        own_offsets = own_subject.offsets(client)
        if file is not None:
            body, where = snapshot.read(file)
            other_offsets = snapshot.of_one(body, where, to_name or name, own_subject.kind)
        else:
            with connection.named(to_url or "", to_user).connect() as other_client:
                other_subject = subject.of(other_client, to_name or name)
                if other_subject.kind != own_subject.kind:
                    raise ConnectError(
                        f"{name} is a {own_subject.kind} here, but {other_subject.name} is a {other_subject.kind} at {to_url}"
                    )
                other_offsets, where = other_subject.offsets(other_client), "there"
    differences = entries.differences(own_offsets, other_offsets)
    if not differences:
        click.echo("No difference", err=True)
        return 0
    changes.table(own_subject.kind, differences, ("here", "file" if file is not None else "there"))
    return DIFFERS
