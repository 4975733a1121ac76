"""
Hosts on a real Spark standalone cluster: they run in its executors, and neither their loss nor the worker's loses a line.

`test_lines_move_and_hosts_run_in_the_executors` is the control of the others, each of which also waits until data flows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from kconnect.testing.spark_cluster import SparkCluster
from tests.integration.conftest import QUICK
from tests.integration.transfer import Transfer
from tests.support import wait_until

LINES = 300_000
GROUP = "standalone"
HOSTS = 2


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    started = SparkCluster(tmp_path_factory.mktemp("spark"), cores=4)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture(scope="module")
def remote(cluster: SparkCluster, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker whose hosts run on the cluster."""
    properties = {**QUICK, "spark.master": cluster.master_url, "task.hosts": str(HOSTS)}
    worker = WorkerProcess(tmp_path_factory.mktemp("remote"), broker.bootstrap_servers, GROUP, properties=properties)
    try:
        yield worker.start()
    finally:
        worker.stop()


@pytest.fixture
def transfer(remote: WorkerProcess, broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Transfer]:
    made = Transfer(remote, broker.bootstrap_servers, tmp_path, unique("standalone"), LINES)
    made.begin()
    yield made
    made.delete()


def finish(transfer: Transfer, committed_before: int) -> tuple[int, int]:
    transfer.wait_done()
    for name in (transfer.source_name, transfer.sink_name):
        transfer.worker.client.wait_for(name, "RUNNING", tasks=1, timeout=30)
    return transfer.check_source(f"{GROUP}-offsets"), transfer.check_sink(committed_before)


def test_lines_move_and_hosts_run_in_the_executors(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    hosts = wait_until(lambda: len(cluster.hosts()) == HOSTS and cluster.hosts(), 30, "not every host runs")
    executors = {process.pid for process in cluster.executors()}
    mine = {process.pid for process in remote.tree()}
    for host in hosts:
        above = {process.pid for process in host.parents()}
        assert above & executors and not above & mine
    assert remote.hosts() == []
    assert finish(transfer, 0) == (0, 0)


def test_kill_an_executor_and_its_hosts(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    executors, hosts = cluster.executors(), cluster.hosts()
    assert executors and len(hosts) == HOSTS
    for process in (*executors, *hosts):
        process.kill()
    finish(transfer, committed)
    assert not {process.pid for process in cluster.executors()} & {process.pid for process in executors}


def test_kill_the_worker_and_start_it_again(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    processes = [*remote.tree(), *cluster.executors(), *cluster.hosts()]
    remote.kill()
    assert psutil.wait_procs(processes, 30)[1] == [], "processes of the worker outlived it"
    wait_until(lambda: not cluster.overview()["activeapps"], 30, "Spark still runs the application")
    remote.start()
    finish(transfer, committed)
