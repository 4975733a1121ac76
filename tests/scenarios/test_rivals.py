"""Two processes that take themselves for one worker, though each looks before it starts. In memory."""

from __future__ import annotations

import pytest

from kconnect.core.herder import events
from kconnect.core.herder.requests.worker import Health
from kconnect.errors import ConnectError
from tests.rig.histories.cluster import MemoryCluster, MemoryWorker
from tests.scenarios.test_cluster import WHOLE, states, with_connector
from tests.support import examples

seeds = pytest.mark.parametrize("seed", range(examples(6)))


def twin_of(cluster: MemoryCluster, name: str) -> MemoryWorker:
    """A later life of the worker `name`, in the cluster beside it."""
    twin = MemoryWorker(cluster, name, 2, f"{next(cluster._lives):06d}", member="twin")
    cluster.workers["twin"] = twin
    return twin


def has_the_work(cluster: MemoryCluster, worker: MemoryWorker) -> bool:
    lives = {cluster.hosts[key].state.worker_incarnation for where in cluster.running().values() for key in where}
    return set(cluster.running()) == WHOLE and lives == {worker.incarnation}


@seeds
@pytest.mark.parametrize("in_order", [True, False], ids=["it leaves", "it is killed"])
def test_the_first_recovers_once_the_second_is_gone(seed: int, in_order: bool) -> None:
    cluster = with_connector(seed)
    first, second = cluster.workers["a:1"], twin_of(cluster, "a:1")
    cluster.run_until(lambda: has_the_work(cluster, second))
    with pytest.raises(ConnectError, match=r"Another process, started later, is also the worker a:1"):
        cluster.call("a:1", Health())
    if in_order:
        second._inbox.append(events.ShutDown())
        cluster.run_until(lambda: second.left)
    else:
        for key in list(cluster.hosts):
            cluster.kill_host(*key)
    cluster.kill_worker("twin")
    cluster.run_until(lambda: has_the_work(cluster, first))
    cluster.settle()
    assert not cluster.workers["a:1"].herder.log.assignment.placements["a:1"].leaving
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    assert cluster.call("a:1", Health()) is None


@seeds
def test_as_long_as_both_live_the_later_one_has_the_work(seed: int) -> None:
    cluster = with_connector(seed)
    second = twin_of(cluster, "a:1")
    end = cluster.now + 5 * cluster.session_ms
    cluster.run_until(lambda: has_the_work(cluster, second))
    cluster.run_until(lambda: cluster.now >= end, steps=100_000)
    assert has_the_work(cluster, second)
    # Who leads may be either, and says so too.
    with pytest.raises(ConnectError, match="two of one id"):
        cluster.call("twin", Health())
