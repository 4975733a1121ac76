"""
Random records, schemas, values and settings, given to ours and to Connect's own classes: both do the same.

Needs a JDK, and the jars of Connect, which it fetches; without them it fails and says so. `KCONNECT_FRESH_CASES` sets how many
cases there are, `KCONNECT_FRESH_SEED` repeats those of a run.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from kconnect.testing.golden import fresh, run

COUNT = int(os.environ.get("KCONNECT_FRESH_CASES") or 200)
SEED = int(os.environ.get("KCONNECT_FRESH_SEED") or random.SystemRandom().randrange(1_000_000))


def test_fresh_cases(tmp_path: Path) -> None:
    said: list[str] = [f"seed {SEED}; those that differ are in {tmp_path}"]
    results = fresh.check(SEED, COUNT, tmp_path)
    all_passed = run.report(results, said.append, differences=5)
    assert all_passed, "\n".join(said)
    assert sum(result.passed for result in results) == COUNT
