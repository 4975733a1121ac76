"""
What `-o` chooses: how a command writes what it has found. With colours on a terminal only, and none if NO_COLOR is set.

`write`, `note` and `table` write at once; `text_of` and `text_of_table` give the same as a text, for `watch.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = {"RUNNING": "green", "FAILED": "bold red", "PAUSED": "yellow", "STOPPED": "yellow"}


def option(*forms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `-o`, which the command gets as `form`, with the table as the default."""
    return click.option("-o", "--output", "form", type=click.Choice(["table", *forms]), default="table", show_default=True)


def write(found: Any, form: str) -> None:
    """Dicts, lists and texts as `json` or `yaml`."""
    click.echo(text_of(found, form), nl=form != "yaml")


def text_of(found: Any, form: str) -> str:
    if form == "yaml":
        # Imported here: it takes a while.
        from kconnect.cli import yaml_file

        return yaml_file.dump(found)
    import orjson

    return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()


def note(found: Any, form: str, text: Callable[[Any], Iterable[str]]) -> None:
    """What one thing is: as data, or else in the lines that `text` makes of it for people."""
    if form != "table":
        write(found, form)
    else:
        click.echo("\n".join(text(found)))


def table(headings: Sequence[str], rows: Iterable[Sequence[str | Text | None]]) -> None:
    """Each row is one line, however narrow the terminal is: names can be copied, and other programs can read it."""
    click.echo(text_of_table(headings, rows))


def text_of_table(headings: Sequence[str], rows: Iterable[Sequence[str | Text | None]]) -> str:
    from rich.console import Console
    from rich.table import Table

    made = Table(box=None, pad_edge=False)
    for heading in headings:
        made.add_column(heading.upper())
    for row in rows:
        made.add_row(*(value or "" for value in row))
    # A name such as `db:key:orders` is no emoji.
    console = Console(width=10_000, highlight=False, markup=False, emoji=False)
    with console.capture() as lines:
        console.print(made)
    return "\n".join(line.rstrip() for line in lines.get().splitlines())


def state(text: str) -> Text:
    """A text with a state in it, such as `RUNNING` or `1 FAILED of 3`, in the colour of the state."""
    from rich.text import Text

    found = next((style for name, style in _STYLES.items() if name in text), "" if text in ("", "-") else "cyan")
    return Text(text, found)
