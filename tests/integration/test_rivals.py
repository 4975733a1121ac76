"""Workers that must not start, for the group is not theirs: each says so, writes nothing, and ends."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka as ck
import pytest

from kconnect.local.broker import free_port
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.connect import ConnectProcess
from tests.support import wait_until

QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000", "task.hosts": "1"}


def end_of(bootstrap: str, topic: str) -> int:
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody"})
    try:
        end: int = consumer.get_watermark_offsets(ck.TopicPartition(topic, 0), timeout=60)[1]
        return end
    finally:
        consumer.close()


def hosts_of(worker: WorkerProcess) -> set[int | None]:
    return {host["pid"] for host in worker.client.cluster()["workers"][0]["hosts"]}


def never_healthy(worker: WorkerProcess) -> bool:
    """Asked until it has ended."""
    try:
        assert worker.client.health()["status"] == "starting"
    except RestError as error:
        # 500: it answers that it is shutting down.
        assert error.status in (None, 500, 503)
    return not worker.running


@pytest.mark.long
def test_in_the_group_of_apache_s_workers_it_writes_nothing(
    peer: ConnectProcess, bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    refused = WorkerProcess(tmp_path, bootstrap, "peer", properties={**QUICK, "assignment.storage.topic": "peer-mine"})
    refused.start(wait=False)
    try:
        wait_until(lambda: never_healthy(refused), 240)
        assert "The group peer has members that are not kconnect workers" in refused.last_line()
        assert end_of(bootstrap, "peer-mine") == 0
        # Its Spark was still starting, and had been told the worker's settings in a file.
        assert not list(temporary.glob("kconnect-spark-*"))
    finally:
        refused.stop()


def test_beside_one_of_its_id_and_in_another_cluster_s_group_none_starts(
    worker: WorkerProcess, bootstrap: str, tmp_path: Path
) -> None:
    there, port = {**QUICK, "rest.advertised.port": str(worker.port)}, free_port()
    twin = WorkerProcess(tmp_path / "twin", bootstrap, "shared", port, there)
    elsewhere = {**QUICK, "assignment.storage.topic": "foreign"}
    foreign = WorkerProcess(tmp_path / "foreign", bootstrap, "shared", properties=elsewhere)
    before = wait_until(lambda: hosts_of(worker), 240)
    try:
        for each in (twin, foreign):
            each.start(wait=False)
        wait_until(lambda: never_healthy(twin), 240)
        wait_until(lambda: never_healthy(foreign), 240)
        assert f"Another live worker of the group shared has the same URL, {worker.url}" in twin.last_line()
        assert "Another cluster uses the group shared, too" in foreign.last_line()
        assert end_of(bootstrap, "foreign") == 0
    finally:
        twin.stop()
        foreign.stop()
    assert worker.client.health()["status"] == "healthy"
    assert before <= hosts_of(worker)
