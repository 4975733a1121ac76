"""
Shared by all tests: one broker and one worker with Spark for the whole run, and the marker `integration` for everything
under `tests/integration` and `tests/kip`.

Plain `pytest -m "not integration"` needs neither a broker nor Spark.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess

# How long an example takes says something about the machine only.
hypothesis.settings.register_profile("kconnect", deadline=None)
hypothesis.settings.load_profile("kconnect")

_INTEGRATION = [Path(__file__).parent / name for name in ("integration", "kip")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(directory in item.path.parents for directory in _INTEGRATION):
            item.add_marker("integration")
    # Quick ones first: who broke something wants to know soon.
    items.sort(key=lambda item: item.get_closest_marker("integration") is not None)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker on a free port, for the whole run. A test that kills it starts it again."""
    started = Broker(tmp_path_factory.mktemp("broker"))
    started.start()
    yield started
    started.stop()


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
