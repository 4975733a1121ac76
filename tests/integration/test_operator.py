"""`kconnect operator` with a real API server of custom resources, and with workers of kconnect and of Apache Kafka Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kconnect.cli.operator import crd
from kconnect.rest.client import ConnectClient
from tests.cli.operator.running import Operator, Resources
from tests.support import wait_until

if TYPE_CHECKING:
    from tests.rig.systems.kubernetes import ApiServer

# To build the API server takes minutes, where nobody has yet.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture
def client(cluster_url: str) -> Iterator[ConnectClient]:
    with ConnectClient(cluster_url, patience=120) as client:
        yield client


@pytest.fixture
def resources(api_server: ApiServer, unique: Callable[[str], str]) -> Resources:
    api_server.define(crd.definition())
    return Resources(api_server, unique("operator"))


@pytest.fixture
def operator(
    api_server: ApiServer, resources: Resources, cluster_url: str, client: ConnectClient, tmp_path: Path
) -> Iterator[Operator]:
    with Operator(api_server, cluster_url, tmp_path / "log", "-n", resources.namespace) as operator:
        yield operator
    for name in client.connectors():
        if name.startswith(resources.namespace):
            client.delete(name)


def spec(resources: Resources, folder: Path, name: str, **changes: Any) -> dict[str, Any]:
    lines = folder / "lines.txt"
    lines.write_text("one\ntwo\n", "utf-8")
    config = {"file": str(lines), "topic": resources.namespace}
    return {"name": f"{resources.namespace}-{name}", "class": SOURCE, "tasksMax": 1, "config": config, **changes}


def is_gone(client: ConnectClient, name: str) -> bool:
    return name not in client.connectors()


def test_a_life(resources: Resources, client: ConnectClient, operator: Operator, tmp_path: Path) -> None:
    wanted = spec(resources, tmp_path, "a", state="running")
    name = wanted["name"]
    resources.create("orders", **wanted)
    resources.wait("orders", "Running")
    assert client.get_config(name) == {**wanted["config"], "name": name, "connector.class": SOURCE, "tasks.max": "1"}
    wait_until(lambda: resources.status("orders").get("topics") == [resources.namespace])
    # Drift: somebody pauses it, and changes it.
    client.put_config(name, {**client.get_config(name), "batch.size": "7"})
    client.pause(name)
    wait_until(lambda: "batch.size" not in client.get_config(name))
    client.wait_for(name, "RUNNING", tasks=1, timeout=240)
    resources.patch("orders", state="stopped")
    resources.wait("orders", "Stopped")
    assert client.status(name)["connector"]["state"] == "STOPPED"
    operator.kill()
    resources.delete("orders")
    assert not is_gone(client, name)
    operator.start()
    resources.wait_gone("orders")
    wait_until(lambda: is_gone(client, name))


def test_a_refused_config_is_said_by_its_setting(
    resources: Resources, client: ConnectClient, operator: Operator, tmp_path: Path
) -> None:
    wanted = spec(resources, tmp_path, "b")
    wanted["config"]["batch.size"] = "many"
    resources.create("orders", **wanted)
    assert "Invalid value many for configuration batch.size" in resources.wait("orders", "Refused")["message"]
    assert is_gone(client, wanted["name"])
    wait_until(lambda: any(event[:2] == ("Warning", "Refused") for event in resources.events("orders")))
    resources.patch("orders", config={"batch.size": "10"})
    resources.wait("orders", "Running")
    # It runs on as it was while the resource has a mistake.
    resources.patch("orders", config={"batch.size": "many"})
    resources.wait("orders", "Refused")
    assert client.get_config(wanted["name"])["batch.size"] == "10"
    resources.delete("orders")
    resources.wait_gone("orders")


def test_a_failed_task_is_restarted(resources: Resources, client: ConnectClient, operator: Operator, tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    config = {"topics": resources.namespace, "file": str(folder / "out.txt")}
    wanted = spec(resources, tmp_path, "c", config=config, autoRestart={"enabled": True}, **{"class": SINK})
    resources.create("orders", **wanted)
    wait_until(lambda: resources.status("orders").get("autoRestart", {}).get("count") == 1, 240)
    # The second restart comes only after two minutes: this one does it by an annotation.
    message = resources.wait("orders", "Failed")["message"]
    assert "FAILED: task 0" in message and str(folder) in message
    folder.mkdir()
    resources.annotate("orders", restart="includeTasks,onlyFailed")
    resources.wait("orders", "Running")
    resources.delete("orders")
    resources.wait_gone("orders")


def test_a_connector_made_by_hand_is_adopted_when_told_so(
    resources: Resources, client: ConnectClient, operator: Operator, tmp_path: Path
) -> None:
    wanted = spec(resources, tmp_path, "d")
    name = wanted["name"]
    client.create(name, {**wanted["config"], "connector.class": SOURCE, "batch.size": "7"})
    resources.create("orders", **wanted)
    resources.wait("orders", "NotAdopted")
    resources.delete("orders")
    resources.wait_gone("orders")
    assert client.get_config(name)["batch.size"] == "7"
    resources.create("orders", {"kconnect.dev/adopt": "true"}, deletionPolicy="keep", **wanted)
    resources.wait("orders", "Running")
    assert "batch.size" not in client.get_config(name)
    resources.delete("orders")
    resources.wait_gone("orders")
    assert not is_gone(client, name)


def test_at_its_start_no_resource_takes_a_connector_of_another_namespace_along(
    resources: Resources, api_server: ApiServer, client: ConnectClient, cluster_url: str, tmp_path: Path
) -> None:
    """The list of a small namespace came before that of a large one, and with it a resource that claims what others have."""
    wanted = spec(resources, tmp_path, "j")
    name, others = wanted["name"], Resources(api_server, f"{resources.namespace}-others")
    resources.create("orders", **wanted)
    options = ("-n", resources.namespace, "-n", others.namespace, "--interval", "600")
    with Operator(api_server, cluster_url, tmp_path / "first.log", *options) as operator:
        resources.wait("orders", "Running")
        operator.kill()
    for number in range(600):
        filling = {f"kconnect.dev/filling-{each}": "x" * 200 for each in range(10)}
        paused = {**filling, "kconnect.dev/pause-reconciliation": "true"}
        resources.create(f"a{number:03}", paused, **{"class": SOURCE, "config": {}})
    body = others.create("mine", **wanted)
    finalizers = {"finalizers": ["kconnect.dev/connector"]}
    annotations = {"annotations": {"kconnect.dev/owner": f"{body['metadata']['uid']}/owned"}}
    path = f"/apis/kconnect.dev/v1alpha1/namespaces/{others.namespace}/connectors/mine"
    api_server.call("PATCH", path, {"metadata": {**finalizers, **annotations}}, "application/merge-patch+json")
    others.delete("mine")
    try:
        with Operator(api_server, cluster_url, tmp_path / "second.log", *options) as operator:
            others.wait_gone("mine")
            operator.kill()
        assert others.events("mine") == []
        assert not is_gone(client, name)
    finally:
        client.delete(name)
