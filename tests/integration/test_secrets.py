"""
Connectors with references to secrets on a real worker: the secret works where it is needed, and is found nowhere else (I14).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.test_worker import command_line
from tests.integration.units import read_all
from tests.support import wait_until

FILE, ENV, WORKER = "canary-file-2b7f", "canary-env-6d0b", "canary-worker-91c3"


def secret(worker: WorkerProcess, name: str, value: str) -> str:
    """A reference to a secret that is in a file of the worker's."""
    file = worker.directory / "secrets" / name
    file.write_text(f"it={value}\n")
    return f"${{file:{file}:it}}"


def shown(worker: WorkerProcess, broker: Broker, name: str) -> str:
    """All that others can see of a connector, and of this worker."""
    paths = ("", "/config", "/status", "/tasks", "/tasks-config", "/tasks/0/status", "/topics", "/offsets")
    asked = [httpx.get(f"{worker.url}connectors/{name}{path}", timeout=60).text for path in paths]
    asked.append(httpx.get(f"{worker.url}connectors?expand=info&expand=status", timeout=60).text)
    topics = [f"shared-{role}" for role in ("configs", "offsets", "status", "configs-assignments")]
    records = [(m.key(), m.value(), m.headers()) for topic in topics for m in read_all(broker.bootstrap_servers, topic)]
    processes = [command_line(process) for process in worker.tree()]
    return f"{asked} {records} {processes} {worker.log.read_text('utf-8', 'replace')}"


def states(worker: WorkerProcess, name: str) -> list[str]:
    try:
        body = worker.client.status(name)
    except RestError:
        return []
    return [body["connector"]["state"], *(task["state"] for task in body["tasks"])]


def test_what_a_reference_stands_for_is_nowhere_but_in_the_task(
    worker: WorkerProcess, broker: Broker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name, topic = unique("secretive"), unique("secrets")
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    reference = secret(worker, name, FILE)
    config = {
        "connector.class": "FileStreamSource",
        "file": str(lines),
        "topic": topic,
        "transforms": "hide",
        "transforms.hide.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hide.field": reference,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        # Not a setting of this connector's, which therefore passes it on to its task.
        "client.password": "${env:KCONNECT_TEST_CANARY}",
    }
    worker.client.put_config(name, config)
    try:
        wait_until(lambda: len(read_all(broker.bootstrap_servers, topic)) == 2, 240)
        values = [(message.value() or b"").decode() for message in read_all(broker.bootstrap_servers, topic)]
        assert values == ['{"canary-file-2b7f":"one"}', '{"canary-file-2b7f":"two"}'], "the control: it reached the task"
        text = shown(worker, broker, name)
        assert reference in text
        assert "${env:KCONNECT_TEST_CANARY}" in text
        assert [canary for canary in (FILE, ENV, WORKER) if canary in text] == []
    finally:
        worker.client.delete(name)


def test_a_failure_that_quotes_it_shows_the_reference(
    worker: WorkerProcess, broker: Broker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("quoting")
    canary = f"canary-folder-{name}"
    folder = tmp_path / canary
    folder.mkdir()
    reference = secret(worker, name, str(folder))
    # A source whose file is a directory fails, and says which.
    config = {"connector.class": "FileStreamSource", "file": reference, "topic": unique("never")}
    worker.client.put_config(name, config)
    try:
        wait_until(lambda: "FAILED" in states(worker, name), 120)
        text = shown(worker, broker, name)
        assert reference in str(worker.client.status(name))
        assert canary not in text
    finally:
        worker.client.delete(name)


def test_a_reference_that_can_not_be_resolved_is_refused_and_fails_only_its_own(
    worker: WorkerProcess, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("unresolved")
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": unique("unresolved-topic")}
    for bad, why in (
        ("${file:/etc/passwd:root}", "is not below a path that the parameter allowed.paths names"),
        ("${vault:a:b}", "there is no provider vault"),
        ("${env:PATH}", "has no key PATH, or does not give it away"),
    ):
        with pytest.raises(RestError, match=why):
            worker.client.put_config(name, {**config, "client.password": bad})
    reference = secret(worker, name, "fine-for-now")
    worker.client.put_config(name, {**config, "client.password": reference})
    try:
        wait_until(lambda: states(worker, name) == ["RUNNING", "RUNNING"], 120)
        (worker.directory / "secrets" / name).unlink()
        worker.client.restart(name, include_tasks=True)
        wait_until(lambda: states(worker, name) == ["FAILED", "FAILED"], 120)
        trace = worker.client.status(name)["tasks"][0]["trace"]
        problem = f"The setting client.password can't be used: {reference} can't be resolved: "
        assert trace.startswith(f"org.apache.kafka.common.config.ConfigException: {problem}")
        # As in Connect: a config without the reference puts all right.
        worker.client.put_config(name, config)
        wait_until(lambda: states(worker, name) == ["RUNNING", "RUNNING"], 120)
    finally:
        worker.client.delete(name)
