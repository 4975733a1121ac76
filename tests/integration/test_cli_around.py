"""What helps around the commands, with real workers: contexts, names for the shell, logs, what a worker reads of its topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call, complete
from tests.rig.systems.connect import ConnectProcess
from tests.support import wait_until

pytestmark = pytest.mark.integration

LIMIT_S = 240.0


@pytest.fixture(params=["kconnect", "connect"])
def cluster(request: pytest.FixtureRequest) -> WorkerProcess | ConnectProcess:
    found: WorkerProcess | ConnectProcess = request.getfixturevalue({"kconnect": "worker", "connect": "peer"}[request.param])
    return found


@pytest.fixture
def failed(cluster: WorkerProcess, unique: Callable[[str], str], tmp_path: Path) -> Iterator[str]:
    """The name of a connector whose task has failed, because a line has no fields."""
    name = unique("around")
    (tmp_path / "in").write_text("a line\n")
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(tmp_path / "in"),
        "topic": name,
        "transforms": "field",
        "transforms.field.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.field.field": "id",
    }
    with ConnectClient(cluster.url) as client:
        client.create(name, config)
        try:
            client.wait_for(name, "FAILED", tasks=1, timeout=LIMIT_S)
            yield name
        finally:
            client.delete(name)


def test_a_context_names_the_cluster_and_the_shell_its_connectors(cluster: WorkerProcess, failed: str, tmp_path: Path) -> None:
    environment = {"KCONNECT_CONFIG": str(tmp_path / "contexts.yaml")}
    assert call("context", "set", "here", "--url", cluster.url, env=environment).status == 0
    assert call("context", "set", "nowhere", "--url", "http://127.0.0.1:9", env=environment).status == 0
    assert call("context", "use", "here", env=environment).status == 0
    got = call("get", "connectors", failed, "-o", "name", env=environment)
    assert (got.status, got.out) == (0, f"{failed}\n"), got.err
    assert call("get", "connectors", "--context", "nowhere", env=environment).status == 3
    # It waits for two seconds at most, which a loaded machine may need.
    begun = f"kconnect describe connector {failed[:-1]}"
    wait_until(lambda: failed in complete(begun, **environment), LIMIT_S, "the name was not offered")


@pytest.mark.parametrize("cluster", ["kconnect"], indirect=True)
def test_logs_say_why_a_task_failed(cluster: WorkerProcess, failed: str) -> None:
    """The log of this Connect has no contexts: its layout is not that of Connect's own files."""

    def told() -> list[str]:
        called = call("logs", f"{failed}/0", "--file", str(cluster.log), "--level", "ERROR")
        assert called.status == 0, called.err
        return called.out.splitlines()

    wait_until(told, LIMIT_S, "nothing was logged of the failure")
    assert all(f"[{failed}|task-0" in line for line in told() if "ERROR" in line)
    elsewhere = call("logs", "none-of-that-name", "--file", str(cluster.log), "--level", "ERROR")
    assert elsewhere.out == ""


def test_what_a_worker_reads_of_its_topics(cluster: WorkerProcess, failed: str, bootstrap: str, tmp_path: Path) -> None:
    group = "peer" if isinstance(cluster, ConnectProcess) else "shared"
    names = {"config": f"{group}-configs", "offset": f"{group}-offsets", "status": f"{group}-status"}
    topics = [option for role, name in names.items() for option in (f"--{role}-topic", name)]
    called = call("topics", "compact-view", failed, "--bootstrap-server", bootstrap, *topics, "-o", "json")
    assert called.status == 0, called.err
    assert orjson.loads(called.out)["connectors"][failed]["config"]["file"] == str(tmp_path / "in")
