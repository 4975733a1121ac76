"""
Has a plugin misbehave in every call and in every way on a real worker, and prints what happened as Markdown tables.

Run by `scripts/plugin-faults`; see `tests/rig/plugin_faults`.
"""

from __future__ import annotations

import argparse
import fnmatch
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.plugin_faults import java, judge, report, run
from tests.rig.plugin_faults.judge import Seen
from tests.rig.plugin_faults.places import JAVA_KINDS, JAVA_PLACES, KINDS, PLACES
from tests.rig.plugin_faults.watch import Answers


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/plugin-faults", description=__doc__.splitlines()[1])
    parser.add_argument("--places", default="*", metavar="PATTERN,…", help="only calls that match one of these, as 'sink.*'")
    every = ", ".join(dict.fromkeys((*KINDS, *JAVA_KINDS)))
    parser.add_argument("--kinds", default="*", metavar="PATTERN,…", help=f"only these of {every}")
    parser.add_argument("--java", action="store_true", help="the plugin is one in Java, in one lane")
    parser.add_argument("--lanes", type=int, default=4, help="how many cells at the same time; %(default)s")
    parser.add_argument("--slow", type=int, metavar="N", help="only this: N connectors of which every call takes a second")
    parser.add_argument("--control", action="store_true", help="also without a fault")
    parser.add_argument("--directory", type=Path, help="where logs and data go; default: a new one for temporary files")
    parser.add_argument("--results", type=Path, help="keep what is found in this file, and show what was found before, too")
    parser.add_argument("--missing", action="store_true", help="run only what --results has not, or what was wrong there")
    options = parser.parse_args()
    directory = options.directory or Path(tempfile.mkdtemp(prefix="kconnect-plugin-faults-"))
    # Whoever ends this one must not leave a worker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    chosen = [place for place in (JAVA_PLACES if options.java else PLACES) if _matches(place.name, options.places)]
    kinds = [kind for kind in (JAVA_KINDS if options.java else KINDS) if _matches(kind, options.kinds)]
    cells = [(place, kind) for kind in ([""] if options.control else []) + kinds for place in chosen]
    found: dict[run.Cell, Seen] = {} if options.results is None else report.kept(options.results)
    if options.missing:
        cells = [cell for cell in cells if cell not in found or judge.complaints(*cell, found[cell])]
    began, lock = time.monotonic(), threading.Lock()

    def tell(cell: run.Cell, seen: Seen) -> None:
        wrong = judge.complaints(*cell, seen)
        with lock:
            found[cell] = seen
            if options.results is not None:
                report.keep(options.results, cell, seen)
            what = "; ".join(wrong) or "ok"
            said = seen.reason or seen.answer
            line = f"{cell[0].name} {cell[1] or 'no fault'}: {judge.cell(*cell, seen)}: {what}"
            print(f"[{time.monotonic() - began:6.0f} s] {line}{f' ({said[:160]})' if said else ''}", flush=True)

    if not cells:
        print(report.table(found))
        return 0
    broker = Broker(directory / "broker")
    worker: WorkerProcess | None = None
    try:
        broker.start()
        plugins = directory / "plugins"
        path = java.write_plugins(plugins) if options.java else run.write_plugins(plugins, options.lanes)
        properties = {**(java.PROPERTIES if options.java else run.PROPERTIES), "plugin.path": path}
        worker = WorkerProcess(directory, broker.bootstrap_servers, "plugin-faults", properties=properties)
        print(f"everything is in {directory}", flush=True)
        worker.start()
        answers = Answers(worker.url)
        answers.start()
        if options.java:
            lanes: list[run.Lane] = [java.JavaLane(worker, plugins, java.NAME)]
        else:
            lanes = [run.Lane(worker, plugins, run.lane_name(number)) for number in range(options.lanes)]
        run.open_all(lanes)
        if options.slow:
            seen = lanes[0].run_slow(options.slow, answers)
            print(f"{options.slow} slow connectors beside good ones: {seen}")
            found, cells = {}, []
        run.run_all(lanes, cells, answers, tell)
        answers.end()
    finally:
        if worker is not None:
            worker.stop()
        broker.stop()
    print(report.table(found))
    return 1 if any(judge.complaints(*cell, seen) for cell, seen in found.items()) else 0


def _matches(name: str, patterns: str) -> bool:
    # Brackets and parentheses mean themselves.
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split(","))


if __name__ == "__main__":
    sys.exit(main())
