"""
Sends the same requests to Connect 4.3.1 and to kconnect and tells what differs; see `tests/rig/parity`. Run by
`scripts/parity`.

Exit status: 0 if all that differs is known (`tests/rig/parity/known.py`, docs/compatibility.md), 1 if anything else does
or a known difference no longer occurs, 2 if it could not be tried.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.local.broker import Broker
from tests.rig.parity.compare import shown
from tests.rig.parity.run import Compared, run
from tests.rig.parity.script import SCRIPT


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/parity", description=__doc__.splitlines()[1])
    only = "tell only of these, such as 'validate: *'; all are sent"
    parser.add_argument("--only", metavar="PATTERN", default="*", help=only)
    parser.add_argument("--show", action="store_true", help="show the answers of both, normalised, and what is known to differ")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kconnect-parity-"))
    broker = Broker(directory / "broker")
    try:
        broker.start()
        report = run(broker.bootstrap_servers, directory, SCRIPT, lambda line: print(line, flush=True))
    except (ConnectError, OSError) as error:
        print(f"scripts/parity: {error}; the logs are in {directory}", file=sys.stderr)
        return 2
    finally:
        broker.stop()
    told = [each for each in report.compared if fnmatch.fnmatchcase(each.title, options.only)]
    for each in told:
        _tell(each, options.show)
    unexpected = sum(bool(each.unexpected) for each in told)
    known = sum(bool(each.known) and not each.unexpected for each in told)
    print(f"{len(told)} compared: {len(told) - unexpected - known} the same, {known} as known, {unexpected} different")
    for place in report.unmet:
        print(f"known to differ, but the same: {place}")
    return 1 if unexpected or report.unmet else 0


def _tell(each: Compared, show: bool) -> None:
    mark = "✗" if each.unexpected else "~" if each.known else "="
    print(f"{mark} {each.title}" + (f"  ({', '.join(each.known)})" if each.known else ""))
    if show:
        print(f"    Connect   {shown(each.theirs)}\n    kconnect  {shown(each.ours)}")
        for found in each.found:
            if found.known is not None:
                print(f"    ~ {found.known.id}: {found.difference}")
    for difference in each.unexpected:
        print(f"    ✗ {difference}")


if __name__ == "__main__":
    sys.exit(main())
