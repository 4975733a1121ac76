"""A real worker with real Spark, shared by the tests that leave it as they found it."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess

_names = itertools.count(1)

QUICK = {
    "spark.hadoop.canary.secret": "canary-spark-5d2e",
    "session.timeout.ms": "4000",
    "heartbeat.interval.ms": "1000",
    "offset.flush.interval.ms": "500",
}
"""So that what waits for a dead process need not wait long."""


@pytest.fixture(scope="session")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One worker for the whole run; each test deletes the connectors that it made."""
    started = WorkerProcess(tmp_path_factory.mktemp("worker"), broker.bootstrap_servers, "shared", properties=QUICK)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes names that no other test of this run has."""
    number = next(_names)
    return lambda name: f"{name}-{number}"


@pytest.fixture(scope="module")
def bootstrap(request: pytest.FixtureRequest) -> str:
    given = os.environ.get("KCONNECT_TEST_BROKER")
    return given or request.getfixturevalue("broker").bootstrap_servers


@pytest.fixture
def topic() -> str:
    return f"units-{os.getpid()}-{time.time_ns()}-{next(_names)}"
