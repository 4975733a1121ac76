"""
Exactly-once sources under kill -9 of each kind of process, while another connector's tasks change from 3 to 5 to 1.

For nights: the short form of `scripts/chaos --exactly-once --kills 50`. Nothing is lost, nothing comes twice or in another
order, and each transaction has both its records and their source offsets, or neither: see `tests/rig/systems/history.py`. The
seed is always the same, unless `KCONNECT_CHAOS_SEED` says which, or `KCONNECT_EXPLORE` has one drawn; a failure names it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.chaos.cluster import CHURN, CHURN_TASKS_ONCE
from tests.rig.chaos.faults import KILLS
from tests.rig.chaos.run import ChaosRun
from tests.support import seed

# Healing and delivery have limits of their own, which say more than pytest's.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(900), pytest.mark.long]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosRun]:
    drawn = seed("KCONNECT_CHAOS_SEED")
    made = ChaosRun(tmp_path_factory.mktemp("kills"), drawn, workers=2, exactly_once=True, session_s=8.0)
    try:
        made.start()
        yield made
    finally:
        made.abort()


def test_each_number_comes_once_and_in_order_whoever_is_killed(run: ChaosRun) -> None:
    for name, faults in KILLS.items():
        run.strike(name, run.random.choice(faults))
    # Kills leave few of the changes the time to take effect: that tasks came and went is waited for.
    run.wait_worked([f"{CHURN}-{number}" for number in range(CHURN_TASKS_ONCE[0], max(CHURN_TASKS_ONCE))])
    run.finish()
    assert not run.violations, f"seed {run.seed}, everything is in {run.cluster.directory}:\n{run.report()}"
    # There was something to check, and the kills did hit it.
    assert dict(run.kills) == dict.fromkeys(KILLS, 1)
    assert run.counts["transactions"] > len(KILLS)
