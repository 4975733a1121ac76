"""
All commands with their helps, read from click's own tree: for `kconnect help`, docs/cli.md, and the tests that try examples.

A command's help is one sentence, a block of examples (behind click's no-rewrap mark), and what must be known besides. An
example may be followed, behind two spaces, by a few words on it. Read next: `help.py`.
"""

from __future__ import annotations

import copy
import inspect
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

PROGRAM = "kconnect"

_AS_IT_STANDS = "\b"
_WORDS_ON_IT = re.compile(r"(?<=\S)\s{2,}(?=\S).*")
_BETWEEN_COMMANDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "<(", "(", ")"}


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
        """What its help begins with."""
        return " ".join(self.paragraphs()[0].split()) if self.paragraphs() else ""

    def paragraphs(self) -> list[str]:
        """Of its help; those that stand as they are begin with click's mark."""
        text = inspect.cleandoc(self.command.help or "")
        return [part for part in re.split(r"\n\s*\n", text) if part.strip()]

    def examples(self) -> list[str]:
        """Command lines, without the words on them."""
        found = []
        for part in self.paragraphs():
            if part.startswith(_AS_IT_STANDS):
                lines = part.removeprefix(_AS_IT_STANDS).replace("\\\n", " ").splitlines()
                found += [_WORDS_ON_IT.sub("", line.strip()) for line in lines if line.strip()]
        return [line for line in found if f"{PROGRAM} " in line]

    def usage(self) -> str:
        return " ".join([self.name, *self.command.collect_usage_pieces(self.context)])


def pages(root: click.Command) -> Iterator[Page]:
    """A page for each command, groups before what is in them. Imports them all, hidden ones excepted."""
    yield from _below((), click.Context(root, info_name=PROGRAM, resilient_parsing=True))


def page(root: click.Command, path: Sequence[str]) -> Page:
    """The page of `kconnect PATH`; UsageError if there is no such command."""
    found = Page((), click.Context(root, info_name=PROGRAM, resilient_parsing=True))
    for word in path:
        command = None
        if isinstance(found.command, click.Group):
            command = found.command.get_command(found.context, word)
        if command is None:
            asked = " ".join((*found.path, word))
            raise click.UsageError(f"There is no command {asked!r}. `{found.name} --help` lists all commands.")
        found = Page((*found.path, word), _context(command, word, found.context))
    return found


def _below(path: tuple[str, ...], context: click.Context) -> Iterator[Page]:
    yield Page(path, context)
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _below((*path, name), _context(command, name, context))


def _context(command: click.Command, name: str, parent: click.Context) -> click.Context:
    return click.Context(command, info_name=name, parent=parent, resilient_parsing=True)


# --- examples ---


def calls(line: str) -> list[list[str]]:
    """The calls of kconnect in a line for the shell, each as the words behind the program's name."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[list[str]] = [[]]
    for word in lexer:
        if word in _BETWEEN_COMMANDS:
            words.append([word])
        else:
            words[-1].append(word)
    found = []
    for part in words:
        # What is behind > and < is a file, but the options behind that file belong to the call before it.
        start = 1 if part and part[0] in _BETWEEN_COMMANDS else 0
        while start < len(part) and re.fullmatch(r"[A-Za-z_]\w*=.*", part[start]):
            start += 1
        if start < len(part) and part[start].rpartition("/")[2] == PROGRAM and part[0] not in (">", ">>", "<"):
            found.append(part[start + 1 :])
    return found


def check(root: click.Command, words: Sequence[str]) -> None:
    """Parse a call as click would, but run nothing, ask nothing and look for no file. UsageError for what is not accepted."""
    command, context, rest = root, click.Context(root, info_name=PROGRAM, resilient_parsing=True), list(words)
    while isinstance(command, click.Group):
        given, left, _ = command.make_parser(context).parse_args(args=rest)
        if given.get("help") or given.get("version") or (not left and command.invoke_without_command):
            return
        if not left:
            raise click.UsageError("Missing command.", context)
        name, found, rest = command.resolve_command(context, left)
        if found is None or name is None:
            raise click.UsageError(f"No such command {left[0]!r}.", context)
        command, context = found, _context(found, name, context)
    if "--help" not in rest:
        _parsing_only(command).make_context(context.info_name, rest, parent=context.parent)


def _parsing_only(command: click.Command) -> click.Command:
    """A copy that takes the same words, but has nothing behind them."""
    made = copy.copy(command)
    made.params = [copy.copy(parameter) for parameter in command.params]
    for parameter in made.params:
        parameter.callback = None
        if isinstance(parameter.type, click.Path | click.File):
            parameter.type = click.STRING
        if isinstance(parameter, click.Option) and parameter.prompt is not None:
            parameter.prompt, parameter.required = None, False
    return made


# --- the page in Markdown ---


def markdown(root: click.Command) -> str:
    """docs/cli.md: the whole manual, a section a command."""
    made = list(pages(root))
    lines = [
        "# The command line",
        "",
        "<!-- Written by `kconnect help --all`; change the texts in kconnect/cli. -->",
        "",
        "`kconnect help COMMAND` and `kconnect COMMAND --help` show a command's part of this page. The [cheat",
        "sheet](cheat-sheet.md) is for those who know `curl` and Kafka's own tools.",
        "",
    ]
    root_page = made[0]
    if hasattr(root, "in_sections"):
        for heading, names in root.in_sections():
            lines += [f"- {heading}: {', '.join(f'[{name}](#{PROGRAM}-{name})' for name in names)}"] if names else []
        lines.append("")
    for each in made:
        if each is not root_page:
            lines += [f"{'##' if len(each.path) == 1 else '###'} {each.name}", ""]
        lines += _markdown(each)
    return "\n".join(lines).rstrip() + "\n"


def _markdown(each: Page) -> list[str]:
    lines = []
    for part in each.paragraphs():
        if part.startswith(_AS_IT_STANDS):
            block = part.removeprefix(_AS_IT_STANDS).strip("\n").splitlines()
            margin = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            lines += ["```", *(line[margin:].rstrip() for line in block), "```", ""]
        else:
            lines += [_escaped(" ".join(part.split())), ""]
    lines += ["```", each.usage(), "```", ""]
    records = [
        parameter.get_help_record(each.context)
        for parameter in each.command.get_params(each.context)
        if isinstance(parameter, click.Option) and not parameter.hidden and "--help" not in parameter.opts
    ]
    listed = [f"- `{record[0]}`{': ' if record[1] else ''}{_escaped(record[1])}" for record in records if record is not None]
    return [*lines, *listed, *([""] if listed else [])]


def _escaped(text: str) -> str:
    """Words, with those signs that Markdown would take for its own."""
    return re.sub(r"([*<])", r"\\\1", " ".join(text.split()))
