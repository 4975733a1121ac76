"""
How a command asks before it changes what can't be brought back: `--yes`, or an answer on the terminal.

Whoever says no gets exit status 9 and one line; Ctrl-C at the question is 130, as everywhere. Called by the commands.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any

import click


class DeclinedError(click.ClickException):
    """The user was asked, and said no. Nothing was done, for every command asks before it begins."""

    exit_code = 9

    def __init__(self) -> None:
        super().__init__("Nothing was done")

    def show(self, file: IO[Any] | None = None) -> None:
        # What the user wants is no error.
        click.echo(self.message, file=file, err=file is None)


def option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `-y`, which the command gets as `yes`."""
    return click.option("-y", "--yes", is_flag=True, help="Do it without asking.")(command)


def confirm(question: str, yes: bool) -> None:
    """Comes back only if the user agrees; else DeclinedError. UsageError if there is no terminal to ask on."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} There is no terminal to ask on: give --yes to confirm.")
    if not click.confirm(question, err=True):
        raise DeclinedError
