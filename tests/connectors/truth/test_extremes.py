"""Values at the edges of their types and spoiled files end no process: `extremes.py` and `hostile_files.py` play."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.connectors.truth.extremes import Case, fault, too_much

_BY_NIGHT = {"extremes": 600, "hostile_files": 3000}
"""How many cases are drawn."""


@pytest.mark.process
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("module", "seed", "count"),
    [
        # The 19th of these ended the process when Arrow was given 1E-999999999 for a decimal.
        ("extremes", 2, 40),
        ("hostile_files", 1, 80),
    ],
)
def test_no_value_and_no_file_ends_a_process(module: str, seed: int, count: int) -> None:
    if os.environ.get("KCONNECT_NIGHT"):
        seed, count = random.SystemRandom().randrange(1_000_000), _BY_NIGHT[module]
    command = [sys.executable, "-X", "faulthandler", "-m", f"tests.connectors.truth.{module}", str(seed), str(count)]
    played = subprocess.run(command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert played.returncode == 0, f"{' '.join(command)}: exit status {played.returncode}\n{played.stdout[-4000:]}"
    assert f"case {count - 1}\n" in played.stdout


def test_what_is_wrong_with_a_case_is_seen(tmp_path: Path) -> None:
    chance = random.Random(1)
    case = Case(chance, tmp_path)
    while case.ids is None:
        folder = tmp_path / str(chance.random())
        folder.mkdir()
        case = Case(chance, folder)
    case.play()
    assert fault(case) == ""
    there = case.ids()
    assert set(range(6)) <= set(there)
    case.ids = lambda: there[1:]
    assert "the table has" in fault(case)
    case.ended = ValueError("no")
    assert fault(case) == "the task ended: no"
    assert (too_much(1.0, 1000), too_much(100.0, 1000)) == ("", "it took 100 s")
    assert too_much(1.0, 2_000_000) == "it took 2000 MB"
