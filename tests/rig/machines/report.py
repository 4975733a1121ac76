"""
Makes the table of `docs/several-machines.md` of what runs of the rig have written: `python -m tests.rig.machines.report RUN...`

Each RUN is `NAME=DIRECTORY`, several with one name are taken together. A row of the table is a fault. For each name it has how
long a task was silent at most ("for good": until somebody restarts it), for how long REST could not write, and for how long
statuses were not true. A fault counts if the seconds before it were quiet. Read next: `evidence.py`.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.rig.machines.faults import table
from tests.rig.machines.play import QUIET_S

Rows = dict[str, list[dict[str, Any]]]


def read(directory: Path) -> list[dict[str, Any]]:
    """Return the rows of a run that count."""
    rows = [json.loads(line) for line in (directory / "rows.jsonl").read_text("utf-8").splitlines()]
    played = [row for row in rows if not any(violation.startswith("not-played") for violation in row["violations"])]
    return [row for row in played if row["control"] <= QUIET_S]


def lines(runs: dict[str, Rows]) -> list[str]:
    """Return the table, in the order of the table of faults; `runs` has rows by run and fault."""
    heads = [f"{what}, {name}" for what in ("tasks silent", "no writes", "statuses not true") for name in runs]
    told = [f"| fault | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for fault in table.faults().values():
        if not any(rows.get(fault.name) for rows in runs.values()):
            continue
        cells = [
            " and ".join(_seconds(what, row) for row in rows.get(fault.name, ())) or "-"
            for what in ("silences", "writes", "lies")
            for rows in runs.values()
        ]
        told.append(f"| {fault.does}; {fault.heals} | {' | '.join(cells)} |")
    return told


def _seconds(what: str, row: dict[str, Any]) -> str:
    if what == "silences" and row["whole"] is None:
        return "for good"
    value = row[what]
    most = max(value.values(), default=0.0) if isinstance(value, dict) else value
    return "0" if not most else f"{most:.1f} s" if most < 10 else f"{most:.0f} s"


def main(arguments: list[str]) -> int:
    runs: dict[str, Rows] = {}
    for argument in arguments:
        name, _, directory = argument.partition("=")
        rows = runs.setdefault(name, defaultdict(list))
        for row in read(Path(directory)):
            rows[row["fault"]].append(row)
    sys.stdout.write("\n".join(lines(runs)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
