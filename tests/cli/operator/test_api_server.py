"""
`kconnect operator` as a process, with a real API server of custom resources and a worker in memory.

The server's front keeps events; `tests/integration/test_operator.py` has real workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kconnect.cli.operator import crd
from kconnect.core.state.records import TargetState
from tests.cli.calls import call, serving
from tests.cli.operator import strimzi
from tests.cli.operator.running import Operator, Resources
from tests.rest.herder import MemoryHerder
from tests.support import starts, wait_until

if TYPE_CHECKING:
    from tests.rig.systems.kubernetes import ApiServer

# To build the API server takes minutes, where nobody has yet.
pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(1500)]

SPEC: dict[str, Any] = {"class": "FileStreamSource", "tasksMax": 1, "config": {"file": "in.txt", "topic": "t", "quick": True}}


@pytest.fixture(scope="module")
@starts("process")
def server(api_server: ApiServer) -> ApiServer:
    api_server.define(crd.definition())
    api_server.define(strimzi.definition())
    return api_server


@pytest.fixture
def resources(server: ApiServer, unique: Callable[[str], str]) -> Resources:
    return Resources(server, unique("operator"))


@pytest.fixture
def worker() -> MemoryHerder:
    return MemoryHerder()


@pytest.fixture
def operator(server: ApiServer, resources: Resources, worker: MemoryHerder, tmp_path: Path) -> Iterator[Operator]:
    with serving(worker) as url, Operator(server, url, tmp_path / "log", "-n", resources.namespace, "--strimzi") as operator:
        yield operator


def test_a_life(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    resources.create("orders", **SPEC)
    status = resources.wait("orders", "Running")
    own = {"name": "orders", "connector.class": "FileStreamSource", "tasks.max": "1"}
    assert worker.configs["orders"] == {**own, "file": "in.txt", "topic": "t", "quick": "true"}
    assert (status["state"], status["tasks"], status["appliedGeneration"]) == ("RUNNING", "1/1", 1)
    columns = resources.columns("orders")
    shown = {"Class": "FileStreamSource", "State": "RUNNING", "Tasks": "1/1", "Ready": "True", "Message": "1 of 1 tasks run."}
    assert shown.items() <= columns.items() and "Age" in columns
    body = resources.get("orders") or {}
    assert body["metadata"]["finalizers"] == ["kconnect.dev/connector"]
    assert list(body["metadata"]["annotations"]) == ["kconnect.dev/owner"]
    resources.patch("orders", state="paused", config={"file": "other.txt", "quick": None})
    resources.wait("orders", "Paused")
    assert worker.configs["orders"] == {**own, "file": "other.txt", "topic": "t"}
    assert worker.targets["orders"] is TargetState.PAUSED
    resources.patch("orders", state=None)
    resources.delete("orders")
    resources.wait_gone("orders")
    assert worker.configs == {}
    assert resources.events("orders") == [
        ("Normal", "Created", "Created the connector orders"),
        ("Normal", "Changed", "Changed the connector orders: file, quick, state"),
        ("Normal", "Deleted", "Deleted the connector orders"),
    ]
    assert operator.stop() == 0


def test_what_somebody_changes_at_the_worker_is_taken_back_or_reported(
    resources: Resources, worker: MemoryHerder, operator: Operator
) -> None:
    resources.create("corrected", state="running", **SPEC)
    resources.create("reported", drift="report", **SPEC)
    for name in ("corrected", "reported"):
        resources.wait(name, "Running")
        worker.configs[name]["file"] = "by hand"
    worker.targets["corrected"] = TargetState.PAUSED
    wait_until(lambda: worker.configs["corrected"]["file"] == "in.txt")
    wait_until(lambda: worker.targets["corrected"] is TargetState.STARTED)
    wait_until(lambda: ("Warning", "Differs", "Left as it is: file") in resources.events("reported"))
    assert worker.configs["reported"]["file"] == "by hand"
    resources.patch("reported", config={"topic": "u"})
    wait_until(lambda: worker.configs["reported"]["file"] == "in.txt" and worker.configs["reported"]["topic"] == "u")


def test_a_connector_made_by_hand(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    by_hand = {"name": "orders", "connector.class": "FileStreamSource", "file": "by hand", "topic": "t"}
    worker.configs["orders"], worker.targets["orders"] = dict(by_hand), TargetState.STARTED
    resources.create("orders", **SPEC)
    assert "kconnect.dev/adopt=true" in resources.wait("orders", "NotAdopted")["message"]
    resources.delete("orders")
    resources.wait_gone("orders")
    assert worker.configs["orders"] == by_hand, "neither changed nor deleted"
    resources.create("orders", {"kconnect.dev/adopt": "true"}, **SPEC)
    resources.wait("orders", "Running")
    assert worker.configs["orders"]["file"] == "in.txt"
    assert [reason for _, reason, _ in resources.events("orders")] == ["NotAdopted", "Adopted", "Changed"]


def test_an_operator_that_dies(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    for name in ("changed", "deleted"):
        resources.create(name, **SPEC)
        resources.wait(name, "Running")
    operator.kill()
    resources.patch("changed", config={"file": "meanwhile"})
    resources.delete("deleted")
    resources.create("created", **SPEC)
    assert (resources.get("deleted") or {})["metadata"]["deletionTimestamp"], "its finalizer keeps it"
    operator.start()
    wait_until(lambda: worker.configs.get("changed", {}).get("file") == "meanwhile")
    resources.wait_gone("deleted")
    resources.wait("created", "Running")
    assert worker.configs.keys() == {"changed", "created"}


def test_restarts(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    resources.create("orders", **SPEC)
    resources.wait("orders", "Running")
    resources.annotate("orders", restart_task="0")
    wait_until(lambda: worker.restarted == [("orders", 0)])
    wait_until(lambda: "kconnect.dev/restart-task" not in (resources.get("orders") or {})["metadata"]["annotations"])
    assert worker.restarted == [("orders", 0)], "once"


def test_what_failed_is_restarted(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    resources.create("orders", autoRestart={"enabled": True, "maxRestarts": 1}, **SPEC)
    resources.wait("orders", "Running")
    worker.failed.add(("orders", 0))
    wait_until(lambda: resources.status("orders").get("autoRestart", {}).get("count") == 1)
    assert resources.reason("orders") in ("Starting", "Failed", "Running")


def test_deletion_waits_or_lets_the_connector_be(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    resources.create("kept", deletionPolicy="keep", **SPEC)
    resources.create("protected", deletionProtection=True, **SPEC)
    for name in ("kept", "protected"):
        resources.wait(name, "Running")
        resources.delete(name)
    resources.wait_gone("kept")
    resources.wait("protected", "DeletionProtected")
    assert worker.configs.keys() == {"kept", "protected"}
    resources.patch("protected", deletionProtection=False)
    resources.wait_gone("protected")
    assert worker.configs.keys() == {"kept"}


def test_a_mistake_is_said_by_its_setting_and_no_secret_is(
    resources: Resources, worker: MemoryHerder, operator: Operator
) -> None:
    secret = "hunter2-never-shown"
    resources.create("orders", **{**SPEC, "config": {"file": {"a": "b"}, "db.password": secret}})
    assert "the setting file is an object" in resources.wait("orders", "InvalidResource")["message"]
    body = resources.get("orders") or {}
    assert secret in str(body["spec"]) and secret not in str(body["status"]) + str(body["metadata"].get("annotations"))
    assert secret not in operator.log and secret not in str(resources.events("orders"))


def test_the_schema_refuses_what_makes_no_sense(resources: Resources) -> None:
    assert "spec.class" in resources.refusal("x", config={})
    assert "spec.tasksMax" in resources.refusal("x", **{**SPEC, "tasksMax": 0})
    for field in ("state", "drift", "deletionPolicy"):
        assert f"spec.{field}: Unsupported value" in resources.refusal("x", **SPEC, **{field: "perhaps"})
    resources.create("named", name="First_One", **SPEC)
    assert "name can't be changed" in resources.refused_patch("named", name="second")
    body = resources.get("named") or {}
    assert (body["spec"]["drift"], body["spec"]["deletionPolicy"]) == ("correct", "delete")


@pytest.mark.parametrize("version", ["v1beta2", "v1"])
def test_strimzis_resource(
    server: ApiServer, resources: Resources, worker: MemoryHerder, operator: Operator, version: str
) -> None:
    theirs = Resources(server, resources.namespace, f"kafka.strimzi.io/{version}", "KafkaConnector")
    theirs.create("orders", {"strimzi.io/restart-task": "0"}, autoRestart={"enabled": True}, **SPEC)
    status = theirs.wait("orders", "Running")
    assert status["connectorStatus"]["connector"]["state"] == "RUNNING" and status["tasksMax"] == 1
    wait_until(lambda: "strimzi.io/restart-task" not in (theirs.get("orders") or {})["metadata"]["annotations"])
    theirs.patch("orders", state="stopped")
    theirs.wait("orders", "Stopped")
    theirs.delete("orders")
    theirs.wait_gone("orders")
    assert worker.configs == {}


def test_only_resources_of_its_cluster(server: ApiServer, worker: MemoryHerder, resources: Resources, tmp_path: Path) -> None:
    options = ("-n", resources.namespace, "--cluster", "mine")
    with serving(worker) as url, Operator(server, url, tmp_path / "log", *options):
        resources.create("other", **SPEC)
        body = resources.manifest("mine", **SPEC)
        body["metadata"]["labels"] = {"kconnect.dev/cluster": "mine"}
        server.call("POST", f"/apis/kconnect.dev/v1alpha1/namespaces/{resources.namespace}/connectors", body)
        resources.wait("mine", "Running")
        assert worker.configs.keys() == {"mine"} and "finalizers" not in (resources.get("other") or {})["metadata"]


def test_two_resources_for_one_connector(resources: Resources, worker: MemoryHerder, operator: Operator) -> None:
    resources.create("first", name="orders", **SPEC)
    resources.wait("first", "Running")
    resources.create("second", name="orders", **SPEC)
    assert f"{resources.namespace}/first" in resources.wait("second", "NameTaken")["message"]
    resources.delete("second")
    resources.wait_gone("second")
    assert worker.configs.keys() == {"orders"}


def test_a_worker_that_is_away(server: ApiServer, resources: Resources, worker: MemoryHerder, tmp_path: Path) -> None:
    with Operator(server, "http://127.0.0.1:9", tmp_path / "log", "-n", resources.namespace) as operator:
        resources.create("orders", **SPEC)
        assert "127.0.0.1:9" in resources.wait("orders", "WorkerUnreachable")["message"]
        assert operator.stop() == 0
        assert "WARNING No worker answers at http://127.0.0.1:9" in operator.log


def test_a_cluster_without_the_resource(server: ApiServer, tmp_path: Path) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text("utf-8"))
    config["clusters"][0]["cluster"]["server"] = f"{server.url}/elsewhere"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config), "utf-8")
    called = call("operator", env={"KUBECONFIG": str(path)})
    assert called.status == 4 and "`kconnect operator --crd` prints it, for kubectl apply" in called.err
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:9"
    path.write_text(yaml.safe_dump(config), "utf-8")
    called = call("operator", env={"KUBECONFIG": str(path)})
    assert called.status == 3 and "No API server of Kubernetes answers at http://127.0.0.1:9" in called.err
