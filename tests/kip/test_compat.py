"""
Connect's oldest and newest worker of `scripts/compat` and kconnect take turns on one group and its topics; its short form.

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


@pytest.mark.timeout(1200)
def test_workers_of_other_versions_and_kconnect_take_turns(
    broker: Broker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    run = CompatRun(broker.bootstrap_servers, tmp_path, unique("compat"), say=print, thorough=False)
    try:
        outcomes = run.play((VERSIONS[0], VERSIONS[-1]))
    finally:
        run.stop()
    assert {f"{each.row}, {each.version}": each.failure for each in outcomes if each.failure} == {}
    assert table.differences(outcomes, table.read(table.DOCUMENT.read_text("utf-8"))) == []
