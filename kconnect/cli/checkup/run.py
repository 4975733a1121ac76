"""
Runs checks beside each other, each in a thread of its own, and gives what they find in the order of the checks.

Called by `cli/checkup/doctor.py`. A check is a function without arguments that gives findings, and has limits of its own; one
that fails all the same, or hangs, is a finding too. Read next: `machine.py`, `workers.py`, `brokers.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kconnect.cli import waiting
from kconnect.cli.findings import ERROR, WARNING, Finding

LIMIT_S = 5.0
"""For each answer over the network. Used qualified: tests on a busy machine wait longer."""


ALL_S = 60.0
"""For all checks together: plugins are tried, too."""


@dataclass(frozen=True)
class Check:
    """`name` and `location` are for the finding that tells of a check that came to no end."""

    name: str
    location: str
    run: Callable[[], Iterable[Finding]]


@dataclass
class _Running:
    check: Check
    found: list[Finding] = field(default_factory=list)
    thread: threading.Thread | None = None


def beside_each_other(checks: Sequence[Check], limit_s: float) -> list[Finding]:
    """All findings, after `limit_s` seconds at most."""
    running = [_Running(check) for check in checks]
    for run in running:
        # A daemon: one that hangs, as asking for a name may, must not keep the command from ending.
        run.thread = threading.Thread(target=_run, args=(run,), name=f"check {run.check.name}", daemon=True)
        run.thread.start()
    end = time.monotonic() + limit_s
    findings: list[Finding] = []

    def left() -> str:
        return ", ".join(run.check.name for run in running if run.thread is not None and run.thread.is_alive())

    with waiting.told("the checks of ", left):
        for run in running:
            assert run.thread is not None
            run.thread.join(max(0.0, end - time.monotonic()))
            findings += run.found
            if run.thread.is_alive():
                message = f"The check of {run.check.name} did not end within {limit_s:.0f} s"
                findings.append(Finding(WARNING, run.check.name, run.check.location, message))
    return findings


def _run(running: _Running) -> None:
    check = running.check
    try:
        for finding in check.run():
            running.found.append(finding)
    except Exception as error:  # noqa: BLE001 - one check must not take what the others found away
        text = f"The check of {check.name} failed ({type(error).__name__}: {' '.join(str(error).split())})"
        running.found.append(Finding(ERROR, check.name, check.location, text))
