"""
What several of these tests share. Those of the command line each run against a kconnect worker and against a worker of Apache
Kafka Connect.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.support import starts


# A Kafka Connect takes as long to start as many tests: by day `tests/parity` has one.
@pytest.fixture(scope="session", params=["kconnect", pytest.param("connect", marks=pytest.mark.long)])
@starts("integration")
def cluster_url(request: pytest.FixtureRequest) -> str:
    """The URL of `worker`, and then that of `peer`; each starts once."""
    found: str = request.getfixturevalue({"kconnect": "worker", "connect": "peer"}[request.param]).url
    return found


@pytest.fixture(scope="session")
@starts("integration")
def once_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with exactly-once sources; each test deletes the connectors that it made."""
    properties = {**QUICK, "session.timeout.ms": "20000", "exactly.once.source.support": "enabled"}
    started = WorkerProcess(tmp_path_factory.mktemp("once"), broker.bootstrap_servers, "once", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()
