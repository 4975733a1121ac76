"""Values at the edges of their types end no process, whichever library takes them: `extremes.py` plays, and this looks on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.connectors.truth.extremes import Case, fault

_BY_DAY, _BY_NIGHT = (2, 40), 600
"""A seed and a number of cases; the 19th of these ended the process when Arrow was given 1E-999999999 for a decimal."""


@pytest.mark.process
@pytest.mark.timeout(3600)
def test_no_value_ends_a_process_or_a_task_or_is_lost() -> None:
    seed, count = _BY_DAY
    if os.environ.get("KCONNECT_NIGHT"):
        seed, count = random.SystemRandom().randrange(1_000_000), _BY_NIGHT
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.connectors.truth.extremes", str(seed), str(count)]
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
    assert fault(case, 1.0, 1000) == ""
    there = case.ids()
    assert set(range(6)) <= set(there)
    case.ids = lambda: there[1:]
    assert "the table has" in fault(case, 1.0, 1000)
    assert fault(case, 100.0, 1000) == "it took 100 s"
    assert fault(case, 1.0, 2_000_000) == "it took 2000 MB"
    case.ended = ValueError("no")
    assert fault(case, 1.0, 1000) == "the task ended: no"
