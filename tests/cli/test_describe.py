"""`kconnect describe worker` and `describe plugin`, from answers as a worker gives them; the kinds and their short names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from kconnect.cli.describe import plugin as describe_plugin
from kconnect.cli.describe import worker as describe_worker
from kconnect.cli.describe.connector_report import Look
from kconnect.errors import NotFoundError
from kconnect.rest.client import ConnectClient
from tests.cli.calls import call

UNIT = {"connector": "x", "task": 0}
HOST = {"host": 0, "node": "vm", "pid": 77, "connectors": 1, "tasks": 1, "stuck": 0, "directories": [], "dedicated_to": None}
MEMBER = {"leaving": False, "generation": 3, "connectors": 1, "tasks": 2}
CLUSTER = {
    "leader": "n2:8083",
    "generation": 3,
    "answered_by": "n1:8083",
    "workers": [
        {
            **MEMBER,
            "worker_id": "n1:8083",
            "url": "http://n1:8083/",
            "hosts": [HOST, {**HOST, "host": 1, "node": None, "pid": None, "stuck": 2, "dedicated_to": UNIT}],
        },
        {**MEMBER, "worker_id": "n2:8083", "url": None, "hosts": []},
    ],
    "moving": [{**UNIT, "from": "n1:8083", "to": None}],
}
STATUS = {
    "name": "x",
    "connector": {"state": "RUNNING", "worker_id": "n1:8083"},
    "tasks": [
        {"id": 0, "state": "FAILED", "worker_id": "n1:8083", "trace": "no"},
        {"id": 1, "state": "RUNNING", "worker_id": "n2:8083"},
    ],
    "type": "sink",
}
CONFIG = {
    "name": "x",
    "connector.class": "FileStreamSink",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "transforms": "a",
    "transforms.a.type": "InsertField$Value",
    "file": "JsonConverter",
}
PLUGINS = [
    {"class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "type": "sink", "version": "4.3.1"},
    {"class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "type": "sink", "version": "4.2.0"},
    {"class": "org.apache.kafka.connect.json.JsonConverter", "type": "converter", "version": "4.3.1"},
    {"class": "a.Twice", "type": "converter", "version": "1"},
    {"class": "b.Twice", "type": "converter", "version": "1"},
]
SETTING = {"name": "file", "type": "STRING", "importance": "HIGH", "required": True, "default_value": None}


def answers(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path == "/metrics":
        return httpx.Response(200, text='kafka_connect_task_host_memory_bytes{host="0"} 2097152.0\n')
    if path == "/connectors":
        wanted = request.url.params["expand"]
        body: Any = {"x": {"status": STATUS} if wanted == "status" else {"info": {"name": "x", "config": CONFIG}}}
    else:
        body = CLUSTER if path == "/cluster" else PLUGINS if path == "/connector-plugins" else [SETTING]
    return httpx.Response(200, json=body)


def test_what_names_no_task() -> None:
    for name in ("x", "x/", "x/a", "x/²"):
        assert call("describe", "task", name, "--url", "http://127.0.0.1:9").status == 2


def test_a_task_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Look, "task", lambda self, connector, number: None)
    called = call("describe", "task", "x/7", "--url", "http://127.0.0.1:9")
    assert called.status == 4 and "The connector x has no task 7: `kconnect get tasks` lists all" in called.err


@pytest.fixture
def client() -> Iterator[ConnectClient]:
    with ConnectClient("http://n1:8083", transport=httpx.MockTransport(answers)) as made:
        yield made


def test_a_worker_with_its_hosts_and_what_it_runs(client: ConnectClient) -> None:
    found = describe_worker.gather(client, None)
    assert found["runs"] == [
        {"connector": "x", "task": None, "state": "RUNNING"},
        {"connector": "x", "task": 0, "state": "FAILED"},
    ]
    lines = [" ".join(line.split()) for line in describe_worker.text(found)]
    assert lines == [
        "Worker n1:8083 (member, http://n1:8083/)",
        "Assigned 1 connectors, 2 tasks",
        "Hosts",
        "HOST NODE PID CONNECTORS TASKS MEMORY FOR",
        "0 vm 77 1 1 2 MiB",
        "1 1 1 x/0 alone, 2 that do not stop",
        "Runs",
        "UNIT STATE",
        "x RUNNING",
        "x/0 FAILED",
        "Moving x/0 from n1:8083 to (not decided yet)",
    ]


def test_a_worker_that_is_gone_and_one_that_never_was(client: ConnectClient) -> None:
    lines = [" ".join(line.split()) for line in describe_worker.text(describe_worker.gather(client, "n2:8083"))]
    assert lines[0] == "Worker n2:8083 (gone, no URL)"
    assert "Hosts none: Spark is starting, or has no room for them" in lines
    with pytest.raises(NotFoundError, match="There is no worker n3; the cluster has n1:8083, n2:8083"):
        describe_worker.gather(client, "n3")


def test_a_plugin_with_its_versions_and_users(client: ConnectClient) -> None:
    found = describe_plugin.gather(client, "FileStreamSink")
    assert (found["versions"], found["used_by"]) == (["4.2.0", "4.3.1"], ["x (connector.class)"])
    assert describe_plugin.gather(client, "JsonConverter")["used_by"] == ["x (value.converter)"]
    lines = [" ".join(line.split()) for line in describe_plugin.text(found)]
    assert lines[-2:] == ["NAME TYPE IMPORTANCE VALUE", "file STRING HIGH required"]
    with pytest.raises(NotFoundError, match="no plugin Nothing"):
        describe_plugin.gather(client, "Nothing")
    with pytest.raises(NotFoundError, match=r"several plugins Twice: a\.Twice, b\.Twice"):
        describe_plugin.gather(client, "Twice")


@pytest.mark.parametrize("kind", ["connector", "connectors", "co", "task", "ta", "worker", "wo", "plugins", "pl"])
def test_kinds_have_short_names(kind: str) -> None:
    assert call("describe", kind, "--help").status == 0


def test_wrong_use() -> None:
    assert call("describe", "--nonsense").status == 2
    assert call("describe", "connector").status == 2
    called = call("describe", "task", "orders")
    assert called.status == 2 and "such as orders/0" in called.err
