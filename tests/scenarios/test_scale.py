"""The simulation of very large clusters, of a small one: all runs once, and comes to rest, whatever is changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconnect.core.state.records import Topic, UnitId
from tests.rig.histories.cluster import OverlapError
from tests.rig.histories.scale import ScaleCluster, _Host


def test_all_is_placed_and_placed_again() -> None:
    cluster = ScaleCluster(8)

    def restored() -> Iterator[None]:
        cluster.restore(30, 3)
        yield

    cost = cluster.measured(restored())
    assert len(cluster.units) == 120
    assert cost.started == 120, "nothing has moved on its way"
    shares = dict.fromkeys((*cluster.light, *cluster.workers), 0)
    for host in cluster.runs.values():
        shares[host.worker] += 1
    assert set(shares.values()) == {15}

    def lost() -> Iterator[None]:
        cluster.kill("w0005")
        yield

    cost = cluster.measured(lost())
    assert cost.started == 15, "those of all others stay where they are"
    # The leader has noticed it, and the grace of those that might still run is over.
    assert cost.ms >= cluster.grace_ms

    def rolled() -> Iterator[None]:
        for name in ("w0006", "w0007"):
            cluster.roll(name)
            yield

    cost = cluster.measured(rolled())
    # Away and back again, and none of anybody else's.
    assert 2 * 2 * 15 <= cost.started <= 2 * 2 * 20
    assert cost.written[Topic.ASSIGNMENT] > 0
    assert cost.cpu_s > 0


def test_what_would_run_twice_is_seen() -> None:
    cluster = ScaleCluster(4)
    cluster.restore(1, 1)
    cluster.run_all(cluster.is_whole)
    unit = UnitId("connector-000000")
    (elsewhere,) = [host for host in cluster._mine.values() if host.worker == "w0003"]
    assert isinstance(elsewhere, _Host)
    with pytest.raises(OverlapError):
        cluster.starts(unit, elsewhere)
