"""What several KIPs' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.integration.secured import Secured
from tests.rig.systems import scripted, verifiable
from tests.support import starts


@pytest.fixture(scope="session")
@starts("integration")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"))
    made.broker.start()
    yield made
    made.broker.stop()


@pytest.fixture(scope="session")
@starts("integration")
def eos_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """
    A worker with exactly-once sources, the verifiable and the scripted connectors; its group is `eos`. Each test deletes the
    connectors that it made.
    """
    directory = tmp_path_factory.mktemp("eos-worker")
    plugins = directory / "plugins"
    verifiable.write_plugin(plugins)
    properties = {
        **QUICK,
        # As for the worker that all tests share.
        "session.timeout.ms": "20000",
        "exactly.once.source.support": "enabled",
        "plugin.path": str(scripted.write_plugin(plugins)),
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    started = WorkerProcess(directory, broker.bootstrap_servers, "eos", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()
