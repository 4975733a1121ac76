"""
Golden cases made now: random ones, answered by Connect's own classes and checked like those of a file.

Run by `scripts/golden --fresh N` and by `tests/integration/test_golden.py`. The seed gives the same cases again, and those that
differ can be kept as golden files.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.rig.golden import fresh_cases, oracle, run
from tests.rig.golden.errors import Case
from tests.rig.golden.run import Failure, Result


def check(seed: int, count: int, keep: Path | None = None) -> list[Result]:
    """What became of each format's cases; `keep` is a directory for those that differ. ConnectError without a JDK or jars."""
    cases = [fresh_cases.case(seed, number) for number in range(count)]
    results: dict[str, Result] = {}
    kept: dict[str, list[Case]] = {}
    for (name, _), answered in zip(cases, oracle.ask(cases)):
        failure = _failure(name, answered)
        results.setdefault(name, Result(name)).add(failure)
        if failure is not None:
            kept.setdefault(name, []).append(answered)
    if keep is not None:
        _write(keep, kept)
    return [results[name] for name in run.FORMATS if name in results]


def _failure(name: str, answered: Case) -> Failure | None:
    if "impossible" in answered:
        return Failure(answered["id"], "a case that Connect can be given", answered["impossible"])
    return run.check(name, answered)


def _write(directory: Path, kept: dict[str, list[Case]]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, cases in kept.items():
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        (directory / f"{name}.jsonl").write_text(lines, "utf-8")
