"""
Java plugins that are installed, replaced and removed while a worker runs, by `kconnect plugin`, as users do: connectors that it
concerns run from what is there then, and the others go on in their process.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.conftest import QUICK
from tests.rig import java_plugin as rig
from tests.support import starts, wait_until

from .test_java_connectors import WAIT_S, Connectors, java_hosts

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
@starts("integration")
def plain_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One with an empty directory for plugins."""
    directory = tmp_path_factory.mktemp("java-reload")
    (directory / "plugins").mkdir()
    properties = {**QUICK, "session.timeout.ms": "20000", "plugin.path": str(directory / "plugins")}
    started = WorkerProcess(directory, broker.bootstrap_servers, "java-reload", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()


def test_plugins_come_and_go_while_a_worker_runs(
    plain_worker: WorkerProcess, broker: Broker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    worker, plugins = plain_worker, plain_worker.directory / "plugins"
    connectors = Connectors(worker, broker.bootstrap_servers, unique)

    def kconnect(*arguments: str) -> None:
        called = call(*arguments)
        assert called.status == 0, called.out + called.err

    def install(version: str) -> None:
        place = rig.write_plugin(tmp_path, version)
        kconnect("plugin", "install", str(place), "--plugin-path", str(plugins))

    def reload() -> None:
        kconnect("plugin", "reload", "--url", worker.url)

    def make(**config: str) -> tuple[str, str]:
        topic = unique("java-reload")
        return connectors.make(rig.NUMBERS, topic=topic, batch=1, pause=50, **config), topic

    def runs(connector: tuple[str, str], version: str) -> None:
        name = connector[0]
        wait_until(lambda: connectors.task(name).get("version") == version, WAIT_S, f"{name} does not run {version}")
        goes_on(connector)
        assert connectors.task(name)["state"] == "RUNNING"

    def goes_on(connector: tuple[str, str]) -> None:
        before = connectors.sent(connector[1])
        wait_until(lambda: connectors.sent(connector[1]) > before, WAIT_S, f"{connector[0]} does not go on")

    def pids() -> set[int]:
        return {host.pid for host in java_hosts(worker)}

    try:
        # Nothing was there when the worker started.
        install("1.0")
        reload()
        free, pinned = make(), make(connector_plugin_version="1.0")
        for each in (free, pinned):
            runs(each, "1.0")
        first = pids()
        assert len(first) == 1

        # A new version: who asks for none gets it.
        install("1.1")
        for each in (free, pinned):
            goes_on(each)
        reload()
        runs(free, "1.1")
        runs(pinned, "1.0")
        assert first < pids(), "the one that the new version does not concern stays where it is"

        # Removed: what runs goes on until the next reload.
        used = call("plugin", "remove", "rig", "1.1", "--plugin-path", str(plugins), "--url", worker.url, "--yes")
        assert used.status == 5 and free[0] in used.err
        kconnect("plugin", "remove", "rig", "1.1", "--plugin-path", str(plugins), "--yes")
        goes_on(free)
        reload()
        runs(free, "1.0")
        assert first <= pids()

        # Other files in the same place: nobody goes on with those of before.
        shutil.rmtree(plugins / "rig-1.0")
        shutil.copytree(tmp_path / "rig-1.0", plugins / "rig-1.0", copy_function=shutil.copyfile)
        reload()
        wait_until(lambda: not first & pids(), WAIT_S, "the host with the old files lives on")
        for each in (free, pinned):
            runs(each, "1.0")
    finally:
        connectors.delete()
