"""
Debezium's source under kill -9, while PostgreSQL changes all the time: the short form of `scripts/chaos --debezium`.

Exactly-once, each change comes once and in order; at least once, none is lost, and what comes again comes in order: see
`tests/rig/systems/captured.py`. The seed is always the same, unless `KCONNECT_CHAOS_SEED` says which, or `KCONNECT_EXPLORE` has
one drawn; a failure names it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.chaos.capture import CaptureRun
from tests.rig.chaos.faults import kill_host, kill_jvm, kill_leader
from tests.support import seed

# Healing and delivery have limits of their own, which say more than pytest's.
pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.mark.parametrize("exactly_once", [True, False])
def test_no_change_is_lost_whoever_is_killed(postgres_programs: Path, tmp_path: Path, exactly_once: bool) -> None:
    run = CaptureRun(tmp_path, seed("KCONNECT_CHAOS_SEED"), workers=2, exactly_once=exactly_once, session_s=8.0)
    kills = {"host": kill_host, "executor": kill_jvm, "worker": kill_leader}
    try:
        run.start()
        for name, fault in kills.items():
            run.strike(name, fault)
        run.finish()
    finally:
        run.abort()
    report = run.report()
    print(report)  # noqa: T201 - what was checked, for who asks pytest for it
    assert not run.violations, f"seed {run.seed}, everything is in {run.cluster.directory}:\n{report}"
    # There was something to check, and the kills did hit it.
    assert dict(run.kills) == dict.fromkeys(kills, 1)
    assert run.counts["records"] > 500
