"""
Runs Java connectors on Connect 4.3.1 and then on kconnect, and tells what differs; see `tests/rig/java_parity`. Run by
`scripts/java-parity`.

Exit status: 0 if all that differs is known (`tests/rig/java_parity/known.py`, docs/compatibility.md), 1 if anything else does
or a known difference no longer occurs, 2 if it could not be tried.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from kconnect.errors import ConnectError
from tests.rig.java_parity.cases import CASES
from tests.rig.java_parity.run import Compared, run
from tests.rig.parity.compare import shown


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/java-parity", description=__doc__.splitlines()[1])
    names = [case.name for case in CASES]
    parser.add_argument("names", nargs="*", metavar="CASE", help=f"only these, of {', '.join(names)}; all by default")
    parser.add_argument("--show", action="store_true", help="show what both gave, and what is known to differ")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(names)):
        parser.error(f"there is no case {', '.join(unknown)}: there are {', '.join(names)}")
    cases = [case for case in CASES if not options.names or case.name in options.names]
    directory = Path(tempfile.mkdtemp(prefix="kconnect-java-parity-"))
    began = time.monotonic()
    try:
        report = run(cases, directory, lambda line: print(line, flush=True))
    except (ConnectError, OSError, AssertionError) as error:
        print(f"scripts/java-parity: {error}; the logs are in {directory}", file=sys.stderr)
        return 2
    for each in report.compared:
        _tell(each, options.show)
    unexpected = sum(bool(each.unexpected) for each in report.compared)
    known = sum(bool(each.known) and not each.unexpected for each in report.compared)
    same = len(report.compared) - unexpected - known
    took = f"{time.monotonic() - began:.0f} s; the logs are in {directory}"
    print(f"{len(report.compared)} compared: {same} the same, {known} as known, {unexpected} different; {took}")
    unmet = [] if options.names else report.unmet
    for place in unmet:
        print(f"known to differ, but the same: {place}")
    return 1 if unexpected or unmet else 0


_MOST = 12


def _tell(each: Compared, show: bool) -> None:
    mark = "✗" if each.unexpected else "~" if each.known else "="
    print(f"{mark} {each.title}" + (f"  ({', '.join(each.known)})" if each.known else ""))
    if show:
        print(f"    Connect   {shown(each.theirs, 4000)}\n    kconnect  {shown(each.ours, 4000)}")
        for found in each.found:
            if found.known is not None:
                print(f"    ~ {found.known.id}: {found.difference}")
    for difference in each.unexpected if show else each.unexpected[:_MOST]:
        print(f"    ✗ {difference}")
    if not show and len(each.unexpected) > _MOST:
        print(f"    … and {len(each.unexpected) - _MOST} more")


if __name__ == "__main__":
    sys.exit(main())
