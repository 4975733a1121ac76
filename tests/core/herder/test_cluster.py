"""`GET /cluster` over a cluster in memory."""

from __future__ import annotations

import pytest

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.log import Log
from kconnect.core.herder.requests.cluster import DrainWorker, GetCluster, GetDemand
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.metrics.report import HostReport, Starts, Usage
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment_records import Leader, Placement
from kconnect.errors import NotFoundError
from tests.rig.histories.cluster import MemoryCluster
from tests.rig.histories.memory import MemoryLog

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "3"}


def test_it_tells_members_leader_units_and_what_moves() -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", SOURCE))
    cluster.settle()
    cluster.add_worker("b:1")
    cluster.settle()
    view = cluster.call("b:1", GetCluster())
    assert (view["leader"], view["answered_by"], view["moving"]) == ("a:1", "b:1", [])
    workers = {worker["worker_id"]: worker for worker in view["workers"]}
    assert workers["a:1"]["url"] == "http://a:1/"
    for worker in workers.values():
        held = [(host["connectors"], host["tasks"]) for host in worker["hosts"]]
        assert (sum(c for c, _ in held), sum(t for _, t in held)) == (worker["connectors"], worker["tasks"])
        assert worker["connectors"] + worker["tasks"] == 2
    cluster.kill_worker("b:1")
    cluster.run_until(lambda: "b:1" not in cluster.workers["a:1"].herder.desk.members)
    view = cluster.call("a:1", GetCluster())
    gone = [worker for worker in view["workers"] if worker["worker_id"] == "b:1"]
    assert [worker["url"] for worker in gone] in ([None], [])
    cluster.settle()
    assert cluster.call("a:1", GetCluster())["moving"] == []


def test_it_tells_what_a_host_is_for() -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1", 1)
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", {**SOURCE, "connector.plugin.version": "2", "tasks.isolation": "dedicated"}))
    cluster.settle()
    (worker,) = cluster.call("a:1", GetCluster())["workers"]
    told = [(host["connectors"], host["tasks"], host["directories"], host["dedicated_to"]) for host in worker["hosts"]]
    assert told == [
        (0, 0, [], None),
        (1, 0, ["/plugins/2"], None),
        *((0, 1, ["/plugins/2"], {"connector": "x", "task": task}) for task in range(3)),
    ]


def test_how_many_workers_are_wanted() -> None:
    """As many as there are while nothing is known; drained ones are none."""
    cluster = MemoryCluster(1)
    for name in ("a:1", "b:1", "c:1"):
        cluster.add_worker(name, 2)
        cluster.settle()
    assert cluster.group.owner is not None
    cluster.call(cluster.group.owner, DrainWorker("c:1", is_drained=True))
    cluster.settle()
    answer = cluster.call("a:1", GetDemand())
    assert answer == {"workers": 2, "workers_now": 2, "cores": None, "cores_per_worker": 2, "target": 0.7}
    cluster.cores = 5.678
    assert cluster.call("b:1", GetDemand()) == {**answer, "workers": 5, "cores": 5.68}


def test_it_tells_what_a_host_takes_once_that_is_known() -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1", 2)
    cluster.settle()
    life = cluster.workers["a:1"].herder.desk.identity.incarnation
    first = cluster.hosts["a:1", 0].incarnation
    said = {first: Usage(5, 9, 1.2345), "an earlier life": Usage(6, None, 7.0)}
    cluster.reports = [HostReport("a:1", 0, each, life, Starts(), Starts(), usage) for each, usage in said.items()]
    (worker,) = cluster.call("a:1", GetCluster())["workers"]
    assert [host["usage"] for host in worker["hosts"]] == [{"memory": 5, "memory_max": 9, "cpu_s": 1.23}, None]


def test_who_has_only_joined_the_group_is_no_worker() -> None:
    """
    Whoever may join the workers' group calls itself https://evil/: nobody is told to ask there, with an administrator's login.
    """
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.group.members["a session"] = "evil:1"
    cluster.run_until(lambda: "evil:1" in cluster.workers["a:1"].herder.desk.members)
    assert [worker["worker_id"] for worker in cluster.call("a:1", GetCluster())["workers"]] == ["a:1"]
    with pytest.raises(NotFoundError, match=r"These are known: a:1$"):
        cluster.call("a:1", DrainWorker("evil:1", is_drained=True))


def test_who_calls_itself_a_worker_that_is_gone_by_http_gets_nobody_s_login() -> None:
    """Only its record says that it was reached by https: whoever may join the group says otherwise."""
    identity = Identity("a:1", "https://a:1/", "1", "test", "memory")
    desk = Desk(identity, Log())
    records = [
        assignment_records.leader(Leader("b:1", "https://b:1/", 1)),
        assignment_records.placement(Placement("b:1", {}, incarnation="1", is_secure=True)),
        assignment_records.placement(Placement("c:1", {}, incarnation="1")),
    ]
    log = MemoryLog()
    log.append(records)
    for record in log.records:
        desk.log.assignment.apply(record)
    urls = {"a:1": "https://a:1/", "b:1": "https://b:1/", "c:1": "http://c:1/"}
    desk.heard(urls, "b:1")
    assert desk.workers == urls
    assert desk._leader_url() == "https://b:1/"
    desk.heard({**urls, "b:1": "http://b:1/"}, "b:1")
    assert desk.workers == {"a:1": "https://a:1/", "c:1": "http://c:1/"}
    assert desk._leader_url() is None


def test_a_worker_says_whether_it_is_reached_by_https() -> None:
    secure = Placement("b:1", {}, incarnation="1", is_secure=True)
    log = MemoryLog()
    log.append([assignment_records.placement(secure)])
    assert [assignment_records.decode_assignment(record) for record in log.records] == [secure]
    assert Identity("a:1", "https://a:1/", "1", "test", "memory").is_secure
    assert not Identity("a:1", "http://a:1/", "1", "test", "memory").is_secure
