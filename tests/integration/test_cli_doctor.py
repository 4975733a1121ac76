"""`kconnect doctor` on a real broker and real workers, with each problem made for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker, free_port
from tests.cli.calls import call
from tests.integration.doctored import be_patient, worker_file
from tests.support import wait_until


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


def doctor(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    called = call("doctor", "-o", "json", *arguments)
    assert called.err == "", called.err
    return called.status, json.loads(called.out)["findings"]


def at(found: list[dict[str, Any]], place: str) -> list[dict[str, Any]]:
    return [each for each in found if each["location"] == place]


def test_before_a_worker_is_started_for_the_first_time(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    name, port = unique("doctor"), free_port()
    file = worker_file(tmp_path, broker.bootstrap_servers, name, listeners=f"http://127.0.0.1:{port}")
    _, found = doctor("-w", file)
    # Whether this machine is well is not what is asked here.
    kafka = [*at(found, f"Broker {broker.bootstrap_servers}"), *at(found, "Rights")]
    assert all(each["severity"] in ("ok", "skipped") for each in kafka), kafka
    assert f"cluster {broker.cluster_id}" in kafka[0]["message"]
    assert [each["message"] for each in kafka if each["message"].startswith(f"The topic {name}-configs does not exist yet")]
    assert any(each["severity"] == "ok" and f"127.0.0.1:{port} is free" in each["message"] for each in found)


def test_topics_that_would_lose_what_is_in_them(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    name = unique("doctor-topics")
    file = worker_file(tmp_path, broker.bootstrap_servers, name)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    wanted = [
        NewTopic(f"{name}-configs", 2, 1, config={"cleanup.policy": "compact"}),
        NewTopic(f"{name}-offsets", 1, 1, config={"cleanup.policy": "delete"}),
        NewTopic(f"{name}-status", 1, 1, config={"cleanup.policy": "compact"}),
    ]
    for future in admin.create_topics(wanted, request_timeout=60).values():
        future.result()
    status, found = doctor("-w", file)
    errors = [each["message"] for each in at(found, "Topics") if each["severity"] == "error"]
    assert status == 1 and len(errors) == 2, found
    assert f"{name}-configs has 2 partitions" in errors[0]
    assert f"{name}-offsets has cleanup.policy=delete" in errors[1]


def test_brokers_that_can_not_be_reached(broker: Broker) -> None:
    closed = f"127.0.0.1:{free_port()}"
    servers = f"{broker.bootstrap_servers},{closed},no-such-host.invalid:9092"
    status, found = doctor("--bootstrap-server", servers)
    assert status == 1
    places = {place: at(found, f"Broker {place}") for place in servers.split(",")}
    assert [[(each["severity"], each["check"]) for each in said] for said in places.values()] == [
        [("ok", "broker")],
        [("error", "connection")],
        [("error", "dns")],
    ]


def test_the_wrong_protocol(broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "client").write_text("security.protocol=SSL\n")
    status, found = doctor("--bootstrap-server", broker.bootstrap_servers, "--command-config", str(tmp_path / "client"))
    (said,) = at(found, f"Broker {broker.bootstrap_servers}")
    assert (status, said["severity"], said["check"]) == (1, "error", "tls"), said


def test_workers(cluster_url: str) -> None:
    url = cluster_url.rstrip("/")

    def said() -> Any:
        return at(doctor("--url", url)[1], f"Worker {url}")

    # The Date of answers is renewed by an event loop, which may have stood still for seconds.
    wait_until(lambda: (found := said()) and all(each["severity"] == "ok" for each in found))


def test_the_table(worker: Any) -> None:
    called = call("doctor", "--url", worker.url)
    lines = called.out.splitlines()
    assert lines[0] == "This machine" and any(line.startswith("  ok: Java ") for line in lines)
    assert f"Worker {worker.url.rstrip('/')}" in lines
    assert lines[-1].endswith(" ok") and "not checked" in lines[-1]
