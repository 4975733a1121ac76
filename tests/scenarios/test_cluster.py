"""
Whole clusters in memory: what users do and what breaks, in random orders. The cluster checks after every step that no unit
runs twice (I7). A failing case names its seed.
"""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder.desk import ForwardError
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PatchConfig, PutConfig
from kconnect.core.herder.requests.connectors import GetConnector, GetStatus
from kconnect.core.herder.requests.states import RestartConnector, RestartTask, SetTargetState, StopConnector
from kconnect.core.herder.requests.tasks import PutTaskConfigs
from kconnect.core.state import records
from kconnect.core.state.records import State, TargetState, Topic, UnitId
from kconnect.errors import AlreadyExistsError, BadRequestError, ConnectError, NotFoundError
from tests.rig.histories.cluster import MemoryCluster
from tests.support import examples

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "3"}
WHOLE = {UnitId("x"), UnitId("x", 0), UnitId("x", 1), UnitId("x", 2)}

seeds = pytest.mark.parametrize("seed", range(examples(6)))


def one_worker(seed: int) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    cluster.add_worker("a:1")
    return cluster


def with_connector(seed: int, workers: tuple[str, ...] = ("a:1",)) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    for name in workers:
        cluster.add_worker(name)
    cluster.settle()
    leader = cluster.group.owner
    assert leader is not None
    cluster.call(leader, CreateConnector("x", SOURCE))
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    return cluster


def leader(cluster: MemoryCluster) -> str:
    assert cluster.group.owner is not None
    return cluster.group.owner


def states(cluster: MemoryCluster, worker: str = "a:1") -> tuple[str, list[str]]:
    body = cluster.call(worker, GetStatus("x"))
    return body["connector"]["state"], [task["state"] for task in body["tasks"]]


@seeds
def test_a_connector_is_created_and_everything_of_it_runs(seed: int) -> None:
    cluster = with_connector(seed)
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    info = cluster.call("a:1", GetConnector("x"))
    assert info["config"] == {**SOURCE, "name": "x"}
    assert len(info["tasks"]) == 3


