"""The worker's process as a whole, as far as it needs no broker."""

from __future__ import annotations

import concurrent.futures
import queue
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kconnect.core.herder import effects
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.kafka import clients
from kconnect.kafka.admin import Admin
from kconnect.local.broker import free_port
from kconnect.worker.driver import Driver
from kconnect.worker.main import Worker
from kconnect.worker.topic_watch import TopicWatch
from kconnect.worker.world import World
from tests.support import wait_until

pytestmark = pytest.mark.process

PROPERTIES = {
    "bootstrap.servers": "127.0.0.1:1",
    "group.id": "test",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
}


def test_a_worker_that_did_not_start_can_be_stopped() -> None:
    """What went wrong at its start is the last word: a second error here would be told to the user instead."""
    Worker(WorkerSettings.from_properties(PROPERTIES, {}), {}).stop()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/live", timeout=60).status_code == 200
    except httpx.ConnectError:
        return False


def test_a_worker_that_waits_for_kafka_lives_and_sigterm_ends_it(tmp_path: Path) -> None:
    """No broker answers it for half a minute, and then it would have failed."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        path = tmp_path / "worker.properties"
        url = f"http://127.0.0.1:{free_port()}"
        settings = {**PROPERTIES, "bootstrap.servers": servers, "listeners": url}
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        command = [sys.executable, "-m", "kconnect", "worker", str(path)]
        worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            silent.accept()[0].close()
            wait_until(lambda: answers(url), 60)
            probes = {path: httpx.get(f"{url}/{path}", timeout=60) for path in ("live", "health", "ready")}
            with concurrent.futures.ThreadPoolExecutor() as others:
                waits = others.submit(httpx.get, f"{url}/connectors", timeout=60)
                assert not concurrent.futures.wait([waits], 0.5).done, "only Kafka knows the answer"
                worker.send_signal(signal.SIGTERM)
                said = worker.communicate(timeout=60)[1]
                assert waits.result().status_code == 503
        finally:
            worker.kill()
            worker.wait()
    assert {path: probe.status_code for path, probe in probes.items()} == {"live": 200, "health": 503, "ready": 503}
    assert probes["health"].json() == {"status": "starting", "message": "Worker is still starting up."}
    assert worker.returncode == 0, said
    assert "The worker was asked to stop before it had begun" in said
    assert "No Kafka broker answered" not in said


def test_that_spark_has_ended_is_told_each_time_with_the_reason() -> None:
    """It ends at once: its order says nothing of what it needs."""
    reasons: queue.Queue[str] = queue.Queue()
    driver = Driver({}, reasons.put, lambda host, reason: None, {"references"})
    driver.start()
    try:
        for _ in range(2):
            reason = reasons.get(timeout=120)
            assert reason.startswith("the Spark driver ended with status 1: ")
            assert "KeyError" in reason
            assert "references" not in reason
    finally:
        driver.stop()


@pytest.mark.long
def test_what_references_stand_for_is_in_no_error_that_rest_shows(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("protocol=canary-7d20\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    more = {"config.providers": "file", "config.providers.file.class": provider}
    settings = WorkerSettings.from_properties({**PROPERTIES, **more}, {})
    worker = Worker(settings, {})
    admin = Admin(clients.internal(settings, "admin"))
    driver = Driver({}, lambda _: None, lambda *_: None)
    world = World(settings, admin, worker._registry, worker._sandbox, worker._feed, TopicWatch(admin, {}), driver)
    reference = f"${{file:{tmp_path / 'secrets'}:protocol}}"
    config = {
        "offsets.storage.topic": "mine",
        "producer.override.security.protocol": reference,
        "admin.override.security.protocol": reference,
    }
    calls: tuple[Callable[[], object], ...] = (
        lambda: world.group_offsets(effects.GroupOffsets("c", config)),
        lambda: world.alter_group(effects.AlterGroup("c", config, None)),
        lambda: world.read_own_offsets(effects.ReadOwnOffsets("c", config)),
        lambda: world.write_own_offsets(effects.WriteOwnOffsets("c", config, ())),
        lambda: world.fence(effects.Fence("c", config, 1)),
    )
    try:
        wrong = r"Invalid value .* for configuration (admin\.override\.|producer\.override\.)?security\.protocol"
        for call in calls:
            with pytest.raises(ConfigError, match=wrong) as refused:
                call()
            assert "canary-7d20" not in str(refused.value)
            assert reference in str(refused.value)
    finally:
        worker.stop()
