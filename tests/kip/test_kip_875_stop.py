"""
KIP-875's first part: the target state STOPPED, on a real worker, real Spark and real Kafka. A test for each point of the text's
test plan, and for what the text says besides. Hanging plugins and lost hosts, which need time, are in
`tests/core/herder/test_stopping.py`; offsets are in `test_kip_875.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.transfer import read_topic, read_topic_pairs
from tests.kip.scripted import sink, source
from tests.support import wait_until

Names = Callable[[str], str]


@pytest.fixture
def name(worker: WorkerProcess, unique: Names) -> Iterator[str]:
    """A connector's; it is deleted at the end."""
    chosen = unique("kip-875")
    yield chosen
    if chosen in worker.client.connectors():
        worker.client.delete(chosen)


def runs(worker: WorkerProcess, name: str, tasks: int = 1) -> None:
    # The worker may just have begun to start Spark, which took 109 s on a machine that did ten things besides.
    worker.client.wait_for(name, "RUNNING", tasks=tasks, timeout=300)


def is_stopped(worker: WorkerProcess, name: str) -> dict[str, Any]:
    """Once its status says so: nothing of tasks is shown any more, and no trace of an earlier failure."""
    client = worker.client
    status = client.wait_for(name, "STOPPED", tasks=0, timeout=120)
    assert status["connector"].keys() == {"state", "worker_id", "version"}
    assert (status["tasks"], client.tasks(name), client.connector(name)["tasks"]) == ([], [], [])
    with pytest.raises(RestError) as refused:
        client.task_status(name, 0)
    assert refused.value.status == 404
    return dict(status)


def written(broker: Broker, name: str) -> list[tuple[str, bytes | None]]:
    """What the config topic was told of the connector: keys without its name, values."""
    found = read_topic_pairs(broker.bootstrap_servers, "shared-configs")
    keys = {f"{what}-{name}".encode(): what for what in ("connector", "commit", "target-state")}
    return [(keys[key], value) for key, value in found if key in keys]


STOPPED = ("target-state", b'{"state":"PAUSED","state.v2":"STOPPED"}')
STARTED = ("target-state", b'{"state":"STARTED","state.v2":"STARTED"}')
NO_TASKS = ("commit", b'{"tasks":0}')


def test_a_running_connector_is_stopped(worker: WorkerProcess, broker: Broker, name: str) -> None:
    """The empty task set comes first, then a target state that older workers read as PAUSED; the config stays as it was."""
    client, config = worker.client, source(name, **{"tasks.max": "2"})
    client.create(name, config)
    runs(worker, name, tasks=2)
    before = written(broker, name)
    client.stop(name)
    # As soon as it is answered, no task is shown by the config topic's side.
    assert (client.tasks(name), client.connector(name)["tasks"]) == ([], [])
    status = is_stopped(worker, name)
    assert (status["connector"]["worker_id"], status["type"]) == (worker.url.split("//")[1].rstrip("/"), "source")
    assert written(broker, name)[len(before) :] == [NO_TASKS, STOPPED]
    assert client.get_config(name) == {**config, "name": name}
    assert name in client.connectors()


def test_a_paused_connector_is_stopped_and_resumed(worker: WorkerProcess, name: str) -> None:
    client = worker.client
    client.create(name, source(name))
    runs(worker, name)
    client.pause(name)
    client.wait_for(name, "PAUSED", tasks=1, timeout=120)
    client.stop(name)
    is_stopped(worker, name)
    client.resume(name)
    runs(worker, name)


def test_a_stopped_connector_is_stopped_again_and_nothing_changes(worker: WorkerProcess, name: str) -> None:
    client = worker.client
    client.create(name, source(name))
    runs(worker, name)
    for _ in range(2):
        client.stop(name)
        is_stopped(worker, name)
    for _ in range(2):
        client.resume(name)
        runs(worker, name)


def test_a_stopped_connector_is_deleted_and_its_name_is_free(worker: WorkerProcess, broker: Broker, name: str) -> None:
    client = worker.client
    client.create(name, source(name))
    runs(worker, name)
    client.stop(name)
    is_stopped(worker, name)
    client.delete(name)
    assert name not in client.connectors()
    assert set(written(broker, name)[-2:]) == {("connector", None), ("target-state", None)}
    # Nobody remembers that it was stopped.
    client.create(name, source(name))
    runs(worker, name)


def test_a_stopped_connector_that_is_paused_has_no_tasks_until_it_is_resumed(worker: WorkerProcess, name: str) -> None:
    """As in Connect; the text would have it make its tasks at once, paused ones."""
    client = worker.client
    client.create(name, source(name), "STOPPED")
    is_stopped(worker, name)
    client.pause(name)
    status = client.wait_for(name, "PAUSED", tasks=0, timeout=120)
    assert (status["tasks"], client.tasks(name)) == ([], [])
    client.resume(name)
    runs(worker, name)


def test_a_connector_is_created_stopped_and_nothing_of_it_has_run(worker: WorkerProcess, broker: Broker, name: str) -> None:
    client = worker.client
    assert client.create(name, source(name), "STOPPED")["tasks"] == []
    is_stopped(worker, name)
    assert [what for what, _ in written(broker, name)] == ["target-state", "connector"]
    assert written(broker, name)[0] == STOPPED
    client.resume(name)
    runs(worker, name)
    wait_until(lambda: read_topic(broker.bootstrap_servers, f"{name}-topic") == [b"1", b"2", b"3"], 120)


