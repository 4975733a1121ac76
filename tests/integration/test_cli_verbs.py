"""get, pause, resume, stop, restart, wait, delete and set, against a kconnect worker and against Kafka Connect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kconnect.cli import target_states
from kconnect.rest.client import ConnectClient
from tests.cli.calls import Called, call
from tests.rig.systems import recorder
from tests.support import wait_until

LIMIT = "4m"


@pytest.fixture
def starts(request: pytest.FixtureRequest, cluster_url: str, bootstrap: str) -> Callable[[str], set[tuple[int, int]]]:
    """The places in the status topic where task 0 of a connector says that it runs, so far."""
    group = {"kconnect": "shared", "connect": "peer"}[request.node.callspec.params["cluster_url"]]

    def found(name: str) -> set[tuple[int, int]]:
        return {
            (message.partition() or 0, message.offset() or 0)
            for message in recorder.read(bootstrap, f"{group}-status")
            if message.key() == f"status-task-{name}-0".encode() and b'"RUNNING"' in (message.value() or b"")
        }

    return found


def test_a_life_of_two_connectors(
    cluster_url: str,
    unique: Callable[[str], str],
    tmp_path: Path,
    starts: Callable[[str], set[tuple[int, int]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Both have tasks, which may take long to be made.
    monkeypatch.setattr(target_states, "_NO_TASKS_S", 120.0)
    # Not with a % in it: Connect's server takes no request that names it.
    good, bad = unique("verbs-good ü"), unique("verbs-bad")
    both = [f"*{name[5:]}" for name in (good, bad)]
    (tmp_path / "in").write_text("a line\n")

    def run(*arguments: str, status: int = 0) -> Called:
        called = call(*arguments, env={"KAFKA_CONNECT_URL": cluster_url})
        assert called.status == status, called
        return called

    with ConnectClient(cluster_url) as client:
        source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": unique("verbs")}
        client.create(good, {**source, "db.password": "canary-90"})
        client.create(bad, {"connector.class": "FileStreamSink", "file": f"{tmp_path}/no/out", "topics": unique("verbs")})
        try:
            # Control: it fails because of the folder, and not before there is one.
            assert run("wait", bad, "--for", "failed", "--timeout", LIMIT).out == f"{bad} is FAILED\n"
            assert run("wait", good, "--for", "running", "--tasks", "1", "--timeout", LIMIT).out == f"{good} is RUNNING\n"

            told = run("get", "connectors", *both)
            assert [row.split("  ")[0] for row in told.out.splitlines()[1:]] == sorted([good, bad])
            assert "1/1 RUNNING" in told.out
            assert "1 FAILED of 1" in told.out
            assert run("get", "co", *both, "--state", "failed", "-o", "name").out == f"{bad}\n"
            item = json.loads(run("get", "connector", good, "-o", "json").out)
            assert (item["state"], item["type"], item["config"]["db.password"]) == ("running", "source", "[hidden]")
            assert "no/out" in run("get", "tasks", bad, "-o", "wide").out

            assert run("pause", good, "--wait", "--timeout", LIMIT).out == f"Paused {good}\n"
            assert {task["state"] for task in client.status(good)["tasks"]} == {"PAUSED"}
            assert run("stop", good, "--wait", "--timeout", LIMIT).out == f"Stopped {good}\n"
            assert client.status(good)["tasks"] == []
            assert run("resume", good, "--wait", "--timeout", LIMIT).out == f"Resumed {good}\n"
            assert [task["state"] for task in client.status(good)["tasks"]] == ["RUNNING"], "its task is there, too"

            before = starts(good)
            assert before, "control: the topic is the right one"
            done = f"Restarted {good}: its connector and task 0\n"
            assert run("restart", good, "--tasks", "--wait", "--timeout", LIMIT).out == done
            # A restart that no status shows for six seconds counts as done; a task may take longer to begin.
            wait_until(lambda: starts(good) - before, 120, "what ran before and runs after has restarted in between")

            (tmp_path / "no").mkdir()
            assert run("restart", bad, "--failed", "--wait", "--timeout", LIMIT).out == f"Restarted {bad}: task 0\n"
            assert run("wait", bad, "--for", "running", "--timeout", LIMIT)
            assert run("restart", f"{bad}/0", "--wait", "--timeout", LIMIT).out == f"Restarted {bad}/0\n"
            assert run("restart", f"{bad}/7", status=4).out == ""

            wait_until(lambda: client.topics(good), 120, "the topic of the source is seen")
            assert source["topic"] in run("get", "co", good, "-o", "wide").out
            assert run("delete", *both, "--yes", "--wait", "--timeout", LIMIT).out.count("Deleted") == 2
            assert run("wait", good, bad, "--for", "deleted").out == f"{good} is gone\n{bad} is gone\n"
            assert run("pause", good, status=4).out == ""
        finally:
            for name in {good, bad} & set(client.connectors()):
                client.delete(name)


def test_what_a_worker_has(cluster_url: str) -> None:
    def run(*arguments: str) -> Called:
        called = call(*arguments, "--url", cluster_url)
        assert called.status == 0, called
        return called

    assert "FileStreamSourceConnector" in run("get", "plugins", "--type", "source").out
    name = "org.apache.kafka.connect.runtime.rest"
    with ConnectClient(cluster_url) as client:
        before = client.loggers().get(name, client.loggers().get("root", {"level": "INFO"}))["level"]
        try:
            assert run("set", "logger", name, "error").out.startswith(f"{name} is ERROR")
            assert run("get", "loggers", name).out.splitlines()[1].split()[:2] == [name, "ERROR"]
        finally:
            client.set_logger(name, before)
    said = run("get", "workers")
    host = cluster_url.rstrip("/").partition("://")[2]
    if "does not list its workers" not in said.err:
        assert said.out.splitlines()[1].split()[0] == host
