"""
What `scripts/test` does with tests that failed: those with processes are run once more, alone, after all others.

Brokers, Spark and many workers on two cores are now and then too slow for a test that is right. One that passes alone is
named in a line `FLAKY name` at the end of the run, which passes; its cause is to be found the same day. More than five such
lines fail the run, and tests without processes get no second chance. `tests/conftest.py` writes down what failed.

    again.py FAILURES STATUS...     the file of failures, and the exit status of each run of pytest
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 5
"""How many of some 2,200 tests may have been flaky. More of them say that something is wrong."""


def main(failures: Path, statuses: list[int]) -> int:
    """The exit status of the whole run."""
    if not any(statuses):
        return 0
    lines = failures.read_text().splitlines() if failures.exists() else []
    failed: dict[str, bool] = dict(map(json.loads, lines))
    # Above 1 pytest itself was ended or could not begin; and a status without a name is a failure that nobody can try again.
    if any(status > 1 for status in statuses) or not failed or not all(failed.values()):
        return 1
    if len(failed) > MOST:
        print(f"{len(failed)} tests with processes failed: more than {MOST} are not run again")
        return 1
    print(f"Once more, alone: {', '.join(failed)}", flush=True)
    if subprocess.run([sys.executable, "-m", "pytest", *failed]).returncode != 0:
        return 1
    for name in failed:
        print(f"FLAKY {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [int(status) for status in sys.argv[2:]]))
