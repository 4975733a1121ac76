"""
The one form in which benches give results: rows, as tables of text on the terminal and as lines of JSON in a file.

Made by each bench of `scripts/benchmarks`, and read from a file by `scripts/benchmarks/all.py`. A row keeps all its values, so
that medians and ratios can be made again. Read next: `page.py`, which makes a page of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

KCONNECT, CONNECT = SIDES = ("kconnect", "Connect")


class Row(NamedTuple):
    """A measure of a workload on one side; one value a round."""

    bench: str
    workload: str
    side: str
    measure: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def title(self) -> str:
        return f"{self.measure}, {self.unit}" if self.unit else self.measure

    def to_json(self) -> dict[str, Any]:
        found = {"median": self.median, "min": min(self.values), "max": max(self.values), "runs": len(self.values)}
        return {**self._asdict(), **found}


class Results:
    """What one bench finds; with a file, each row is in it at once."""

    def __init__(self, bench: str, file: Path | None = None) -> None:
        self._bench, self._file = bench, file
        self._shown: list[Row] = []

    def add(self, workload: str, side: str, measure: str, unit: str, *values: float) -> None:
        row = Row(self._bench, workload, side, measure, unit, tuple(round(value, 4) for value in values))
        self._shown.append(row)
        if self._file is not None:
            append(self._file, row.to_json())

    def show(self) -> None:
        """Prints what was added since the last time."""
        show(self._shown)
        self._shown = []


def parser(head: str | None) -> argparse.ArgumentParser:
    """For a bench whose module begins with this docstring."""
    made = argparse.ArgumentParser(description=(head or "").strip().split("\n\n")[0])
    made.add_argument("--json", type=Path, metavar="FILE", help="append the results to this file, a line of JSON each")
    return made


def append(file: Path, line: Mapping[str, Any]) -> None:
    with open(file, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def read(file: Path) -> tuple[dict[str, dict[str, Any]], list[Row]]:
    """How each bench was run, as `all.py` says it, and what was found; of a bench that was run again, only the last run."""
    runs: dict[str, dict[str, Any]] = {}
    rows: list[Row] = []
    for line in file.read_text("utf-8").splitlines():
        found = json.loads(line)
        if "measure" not in found:
            runs[found["bench"]] = found
            rows = [row for row in rows if row.bench != found["bench"]]
        else:
            rows.append(Row(**{name: found[name] for name in Row._fields} | {"values": tuple(found["values"])}))
    return runs, rows


# --- tables ---


def table(rows: Sequence[Row]) -> list[list[str]]:
    """
    Of one bench's rows, the titles first. With both sides: a line a measure, and how many times Connect's kconnect's is. With
    one: a line a workload.
    """
    workloads = list(dict.fromkeys(row.workload for row in rows))
    titles = list(dict.fromkeys(row.title for row in rows))
    found = {(row.workload, row.title, row.side): row for row in rows}
    if not any(row.side == CONNECT for row in rows):
        lines = [[name, *(cell(found.get((name, title, KCONNECT))) for title in titles)] for name in workloads]
        return [["", *titles], *lines]
    lines = [["", "measure", *SIDES, "ratio"]]
    for name in workloads:
        for title in titles:
            ours, theirs = (found.get((name, title, side)) for side in SIDES)
            if ours or theirs:
                lines.append([name, title, cell(ours), cell(theirs), ratio(ours, theirs)])
    return lines


def cell(row: Row | None) -> str:
    """`median (min–max)`, or the value that is the only one."""
    if row is None:
        return "–"
    if len(row.values) == 1:
        return number(row.median)
    return f"{number(row.median)} ({number(min(row.values))}–{number(max(row.values))})"


def ratio(ours: Row | None, theirs: Row | None) -> str:
    """Rounds that belong together are compared with each other: what slowed both does not count."""
    if ours is None or theirs is None or not all(theirs.values):
        return "–"
    if len(ours.values) == len(theirs.values):
        return f"{statistics.median(mine / other for mine, other in zip(ours.values, theirs.values)):.2f}"
    return f"{ours.median / theirs.median:.2f}"


def number(value: float) -> str:
    """Three digits that count, and all of a large number."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"


def percentile(values: Sequence[float], share: float) -> float:
    """Of 99.9 too; of few values the highest are as good as one can say."""
    found = sorted(values)
    return found[min(len(found) - 1, round(share / 100 * len(found)))]


def by_bench(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.bench, []).append(row)
    return found


def show(rows: Iterable[Row]) -> None:
    console = Console()
    # What goes to a file is not folded.
    console = console if console.is_terminal else Console(width=200)
    for bench, found in by_bench(rows).items():
        titles, *lines = table(found)
        shown = Table(title=bench, title_justify="left", title_style="bold")
        for title in titles:
            text = title in ("", "measure")
            shown.add_column(title, justify="left" if text else "right")
        for line in lines:
            shown.add_row(*line)
        console.print(shown)
