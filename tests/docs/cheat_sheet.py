"""
The commands in the tables of docs/cheat-sheet.md: those of today, those that people typed so far, and those of Kafka's tools.

A command with an ellipsis is the beginning of one, which nobody types. Read by `readings.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.docs.pages import DOCS
from tests.docs.steps import Step

PAGE = "cheat-sheet.md"
SO_FAR, KAFKAS_TOOLS = f"{PAGE}, so far", f"{PAGE}, Kafka's tools"
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]*)\| (.+) \|$")
_COLUMNS = {PAGE: (3, "kconnect "), SO_FAR: (2, "$C", "grep "), KAFKAS_TOOLS: (2, "kafka-")}
PARTS = frozenset(_COLUMNS)


def commands(part: str) -> Iterator[Step]:
    """Yield the commands of one of `PARTS`, row by row, each once."""
    column, *begin = _COLUMNS[part]
    seen: set[str] = set()
    for number, line in enumerate((DOCS / PAGE).read_text("utf-8").splitlines(), 1):
        cells = _ROW.match(line)
        for command in re.findall(r"`([^`]+)`", cells[int(column)] if cells else ""):
            if command.startswith(tuple(map(str, begin))) and "…" not in command and command not in seen:
                seen.add(command)
                yield Step(command, None, f"docs/{PAGE}:{number}")
