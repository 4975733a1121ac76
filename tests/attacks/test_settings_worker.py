"""Settings that run code, on a real worker: what REST says to them, and what a host does with those that stand in the topic."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.attacks.test_client_settings import LIBRARY
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CONFIGS = "shared-configs"
LIMIT_S = 240.0


@pytest.fixture
def written(worker: WorkerProcess, bootstrap: str) -> Iterator[Callable[[str, dict[str, str]], None]]:
    """Writes a config into the worker's topic, past all validation; it is deleted afterwards."""
    producer, names = ck.Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"}), list[str]()

    def write(name: str, config: dict[str, str]) -> None:
        names.append(name)
        value = json.dumps({"properties": {"name": name, "tasks.max": "1", **config}})
        producer.produce(CONFIGS, value, f"connector-{name}", 0)
        assert producer.flush(60) == 0

    yield write
    with ConnectClient(worker.client.url) as client:
        wait_until(lambda: set(names) <= set(client.connectors()), LIMIT_S)
        for name in names:
            client.delete(name)


def failures(client: ConnectClient, name: str) -> list[str]:
    """The traces of what has failed of a connector."""
    try:
        status: Any = client.status(name)
    except RestError:
        return []
    return [each["trace"] for each in (status["connector"], *status["tasks"]) if each["state"] == "FAILED"]


@pytest.mark.long
def test_a_reporter_s_library_is_refused_and_never_started(
    worker: WorkerProcess, written: Callable[[str, dict[str, str]], None]
) -> None:
    """Whoever may create connectors, or wrote into the config topic, names native code for HttpSink: it is never loaded."""
    name = f"native-{time.time_ns()}"
    reporter = {"reporter.result.topic.name": "answers", "reporter.bootstrap.servers": "127.0.0.1:1"}
    config = {"connector.class": "HttpSink", "topics": "t", "http.api.url": "http://127.0.0.1:1", **reporter}
    config["reporter.producer.plugin.library.paths"] = LIBRARY
    with ConnectClient(worker.client.url) as client:
        with pytest.raises(RestError, match="loads native code") as refused:
            client.put_config(name, config)
        assert refused.value.status == 400
        written(name, config)
        wait_until(lambda: failures(client, name), LIMIT_S)
        assert "loads native code" in failures(client, name)[0]


def test_a_catalog_s_command_in_the_topic_is_not_run(
    worker: WorkerProcess, written: Callable[[str, dict[str, str]], None], tmp_path: Path
) -> None:
    """Whoever wrote into the config topic names subprocess.Popen as IcebergSink's class for files: no host runs it."""
    name, file = f"lake-{time.time_ns()}", tmp_path / "ran"
    shell = {f"iceberg.catalog.{part}": "x" for part in ("sh", "-c", f"touch {file}; exit 0")}
    place = {"iceberg.catalog.type": "sql", "iceberg.catalog.uri": f"sqlite:///{tmp_path}/c.db"}
    more = {"iceberg.catalog.py-io-impl": "subprocess.Popen", "iceberg.tables": "shop.orders", "topics": "t"}
    with ConnectClient(worker.client.url) as client:
        written(name, {"connector.class": "IcebergSink", **shell, **place, **more})
        wait_until(lambda: failures(client, name), LIMIT_S)
        assert "What pyiceberg loads must be one of" in failures(client, name)[0]
    assert not file.exists()
