"""
Puts small faults into the product, one at a time, and runs the tests that reach them: `scripts/mutate`.

    .venv/bin/python -m tests.rig.mutation kconnect/core --count 100 --seed 1
    .venv/bin/python -m tests.rig.mutation kconnect/core/task/positions.py:38

Which tests reach a line is measured once, by running all that start no process with coverage, and kept in `.kconnect/mutation`;
`--fresh` measures anew. A fault that no test notices is printed with what it changes: it wants a test, or changes nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from coverage import CoverageData

from tests.rig.mutation.faults import Fault, faults_of

ROOT = Path(__file__).parents[3]
KEPT = ROOT / ".kconnect" / "mutation"
_PURE = "not integration and not process and not lint and not long"
_LIMIT_S = 300
_MOST_TESTS = 300
"""So many that reach a line are run: what they all do not notice, more of them hardly would."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate", description="Puts small faults into the product and runs its tests."
    )
    parser.add_argument("places", nargs="+", help="files or folders of kconnect/, or FILE:LINE")
    parser.add_argument("--count", type=int, default=50, help="how many faults are drawn (default: 50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", default=["tests"], help="folders of tests that are measured (default: tests)")
    parser.add_argument("--fresh", action="store_true", help="measure anew which tests reach which line")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--floor", type=float, default=0, help="exit with 1 if fewer per cent are noticed")
    given = parser.parse_args()
    measured = _measured(given.tests, given.fresh)
    sources: dict[Path, bytes] = {}
    drawn = _drawn(given.places, given.count, given.seed, sources)
    outcomes: Counter[str] = Counter()
    overlays: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(given.lanes) as pool:
        for lane in range(given.lanes):
            overlays.put(_overlay(Path(scratch, str(lane))))

        def tried(fault: Fault) -> tuple[Fault, str, int]:
            tests = _reaching(measured, fault)
            if not tests:
                return fault, "not reached", 0
            overlay = overlays.get()
            try:
                return fault, _outcome(overlay, fault, sources[fault.path], tests), len(tests)
            finally:
                overlays.put(overlay)

        for fault, outcome, tests in pool.map(tried, drawn):
            outcomes[outcome] += 1
            print(f"{outcome:12} {fault.path.relative_to(ROOT)}:{fault.line}: {fault.kind} ({tests} tests)", flush=True)
            if outcome != "noticed":
                print(fault.shown(sources[fault.path]), flush=True)
    noticed = 100 * outcomes["noticed"] / max(1, outcomes.total())
    print(f"{outcomes.total()} faults, seed {given.seed}: {noticed:.0f} % noticed; {dict(outcomes)}")
    return 0 if noticed >= given.floor else 1


def _overlay(overlay: Path) -> Path:
    """A checkout in which only the product is a copy, and is what its tests import."""
    overlay.mkdir()
    for each in ROOT.iterdir():
        if each.name != "kconnect":
            (overlay / each.name).symlink_to(each)
    shutil.copytree(ROOT / "kconnect", overlay / "kconnect", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", "import kconnect; print(kconnect.__file__)"]
    told = subprocess.run(command, cwd=overlay, env=_environment(overlay), capture_output=True, text=True, check=True).stdout
    if not told.startswith(str(overlay)):
        raise SystemExit(f"The tests would import {told.strip()}, which has no fault")
    return overlay


def _environment(overlay: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(overlay), "PYTHONDONTWRITEBYTECODE": "1"}


def _measured(tests: list[str], fresh: bool) -> CoverageData:
    """Which test reaches which line."""
    file = KEPT / f"{'+'.join(test.replace('/', '-') for test in tests)}.coverage"
    if fresh or not file.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        print("Measuring which tests reach which line: this takes some minutes", flush=True)
        settings = KEPT / "coveragerc"
        settings.write_text("[run]\nsource = kconnect\n")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", _PURE, *tests]
        command += ["--cov=kconnect", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(file)})
        if done.returncode != 0:
            raise SystemExit("The tests must pass before faults are tried")
    data = CoverageData(str(file))
    data.read()
    return data


def _drawn(places: Iterable[str], count: int, seed: int, sources: dict[Path, bytes]) -> list[Fault]:
    """So many of the faults that these places can have, in the order of the files; all of them at a line that is named."""
    named: list[Fault] = []
    all_faults: list[Fault] = []
    for place in places:
        name, _, line = place.partition(":")
        path = (ROOT / name).resolve()
        if not path.exists() or not path.is_relative_to(ROOT / "kconnect"):
            raise SystemExit(f"{name} is no file or folder of kconnect/")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            sources[file] = file.read_bytes()
            found = faults_of(file, sources[file])
            named += [fault for fault in found if line and fault.line == int(line)]
            all_faults += [] if line else found
    drawn = random.Random(seed).sample(all_faults, min(count, len(all_faults)))
    return sorted([*named, *drawn], key=lambda fault: (fault.path, fault.begin, fault.kind))


def _reaching(measured: CoverageData, fault: Fault) -> list[str]:
    """The tests that reach a fault's statement, those first whose file is named like the fault's."""
    lines = measured.contexts_by_lineno(str(fault.path))
    contexts = {context for line in range(fault.first, fault.last + 1) for context in lines.get(line, ())}
    if contexts <= {""} and any(line in lines for line in range(fault.first, fault.last + 1)):
        # At import, before any test: whoever uses the file may notice.
        contexts = {context for found in lines.values() for context in found}
    tests = {context.partition("|")[0] for context in contexts if context}
    stem = fault.path.stem.removeprefix("_")
    ordered = sorted(tests, key=lambda test: (stem not in test.partition("::")[0], test))
    return ordered[:_MOST_TESTS]


def _outcome(overlay: Path, fault: Fault, source: bytes, tests: list[str]) -> str:
    """Whether one of the tests fails while the fault is there."""
    file = overlay / fault.path.relative_to(ROOT)
    file.write_bytes(fault.applied(source))
    names = overlay / "tests.txt"
    names.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--timeout=60", "-p", "no:cacheprovider", f"@{names}"]
    try:
        done = subprocess.run(command, cwd=overlay, env=_environment(overlay), capture_output=True, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "noticed"
    finally:
        file.write_bytes(source)
    return "survived" if done.returncode == 0 else "noticed"


if __name__ == "__main__":
    sys.exit(main())
