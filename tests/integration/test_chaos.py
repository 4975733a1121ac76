"""
Three real workers through a fault of each kind, at random points, and at night through every one; `scripts/chaos` does the
same for as long as one likes.

What is checked after each fault: see `tests/rig/systems/history.py`. The seed is always the same, unless `KCONNECT_CHAOS_SEED`
says which, or `KCONNECT_EXPLORE` has one drawn; a failure names it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.chaos.faults import FAULTS, Fault
from tests.rig.chaos.run import ChaosRun
from tests.support import seed

# Healing and delivery have limits of their own, which say more than pytest's.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

NIGHTS = ("F2", "F3", "F4", "F5", "F6", "F12")
"""Much as F1 and F7, or alone in `test_rivals.py`."""
ALL = [
    pytest.param(name, fault, id=f"{name}-{fault.__name__}", marks=[pytest.mark.long] if others or name in NIGHTS else [])
    for name, faults in FAULTS.items()
    for others, fault in enumerate(faults)
]


@pytest.fixture(scope="module", params=["classic", pytest.param("consumer", marks=pytest.mark.long)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosRun]:
    """By each protocol that the groups of sinks may have."""
    made = ChaosRun(tmp_path_factory.mktemp("chaos"), seed("KCONNECT_CHAOS_SEED"), protocol=request.param)
    try:
        made.start()
        yield made
    finally:
        made.abort()


@pytest.mark.parametrize(("name", "fault"), ALL)
def test_a_fault_heals_and_nothing_is_lost_or_run_twice(run: ChaosRun, name: str, fault: Fault) -> None:
    found = run.strike(name, fault)
    assert not found, said(run, found)


def test_at_the_end_everything_is_whole_and_no_process_is_left(run: ChaosRun) -> None:
    before = len(run.violations)
    run.finish()
    print(run.report())  # noqa: T201 - what was checked, for who asks pytest for it
    found = run.violations[before:]
    assert not found, said(run, found)
    # There was something to check, and the faults did hit it.
    assert {name for name, _ in run.recoveries} >= set(FAULTS) - set(NIGHTS)
    assert min(run.counts["records"], run.counts["delivered"], run.counts["lives"], run.counts["leaders"]) > 0


def said(run: ChaosRun, found: list) -> str:
    return f"seed {run.seed}, everything is in {run.cluster.directory}:\n" + "\n".join(str(violation) for violation in found)
