"""`kconnect offsets export`: connectors' offsets as a file for `diff` and `import`."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection, output, selection
from kconnect.cli.connection import Target
from kconnect.cli.offsets import snapshot, subject
from kconnect.cli.offsets.entries import Entries
from kconnect.cli.offsets.snapshot import Saved
from kconnect.cli.offsets.subject import Subject
from kconnect.cli.selection import Wanted

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient


@click.command()
@selection.arguments
@connection.options
@click.option("-o", "--output", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def export(wanted: Wanted, target: Target, form: str) -> None:
    """
    Write connectors' offsets to standard output, for diff and import.

    \b
      kconnect offsets export --all > offsets.yaml
      kconnect offsets export orders-sink 'audit-*' -o json > offsets.json

    The file says when and from which cluster it is, and the class of each connector. Running connectors go on meanwhile:
    stop them first where the offsets must be their last.
    """
    with target.connect() as client:
        offsets_of = [
            (one_subject, one_subject.offsets(client))
            for one_subject in (subject.of(client, name) for name in wanted.names(client))
        ]
        output.write(document(client, offsets_of), form)


def document(client: ConnectClient, found: list[tuple[Subject, Entries]]) -> dict[str, Any]:
    saved = [Saved(one_subject.name, one_subject.kind, one_subject.plugin, offsets) for one_subject, offsets in found]
    return snapshot.document(client.url, client.root(), saved, datetime.datetime.now(datetime.timezone.utc))
