"""
Connect's newest worker of `scripts/compat` and kconnect take turns on one group and its topics, at night its oldest, too;
the short form of that script.

Many rows share each turn, KIP-558's (the topics that a connector has used) and KIP-875's (what is STOPPED stays so) among them:
`tests/rig/compat/rows` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from tests.rig.compat import table
from tests.rig.compat.run import VERSIONS, CompatRun


# What the topics hold is compared with Connect's own classes by day (`tests/golden`).
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_a_worker_of_another_version_and_kconnect_take_turns(
    broker: Broker, unique: Callable[[str], str], tmp_path: Path, version: str
) -> None:
    run = CompatRun(broker.bootstrap_servers, tmp_path, unique("compat"), say=print, thorough=False)
    try:
        outcomes = run.play((version,))
    finally:
        run.stop()
    assert {f"{each.row}, {each.version}": each.failure for each in outcomes if each.failure} == {}
    assert table.differences(outcomes, table.read(table.DOCUMENT.read_text("utf-8"))) == []
