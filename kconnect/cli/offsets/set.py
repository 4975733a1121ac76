"""`kconnect offsets set`: some of a connector's offsets become those that are given."""

from __future__ import annotations

import click

from kconnect.cli import connection, selection
from kconnect.cli.connection import Target
from kconnect.cli.offsets import changes, entries, snapshot, stopped, subject
from kconnect.cli.offsets.entries import Entries
from kconnect.cli.offsets.subject import Subject
from kconnect.errors import BadRequestError


@click.command(name="set")
@click.argument("name", shell_complete=selection.complete)
@click.argument("places", nargs=-1, metavar="[TOPIC/PARTITION=OFFSET]...")
@click.option("-f", "--file", type=click.Path(dir_okay=False, allow_dash=True), help="JSON or YAML; - is stdin.")
@click.option("--partition", "partitions", multiple=True, metavar="JSON", help="A source's partition; its --offset follows.")
@click.option("--offset", "offsets", multiple=True, metavar="JSON", help="A source's offset, or null to reset the partition.")
@stopped.options
@connection.options
def set_(
    name: str,
    places: tuple[str, ...],
    file: str | None,
    partitions: tuple[str, ...],
    offsets: tuple[str, ...],
    stop: bool,
    dry_run: bool,
    target: Target,
) -> None:
    """
    Set the offsets that a connector continues from.

    \b
      kconnect offsets set orders-sink orders/0=1234 orders/1=null --stop
      kconnect offsets set lines --partition '{"filename": "/var/log/x"}' --offset '{"position": 0}'
      kconnect offsets set lines -f offsets.json

    A sink's are TOPIC/PARTITION=OFFSET, a source's are what its plugin counts by: `kconnect offsets get` shows them. Null
    resets one partition; partitions that are not given stay as they are. A file is the REST API's body, {"offsets": […]}, or
    what `export` wrote.
    """
    if sum(map(bool, (places, file, partitions or offsets))) != 1:
        raise click.UsageError(
            "Give offsets in one way: as TOPIC/PARTITION=OFFSET, with -f FILE, or with --partition and --offset."
        )
    if len(partitions) != len(offsets):
        raise click.UsageError("Give an --offset for each --partition.")
    with target.connect() as client:
        of = subject.of(client, name)
        new_entries = _wanted(of, places, file, list(zip(partitions, offsets)))
        if not new_entries:
            raise BadRequestError(
                f"{file or '-'} has no offsets. To reset all offsets of the connector: kconnect offsets reset {name}"
            )
        if not dry_run:
            stopped.require(client, name, stop)
        if not changes.show(of.kind, of.offsets(client), new_entries) or dry_run:
            return
        with stopped.changing(client, name, stop):
            click.echo(stopped.write(client, name, lambda: client.alter_offsets(name, new_entries), new_entries), err=True)


def _wanted(of: Subject, places: tuple[str, ...], file: str | None, pairs: list[tuple[str, str]]) -> Entries:
    if file is not None:
        body, where = snapshot.read(file)
        return snapshot.of_one(body, where, of.name, of.kind)
    if places:
        if of.kind != "sink":
            remedy = "give --partition JSON --offset JSON, in the form that kconnect offsets get shows"
            raise BadRequestError(f"{of.name} is a {of.kind}, which has no offset of {places[0]}: {remedy}")
        return entries.checked(of.kind, [entries.inline(place) for place in places], "the command line")
    rows = [
        {"partition": snapshot.parse_json("--partition", partition), "offset": snapshot.parse_json("--offset", offset)}
        for partition, offset in pairs
    ]
    checked = entries.checked(of.kind, rows, "the command line")
    entries.require_flat(checked, "the command line")
    return checked
