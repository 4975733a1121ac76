"""
`scripts/attack`: runs the attacks, those for nights too, and prints which held: `python -m tests.attacks [--short] [PATTERN]`.

`--short` is what `scripts/test` runs of them, PATTERN a part of their names. Exit status 1: an attack reached what it wanted,
or could not be tried.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

_HERE = Path(__file__).parent


class Results:
    """A plugin of pytest that keeps what became of each attack."""

    def __init__(self) -> None:
        self.sentences: dict[str, str] = {}
        self.outcomes: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            text = getattr(getattr(item, "function", None), "__doc__", None) or item.name
            self.sentences[item.nodeid] = " ".join(text.split())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.outcomes[report.nodeid] = "not tried"
        elif report.failed:
            self.outcomes[report.nodeid] = "REACHED" if report.when == "call" else "not tried"
        elif report.when == "call":
            self.outcomes.setdefault(report.nodeid, "held")

    def table(self) -> Table:
        """Return a row for each attack: where it is, what is tried, and the worst outcome of its variants."""
        table = Table("attack", "what is tried, and what must not happen", "variants", "outcome")
        for name in dict.fromkeys(node.partition("[")[0] for node in self.outcomes):
            nodes = [node for node in self.outcomes if node.partition("[")[0] == name]
            outcomes = {self.outcomes[node] for node in nodes}
            worst = next(outcome for outcome in ("REACHED", "not tried", "held") if outcome in outcomes)
            module, _, test = name.partition("::")
            where = f"{Path(module).stem.removeprefix('test_')}: {test.removeprefix('test_').replace('_', ' ')}"
            table.add_row(where, self.sentences[nodes[0]], str(len(nodes)), worst)
        return table


def main(arguments: list[str]) -> int:
    short = "--short" in arguments
    patterns = [argument for argument in arguments if argument != "--short"]
    if len(patterns) > 1 or any(pattern.startswith("-") for pattern in patterns):
        sys.stderr.write("usage: scripts/attack [--short] [PATTERN]\n")
        return 2
    results = Results()
    chosen = [*(["-m", "not long"] if short else []), *(["-k", patterns[0]] if patterns else [])]
    status = pytest.main([str(_HERE), "-q", "-p", "no:cacheprovider", *chosen], plugins=[results])
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(results.table())
    outcomes = list(results.outcomes.values())
    counts = {outcome: outcomes.count(outcome) for outcome in ("held", "REACHED", "not tried")}
    console.print("; ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if status or not counts["held"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
