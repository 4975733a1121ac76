"""`kconnect top`: what its tables say of statuses and metrics, and what it says to a worker without metrics."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from kconnect.cli import scrape
from kconnect.cli.connectors import top
from kconnect.cli.scrape import Scrape
from kconnect.rest.client import ConnectClient, RestError
from tests.cli.calls import call

METRICS = """\
# HELP kafka_connect_sink_task_sink_record_read_rate Records read from Kafka, per second, in the windows
# TYPE kafka_connect_sink_task_sink_record_read_rate gauge
kafka_connect_sink_task_sink_record_read_rate{connector="a \\"b\\"",task="0"} 12.5
kafka_connect_sink_task_sink_record_send_rate{connector="a \\"b\\"",task="0"} 12.0
kafka_connect_sink_task_sink_record_lag{connector="a \\"b\\"",task="0"} NaN
kafka_connect_sink_task_sink_record_lag_max{connector="a \\"b\\"",task="0"} 7.0
kafka_connect_task_error_total_record_errors_total{connector="a \\"b\\"",task="0"} 3.0
kafka_connect_task_host_memory_bytes{host="0"} 1048576.0
kafka_connect_task_host_cpu_seconds_total{host="0"} 2.0
"""


def host(memory: float, cpu: float) -> dict[str, float]:
    return {"memory_bytes": memory, "cpu_seconds": cpu}


def look(at: float, cpu: float, **changes: Any) -> Scrape:
    workers = [
        {"worker_id": "n1:8083", "url": "http://n1:8083/", "connectors": 2, "tasks": 3, "hosts": [{}, {}]},
        {"worker_id": "n2:8083", "url": None, "connectors": 0, "tasks": 0, "hosts": []},
    ]
    tasks = {
        ("slow", 0): {"in_per_s": 1.5, "out_per_s": 1.0, "lag": 4.0, "errors": 0.0, "progress_at": 1000.0},
        ("slow", 1): {"in_per_s": 1.0, "out_per_s": 1.0, "lag": 6.0, "errors": 2.0, "progress_at": 1090.0},
        ("quick", 0): {"in_per_s": 12345.0, "out_per_s": 12345.0, "errors": 0.0},
    }
    found = {"cluster": {"leader": "n1:8083", "workers": workers}, "tasks": tasks, "wall": 1100.0}
    return Scrape(**{"at": at, "hosts": {"n1:8083": {0: host(2**20, cpu), 1: host(2**20, 5.0)}}, **found, **changes})


def status(name: str, *tasks: str, type: str = "sink") -> dict[str, Any]:
    rows = [{"id": number, "state": state, "worker_id": "n1:8083"} for number, state in enumerate(tasks)]
    return {"status": {"name": name, "connector": {"state": "RUNNING", "worker_id": "n1:8083"}, "tasks": rows, "type": type}}


STATUSES = {
    "slow": status("slow", "RUNNING", "FAILED"),
    "quick": status("quick", "RUNNING", type="source"),
    "none": status("none"),
}


def test_numbers_of_tasks_are_added_up_and_the_quickest_is_on_top() -> None:
    found = top.view(STATUSES, look(20, 3.0), look(10, 1.0))
    assert [row["name"] for row in found["connectors"]] == ["quick", "slow", "none"]
    slow, none = found["connectors"][1:]
    assert (slow["in_per_s"], slow["out_per_s"], slow["lag"], slow["errors"], slow["idle_s"]) == (2.5, 2.0, 10.0, 2.0, 10.0)
    assert slow["tasks"] == {"RUNNING": 1, "FAILED": 1}
    assert (none["in_per_s"], none["lag"], none["idle_s"], none["tasks"]) == (None, None, None, {})
    for sort, first in (("lag", "slow"), ("errors", "slow"), ("name", "none")):
        assert top.view(STATUSES, look(20, 3.0), look(10, 1.0), sort)["connectors"][0]["name"] == first


def test_cpu_needs_two_looks_and_a_new_process_counts_from_0() -> None:
    (first, gone) = top.view({}, look(20, 3.0), look(10, 1.0))["workers"]
    assert (first["cpu_percent"], first["memory_bytes"], first["state"], gone["state"]) == (20.0, 2**21, "answers", "gone")
    once = look(20, 3.0)
    assert top.view({}, once, once)["workers"][0]["cpu_percent"] is None
    assert top.view({}, look(20, 0.5), look(10, 9.0))["workers"][0]["cpu_percent"] == 0.0


def test_bytes_are_those_between_two_looks() -> None:
    def seen(at: float, quick: float) -> Scrape:
        return look(at, 1.0, tasks={("quick", 0): {"bytes": quick, "cpu_seconds": 3.0}, ("slow", 1): {"in_per_s": 1.0}})

    rows = top.view(STATUSES, seen(30, 5_242_880.0), seen(10, 0.0), "name")["connectors"]
    assert [(row["bytes_per_s"], row["cpu_percent"]) for row in rows] == [(None, None), (262_144, 0.0), (None, None)]
    assert "256 KiB" in "\n".join(top.text({"workers": [], "connectors": rows, "more": 0}))
    assert top.view(STATUSES, seen(30, 1.0), seen(10, 7.0), "name")["connectors"][1]["bytes_per_s"] == 0
    assert top.view(STATUSES, seen(15, 7.0), seen(10, 0.0), "name")["connectors"][1]["bytes_per_s"] is None


def test_the_tables() -> None:
    lines = [re.split(r"\s{2,}", line.strip()) for line in top.text(top.view(STATUSES, look(20, 3.0), look(10, 1.0)))]
    assert lines[:3] == [
        ["WORKER", "STATE", "CONNECTORS", "TASKS", "HOSTS", "HOSTS' MEMORY", "CPU"],
        ["n1:8083 (leader)", "2", "3", "2", "2 MiB", "20%"],
        ["n2:8083", "gone", "0", "0", "0"],
    ]
    assert lines[4:] == [
        ["CONNECTOR", "TYPE", "STATE", "TASKS", "IN/S", "OUT/S", "LAG", "ERRORS", "IDLE"],
        ["quick", "source", "RUNNING", "1 RUNNING", "12,345", "12,345", "0"],
        ["slow", "sink", "RUNNING", "1 FAILED, 1 RUNNING", "2.5", "2", "10", "2", "10 s"],
        ["none", "sink", "RUNNING", "none"],
    ]


def test_what_tries_again_stands_below_with_its_reason() -> None:
    tried = status("slow", "RUNNING", "RUNNING")
    tried["status"]["tasks"][1]["retrying"] = {"since": 1, "reason": "put(): RetriableError: busy"}
    lines = top.text(top.view({"slow": tried}, look(20, 3.0), look(10, 1.0)))
    assert "2 RUNNING, 1 retrying" in lines[-2]
    assert lines[-1].startswith("slow/1: retrying since ") and lines[-1].endswith(": put(): RetriableError: busy")


def test_a_limit_says_how_many_are_left_out() -> None:
    found = top.view(STATUSES, look(20, 3.0), look(10, 1.0), limit=1)
    assert top.text(found)[-1] == "and 2 more"
    assert top.text(top.view({}, look(20, 3.0), look(10, 1.0)))[-1] == "There are no connectors."


def test_a_worker_that_does_not_answer_is_named_and_the_others_are_shown() -> None:
    now = look(20, 3.0, hosts={}, silent={"n1:8083": "No worker answers at http://n1:8083"})
    lines = top.text(top.view(STATUSES, now, now))
    assert "n1:8083: No worker answers at http://n1:8083" in lines
    assert any(line.split() == ["n1:8083", "(leader)", "silent", "2", "3", "2"] for line in lines)


def test_a_connector_s_name_ends_no_line() -> None:
    """To Python, more than \\n ends one: nobody could look at the cluster, for a name that anybody has given."""
    name = "a\u2028\u2029\x85b"
    found = scrape.samples(METRICS.replace('a \\"b\\"', name))
    assert {labels.get("connector") for _, labels, _ in found} == {name, None}


def test_only_numbers_that_are_known_are_read() -> None:
    named = {"connector": 'a "b"', "task": "0"}
    assert list(scrape.samples(METRICS)) == [
        ("in_per_s", named, 12.5),
        ("out_per_s", named, 12.0),
        ("errors", named, 3.0),
        ("memory_bytes", {"host": "0"}, 1048576.0),
        ("cpu_seconds", {"host": "0"}, 2.0),
    ]


CLUSTER = {
    "leader": "n1:8083",
    "answered_by": "n1:8083",
    "moving": [],
    "workers": [{"worker_id": f"n{n}:8083", "url": f"http://n{n}:8083/", "hosts": []} for n in (1, 2, 3)]
    + [{"worker_id": "n4:8083", "url": "https://n4:8083", "hosts": []}],
}


def answers(request: httpx.Request) -> httpx.Response:
    if request.url.host == "n3":
        raise httpx.ConnectError("refused")
    if request.url.host == "n2":
        assert "authorization" not in request.headers
        return httpx.Response(401, json={"error_code": 401, "message": "Who are you?"})
    assert request.headers["authorization"] == "Bearer t"
    if request.url.path == "/cluster":
        return httpx.Response(200, json=CLUSTER)
    number = ["proxy", "n4"].index(request.url.host) + 1
    assert request.url.path == "/metrics"
    return httpx.Response(200, text=f'kafka_connect_sink_task_sink_record_lag{{connector="x",task="{number}"}} {number}.0\n')


def test_every_worker_is_asked_and_the_one_that_answered_where_it_was_found() -> None:
    with ConnectClient("http://proxy:80", transport=httpx.MockTransport(answers), authorization="Bearer t") as client:
        found = scrape.scrape(client)
    assert found.tasks == {("x", 1): {"lag": 1.0}, ("x", 2): {"lag": 2.0}}
    assert set(found.silent) == {"n2:8083", "n3:8083"}
    assert "http://n3:8083" in found.silent["n3:8083"]
    assert "Give that worker an https listener, or use it directly with --url http://n2:8083" in found.silent["n2:8083"]


def test_nobody_who_gives_up_waits_for_a_worker_that_does_not_answer() -> None:
    daemons: list[bool] = []

    def answers_all(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/cluster":
            return httpx.Response(200, json=CLUSTER)
        daemons.append(threading.current_thread().daemon)
        return httpx.Response(200, text="")

    with ConnectClient("http://n1:8083", transport=httpx.MockTransport(answers_all)) as client:
        scrape.scrape(client)
    # Python's end, as after Ctrl-C, waits for any other thread.
    assert daemons == [True] * len(CLUSTER["workers"])


@pytest.fixture
def connect() -> Iterator[ConnectClient]:
    """What a worker of Kafka Connect says to what it has not."""
    transport = httpx.MockTransport(lambda _: httpx.Response(404, json={"error_code": 404, "message": "HTTP 404 Not Found"}))
    with ConnectClient("http://connect:8083", transport=transport) as client:
        yield client


def test_kafka_connect_is_asked_once_for_what_only_kconnect_has() -> None:
    asked = []

    def answers_nothing(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(404, json={"error_code": 404, "message": "HTTP 404 Not Found"})

    with ConnectClient("http://connect:8083", transport=httpx.MockTransport(answers_nothing)) as client:
        assert (client.own(), client.own()) == ({}, {})
    assert asked == ["/kconnect/connectors"]


def test_a_worker_without_metrics_is_said_to_be_none_of_ours(connect: ConnectClient) -> None:
    with pytest.raises(Exception, match=r"http://connect:8083 has no /metrics .* not a kconnect worker") as raised:
        scrape.scrape(connect)
    assert not isinstance(raised.value, RestError)


def test_no_worker() -> None:
    called = call("top", "--once", "--url", "http://127.0.0.1:9")
    assert called.status == 3 and "No worker answers" in called.err