@seeds
def test_pause_and_resume(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.call("a:1", SetTargetState("x", TargetState.PAUSED))
    cluster.settle()
    assert states(cluster) == ("PAUSED", ["PAUSED"] * 3)
    cluster.call("a:1", SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)


@seeds
def test_a_stopped_connector_runs_nothing_and_resumes(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.call("a:1", StopConnector("x"))
    cluster.settle()
    assert cluster.running() == {}
    assert states(cluster) == ("STOPPED", [])
    cluster.call("a:1", SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert set(cluster.running()) == WHOLE


@seeds
def test_the_empty_task_set_comes_before_the_stopped_state(seed: int) -> None:
    cluster = with_connector(seed)
    before = len(cluster.log.records)
    cluster.call("a:1", StopConnector("x"))
    keys = [r.key for r in cluster.log.records[before:] if r.topic is records.Topic.CONFIG]
    assert keys[:2] == [b"commit-x", b"target-state-x"]


@seeds
def test_created_stopped_it_never_runs(seed: int) -> None:
    cluster = one_worker(seed)
    cluster.call("a:1", CreateConnector("x", SOURCE, "stopped"))
    cluster.settle()
    assert cluster.running() == {}
    assert states(cluster) == ("STOPPED", [])


@seeds
def test_deleted_it_leaves_no_status(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.call("a:1", DeleteConnector("x"))
    cluster.settle()
    assert cluster.running() == {}
    assert cluster.workers["a:1"].herder.log.status.units == {}
    with pytest.raises(NotFoundError, match="Connector x not found"):
        cluster.call("a:1", GetConnector("x"))


@seeds
def test_deleted_and_created_again_at_once(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.call("a:1", DeleteConnector("x"))
    cluster.call("a:1", CreateConnector("x", {**SOURCE, "tasks.max": "1"}))
    cluster.settle()
    assert set(cluster.running()) == {UnitId("x"), UnitId("x", 0)}
    assert states(cluster) == ("RUNNING", ["RUNNING"])


@seeds
def test_a_changed_config_restarts_all_of_its_units_and_only_these(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.call("a:1", CreateConnector("other", SOURCE))
    cluster.settle()
    before = {unit: spec for host in cluster.hosts.values() for unit, spec in host.threads.items()}
    cluster.call("a:1", PutConfig("x", {**SOURCE, "changed": "yes"}))
    cluster.settle()
    after = {unit: spec for host in cluster.hosts.values() for unit, spec in host.threads.items()}
    changed = {unit for unit in after if after[unit] != before.get(unit)}
    assert changed == WHOLE


@seeds
def test_a_restarted_task_is_started_anew_alone(seed: int) -> None:
    cluster = with_connector(seed)
    before = {unit: spec.run for host in cluster.hosts.values() for unit, spec in host.threads.items()}
    cluster.call("a:1", RestartTask("x", 1))
    cluster.settle()
    after = {unit: spec.run for host in cluster.hosts.values() for unit, spec in host.threads.items()}
    assert {unit for unit in after if after[unit] != before[unit]} == {UnitId("x", 1)}


@seeds
def test_a_restart_with_tasks_reaches_all_workers(seed: int) -> None:
    cluster = with_connector(seed, ("a:1", "b:1"))
    body = cluster.call(leader(cluster), RestartConnector("x", include_tasks=True))
    assert {task["state"] for task in body["tasks"]} == {"RESTARTING"}
    cluster.settle()
    runs = {unit: spec.run for host in cluster.hosts.values() for unit, spec in host.threads.items()}
    assert runs == dict.fromkeys(WHOLE, 1)
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)


@seeds
def test_a_killed_host_comes_back_with_its_units(seed: int) -> None:
    cluster = with_connector(seed)
    worker, number = sorted(cluster.hosts)[0]
    cluster.kill_host(worker, number)
    cluster.settle()
    assert set(cluster.running()) == WHOLE


@seeds
def test_what_the_next_host_says_is_not_taken_for_the_lost_one_s(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics are read each for itself: its word may be read before the record that says that it lives."""
    cluster = with_connector(seed)
    reader = cluster.workers["a:1"]._reader
    monkeypatch.setattr(cluster, "may_start", lambda *host: False)
    for host in list(cluster.hosts):
        cluster.kill_host(*host)
    cluster.run_until(lambda: states(cluster) == ("UNASSIGNED", ["UNASSIGNED"] * 3))
    (held_back,) = [feed for feed in reader._feeds if feed.topic is Topic.ASSIGNMENT]
    reader._feeds.remove(held_back)
    monkeypatch.undo()
    cluster.run_until(lambda: states(cluster) == ("RUNNING", ["RUNNING"] * 3))
    for _ in range(300):
        cluster.step()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    reader._feeds.append(held_back)
    reader.at_end = False
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)


@seeds
def test_a_worker_that_comes_back_takes_its_units_up_again(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.kill_worker("a:1")
    cluster.add_worker("a:1")
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)


@seeds
def test_hosts_that_outlive_their_worker_stop_before_others_start(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.kill_worker("a:1", hosts_too=False)
    cluster.add_worker("a:1")
    cluster.settle()
    assert set(cluster.running()) == WHOLE


@seeds
def test_units_move_to_a_second_worker_and_back(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.add_worker("b:1")
    cluster.settle()
    owners = sorted(where[0][0] for where in cluster.running().values())
    assert owners == ["a:1", "a:1", "b:1", "b:1"]
    cluster.kill_worker("a:1", hosts_too=False)
    cluster.settle()
    assert {where[0][0] for where in cluster.running().values()} == {"b:1"}
    assert set(cluster.running()) == WHOLE


@seeds
def test_hosts_that_could_not_read_the_log_start_nothing_that_it_has_given_away(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.add_worker("b:1")
    cluster.settle()
    for host in cluster.hosts.values():
        if host.worker == "a:1":
            host.cut_off()
    cluster.run_until(lambda: all(where[0][0] == "b:1" for where in cluster.running().values()))
    cluster.kill_worker("a:1", hosts_too=False)
    cluster.run_until(lambda: set(cluster.running()) == WHOLE)
    for host in cluster.hosts.values():
        if host.worker == "a:1":
            host.reconnect()
    cluster.settle()
    assert set(cluster.running()) == WHOLE


@seeds
def test_hosts_that_come_back_to_a_log_that_changed_little_go_on(seed: int) -> None:
    cluster = with_connector(seed)
    for host in cluster.hosts.values():
        host.cut_off()
    cluster.run_until(lambda: not cluster.running())
    for host in cluster.hosts.values():
        host.reconnect()
    cluster.settle()
    assert set(cluster.running()) == WHOLE


@seeds
def test_shut_down_a_worker_releases_everything_first(seed: int) -> None:
    from kconnect.core.herder import events

    cluster = with_connector(seed)
    worker = cluster.workers["a:1"]
    worker._inbox.append(events.ShutDown())
    cluster.run_until(lambda: worker.left)
    assert cluster.running() == {}
    statuses = worker.herder.log.status.units
    cluster.settle()
    assert {status.state for status in statuses.values()} == {State.UNASSIGNED}


@seeds
def test_refused_requests_write_nothing(seed: int) -> None:
    """I12."""
    cluster = with_connector(seed)
    before = len(cluster.log.records)
    refused: list[tuple[Request[Any], type[ConnectError]]] = [
        (CreateConnector("x", SOURCE), AlreadyExistsError),
        (CreateConnector("y", {**SOURCE, "name": "z"}), BadRequestError),
        (CreateConnector("y", {}), BadRequestError),
        (CreateConnector("y", SOURCE, "bogus"), BadRequestError),
        (DeleteConnector("y"), NotFoundError),
        (StopConnector("y"), NotFoundError),
        (SetTargetState("y", TargetState.PAUSED), NotFoundError),
        (RestartConnector("y"), NotFoundError),
        (RestartTask("x", 7), NotFoundError),
        (PatchConfig("y", {}), NotFoundError),
    ]
    for request, error in refused:
        with pytest.raises(error):
            cluster.call("a:1", request)
    with pytest.raises(NotFoundError, match=r"^Unknown task: x--1$"):
        cluster.call("a:1", RestartTask("x", -1))
    assert len(cluster.log.records) == before


@seeds
def test_broken_records_are_logged_once_and_hurt_nothing(seed: int) -> None:
    """I9."""
    cluster = with_connector(seed)
    for topic in records.FOLDED:
        for _ in range(2):
            cluster.log.append([records.Entry(topic, b"\xff nonsense", b"{"), records.Entry(topic, b"what", None)])
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    ignored = [line for line in cluster.lines if "Ignoring" in line]
    assert len(ignored) == len(set(ignored)) == 8


def test_a_worker_that_meets_a_newer_format_does_not_lead() -> None:
    cluster = MemoryCluster()
    cluster.log.append([records.Entry(records.Topic.ASSIGNMENT, b"leader", b'{"format":99}')])
    cluster.add_worker("a:1")
    cluster.settle()
    assert not cluster.workers["a:1"].herder.desk.leads
    assert any("Upgrade this worker" in line for line in cluster.lines)


@seeds
def test_statuses_have_the_number_of_leaders_for_their_generation(seed: int) -> None:
    """Connect's workers write nothing of their own over a higher one, and its group's generations begin at 1."""
    cluster = with_connector(seed, ("a:1", "b:1"))
    for changes in range(5):
        cluster.call(leader(cluster), PutConfig("x", {**SOURCE, "tasks.max": str(changes + 1)}))
        cluster.settle()
    assert {status.generation for status in cluster.workers["a:1"].herder.log.status.units.values()} == {1}
    gone = leader(cluster)
    cluster.kill_worker(gone)
    cluster.settle()
    (left,) = {"a:1", "b:1"} - {gone}
    cluster.call(left, StopConnector("x"))
    cluster.settle()
    assert [status.generation for status in cluster.workers[left].herder.log.status.units.values()] == [2]


@seeds
def test_a_failed_task_is_started_again_as_its_connector_asks(seed: int) -> None:
    from kconnect.core.state.records import UnitStatus

    cluster = with_connector(seed)
    healing = {**SOURCE, "errors.restart.max.attempts": "2", "errors.restart.backoff.ms": "100"}
    cluster.call("a:1", PutConfig("x", healing))
    cluster.settle()
    task = UnitId("x", 1)

    def runs() -> int:
        return cluster.workers["a:1"].herder.log.assignment.placements["a:1"].hosts[task_host][task]  # type: ignore[index]

    task_host = cluster.running()[task][0][1]
    before = runs()
    for attempt in (1, 2, 3):
        cluster.log.append([records.status(task, UnitStatus(State.FAILED, "a:1", 9, "boom"))])
        cluster.settle()
        assert runs() - before == min(attempt, 2), "twice in a row, and not again"
    assert states(cluster)[1] == ["RUNNING", "FAILED", "RUNNING"]
    assert sum("is started again" in line for line in cluster.lines) == 2


@seeds
def test_a_write_on_a_follower_names_the_leader_and_waits_while_there_is_none(seed: int) -> None:
    cluster = with_connector(seed, ("a:1", "b:1"))
    follower = next(name for name in cluster.workers if name != leader(cluster))

    def answered() -> Any:
        answer = cluster.submit(follower, DeleteConnector("x"))
        cluster.run_until(lambda: answer.settled)
        return answer

    answer = answered()
    assert isinstance(answer.error, ForwardError)
    assert answer.error.url == f"http://{leader(cluster)}/"
    cluster.kill_worker(leader(cluster))
    # Until it has noticed, it names the dead one: REST finds nobody there and asks again.
    for _ in range(1000):
        answer = answered()
        if not isinstance(answer.error, ForwardError):
            break
        cluster.step()
    assert answer.error is None, "by now it leads itself"
    cluster.settle()
    assert cluster.running() == {}


@seeds
def test_a_restart_of_a_task_is_its_owner_s_business(seed: int) -> None:
    cluster = with_connector(seed, ("a:1", "b:1"))
    where = cluster.running()[UnitId("x", 0)][0][0]
    other = next(name for name in cluster.workers if name != where)
    with pytest.raises(ForwardError) as named:
        cluster.call(other, RestartTask("x", 0))
    assert named.value.url == f"http://{where}/"
    cluster.call(where, RestartTask("x", 0))
    cluster.settle()
    assert set(cluster.running()) == WHOLE


@seeds
def test_task_configs_from_another_worker_are_put_in_force(seed: int) -> None:
    cluster = with_connector(seed)
    configs = ({"task": "other"},)
    cluster.call("a:1", PutTaskConfigs("x", configs))
    cluster.run_until(lambda: len(cluster.workers["a:1"].herder.log.config.task_ids("x")) == 1)
    with pytest.raises(NotFoundError):
        cluster.call("a:1", PutTaskConfigs("y", configs))
    cluster.call("a:1", StopConnector("x"))
    with pytest.raises(BadRequestError, match="for stopped connector x"):
        cluster.call("a:1", PutTaskConfigs("x", configs))


@seeds
def test_a_unit_whose_secrets_hold_no_longer_is_started_anew_where_it_runs(seed: int) -> None:
    cluster = with_connector(seed)
    task = UnitId("x", 1)
    (place,) = cluster.running()[task]
    before = dict(cluster.hosts[place].threads)
    cluster.hosts[place].renew(task)
    cluster.settle()
    now = cluster.hosts[place].threads
    assert [unit for unit in before if now[unit] is not before[unit]] == [task]
    assert cluster.running()[task] == [place]
    assert set(cluster.running()) == WHOLE
    assert states(cluster)[1] == ["RUNNING"] * 3
