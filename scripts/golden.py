"""
Compares ours with what Connect's own classes do; see `kconnect/testing/golden`. Run by `scripts/golden`.

Exit status: 0 if every case passed, 1 if any failed, 2 if the cases can't be had at all.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kconnect.testing.golden import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/golden", description=__doc__.splitlines()[1])
    parser.add_argument("directory", metavar="DIR", type=Path, help="check every case of its golden files")
    parser.add_argument("--differences", type=int, default=3, help="how many of each file are shown; default: 3")
    options = parser.parse_args()
    try:
        results = [run.check_file(path) for path in run.files(options.directory)]
    except (run.UnknownFormat, OSError, UnicodeDecodeError) as error:
        print(f"scripts/golden: {error}", file=sys.stderr)
        return 2
    return 0 if run.report(results, print, options.differences) else 1


if __name__ == "__main__":
    sys.exit(main())
