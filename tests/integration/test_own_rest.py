"""What only kconnect's REST API has, on a real worker: where a sink would go on, and what became of a connector."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.integration import units
from tests.support import wait_until

LIMIT_S = 240.0


def test_where_a_sink_would_go_on(worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], tmp_path: Path) -> None:
    topic, client = unique("moves"), worker.client
    units.create(bootstrap, topic, partitions=2)
    at = int(time.time() * 1000) - 3_600_000
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce(topic, f"{number}", partition=number % 2, timestamp=at + number)
    assert producer.flush(LIMIT_S) == 0
    client.create(topic, {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out")})
    try:
        wait_until(lambda: len(_offsets(worker, topic)) == 2, LIMIT_S)
        wait_until(lambda: set(_offsets(worker, topic).values()) == {5}, LIMIT_S)

        def moves(**to: str) -> list[tuple[Any, ...]]:
            return [tuple(each.values()) for each in client.moves(topic, **to)]

        assert moves(to="earliest") == [(topic, 0, 5, 0, 5, 0), (topic, 1, 5, 0, 5, 0)]
        assert moves(to="latest") == [(topic, 0, 5, 5, 0, 0), (topic, 1, 5, 5, 0, 0)]
        assert moves(back="2") == [(topic, 0, 5, 3, 2, 0), (topic, 1, 5, 3, 2, 0)]
        assert moves(time=str(at + 5)) == [(topic, 0, 5, 3, 2, 0), (topic, 1, 5, 2, 3, 0)]
        assert moves(time=str(at + 99)) == [(topic, 0, 5, 5, 0, 0), (topic, 1, 5, 5, 0, 0)]
        with pytest.raises(RestError, match="Give one of"):
            client.moves(topic, to="earliest", back="1")
        with pytest.raises(RestError, match="'back' is '-1'"):
            client.moves(topic, back="-1")
    finally:
        client.delete(topic)


def test_a_sources_offsets_are_its_plugins_business(worker: WorkerProcess, unique: Callable[[str], str]) -> None:
    name = unique("source")
    worker.client.create(name, {"connector.class": "FileStreamSource", "topic": name, "file": "/dev/null"}, "STOPPED")
    try:
        with pytest.raises(RestError, match="is a source: only a sink's offsets"):
            worker.client.moves(name, to="earliest")
    finally:
        worker.client.delete(name)


def test_what_became_of_a_connector(worker: WorkerProcess, unique: Callable[[str], str], tmp_path: Path) -> None:
    name, client, file = unique("changes"), worker.client, tmp_path / "in"
    file.touch()
    client.create(name, {"connector.class": "FileStreamSource", "topic": name, "file": str(file), "a.password": "canary-1"})
    try:
        client.wait_for(name, "RUNNING", tasks=1, timeout=LIMIT_S)
        client.patch_config(name, {"a.password": "canary-2", "batch.size": "7"})
        client.pause(name)
        client.wait_for(name, "PAUSED", tasks=1, timeout=LIMIT_S)
        found, where = client.changes(name), client.status(name)["connector"]["worker_id"]
        said = [(each["of"], each["task"], each["text"]) for each in found["changes"]]
        assert said[0] == (None, None, "config written, 5 settings")
        assert ("connector", None, f"RUNNING on {where}") in said
        assert ("task", 0, f"PAUSED on {where}") in said
        assert (None, None, "target state PAUSED") in said
        assert "canary" not in str(found)
        assert any("batch.size=7 added" in text for _, _, text in said)
        times = [each["at"] for each in found["changes"]]
        assert times == sorted(times) and found["since"] == times[0]
        advice = client._json("GET", f"/kconnect/connectors/{name}")["advice"]
        assert advice == [f"It is paused, and moves nothing: `kconnect resume {name}`"]
    finally:
        client.delete(name)


def _offsets(worker: WorkerProcess, name: str) -> dict[int, int]:
    found = worker.client.offsets(name)
    return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in found}


def test_what_any_process_has_logged(worker: WorkerProcess, unique: Callable[[str], str], tmp_path: Path) -> None:
    name, client = unique("lines"), worker.client
    began = int(time.time() * 1000)
    nowhere = {"connector.class": "FileStreamSource", "topic": name, "file": str(tmp_path), "a.password": "canary-3"}
    client.create(name, nowhere)
    try:
        wait_until(lambda: client.log_lines(connector=name, task=0, level="ERROR")["lines"], LIMIT_S)
        [line] = client.log_lines(connector=name, task=0, level="ERROR", limit=1)["lines"]
        assert line["process"].startswith("host-") and line["level"] == "ERROR" and "Traceback" in line["text"]
        assert line["worker"] == client.status(name)["tasks"][0]["worker_id"]
        # What the worker itself says of it has no such context.
        assert {each["connector"] for each in client.log_lines(connector=name)["lines"]} == {name}
        wait_until(lambda: "worker" in {each["process"] for each in client.log_lines(since=began)["lines"]}, LIMIT_S)
        everything = client.log_lines(since=began, limit=5000)["lines"]
        assert not {"kconnect.audit", "kconnect.rest.access"} & {each["logger"] for each in everything}
        assert "canary-3" not in str(everything)
        said = call("logs", f"{name}/0", "--level", "ERROR", "--url", worker.url, typed=True)
        assert said.status == 0 and f"/{line['process']} {line['logger']} [{name}|task-0] " in said.out
        assert "Traceback" in said.out
    finally:
        client.delete(name)
