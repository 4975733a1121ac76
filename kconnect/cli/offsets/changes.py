"""Tables of what a command changes: before and after, a partition a line."""

from __future__ import annotations

import click

from kconnect.cli import output
from kconnect.cli.offsets import entries
from kconnect.cli.offsets.entries import Difference, Entries


def show(kind: str, now: Entries, wanted: Entries) -> bool:
    """Print the offsets that would change. Return whether there are any."""
    found = entries.unlike(wanted, now)
    if found:
        table(kind, found, ("before", "after"))
    else:
        click.echo("The offsets have these values already", err=True)
    return bool(found)


def table(kind: str, found: list[Difference], headings: tuple[str, str], name: str | None = None) -> None:
    first = () if name is None else ("connector",)
    rows = [
        (
            *(() if name is None else (name,)),
            entries.shown(kind, each.partition),
            entries.shown_offset(kind, each.here),
            entries.shown_offset(kind, each.there),
        )
        for each in found
    ]
    output.table((*first, "partition", *headings), rows)
