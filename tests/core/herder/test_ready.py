"""`GET /ready` over a cluster in memory: from when a worker has come up until it leaves, whatever ails it meanwhile."""

from __future__ import annotations

from kconnect.core.herder import events
from kconnect.core.herder.requests.worker import WhyNotReady
from tests.rig.histories.cluster import MemoryCluster


def test_it_is_from_when_all_has_come_up_until_it_leaves() -> None:
    cluster = MemoryCluster(1)
    worker = cluster.add_worker("a:1")
    cluster.add_worker("b:1")
    assert cluster.call("a:1", WhyNotReady()) == "The worker reads its topics."
    seen = []
    for _ in range(200):
        cluster.step()
        seen.append(cluster.call("a:1", WhyNotReady()))
    cluster.settle()
    # In this order, and never back.
    told = [
        *("The worker reads its topics.", "The worker is not in the group yet."),
        *("Spark and the worker's first task host are not up yet.", None),
    ]
    places = [told.index(text) for text in seen]
    assert places == sorted(places)
    assert cluster.call("a:1", WhyNotReady()) is None
    # Kafka tells nobody of the group any more, and Spark ends: `/health` is for that.
    worker._inbox.append(events.Members({}, None, None))
    cluster.kill_spark("a:1")
    cluster.step()
    assert cluster.call("a:1", WhyNotReady()) is None
    worker._inbox.append(events.ShutDown())
    cluster.step()
    assert cluster.call("a:1", WhyNotReady()) == "The worker hands its work over, and ends."


def test_a_worker_without_spark_is_not() -> None:
    cluster = MemoryCluster(1)
    cluster.without_spark.add("a:1")
    cluster.add_worker("a:1")
    for _ in range(400):
        cluster.step()
    assert cluster.call("a:1", WhyNotReady()) == "Spark and the worker's first task host are not up yet."
