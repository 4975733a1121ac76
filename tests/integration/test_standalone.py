"""
Hosts on a real Spark standalone cluster: they run in its executors, and the loss of one, of the worker or of Spark's master
loses no line.

`test_lines_move_and_hosts_run_in_the_executors` is the control of the others, each of which also waits until data flows.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import psutil
import pytest

from kconnect.local.broker import Broker, free_port
from kconnect.testing.processes import WorkerProcess, still_alive
from tests.conftest import QUICK
from tests.integration.transfer import Transfer
from tests.rig.systems.spark_cluster import SparkCluster
from tests.support import wait_until

# Spark, a worker and its hosts are started by the first, and started again by others.
pytestmark = pytest.mark.timeout(900)

LINES = 150_000
GROUP = "standalone"
HOSTS = 2
CANARY, SPARK_CANARY = "canary-plain-8e11", QUICK["spark.hadoop.canary.secret"]
REFERRED = "canary-referred-30da"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    started = SparkCluster(tmp_path_factory.mktemp("spark"), cores=4)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture(scope="module")
def ui_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def remote(
    cluster: SparkCluster, broker: Broker, ui_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker whose hosts run on the cluster, with all that Spark can tell about them switched on."""
    events = tmp_path_factory.mktemp("events")
    secrets = tmp_path_factory.mktemp("referred")
    (secrets / "it").write_text(REFERRED)
    properties = {
        **QUICK,
        # Who starves for 3 s of a session of 4 s has lost touch, and lines come again without a fault.
        "session.timeout.ms": "15000",
        "spark.master": cluster.master_url,
        "task.hosts": str(HOSTS),
        # Nothing in its name says that it is secret, so that nobody blots it out.
        "planted": CANARY,
        "config.providers": "dir",
        "config.providers.dir.class": "DirectoryConfigProvider",
        "config.providers.dir.param.allowed.paths": str(secrets),
        "spark.hadoop.canary.referred": f"${{dir:{secrets}:it}}",
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
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


def get(address: str) -> str:
    # The first page that a JVM shows may take it long when the machine is busy.
    return httpx.get(address, timeout=60, follow_redirects=True, trust_env=False).raise_for_status().text


def pages(start: str) -> dict[str, str]:
    """Every page of a web interface that can be reached from this one; tables in one order only."""
    port, found, unread = urlsplit(start).port, dict[str, str](), {start}
    while unread:
        address = unread.pop()
        found[address] = get(address)
        for link in re.findall(r'href="([^"#]+)', found[address]):
            # One of them calls itself localhost.
            page = urljoin(address, link.replace("&amp;", "&")).replace("//localhost:", "//127.0.0.1:")
            if urlsplit(page).port == port and not re.search(r"/static/|/kill|\.sort=", page) and page not in found:
                unread.add(page)
        assert len(found) < 100, f"these pages have no end: {sorted(found)}"
    return found


def executors_log(cluster: SparkCluster) -> str:
    return "".join(path.read_text("utf-8", "replace") for path in cluster.work.rglob("stderr"))


def finish(transfer: Transfer, committed_before: int) -> tuple[int, int]:
    transfer.wait_done()
    for name in (transfer.source_name, transfer.sink_name):
        transfer.worker.client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    return transfer.check_source(f"{GROUP}-offsets"), transfer.check_sink(committed_before)


@pytest.mark.long
def test_lines_move_and_hosts_run_in_the_executors(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    hosts = wait_until(lambda: len(cluster.hosts()) == HOSTS and cluster.hosts(), 240, "not every host runs")
    executors = {process.pid for process in cluster.executors()}
    mine = {process.pid for process in remote.tree()}
    for host in hosts:
        above = {process.pid for process in host.parents()}
        assert above & executors and not above & mine
    assert remote.hosts() == []
    assert finish(transfer, 0) == (0, 0)


def test_no_setting_of_the_worker_is_in_what_spark_shows_and_stores(
    remote: WorkerProcess, cluster: SparkCluster, ui_port: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    wait_until(lambda: executors_log(cluster).count("of worker 127.0.0.1") >= HOSTS, 240, "not every host runs")
    overview = wait_until(lambda: (found := cluster.overview()).get("activeapps") and found, 240)
    ui = f"http://127.0.0.1:{ui_port}"
    api = f"{ui}/api/v1/applications/{overview['activeapps'][0]['id']}"
    seen = pages(f"{cluster.ui}/") | pages(f"{overview['workers'][0]['webuiaddress']}/") | pages(f"{ui}/jobs/")
    for part in ("", "/environment", "/jobs", "/stages", "/allexecutors"):
        seen[api + part] = get(api + part)
    stored = [*cluster.directory.rglob("*"), *tmp_path_factory.getbasetemp().glob("events*/**/*"), remote.log]
    seen |= {str(path): path.read_text("utf-8", "replace") for path in stored if path.is_file()}
    for process in psutil.process_iter(["cmdline"]):
        seen[f"process {process.pid}"] = " ".join(process.info["cmdline"] or ())
    # The control: these are the places that settings of the application, or words of its hosts, do get to.
    for place, expected in {
        f"{api}/environment": "spark.hadoop.canary.secret",
        "events_": "spark.hadoop.canary.referred",
        "/logPage": "of worker 127.0.0.1",
        "/stderr": "of worker 127.0.0.1",
        "/app/?appId": "Executor Summary",
        "/jobs/job/": "kconnect host",
        "process": "CoarseGrainedExecutorBackend",
    }.items():
        assert any(place in name and expected in text for name, text in seen.items()), f"{place} does not show {expected}"
    for name, text in seen.items():
        assert not any(canary in text for canary in (CANARY, SPARK_CANARY, REFERRED)), f"{name} shows a setting"


@pytest.mark.long
def test_kill_an_executor_and_its_hosts(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    wait_until(lambda: len(cluster.hosts()) == HOSTS, 240, "not every host runs")
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    executors, hosts = cluster.executors(), cluster.hosts()
    assert executors and len(hosts) == HOSTS
    transfer.add(LINES)
    for process in (*executors, *hosts):
        # Without its executor a host ends by itself, and may have done so already.
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    assert transfer.arrived() < transfer.lines, "everything had arrived before the fault"
    finish(transfer, committed)
    assert not {process.pid for process in cluster.executors()} & {process.pid for process in executors}


@pytest.mark.long
def test_kill_the_worker_and_start_it_again(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    processes = [*remote.tree(), *cluster.executors(), *cluster.hosts()]
    transfer.add(LINES)
    remote.kill()
    assert transfer.arrived() < transfer.lines, "everything had arrived before the fault"
    assert still_alive(processes, 240) == [], "processes of the worker outlived it"
    wait_until(lambda: cluster.overview().get("activeapps") == [], 240, "Spark still runs the application")
    remote.start()
    finish(transfer, committed)


@pytest.mark.long
def test_kill_sparks_master_and_start_it_again(transfer: Transfer, remote: WorkerProcess, cluster: SparkCluster) -> None:
    """The new master does not know the application, and has the Spark worker end its executors."""
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    hosts = cluster.hosts()
    cluster.kill_master()
    cluster.start_master()
    assert still_alive(hosts, 240) == [], "the executors live on: this is no fault"
    transfer.add(1000)
    finish(transfer, committed)


@pytest.mark.long
def test_a_host_that_gets_no_core_is_told_of(cluster: SparkCluster, broker: Broker, tmp_path: Path) -> None:
    properties = {**QUICK, "spark.master": cluster.master_url, "spark.cores.max": "1", "task.hosts": "2"}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, "cramped", properties=properties)
    try:
        worker.start()
        waits = "1 of 2 task hosts still wait"
        wait_until(lambda: waits in worker.log.read_text("utf-8"), 240, "nobody says that a host waits")
        line = next(line for line in worker.log.read_text("utf-8").splitlines() if "still wait" in line)
        assert "spark.cores.max is 1" in line and "task.hosts" in line
        wait_until(
            lambda: "no core of Spark is free for it" in worker.client.health()["message"], 60, "/health does not say so"
        )
    finally:
        worker.stop()
