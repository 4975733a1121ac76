"""
The chart's executors: a worker with the chart's worker file has Spark order pods by the chart's template, tasks run in them,
and all that Spark asks of Kubernetes is what the chart's Role allows.

There is no Kubernetes here: `tests/rig/systems/pods.py` says what stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from kconnect.java import properties
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.docker.test_chart import Chart
from tests.integration.transfer import Transfer
from tests.rig.systems.pods import Pods
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

NAMESPACE, WORKERS_POD = "data", "kconnect-prod-0"
VALUES = {"bootstrapServers": "kafka:9092", "executors": {"enabled": True}, "secrets": ["crm"]}
VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete", "GET": "get"}


@pytest.fixture(scope="module")
def chart(go_tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Chart:
    return Chart(go_tools, tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="module")
def objects(chart: Chart) -> dict[tuple[str, str], Any]:
    return chart.objects(VALUES)


@pytest.fixture(scope="module")
def pods() -> Iterator[Pods]:
    started = Pods(NAMESPACE)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture(scope="module")
def worker(
    objects: dict[tuple[str, str], Any], pods: Pods, broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    directory = tmp_path_factory.mktemp("worker")
    data = objects["ConfigMap", "kconnect-prod"]["data"]
    # The API of Kubernetes says this of each new pod, whatever was posted. The one here does not.
    template = {**yaml.safe_load(data["executor.yaml"]), "status": {"phase": "Pending"}}
    (directory / "executor.yaml").write_text(yaml.safe_dump(template))
    of_chart = properties.load(data["worker.properties"])
    pods.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": WORKERS_POD}, "status": {"phase": "Running"}})
    here = {
        "spark.master": f"k8s://{pods.url}",
        "spark.kubernetes.executor.podTemplateFile": str(directory / "executor.yaml"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.port": "0",
        "spark.blockManager.port": "0",
        # By a variable of the pod.
        "spark.kubernetes.driver.pod.name": WORKERS_POD,
        "connector.files.allowed.paths": "/",
    }
    own = {key: value for key, value in of_chart.items() if key.startswith(("spark.", "task.", "config.providers"))}
    own.pop("config.providers.secret.param.allowed.paths")
    started = WorkerProcess(directory, broker.bootstrap_servers, "pods", properties={**QUICK, **own, **here})
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture
def transfer(worker: WorkerProcess, broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Transfer]:
    made = Transfer(worker, broker.bootstrap_servers, tmp_path, unique("pods"), 20_000)
    made.begin()
    yield made
    made.delete()


def allowed(role: dict[str, Any], method: str, path: str) -> bool:
    found = re.fullmatch(rf"/api/v1/namespaces/{NAMESPACE}/(\w+)(/[^/?]+)?(\?.*)?", path)
    assert found is not None, (method, path)
    resource, name, query = found.groups()
    verb = VERBS[method]
    if name is None:
        verb = {"get": "watch" if "watch=true" in (query or "") else "list", "delete": "deletecollection"}.get(verb, verb)
    return any(resource in rule["resources"] and verb in rule["verbs"] for rule in role["rules"])


def test_tasks_run_in_pods_and_go_on_when_one_dies(worker: WorkerProcess, pods: Pods, transfer: Transfer) -> None:
    transfer.wait_for_share(0.05)
    pids = pods.pids()
    assert len(pids) == 3
    hosts = {
        name
        for name, pid in pids.items()
        for process in psutil.Process(pid).children(recursive=True)
        if "kconnect.spark.daemon" in process.cmdline()
    }
    assert hosts
    victim = sorted(hosts)[0]
    pods.kill(victim)
    wait_until(lambda: len(pods.pids()) == 3 and victim not in pods.pids(), 240, "no pod came in its place")
    transfer.wait_done()
    transfer.check_source("pods-offsets")


def test_a_pod_is_what_the_template_and_the_worker_file_say(pods: Pods, worker: WorkerProcess) -> None:
    pod = wait_until(lambda: next(iter(pods.orders.values()), None), 240)
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "kconnect:local"
    assert container["resources"]["limits"] == {"memory": "2048Mi"}
    assert container["resources"]["requests"]["cpu"] == "1"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["spec"]["serviceAccountName"] == "kconnect-prod-executors"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["metadata"]["ownerReferences"][0]["name"] == WORKERS_POD
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["tmp"] == "/tmp"
    assert mounts["secret-0"] == "/run/secrets/kconnect/crm"


# The last one: it stops the worker, since to end its pods is something that it may do, too.
def test_the_role_allows_all_that_spark_asks(worker: WorkerProcess, pods: Pods, objects: dict[tuple[str, str], Any]) -> None:
    wait_until(lambda: pods.pids(), 240)
    worker.stop()
    wait_until(lambda: not pods.pids(), 240, "executors outlive their driver")
    role = objects["Role", "kconnect-prod-executors"]
    requests = pods.requests()
    assert {"POST", "GET", "DELETE"} <= {method for method, _ in requests}
    assert sorted({request for request in requests if not allowed(role, *request)}) == []
    assert any("/configmaps" in path for _, path in requests), "the control"
