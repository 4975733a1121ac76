"""What a worker with its own settings says of configs, over REST. The rules themselves have tests without one."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess

SOURCE = {"name": "c", "connector.class": "FileStreamSource", "file": "/nowhere", "topic": "t"}


def errors(worker: WorkerProcess, config: dict[str, str]) -> dict[str, list[str]]:
    infos: Any = worker.client.validate("FileStreamSource", config)
    return {row["value"]["name"]: row["value"]["errors"] for row in infos["configs"] if row["value"]["errors"]}


def test_the_worker_s_rules_reach_validation(worker: WorkerProcess) -> None:
    assert errors(worker, SOURCE) == {}
    rules = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "0"}
    overrides = {"producer.override.acks": "1", "producer.override.sasl.kerberos.kinit.cmd": "touch /tmp/x"}
    assert list(errors(worker, {**SOURCE, **rules, **overrides})) == [
        "topic.creation.default.partitions",
        "producer.override.sasl.kerberos.kinit.cmd",
    ]


def test_settings_of_clients_are_compared_with_the_worker_s(worker: WorkerProcess) -> None:
    name = "producer.override.delivery.timeout.ms"
    assert list(errors(worker, {**SOURCE, name: "10"})) == [name]
    assert errors(worker, {**SOURCE, name: "10000"}) == {}


def test_a_version_that_is_not_installed(worker: WorkerProcess) -> None:
    asked = {**SOURCE, "connector.plugin.version": "99"}
    assert list(errors(worker, asked)) == ["connector.class", "connector.plugin.version"]
    with pytest.raises(RestError, match=r"not found that matches the version range \[99,99\]") as refused:
        worker.client.create("c", asked)
    assert refused.value.status == 400
