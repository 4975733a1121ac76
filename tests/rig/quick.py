"""
`scripts/test --quick`: what is worth knowing after each change, in a minute: the tests nearest to what has changed.

Changed is what git says of the working tree, or else the last commit. Tests that only compute are run in the order in which
their imports lead to that, those that changed first, until the time is over; the linter looks at the changed files. Exit status
1: something failed. Run by `scripts/test`. Read next: `tests/rig/mutation`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 45.0
"""For the tests: pytest and the graph of imports take some seconds before."""

_MOST = 60
"""Files of tests: in the time there is, no more are reached."""


def changed() -> list[Path]:
    """Return the files that differ from the last commit; if none does, those of the last commit."""
    listed = _git("diff", "--name-only", "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    return [ROOT / name for name in listed or _git("diff", "--name-only", "HEAD~1")]


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def module(path: Path) -> str:
    """Return the name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def nearest(graph: Any, names: Iterable[str]) -> Iterator[str]:
    """
    Yield the modules of tests that import these, by themselves or by others, the nearest first. Of those that are equally far,
    those that import fewer modules go first: they are about what has changed.
    """
    ring = {name for name in names if name in graph.modules}
    seen = set(ring)
    while ring:
        tests = [name for name in ring if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")]
        yield from sorted(tests, key=lambda name: (len(graph.find_modules_directly_imported_by(name)), name))
        ring = {user for name in ring for user in graph.find_modules_that_directly_import(name)} - seen
        seen |= ring


class _Deadline:
    """Ends a run of pytest in order once the time is over."""

    def __init__(self, end: float) -> None:
        self._end = end
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.passed and report.when == "call"
        self.failed += report.failed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if time.monotonic() > self._end:
            pytest.exit("the time is over", 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    began = time.monotonic()
    files = [path for path in changed() if path.exists()]
    python = [path for path in files if path.suffix == ".py"]
    lint = subprocess.run([sys.executable, "-m", "ruff", "check", "-q", *map(str, python)], cwd=ROOT) if python else None
    graph = grimp.build_graph("kconnect", "tests", cache_dir=str(ROOT / ".grimp_cache"))
    modules = list(nearest(graph, map(module, python)))[:_MOST]
    found = [str(ROOT / Path(*name.split(".")).with_suffix(".py")) for name in modules]
    _say(f"{len(files)} changed files, {len(found)} files of tests nearest to them")
    deadline = _Deadline(began + LIMIT_S)
    only = "not integration and not lint and not process and not long"
    if found:
        pytest.main(
            ["-q", "--no-header", "--disable-warnings", "-p", "no:cacheprovider", "-m", only, *found], plugins=[deadline]
        )
    _say(f"{deadline.passed} passed, {deadline.failed} failed in {time.monotonic() - began:.0f} s")
    return 1 if deadline.failed or (lint is not None and lint.returncode) else 0


if __name__ == "__main__":
    sys.exit(main())
