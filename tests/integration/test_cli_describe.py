"""`kconnect describe` and `kconnect top` against workers of kconnect and of Kafka Connect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.rig.systems.connect import ConnectProcess
from tests.support import wait_until

Names = Callable[[str], str]

LIMIT_S = 240.0
"""The hosts may still be starting, on a machine with much else to do."""


def topics(client: ConnectClient) -> list[str]:
    """The names that tests/conftest.py gives them."""
    group = "shared" if client.root()["commit"].startswith("kconnect-") else "peer"
    return ["--config-topic", f"{group}-configs", "--status-topic", f"{group}-status"]


def described(url: str, name: str, *more: str) -> dict[str, Any]:
    called = call("describe", "connector", name, "--url", url, "-o", "json", *more)
    assert called.status == 0, called.err
    (found,) = orjson.loads(called.out)
    return dict(found)


def test_a_source_that_fails_is_told_by_its_first_cause(
    cluster_url: str, bootstrap: str, unique: Names, tmp_path: Path
) -> None:
    name = unique("failing")
    (tmp_path / "in").write_text("a line\n" * 10)
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(tmp_path / "in"),
        "topic": unique("topic"),
        "transforms": "field",
        "transforms.field.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.field.field": "id",
        "some.password": "canary-7731",
    }
    with ConnectClient(cluster_url) as client:
        client.create(name, config)
        try:
            client.wait_for(name, "FAILED", tasks=1, timeout=LIMIT_S)
            brokers = ["--bootstrap-server", bootstrap, *topics(client)]
            called = call("describe", "connector", name, "--url", cluster_url, *brokers)
            found = described(cluster_url, name, *brokers)
            alone = described(cluster_url, name)
            one = call("describe", "task", f"{name}/0", "--url", cluster_url, *brokers)
            plugin = call("describe", "plugin", "FileStreamSource", "--url", cluster_url)
            client.put_config(name, {**config, "some.password": "canary-7732", "batch.size": "7"})
            wait_until(lambda: "batch.size=7 added" in str(described(cluster_url, name, *brokers)["changes"]), LIMIT_S)
            changed = call("describe", "connector", name, "--url", cluster_url, *brokers)
        finally:
            client.delete(name)
    assert called.status == 0, called.err
    (line,) = [line for line in called.out.splitlines() if line.startswith("  Task 0")]
    assert "Only Struct objects supported for [field extraction], found: java.lang.String" in line
    assert "\tat " not in called.out and "Traceback" not in called.out
    assert f"kconnect restart {name} --failed" in called.out
    (failed,) = found["tasks"]
    assert failed["state"] == "FAILED" and failed["since_ms"] > found["changes"][0]["at_ms"]
    assert failed["error"]["reported_as"].startswith("Connect")
    assert found["changes"][0]["text"] == "config written, 8 settings"
    assert any(change["task"] == 0 and change["text"].startswith("FAILED on ") for change in found["changes"])
    assert "give --worker-file" in alone["unknown"]["changes"] and alone["changes"] is None
    assert "some.password: [hidden] → [hidden]" in changed.out
    assert "Config " in one.out and "some.password=[hidden]" in one.out and "batch.size" not in one.out
    assert '  File "' in one.out or "\tat " in one.out, "the whole trace"
    assert f"{name} (connector.class)" in plugin.out
    assert "canary" not in one.out + plugin.out + called.out + changed.out + str(found)


def test_a_sink_tells_how_far_it_is_behind(cluster_url: str, bootstrap: str, unique: Names, tmp_path: Path) -> None:
    source, sink, topic = unique("src"), unique("snk"), unique("topic")
    (tmp_path / "in").write_text("a line\n" * 200)
    file = "org.apache.kafka.connect.file.FileStream"
    with ConnectClient(cluster_url) as client:
        client.create(source, {"connector.class": f"{file}SourceConnector", "file": str(tmp_path / "in"), "topic": topic})
        client.create(sink, {"connector.class": f"{file}SinkConnector", "file": str(tmp_path / "out"), "topics": topic})
        try:
            brokers = ("--bootstrap-server", bootstrap)
            row = {"topic": topic, "partition": 0, "committed": 200, "end": 200, "lag": 0}
            wait_until(lambda: described(cluster_url, sink, *brokers)["lag"] == {"total": 0, "partitions": [row]}, LIMIT_S)
            client.stop(sink)
            client.wait_for(sink, "STOPPED", tasks=0, timeout=LIMIT_S)
            with (tmp_path / "in").open("a") as lines:
                lines.write("another\n" * 50)
            wait_until(lambda: (described(cluster_url, sink, *brokers)["lag"] or {}).get("total") == 50, LIMIT_S)
            wait_until(lambda: client.offsets(source), LIMIT_S)
            called = call("describe", "connector", sink, source, "--url", cluster_url)
        finally:
            client.delete(source)
            client.delete(sink)
    assert f"kconnect resume {sink}" in called.out
    assert "Lag         unknown: give --bootstrap-server or --worker-file" in called.out
    assert f"filename={tmp_path / 'in'} at position=" in called.out


def test_top_shows_what_flows(worker: WorkerProcess, unique: Names, tmp_path: Path) -> None:
    name = unique("flowing")
    (tmp_path / "in").write_text("a line\n" * 5000)
    worker.client.create(name, {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": unique("topic")})

    def row() -> dict[str, Any]:
        called = call("top", "-o", "json", "--url", worker.url)
        assert called.status == 0, called.err
        return next((dict(row) for row in orjson.loads(called.out)["connectors"] if row["name"] == name), {})

    try:
        wait_until(lambda: row().get("out_per_s") and row().get("tasks") == {"RUNNING": 1}, LIMIT_S)
        found = row()
        called = call("top", "--once", "--url", worker.url)
        described_worker = call("describe", "worker", "--url", worker.url)
    finally:
        worker.client.delete(name)
    assert found["tasks"] == {"RUNNING": 1} and found["errors"] == 0 and found["idle_s"] < LIMIT_S
    assert any(line.split()[:5] == [name, "source", "RUNNING", "1", "RUNNING"] for line in called.out.splitlines())
    assert f"  {name}/0 " in described_worker.out and "leader, " in described_worker.out
    assert "HOSTS' MEMORY" in called.out.splitlines()[0] and "MiB" in called.out.splitlines()[1]


def test_top_of_kafka_connect_says_what_is_missing(peer: ConnectProcess) -> None:
    for command in (["top", "--once"], ["describe", "worker"]):
        called = call(*command, "--url", peer.url)
        assert called.status == 6 and called.out == ""
        (line,) = called.err.splitlines()
        assert "has no /metrics" in line and "it is not a kconnect worker" in line


def test_a_name_that_is_not_there(cluster_url: str, unique: Names) -> None:
    called = call("describe", "connector", unique("nobody"), "--url", cluster_url)
    assert (called.status, called.out) == (4, "") and "There is no connector" in called.err
