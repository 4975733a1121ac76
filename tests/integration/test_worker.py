"""One real worker with real Spark, through REST as users know it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.transfer import read_topic, read_topic_pairs
from tests.support import wait_until

Names = Callable[[str], str]


def source(path: Path, topic: str, **more: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSource", "file": str(path), "topic": topic, **more}


def sink(path: Path, topic: str, **more: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", "file": str(path), "topics": topic, **more}


def test_one_line_from_file_to_file_and_what_rest_says_of_it(worker: WorkerProcess, unique: Names, tmp_path: Path) -> None:
    client, src, snk, topic = worker.client, unique("src"), unique("snk"), unique("topic")
    (tmp_path / "in").write_text("a line\n")
    created = client.create(src, source(tmp_path / "in", topic))
    assert created == {
        "name": src,
        "config": {**source(tmp_path / "in", topic), "name": src},
        "tasks": [],
        "type": "source",
    }
    client.create(snk, sink(tmp_path / "out", topic))
    wait_until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text() == "a line\n", 240)
    status = client.wait_for(src, "RUNNING", tasks=1, timeout=120)
    worker_id = worker.url.split("//")[1].rstrip("/")
    assert status["connector"]["worker_id"] == worker_id
    assert client.tasks(src)[0]["config"]["task.class"] == "org.apache.kafka.connect.file.FileStreamSourceTask"
    assert client.connector(snk)["tasks"] == [{"connector": snk, "task": 0}]
    (placed,) = client.placement(src)["tasks"]
    assert placed["host"] is not None
    assert placed["host"]["worker_id"] == placed["worker_id"] == status["tasks"][0]["worker_id"]
    assert (placed["state"], placed["waits_for"]) == ("RUNNING", None)
    position = [{"partition": {"filename": str(tmp_path / "in")}, "offset": {"position": 7}}]
    wait_until(lambda: client.offsets(src) == position, 120)
    committed = [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]
    wait_until(lambda: client.offsets(snk) == committed, 120)
    wait_until(lambda: client.topics(src) == [topic] and client.topics(snk) == [topic], 120)
    client.wait_for(snk, "RUNNING", tasks=1, timeout=120)
    listed = client.connectors("status", "info")
    assert listed[src]["info"]["type"] == "source"
    assert listed[snk]["status"]["tasks"][0]["state"] == "RUNNING"
    for name in (src, snk):
        client.delete(name)
    wait_until(lambda: not {src, snk} & set(client.connectors()), 240)
    with pytest.raises(RestError) as refused:
        client.status(src)
        wait_until(lambda: client.status(src) is None, 120)
    assert refused.value.status == 404


def test_paused_nothing_flows_resumed_the_rest_does(
    worker: WorkerProcess, unique: Names, tmp_path: Path, broker: Broker
) -> None:
    client, name, topic = worker.client, unique("src"), unique("topic")
    path = tmp_path / "in"
    path.write_text("before\n")
    client.create(name, source(path, topic))
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    wait_until(lambda: client.offsets(name), 120)
    client.pause(name)
    client.wait_for(name, "PAUSED", tasks=1, timeout=120)
    with path.open("a") as file:
        file.write("while paused\n")
    client.resume(name)
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    wait_until(lambda: read_topic(broker.bootstrap_servers, topic) == [b"before", b"while paused"], 120)
    client.delete(name)


def test_stopped_nothing_is_left_and_resumed_it_goes_on(
    worker: WorkerProcess, unique: Names, tmp_path: Path, broker: Broker
) -> None:
    client, name, topic = worker.client, unique("src"), unique("topic")
    path = tmp_path / "in"
    path.write_text("one\n")
    client.create(name, source(path, topic))
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    wait_until(lambda: client.offsets(name), 120)
    client.stop(name)
    client.wait_for(name, "STOPPED", tasks=0, timeout=120)
    assert client.tasks(name) == []
    with path.open("a") as file:
        file.write("two\n")
    client.resume(name)
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    wait_until(lambda: read_topic(broker.bootstrap_servers, topic) == [b"one", b"two"], 120)
    states = [
        value
        for key, value in read_topic_pairs(broker.bootstrap_servers, "shared-configs")
        if key == f"target-state-{name}".encode()
    ]
    assert states == [b'{"state":"PAUSED","state.v2":"STOPPED"}', b'{"state":"STARTED","state.v2":"STARTED"}']
    client.delete(name)


def test_a_failing_task_says_why_and_runs_after_a_restart(worker: WorkerProcess, unique: Names, tmp_path: Path) -> None:
    client, name, topic = worker.client, unique("snk"), unique("topic")
    folder = tmp_path / "folder"
    client.create(name, sink(folder / "out", topic))
    wait_until(lambda: client.connectors("status").get(name, {}).get("status", {}).get("tasks"), 240)
    wait_until(lambda: client.status(name)["tasks"][0]["state"] == "FAILED", 120)
    status = client.status(name)
    assert status["connector"]["state"] == "RUNNING"
    assert "which can't be written" in status["tasks"][0]["trace"].splitlines()[0]
    folder.mkdir()
    client.restart_task(name, 0)
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    client.delete(name)


def test_a_restart_with_tasks_shows_restarting_and_ends_running(worker: WorkerProcess, unique: Names, tmp_path: Path) -> None:
    client, name = worker.client, unique("src")
    client.create(name, source(tmp_path / "in", unique("topic")))
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    body = client.restart(name, include_tasks=True)
    assert body is not None
    assert body["connector"]["state"] == "RESTARTING"
    assert body["tasks"][0]["state"] == "RESTARTING"
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    client.delete(name)


def test_json_with_schemas_on_the_way(worker: WorkerProcess, unique: Names, tmp_path: Path, broker: Broker) -> None:
    client, name, topic = worker.client, unique("src"), unique("topic")
    (tmp_path / "in").write_text("x\n")
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    client.create(name, source(tmp_path / "in", topic, **json))
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    wait_until(lambda: client.offsets(name), 120)
    envelope = b'{"schema":{"type":"string","optional":false},"payload":"x"}'
    assert read_topic(broker.bootstrap_servers, topic) == [envelope]
    client.delete(name)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"connector.class": "Nope"}, "Failed to find any class that implements Connector and which name matches Nope"),
        ({"connector.class": "FileStreamSource"}, 'Missing required configuration "topic" which has no default value.'),
        ({"connector.class": "FileStreamSink"}, "Must configure one of topics or topics.regex"),
        ({"connector.class": "FileStreamSource", "topic": "t", "tasks.max": "0"}, "Value must be at least 1"),
        ({"topic": "t"}, "connector"),
    ],
)
def test_bad_configs_are_refused_with_what_is_wrong(
    worker: WorkerProcess, unique: Names, config: dict[str, str], message: str
) -> None:
    name = unique("bad")
    with pytest.raises(RestError, match=message) as refused:
        worker.client.create(name, config)
    assert refused.value.status == 400
    assert name not in worker.client.connectors()


def test_a_secret_in_a_config_is_in_no_log_line(worker: WorkerProcess, unique: Names, tmp_path: Path) -> None:
    client, name = worker.client, unique("src")
    secret = "canary-7c1f93"
    override = {"producer.override.sasl.jaas.config": f'x required password="{secret}";'}
    client.create(name, source(tmp_path / "in", unique("topic"), **override))
    wait_until(lambda: client.connectors("status").get(name), 240)
    wait_until(lambda: client.status(name)["tasks"], 240)
    assert secret not in worker.log.read_text("utf-8")
    assert secret not in str(client.status(name))
    client.delete(name)


def test_plugins_by_their_java_names(worker: WorkerProcess) -> None:
    classes = {plugin["class"]: plugin["type"] for plugin in worker.client.plugins()}
    # Other tests have plugins of their own beside these.
    assert {name: kind for name, kind in classes.items() if ".apache." in name or name.startswith("scripted")} == {
        "org.apache.kafka.connect.file.FileStreamSourceConnector": "source",
        "org.apache.kafka.connect.file.FileStreamSinkConnector": "sink",
        "scripted_connectors.ScriptedSourceConnector": "source",
        "scripted_connectors.ScriptedSinkConnector": "sink",
    }


def test_settings_are_on_no_command_line(worker: WorkerProcess) -> None:
    submitted = "org.apache.spark.deploy.SparkSubmit"
    wait_until(lambda: any(submitted in command_line(process) for process in worker.tree()), 240)
    lines = [command_line(process) for process in worker.tree()]
    assert not any("canary-spark-5d2e" in line or "bootstrap" in line for line in lines)


def command_line(process: psutil.Process) -> str:
    """Empty for a process that has ended meanwhile: Spark's helpers are short-lived."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
