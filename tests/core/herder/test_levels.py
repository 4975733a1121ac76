"""Log levels for the whole cluster (KIP-976), over a cluster in memory."""

from __future__ import annotations

from kconnect.core.herder.requests.worker import SetLoggerLevel
from kconnect.core.state.records import Topic
from tests.rig.histories.cluster import MemoryCluster


def test_every_worker_that_runs_applies_it_and_none_that_is_started_later() -> None:
    cluster = MemoryCluster(3)
    for name in ("a:1", "b:1"):
        cluster.add_worker(name)
        cluster.settle()
    follower = next(name for name, worker in cluster.workers.items() if not worker.herder.desk.leads)
    assert cluster.call(follower, SetLoggerLevel("com.acme", "debug")) is None
    cluster.settle()
    cluster.add_worker("c:1")
    cluster.settle()
    assert {name: worker.levels for name, worker in cluster.workers.items()} == {
        "a:1": [("com.acme", "debug")],
        "b:1": [("com.acme", "debug")],
        "c:1": [],
    }
    written = [(r.key, r.value) for r in cluster.log.topics[Topic.CONFIG] if (r.key or b"").startswith(b"logger-cluster-")]
    assert written == [(b"logger-cluster-com.acme", b'{"level":"debug"}')]
