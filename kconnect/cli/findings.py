"""
What checks say, line by line: for `kconnect doctor`, `kconnect plugin doctor` and `kconnect plugin install`.

A finding of `plugins/examination.py`, a `Problem`, is shown in the same form.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from kconnect.plugins.examination import Problem


OK, SKIPPED, WARNING, ERROR = "ok", "skipped", "warning", "error"
"""Those of problems are named as there."""

_COLOURS = {OK: "green", SKIPPED: "cyan", WARNING: "yellow", ERROR: "red"}
"""Of those that `terminal.py` lets through."""


@dataclass(frozen=True)
class Finding:
    """
    `severity` is OK, SKIPPED (it could not be looked at, or there is nothing to look at), WARNING or ERROR. `check` names what
    was looked at, for programs, `location` where.
    """

    severity: str
    check: str
    location: str
    message: str
    remedy: str = ""


class Shown(Protocol):
    """A Finding or a Problem."""

    @property
    def severity(self) -> str: ...
    @property
    def location(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def remedy(self) -> str: ...


def of_problem(problem: Problem) -> Finding:
    return Finding(problem.severity, problem.check, problem.location, problem.message, problem.remedy)


def write(found: Iterable[Shown], err: bool = False) -> None:
    """Below each place what there is to say of it, in one line each, and what to do, in another."""
    place = None
    for finding in found:
        if finding.location != place:
            place = finding.location
            click.echo(place, err=err)
        click.echo(f"  {_coloured(finding.severity)}: {finding.message}", err=err)
        if finding.remedy:
            click.echo(f"    → {finding.remedy}", err=err)


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _coloured(severity: str) -> str:
    # click leaves colours out where there is no terminal.
    return severity if os.environ.get("NO_COLOR") else click.style(severity, fg=_COLOURS.get(severity))
