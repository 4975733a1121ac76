"""`kconnect offsets import`: connectors' offsets become those of a file."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from kconnect.cli import asking, connection, main
from kconnect.cli.connection import Target
from kconnect.cli.offsets import changes, entries, snapshot, stopped, subject
from kconnect.cli.offsets.entries import Entries
from kconnect.cli.offsets.snapshot import Saved
from kconnect.cli.offsets.subject import Subject
from kconnect.errors import ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient


@click.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.argument("names", nargs=-1, metavar="[NAME|GLOB]...")
@click.option(
    "--exact",
    is_flag=True,
    help="Reset partitions that the file does not have, too. Default: they stay as they are.",
)
@stopped.options
@asking.option
@connection.options
def import_(file: str, names: tuple[str, ...], exact: bool, stop: bool, dry_run: bool, yes: bool, target: Target) -> int:
    """
    Set connectors' offsets to those in a file that export wrote.

    \b
      kconnect offsets import offsets.yaml --dry-run
      kconnect offsets import offsets.yaml orders-sink 'audit-*' --stop

    All connectors of the file, or those that are named. Shows what changes, asks, and compares afterwards. One that fails, or
    is not there, does not keep the others from being done; the exit status tells that one did.
    """
    body, where = snapshot.read(file)
    chosen = _chosen(snapshot.saved(body, where), names, where)
    with target.connect() as client:
        todo: list[tuple[Subject, Saved]] = []
        failures = _Failures()
        for saved in chosen:
            with failures.of(saved.name):
                of = _subject(client, saved, where)
                if _show(client, of, saved, exact):
                    if not dry_run:
                        stopped.require(client, of.name, stop)
                    todo.append((of, saved))
        if not todo and not failures.statuses:
            click.echo("The offsets have these values already", err=True)
        if todo and not dry_run:
            asking.confirm(f"Set the offsets of {', '.join(of.name for of, _ in todo)}?", yes)
            _import(client, todo, exact, stop, failures)
        return failures.status


class _Failures:
    """Told as they come, a line each."""

    def __init__(self) -> None:
        self.statuses: set[int] = set()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        try:
            yield
        except ConnectError as error:
            click.echo(f"kconnect: {name}: {main.in_one_line(error)}", err=True)
            self.statuses.add(main.status_of(error))

    @property
    def status(self) -> int:
        """The number that all share, else 1."""
        return min(self.statuses) if len(self.statuses) == 1 else int(bool(self.statuses))


def _chosen(saved: list[Saved], names: tuple[str, ...], where: str) -> list[Saved]:
    names_saved = [of_connector.name for of_connector in saved]
    for name in names:
        if not fnmatch.filter(names_saved, name) and name not in names_saved:
            raise NotFoundError(f"{where} has no offsets of {name}; its connectors: {', '.join(names_saved) or 'none'}")
    if not names:
        return saved
    return [
        of_connector
        for of_connector in saved
        if any(of_connector.name == name or fnmatch.fnmatchcase(of_connector.name, name) for name in names)
    ]


def _subject(client: ConnectClient, saved: Saved, where: str) -> Subject:
    of = subject.of(client, saved.name)
    snapshot.require_kind(saved, of.kind, where)
    return of


def _show(client: ConnectClient, of: Subject, saved: Saved, exact: bool) -> bool:
    """Print what would be written. Return whether there is anything."""
    now = of.offsets(client)
    not_in_file = _others(now, saved)
    if not_in_file and not exact:
        remark = f"{len(not_in_file)} partition(s) that the file does not have stay as they are (--exact resets them)"
        click.echo(f"{of.name}: {remark}", err=True)
    differences = entries.unlike(_wanted(now, saved, exact), now)
    if differences:
        changes.table(of.kind, differences, ("before", "after"), of.name)
    return bool(differences)


def _others(now: Entries, saved: Saved) -> Entries:
    named = {entries.text(entry["partition"]) for entry in saved.offsets}
    return [{**entry, "offset": None} for entry in now if entries.text(entry["partition"]) not in named]


def _wanted(now: Entries, saved: Saved, exact: bool) -> Entries:
    return saved.offsets + (_others(now, saved) if exact else [])


def _import(client: ConnectClient, todo: list[tuple[Subject, Saved]], exact: bool, stop: bool, failures: _Failures) -> None:
    for of, saved in todo:
        with failures.of(of.name):
            with stopped.changing(client, of.name, stop):
                # It may have read on since it was shown.
                now = of.offsets(client)
                differences = entries.unlike(_wanted(now, saved, exact), now)
                new_entries = [{"partition": difference.partition, "offset": difference.there} for difference in differences]
                answer = "The offsets have these values already"
                if new_entries:
                    answer = stopped.write(client, of.name, partial(client.alter_offsets, of.name, new_entries), new_entries)
            click.echo(f"{of.name}: {answer}", err=True)
