"""
Has real Connect workers and kconnect take turns on one group and its topics; see `tests/rig/compat`. Run by
`scripts/compat`.

Exit status: 0 if all holds and docs/compatibility.md says so, 1 if anything fails or the document's table says otherwise, 2 if
it could not be tried.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars
from kconnect.local.broker import Broker
from tests.rig.compat import table
from tests.rig.compat.row import Suite
from tests.rig.compat.rows import SUITES
from tests.rig.compat.run import VERSIONS, CompatRun, Outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/compat", description=__doc__.splitlines()[1])
    which = f"which of Connect's versions take turns with kconnect; default: {','.join(VERSIONS)}"
    parser.add_argument("--versions", metavar="V,W", default=",".join(VERSIONS), help=which)
    parser.add_argument("--only", metavar="TEXT", default="", help="only rows whose title has this text")
    parser.add_argument("--write", action="store_true", help="write the table to docs/compatibility.md")
    options = parser.parse_args()
    versions = options.versions.split(",")
    suites = [replace(suite, rows=tuple(row for row in suite.rows if options.only in row.title)) for suite in SUITES]
    suites = [suite for suite in suites if suite.rows]
    if not suites:
        parser.error(f"no row's title has {options.only!r}")
    if options.write and (tuple(versions) != VERSIONS or options.only):
        parser.error("--write needs all rows and versions: leave out --versions and --only")
    directory = Path(tempfile.mkdtemp(prefix="kconnect-compat-"))
    # Whoever ends this one must not leave workers behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    broker = Broker(directory / "broker")
    try:
        for version in versions:
            jars.connect(version)
        broker.start()
        print(f"everything is in {directory}", flush=True)
        outcomes = [each for suite in suites for each in _play(suite, broker.bootstrap_servers, directory, versions)]
    except (ConnectError, OSError) as error:
        print(f"scripts/compat: {error}; the logs are in {directory}", file=sys.stderr)
        return 2
    finally:
        broker.stop()
    print(table.written(outcomes))
    failed = [each for each in outcomes if each.failure]
    for each in failed:
        print(f"✗ {each.row}, {each.version}: {each.failure}")
    text = table.DOCUMENT.read_text("utf-8")
    if options.write:
        table.DOCUMENT.write_text(table.replaced(text, outcomes), "utf-8")
        text = table.DOCUMENT.read_text("utf-8")
    # What the logs have depends on all rows together.
    compared = [each for each in outcomes if not options.only or each.row not in {suite.log for suite in SUITES}]
    different = table.differences(compared, table.read(text))
    for line in different:
        print(f"docs/compatibility.md says otherwise: {line}")
    return 1 if failed or different else 0


def _play(suite: Suite, bootstrap_servers: str, directory: Path, versions: list[str]) -> list[Outcome]:
    say = partial(print, flush=True)
    run = CompatRun(bootstrap_servers, directory, f"compat-{suite.name}", suite, say)
    try:
        return run.play(versions)
    finally:
        run.stop()


if __name__ == "__main__":
    sys.exit(main())
