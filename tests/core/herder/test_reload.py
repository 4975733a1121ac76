"""What a worker does when other plugins are there, over a cluster in memory."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.plugins import ReloadPlugins
from kconnect.core.state.records import UnitId
from tests.rig.histories import cluster as memory
from tests.rig.histories.cluster import MemoryCluster


def test_units_move_to_hosts_with_the_plugins_that_are_there_now(monkeypatch: pytest.MonkeyPatch) -> None:
    there: dict[str, tuple[str, ...]] = {"Late": (), "Same": ("/plugins/same",)}

    def directories(config: Mapping[str, str | None]) -> tuple[str, ...]:
        return there[config["connector.class"] or ""]

    monkeypatch.setattr(memory, "directories", directories)
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    for name in there:
        cluster.call("a:1", CreateConnector(name, {"connector.class": name, "tasks.max": "1"}))
    cluster.settle()

    def places(name: str) -> list[tuple[tuple[str, int], tuple[str, ...]]]:
        placement = cluster.workers["a:1"].herder.log.assignment.placements["a:1"]
        running = cluster.running()
        found = [running[unit][0] for unit in (UnitId(name), UnitId(name, 0))]
        return [(where, placement.spec(where[1]).directories) for where in found]

    before = places("Same")
    assert [spec for _, spec in places("Late")] == [(), ()]
    there["Late"] = ("/plugins/late-2.0",)
    # Until it has moved it runs in a host that is not for it any more.
    monkeypatch.setattr(cluster, "check", lambda: None)
    assert cluster.call("a:1", ReloadPlugins()) == {"added": [], "removed": [], "installed": [], "broken": []}
    cluster.settle()
    assert [spec for _, spec in places("Late")] == [("/plugins/late-2.0",)] * 2
    assert places("Same") == before
    MemoryCluster.check(cluster)
