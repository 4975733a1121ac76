"""
Hurts a cluster of three workers for some minutes and checks what it did; see `tests/rig/chaos`. Run by `scripts/chaos`.

Everything that the cluster wrote stays in the directory, for whoever wants to know what was behind a violation.
"""

from __future__ import annotations

import argparse
import importlib
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.rig.chaos.capture import CaptureRun
from tests.rig.chaos.cluster import SESSION_S
from tests.rig.chaos.faults import EVERYTHING, EXACTLY_ONCE, FAULTS, KILL_BURSTS, mix
from tests.rig.chaos.run import ChaosRun

_CAPTURE_KILLS = 20


def main() -> int:
    if "--machines" in sys.argv:
        from tests.rig.machines import chaos

        arguments = [argument for argument in sys.argv[1:] if argument != "--machines"]
        return chaos.main(arguments, lambda text: print(text, flush=True))
    for kind in ("lake", "backfill"):
        if f"--{kind}" in sys.argv:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
            arguments = [argument for argument in sys.argv[1:] if argument != f"--{kind}"]
            directory = Path(tempfile.mkdtemp(prefix="kconnect-chaos-"))
            return importlib.import_module(f"tests.rig.chaos.{kind}").main(
                arguments, directory, lambda text: print(text, flush=True)
            )
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__.splitlines()[1])
    parser.add_argument("--minutes", type=float, default=10.0, help="strike for so long; a round of all takes about 8")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="that of a run to repeat")
    parser.add_argument("--only", metavar="F1,F2", help=f"only these of {', '.join(FAULTS)}; or of kills, suspend")
    parser.add_argument("--exactly-once", action="store_true", help="sources are exactly-once, and what strikes are kills")
    parser.add_argument(
        "--debezium", action="store_true", help="sources are Debezium of PostgreSQL, and what strikes are kills"
    )
    parser.add_argument(
        "--kills", type=int, help="with one of these two: end after so many, whatever the time; of Debezium's, 20"
    )
    parser.add_argument("--session", type=float, default=SESSION_S, help="of workers and hosts, in seconds; %(default)s")
    parser.add_argument(
        "--group-protocol",
        choices=("classic", "consumer"),
        default="classic",
        help="of the groups of sinks; consumer is that of KIP-848",
    )
    parser.add_argument("--directory", type=Path, help="where logs and data go; default: a new one for temporary files")
    options = parser.parse_args()
    directory = options.directory or Path(tempfile.mkdtemp(prefix="kconnect-chaos-"))
    # Whoever ends this one must not leave a cluster behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    once = options.exactly_once
    kills = options.kills or (_CAPTURE_KILLS if options.debezium else None)
    faults = KILL_BURSTS if options.debezium else EXACTLY_ONCE if once else EVERYTHING
    run = (CaptureRun if options.debezium else ChaosRun)(
        *(directory, options.seed, lambda line: print(line, flush=True)),
        exactly_once=once,
        session_s=options.session,
        protocol=options.group_protocol,
    )
    only = options.only.split(",") if options.only else None
    try:
        run.start()
        end = time.monotonic() + options.minutes * 60
        for name, fault in mix(options.seed, only, faults):
            if run.kills.total() >= kills if kills else time.monotonic() >= end:
                break
            run.strike(name, fault)
        run.finish()
    except BaseException:
        run.abort()
        raise
    print(run.report())
    return 1 if run.violations else 0


if __name__ == "__main__":
    sys.exit(main())