def test_a_connector_that_could_not_start_is_stopped_and_runs_once_it_can(worker: WorkerProcess, name: str) -> None:
    client = worker.client
    client.create(name, source(name, start="fail"))
    status = client.wait_for(name, "FAILED", timeout=120)
    assert "start() fails, as its config says" in status["connector"]["trace"]
    client.stop(name)
    is_stopped(worker, name)
    client.put_config(name, source(name))
    client.resume(name)
    runs(worker, name)


@pytest.mark.parametrize("make", [source, sink])
def test_a_connector_that_fails_to_stop_is_stopped_all_the_same(
    worker: WorkerProcess, name: str, make: Callable[..., dict[str, str]]
) -> None:
    """Its instance and its task, both."""
    client = worker.client
    client.create(name, make(name, stop="fail", **{"task.stop": "fail"}))
    runs(worker, name)
    client.stop(name)
    is_stopped(worker, name)
    client.resume(name)
    runs(worker, name)


def test_a_connector_that_failed_before_and_while_it_was_stopped_runs_again(worker: WorkerProcess, name: str) -> None:
    client = worker.client
    client.create(name, source(name, start="later", stop="fail"))
    wait_until(lambda: "it fails later" in client.wait_for(name, "FAILED", timeout=120)["connector"].get("trace", ""), 120)
    client.stop(name)
    is_stopped(worker, name)
    client.patch_config(name, {"start": None})
    client.resume(name)
    runs(worker, name)


def test_a_stopped_connector_makes_no_tasks_of_a_new_config(worker: WorkerProcess, broker: Broker, name: str) -> None:
    client = worker.client
    client.create(name, source(name))
    runs(worker, name)
    client.stop(name)
    is_stopped(worker, name)
    before = written(broker, name)
    client.put_config(name, source(name, count="5", **{"tasks.max": "2"}))
    client.restart(name)
    is_stopped(worker, name)
    assert [what for what, _ in written(broker, name)[len(before) :]] == ["connector"]
    client.resume(name)
    runs(worker, name, tasks=2)


def test_a_restart_leaves_a_stopped_connector_stopped(worker: WorkerProcess, name: str) -> None:
    client = worker.client
    client.create(name, source(name), "STOPPED")
    is_stopped(worker, name)
    assert client.restart(name) is None
    shown = client.restart(name, include_tasks=True)
    assert shown is not None
    assert shown["tasks"] == []
    with pytest.raises(RestError) as refused:
        client.restart_task(name, 0)
    assert (refused.value.status, refused.value.message) == (404, f"Unknown task: {name}-0")
    is_stopped(worker, name)


def test_only_what_is_there_can_be_stopped(worker: WorkerProcess, unique: Names) -> None:
    nobody = unique("nobody")
    with pytest.raises(RestError) as refused:
        worker.client.stop(nobody)
    assert (refused.value.status, refused.value.message) == (404, f"Unknown connector {nobody}")


def test_a_stopped_connector_holds_no_task_thread_or_client(worker: WorkerProcess, unique: Names) -> None:
    """Looked at from outside: what the hosts declare, and the threads and connections that their processes have."""
    client = worker.client
    names = [unique("src"), unique("snk")]

    def held() -> int:
        return sum(host["connectors"] + host["tasks"] for each in client.cluster()["workers"] for host in each["hosts"])

    # A test before this one may have deleted a connector that is only just ending.
    idle = sum(1 + len(client.tasks(each)) for each in client.connectors())
    wait_until(lambda: held() == idle, 120)
    # What a first source leaves in its host for good: the reader of the offset topic.
    client.create(names[0], source(names[0]))
    runs(worker, names[0])
    client.delete(names[0])
    wait_until(lambda: held() == idle, 120)
    before = resources(worker)
    client.create(names[0], source(names[0], **{"tasks.max": "3"}))
    client.create(names[1], sink(names[1], **{"tasks.max": "3"}))
    for name in names:
        runs(worker, name, tasks=3)
    wait_until(lambda: held() == idle + 8, 120)

    def shown() -> bool:
        # A source's client comes with its first record, and a sink's connects in the background.
        return all(now >= then + 8 for now, then in zip(resources(worker), before))

    wait_until(shown, 120, "the control: they do not show")
    for name in names:
        client.stop(name)
    for name in names:
        is_stopped(worker, name)
    wait_until(lambda: held() == idle, 120)

    def given_up() -> bool:
        # A host's own clients open connections anew that were idle for long; a client of a unit is more than two of both.
        return all(now <= then + 2 for now, then in zip(resources(worker), before))

    wait_until(given_up, 120, "more is left than before")
    for name in names:
        client.delete(name)


def resources(worker: WorkerProcess) -> tuple[int, int]:
    """Threads and connections of all task hosts."""
    hosts: list[psutil.Process] = worker.hosts()
    return sum(host.num_threads() for host in hosts), sum(len(host.net_connections("tcp")) for host in hosts)
