"""A worker that is drained: what it has goes to others, and it gets nothing, whatever happens, until that is taken back."""

from __future__ import annotations

import pytest

from kconnect.core.herder import events
from kconnect.core.herder.desk import ForwardError
from kconnect.core.herder.requests.cluster import DrainWorker, GetCluster
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import Drained
from kconnect.core.state.records import LogRecord, Topic
from kconnect.errors import ConflictError, NotFoundError
from tests.rig.histories.cluster import MemoryCluster


def cluster_of(seed: int, *names: str, delay_ms: int = 0) -> MemoryCluster:
    cluster = MemoryCluster(seed, delay_ms=delay_ms)
    for name in names:
        cluster.add_worker(name)
        cluster.settle()
    call(cluster, CreateConnector("x", {"connector.class": "FileStreamSource", "tasks.max": "6"}))
    cluster.settle()
    return cluster


def call(cluster: MemoryCluster, request: DrainWorker | GetCluster | CreateConnector) -> object:
    assert cluster.group.owner is not None
    answer: object = cluster.call(cluster.group.owner, request)
    cluster.settle()
    return answer


def running_on(cluster: MemoryCluster) -> dict[str, int]:
    found = dict.fromkeys(cluster.workers, 0)
    for hosts in cluster.running().values():
        for worker, _ in hosts:
            found[worker] += 1
    return found


def drained(cluster: MemoryCluster) -> dict[str, bool]:
    answer = call(cluster, GetCluster())
    assert isinstance(answer, dict)
    return {row["worker_id"]: row["drained"] for row in answer["workers"]}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("who", ["the leader", "another one"])
def test_all_goes_to_others_and_comes_back(seed: int, who: str) -> None:
    cluster = cluster_of(seed, "a:1", "b:1", "c:1")
    assert sorted(running_on(cluster).values()) == [2, 2, 3]
    worker = next(name for name in cluster.workers if (name == cluster.group.owner) == (who == "the leader"))
    for _ in range(2):
        call(cluster, DrainWorker(worker, is_drained=True))
        assert running_on(cluster)[worker] == 0
        assert sum(running_on(cluster).values()) == 7
        assert drained(cluster) == {name: name == worker for name in cluster.workers}
    call(cluster, CreateConnector("y", {"connector.class": "FileStreamSource", "tasks.max": "6"}))
    assert running_on(cluster)[worker] == 0
    call(cluster, DrainWorker(worker, is_drained=False))
    assert min(running_on(cluster).values()) >= 4


@pytest.mark.parametrize("seed", range(2))
def test_it_stays_so_in_the_worker_s_next_life(seed: int) -> None:
    cluster = cluster_of(seed, "a:1", "b:1", "c:1")
    call(cluster, DrainWorker("b:1", is_drained=True))
    cluster.kill_worker("b:1")
    cluster.settle()
    cluster.add_worker("b:1")
    cluster.settle()
    assert running_on(cluster)["b:1"] == 0
    assert drained(cluster)["b:1"]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("in_order", [False, True])
def test_the_last_one_is_refused_and_a_drained_one_works_if_all_others_go(seed: int, in_order: bool) -> None:
    cluster = cluster_of(seed, "a:1", "b:1")
    call(cluster, DrainWorker("a:1", is_drained=True))
    with pytest.raises(ConflictError, match="b:1 is the last worker that can run anything"):
        call(cluster, DrainWorker("b:1", is_drained=True))
    assert drained(cluster) == {"a:1": True, "b:1": False}
    if in_order:
        cluster.workers["b:1"]._inbox.append(events.ShutDown())
        cluster.run_until(lambda: cluster.workers["b:1"].herder.desk.leaving)
        # Else it would wait for somebody to take what it has.
        cluster.run_until(lambda: sum(running_on(cluster).values()) == running_on(cluster)["a:1"] == 7)
        return
    cluster.kill_worker("b:1")
    cluster.settle()
    assert running_on(cluster) == {"a:1": 7}


def test_who_is_unknown_and_who_has_to_answer() -> None:
    cluster = cluster_of(1, "a:1", "b:1")
    with pytest.raises(NotFoundError, match=r"There is no worker z:1\. These are known: a:1, b:1"):
        call(cluster, DrainWorker("z:1", is_drained=True))
    follower = next(name for name in cluster.workers if name != cluster.group.owner)
    with pytest.raises(ForwardError):
        cluster.call(follower, DrainWorker("a:1", is_drained=True))


def test_its_record() -> None:
    entry = assignment_records.drained(Drained("a:1", is_drained=True))
    assert (entry.topic, entry.key, entry.value) == (Topic.ASSIGNMENT, b"drained-a:1", b'{"format":1}')
    state = AssignmentState()
    state.apply(LogRecord(entry.topic, 0, 0, entry.key, entry.value))
    assert state.drained == {"a:1"}
    gone = assignment_records.drained(Drained("a:1", is_drained=False))
    state.apply(LogRecord(gone.topic, 0, 1, gone.key, gone.value))
    assert (gone.value, state.drained) == (None, set())


def test_a_drained_worker_is_not_waited_for_when_it_goes() -> None:
    # As by `scheduled.rebalance.max.delay.ms`.
    cluster = cluster_of(1, "b:1", "a:1", delay_ms=3_000_000)
    assert cluster.group.owner == "b:1"
    cluster.submit("b:1", DrainWorker("a:1", is_drained=True))
    cluster.run_until(lambda: bool(cluster.workers["b:1"].herder.log.assignment.drained))
    # Before it has handed over.
    assert running_on(cluster)["a:1"]
    cluster.kill_worker("a:1")
    before = cluster.now
    cluster.run_until(lambda: running_on(cluster) == {"b:1": 7})
    assert cluster.now - before < 1_000_000


def test_a_drained_worker_that_comes_up_first_waits_for_the_others() -> None:
    cluster = cluster_of(1, "a:1", "b:1")
    call(cluster, DrainWorker("a:1", is_drained=True))
    cluster.kill_worker("a:1")
    cluster.kill_worker("b:1")
    cluster.without_spark.add("b:1")
    cluster.add_worker("a:1")
    cluster.add_worker("b:1")
    began = cluster.now
    cluster.run_until(lambda: cluster.now - began > 30_000)
    assert running_on(cluster)["a:1"] == 0
    cluster.without_spark.clear()
    cluster.run_until(lambda: running_on(cluster) == {"a:1": 0, "b:1": 7})


def test_of_two_who_drain_the_last_two_one_is_refused() -> None:
    cluster = cluster_of(1, "a:1", "b:1")
    assert cluster.group.owner is not None
    answers = [cluster.submit(cluster.group.owner, DrainWorker(name, is_drained=True)) for name in ("a:1", "b:1")]
    cluster.settle()
    assert sorted(type(answer.error).__name__ for answer in answers) == ["ConflictError", "NoneType"]
    assert sum(drained(cluster).values()) == 1
