"""
`scripts/chaos --machines`: plays faults on the rig of several machines and prints what each cost, then the verdict.

Called by `tests/rig/chaos/__main__.py`. Read next: `play.py`.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.rig import machines
from tests.rig.machines.cluster import life_line
from tests.rig.machines.faults import table
from tests.rig.machines.play import Play
from tests.rig.machines.trial import Trial

_WHAT = "Hurts three brokers, a Spark cluster and three workers on machines of their own."
SKIPPED = 77
"""The status of a run on a machine that can't have the rig."""


def main(arguments: list[str], report: Callable[[str], None]) -> int:
    """Play as the arguments say. Return 1 if something happened that never may."""
    faults = table.faults()
    parser = argparse.ArgumentParser(
        prog="scripts/chaos --machines", description="Hurts three brokers, Spark and three workers."
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="begin faults for so long; a round of all takes about 90")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="that of a run to repeat")
    parser.add_argument("--fault", nargs="+", metavar="KIND", choices=sorted(faults), help="only these, in this order, once")
    parser.add_argument("--directory", type=Path, help="where logs and data go; default: a new one for temporary files")
    parser.add_argument("--java", action="store_true", help="connectors in Java, MirrorMaker 2 among them")
    parser.add_argument(
        "--tables", action="store_true", help="with Debezium's PostgreSQL source and JDBC sink beside the others"
    )
    parser.add_argument("--at-least-once", action="store_true", help="workers without exactly.once.source.support")
    parser.add_argument("--peer", action="store_true", help="workers of Kafka Connect; connectors in Java, no faults of Spark")
    parser.add_argument("--delay-ms", type=int, help="with --peer: scheduled.rebalance.max.delay.ms; default: Connect's")
    parser.add_argument("--list", action="store_true", help="print the table of faults")
    options = parser.parse_args(arguments)
    if options.list:
        for fault in faults.values():
            report(f"{fault.name}: {fault.does}; {fault.heals} ({fault.machines})")
        return 0
    if (lacking := machines.lacking()) is not None:
        report(lacking)
        return SKIPPED
    directory = options.directory or Path(tempfile.mkdtemp(prefix="kconnect-machines-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    # Held until this process ends, in whichever way: then the rig ends.
    line, _held = life_line()
    trial = Trial(options.peer, options.java or options.peer, not options.at_least_once, options.delay_ms, options.tables)
    if options.peer:
        faults = {name: fault for name, fault in faults.items() if not fault.of_spark}
    play = Play(directory, options.seed, line, report, trial)
    play.start()
    play.control()
    order = [name for name in options.fault or () if name in faults] or play.random.sample(sorted(faults), len(faults))
    end = time.monotonic() + options.minutes * 60
    while True:
        for name in order:
            if time.monotonic() < end:
                play.strike(faults[name])
        if options.fault or time.monotonic() >= end:
            break
    play.finish()
    report(play.verdict())
    return 1 if play.violations else 0
