"""Tables of what a command changes: before and after, a partition a line."""

from __future__ import annotations

import click

from kconnect.cli import output
from kconnect.cli.offsets import entries
from kconnect.cli.offsets.entries import Difference, Entries


def show(kind: str, now: Entries, wanted: Entries) -> bool:
    """Print the offsets that would change. Return whether there are any."""
    differences = entries.unlike(wanted, now)
    if differences:
        table(kind, differences, ("before", "after"))
    else:
        click.echo("The offsets have these values already", err=True)
    return bool(differences)


def table(kind: str, found: list[Difference], headings: tuple[str, str], name: str | None = None) -> None:
    first = () if name is None else ("connector",)
    rows = [
        (
            *(() if name is None else (name,)),
            entries.shown(kind, difference.partition),
            entries.shown_offset(kind, difference.here),
            entries.shown_offset(kind, difference.there),
        )
        for difference in found
    ]
    output.table((*first, "partition", *headings), rows)
