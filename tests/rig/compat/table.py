"""
The table of docs/compatibility.md: made of outcomes, and read back to be compared with them.

Called by `tests/rig/compat/__main__.py` and the tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.rig.compat.run import Outcome

DOCUMENT = Path(__file__).parents[3] / "docs" / "compatibility.md"
BEGIN, END = "<!-- Written by scripts/compat: begin -->", "<!-- end -->"

Cells = dict[tuple[str, str], tuple[str, frozenset[str]]]
"""By row and version: the verdict, and what is to be known of it."""


def cells(outcomes: Sequence[Outcome]) -> Cells:
    return {(each.row, each.version): (_verdict(each), frozenset(_notes(each))) for each in outcomes}


def written(outcomes: Sequence[Outcome]) -> str:
    """The table with its notes, in Markdown."""
    versions = list(dict.fromkeys(each.version for each in outcomes))
    rows = list(dict.fromkeys(each.row for each in outcomes))
    found = {(each.row, each.version): each for each in outcomes}
    numbers: dict[str, int] = {}
    lines = [f"| | {' | '.join(versions)} |", f"| ---{' | ---' * len(versions)} |"]
    for row in rows:
        shown = []
        for version in versions:
            outcome = found[row, version]
            marks = sorted(numbers.setdefault(note, len(numbers) + 1) for note in _notes(outcome))
            shown.append(" ".join((_verdict(outcome), *(f"[{mark}]" for mark in marks))))
        lines.append(f"| {row} | {' | '.join(shown)} |")
    notes = [f"{number}. {note}" for note, number in numbers.items()]
    return "\n".join((*lines, "", *notes))


def read(text: str) -> Cells:
    """The cells of a document that has such a table."""
    part = text.partition(BEGIN)[2].partition(END)[0]
    notes = dict(re.findall(r"^(\d+)\. (.*)$", part, re.MULTILINE))
    table = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in part.splitlines() if line.startswith("|")]
    versions = [cell.strip("| ") for cell in table[0]] if table else []
    found: Cells = {}
    for title, *shown in table[2:]:
        for version, cell in zip(versions, shown, strict=True):
            verdict, *marks = cell.split(" ")
            found[title, version] = (verdict, frozenset(notes[mark.strip("[]")] for mark in marks))
    return found


def replaced(text: str, outcomes: Sequence[Outcome]) -> str:
    """The document with another table between the marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT} has no marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{written(outcomes)}\n\n{END}{after}"


def differences(outcomes: Sequence[Outcome], documented: Cells) -> list[str]:
    """What the document says otherwise, one line for each cell that was played."""
    return [
        f"{row}, {version}: observed {_shown(cell)}, documented {_shown(documented.get((row, version)))}"
        for (row, version), cell in cells(outcomes).items()
        if documented.get((row, version)) != cell
    ]


def _verdict(outcome: Outcome) -> str:
    return "fails" if outcome.failure else "–" if outcome.skipped else "ok"


def _notes(outcome: Outcome) -> list[str]:
    return [outcome.skipped] if outcome.skipped else outcome.notes


def _shown(cell: tuple[str, frozenset[str]] | None) -> str:
    return "nothing" if cell is None else "; ".join((cell[0], *sorted(cell[1])))
