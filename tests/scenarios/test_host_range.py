"""A worker whose `task.hosts` is a range has more hosts while there is more to do. In memory."""

from __future__ import annotations

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.state.records import UnitId
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import SOURCE
from tests.scenarios.test_standby import pass_time
from tests.support import examples

seeds = pytest.mark.parametrize("seed", range(examples(6)))


def worker(seed: int) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    cluster.most_hosts = 3
    cluster.add_worker("a:1", hosts=1)
    cluster.settle()
    assert len(cluster.hosts) == 1
    return cluster


def units(cluster: MemoryCluster) -> list[int]:
    return sorted(len(host.threads) for host in cluster.hosts.values())


@pytest.mark.long
@seeds
def test_hosts_come_with_connectors_and_go_without_them(seed: int) -> None:
    cluster = worker(seed)
    names = [f"c{number}" for number in range(5)]
    for name in names:
        cluster.call("a:1", CreateConnector(name, SOURCE))
    cluster.settle()
    # 20 units, each once: `MemoryCluster.check` looks at every step.
    assert len(cluster.running()) == 20
    assert units(cluster) in ([6, 7, 7], [6, 6, 8])
    for name in names[1:]:
        cluster.call("a:1", DeleteConnector(name))
    pass_time(cluster, 300_000)
    assert len(cluster.hosts) == 3, "fewer would do, but not for long yet"
    pass_time(cluster, 1_500_000)
    assert units(cluster) == [4]


@seeds
def test_hosts_come_where_those_that_are_there_take_much(seed: int) -> None:
    cluster = worker(seed)
    cluster.call("a:1", CreateConnector("x", SOURCE))
    cluster.settle()
    assert units(cluster) == [4]
    cluster.cores = 0.95
    pass_time(cluster, 60_000)
    cluster.settle()
    assert units(cluster) == [2, 2]
    assert cluster.running().keys() == {UnitId("x"), *(UnitId("x", task) for task in range(3))}
