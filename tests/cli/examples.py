"""The examples in the helps of commands, and on pages, parsed as click would parse them."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Sequence

import click

from kconnect.cli import manual

_WORDS_ON_IT = re.compile(r"(?<=\S)\s{2,}(?=\S).*")
_BETWEEN_COMMANDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "<(", "(", ")"}


def of(page: manual.Page) -> list[str]:
    """Command lines, without the words on them."""
    found = []
    for part in page.paragraphs():
        if part.startswith(manual.AS_IT_STANDS):
            lines = part.removeprefix(manual.AS_IT_STANDS).replace("\\\n", " ").splitlines()
            found += [_WORDS_ON_IT.sub("", line.strip()) for line in lines if line.strip()]
    return [line for line in found if f"{manual.PROGRAM} " in line]


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
        if start < len(part) and part[start].rpartition("/")[2] == manual.PROGRAM and part[0] not in (">", ">>", "<"):
            found.append(part[start + 1 :])
    return found


def check(root: click.Command, words: Sequence[str]) -> None:
    """Parse a call as click would, but run nothing, ask nothing and look for no file. UsageError for what is not accepted."""
    command, context, rest = root, click.Context(root, info_name=manual.PROGRAM, resilient_parsing=True), list(words)
    while isinstance(command, click.Group):
        # A copy: the parser takes words from it.
        given, left, _ = command.make_parser(context).parse_args(args=list(rest))
        if given.get("help") or given.get("version"):
            return
        if not left and command.invoke_without_command:
            alone = click.Command(command.name, params=command.params)
            _parsing_only(alone).make_context(context.info_name, rest, parent=context.parent)
            return
        if not left:
            raise click.UsageError("Missing command.", context)
        name, found, rest = command.resolve_command(context, left)
        if found is None or name is None:
            raise click.UsageError(f"No such command {left[0]!r}.", context)
        command, context = found, manual.context_of(found, name, context)
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
