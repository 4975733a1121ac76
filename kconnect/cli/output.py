"""
What `-o` chooses: how a command writes what it has found. With colours on a terminal only, and none if NO_COLOR is set.

`write`, `note` and `table` write at once; `text_of` and `text_of_table` give the same as a text, for `watch.py`. Read next:
`layout.py`, how a table looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click


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

    from kconnect.cli import layout

    lines = orjson.dumps(found, option=orjson.OPT_INDENT_2).decode().split("\n")
    # Such characters are within texts only, and JSON's own form of them is what readers of JSON expect.
    return "\n".join(map(layout.unobeyed, lines))


def note(found: Any, form: str, text: Callable[[Any], Iterable[str]]) -> None:
    """Print one object: as JSON or YAML, or as the lines that `text` makes of it."""
    if form != "table":
        write(found, form)
    else:
        click.echo("\n".join(text(found)))


def table(headings: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Each row is one line: names are whole where other programs read them, and cut where a terminal is too narrow."""
    click.echo(text_of_table(headings, rows))


def text_of_table(headings: Sequence[str], rows: Iterable[Sequence[str | None]], whole: bool = False) -> str:
    from kconnect.cli import layout

    shown = [[value or "" for value in row] for row in rows]
    return "\n".join(layout.table([heading.upper() for heading in headings], shown, whole=whole))
