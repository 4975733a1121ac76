"""
All commands with their helps, read from click's own tree: for `kconnect help` and docs/cli.md.

A command's help is one sentence, a block of examples (behind click's no-rewrap mark), and what must be known besides. An
example may be followed, behind two spaces, by a few words on it. Read next: `help.py`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

PROGRAM = "kconnect"

AS_IT_STANDS = "\b"


@dataclass(frozen=True)
class Page:
    """`path` are the words that call it, without the program's name."""

    path: tuple[str, ...]
    context: click.Context

    @property
    def name(self) -> str:
        return " ".join((PROGRAM, *self.path))

    @property
    def command(self) -> click.Command:
        return self.context.command

    @property
    def sentence(self) -> str:
        """The first paragraph of its help."""
        return " ".join(self.paragraphs()[0].split()) if self.paragraphs() else ""

    def paragraphs(self) -> list[str]:
        """Return the paragraphs of its help; those that stand as they are begin with click's mark."""
        text = inspect.cleandoc(self.command.help or "")
        return [part for part in re.split(r"\n\s*\n", text) if part.strip()]

    def usage(self) -> str:
        return " ".join([self.name, *self.command.collect_usage_pieces(self.context)])


def pages(root: click.Command) -> Iterator[Page]:
    """A page for each command, groups before what is in them. Imports them all, hidden ones excepted."""
    yield from _below((), click.Context(root, info_name=PROGRAM, resilient_parsing=True))


def page(root: click.Command, path: Sequence[str]) -> Page:
    """The page of `kconnect PATH`; UsageError if there is no such command."""
    current = Page((), click.Context(root, info_name=PROGRAM, resilient_parsing=True))
    for word in path:
        command = None
        if isinstance(current.command, click.Group):
            command = current.command.get_command(current.context, word)
        if command is None:
            asked = " ".join((*current.path, word))
            raise click.UsageError(f"There is no command {asked!r}. `{current.name} --help` lists all commands.")
        current = Page((*current.path, word), context_of(command, word, current.context))
    return current


def _below(path: tuple[str, ...], context: click.Context) -> Iterator[Page]:
    yield Page(path, context)
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _below((*path, name), context_of(command, name, context))


def context_of(command: click.Command, name: str, parent: click.Context) -> click.Context:
    return click.Context(command, info_name=name, parent=parent, resilient_parsing=True)


# --- the page in Markdown ---


def markdown(root: click.Command) -> str:
    """docs/cli.md: the whole manual, a section a command."""
    all_pages = list(pages(root))
    lines = [
        "# The command line",
        "",
        "<!-- Written by `kconnect help --all`; change the texts in kconnect/cli. -->",
        "",
        "`kconnect help COMMAND` and `kconnect COMMAND --help` show a command's part of this page. The [cheat",
        "sheet](cheat-sheet.md) is for those who know `curl` and Kafka's own tools.",
        "",
    ]
    root_page = all_pages[0]
    if hasattr(root, "in_sections"):
        for heading, names in root.in_sections():
            lines += [f"- {heading}: {', '.join(f'[{name}](#{PROGRAM}-{name})' for name in names)}"] if names else []
        lines.append("")
    for page in all_pages:
        if page is not root_page:
            lines += [f"{'##' if len(page.path) == 1 else '###'} {page.name}", ""]
        lines += _markdown(page)
    return "\n".join(lines).rstrip() + "\n"


def _markdown(manual_page: Page) -> list[str]:
    lines = []
    for part in manual_page.paragraphs():
        if part.startswith(AS_IT_STANDS):
            block = part.removeprefix(AS_IT_STANDS).strip("\n").splitlines()
            margin = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            lines += ["```", *(line[margin:].rstrip() for line in block), "```", ""]
        else:
            lines += [_escaped(" ".join(part.split())), ""]
    lines += ["```", manual_page.usage(), "```", ""]
    records = [
        parameter.get_help_record(manual_page.context)
        for parameter in manual_page.command.get_params(manual_page.context)
        if isinstance(parameter, click.Option) and not parameter.hidden and "--help" not in parameter.opts
    ]
    listed = [f"- `{record[0]}`{': ' if record[1] else ''}{_escaped(record[1])}" for record in records if record is not None]
    return [*lines, *listed, *([""] if listed else [])]


def _escaped(text: str) -> str:
    """Words, with those signs that Markdown would take for its own."""
    return re.sub(r"([*<])", r"\\\1", " ".join(text.split()))
