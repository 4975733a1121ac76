"""
Compares ours with what Connect's own classes do; see `tests/rig/golden`. Run by `scripts/golden`.

Exit status: 0 if every case passed, 1 if any failed, 2 if there are none to be had: no such files, no JDK, no network.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from kconnect.errors import ConnectError
from tests.rig.golden import fresh, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/golden", description=__doc__.splitlines()[1])
    parser.add_argument("directory", metavar="DIR", nargs="?", type=Path, help="check every case of its golden files")
    parser.add_argument("--fresh", metavar="N", type=int, help="make N cases and ask Connect's own classes; needs a JDK")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="that of a run to repeat")
    parser.add_argument("--differences", metavar="N", type=int, default=3, help="how many of each file are shown; default: 3")
    options = parser.parse_args()
    if options.directory is None and options.fresh is None:
        parser.error("what shall be compared: DIR, or --fresh N, or both?")
    passed = True
    try:
        if options.directory is not None:
            results = [run.check_file(path) for path in run.files(options.directory)]
            passed = run.report(results, print, options.differences)
        if options.fresh is not None:
            print(f"{options.fresh} fresh cases, seed {options.seed}", flush=True)
            keep = Path(tempfile.gettempdir(), f"kconnect-golden-{options.seed}")
            results = fresh.check(options.seed, options.fresh, keep)
            if not run.report(results, print, options.differences):
                passed = False
                print(f"those that differ, with Connect's answers: {keep}")
    except (run.UnknownFormat, ConnectError, OSError, UnicodeDecodeError) as error:
        print(f"scripts/golden: {error}", file=sys.stderr)
        return 2
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
