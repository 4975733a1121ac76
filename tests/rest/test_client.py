"""The client, against the application in a real server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, PatchConfig
from kconnect.core.herder.requests.connectors import GetStatus
from kconnect.errors import ConflictError, ConnectError
from kconnect.rest.app import RestSettings, build
from kconnect.rest.client import ConnectClient, RestError, WaitError
from kconnect.rest.server import Server

from .conftest import FILE_SOURCE
from .herder import MemoryHerder


class Unfolding(MemoryHerder):
    """Something happens before each of the next status requests: `script` says what."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[Any] = []

    def submit(self, request: Request[Any]) -> Future[Any]:
        if isinstance(request, GetStatus) and self.script:
            self.script.pop(0)()
        return super().submit(request)


@pytest.fixture(scope="module")
def port_and_herder() -> Iterator[tuple[int, Unfolding]]:
    herder = Unfolding()
    server = Server(build(herder, RestSettings("http://worker-1:8083/")), ["http://127.0.0.1:0"])
    server.start()
    yield server.port, herder
    server.stop()


@pytest.fixture
def herder(port_and_herder: tuple[int, Unfolding]) -> Unfolding:
    herder = port_and_herder[1]
    herder.__init__()  # type: ignore[misc]
    return herder


@pytest.fixture
def client(port_and_herder: tuple[int, Unfolding], herder: Unfolding) -> Iterator[ConnectClient]:
    with ConnectClient(f"http://127.0.0.1:{port_and_herder[0]}/") as client:
        yield client


def test_worker(client: ConnectClient, herder: Unfolding) -> None:
    assert client.root()["version"] == "4.3.1"
    assert client.health()["status"] == "healthy"
    herder.starting = True
    assert client.health()["status"] == "starting"
    assert len(client.plugins()) == 1
    assert len(client.plugins(connectors_only=False)) == 2
    assert client.plugin_config("FileStreamSource", "latest")[0]["name"] == "topic"
    assert client.validate("FileStreamSource", FILE_SOURCE)["error_count"] == 0
    assert "root" in client.loggers()
    assert client.set_logger("kconnect.test.client", "DEBUG") in ([], ["kconnect.test.client"])
    assert client.set_logger("kconnect.test.client", "info", cluster=True) is None
    assert herder.cluster_levels == [("kconnect.test.client", "info")]


def test_life_of_a_connector(client: ConnectClient, herder: Unfolding) -> None:
    name = "my src?#%"
    assert client.create(name, {**FILE_SOURCE, "tasks.max": 2}, initial_state="paused")["name"] == name
    assert client.connectors() == [name]
    assert set(client.connectors("status", "info")[name]) == {"status", "info"}
    assert client.status(name)["connector"]["state"] == "PAUSED"
    client.resume(name)
    assert client.task_status(name, 1)["state"] == "RUNNING"
    assert client.connector(name)["config"] == client.get_config(name)
    assert client.patch_config(name, {"tasks.max": None})["tasks"] == [{"connector": name, "task": 0}]
    assert client.put_config(name, FILE_SOURCE)["config"] == {**FILE_SOURCE, "name": name}
    assert len(client.tasks(name)) == 1
    assert [unit["task"] for unit in client.placement(name)["tasks"]] == [0]
    assert client.restart(name) is None
    restarting = client.restart(name, include_tasks=True)
    assert restarting is not None
    assert restarting["tasks"][0]["state"] == "RESTARTING"
    client.restart_task(name, 0)
    assert client.offsets(name)[0]["offset"] == {"position": 7}
    assert client.topics(name) == []
    client.reset_topics(name)
    client.pause(name)
    client.stop(name)
    assert client.tasks(name) == []
    client.delete(name)
    assert client.connectors() == []


@pytest.mark.parametrize(
    ("error", "status", "exit_code"),
    [(ConflictError("busy"), 409, 5), (ConnectError("broken"), 500, 1)],
)
def test_errors(client: ConnectClient, herder: Unfolding, error: Exception, status: int, exit_code: int) -> None:
    herder.fail_next = error
    with pytest.raises(RestError) as caught:
        client.connectors()
    assert (caught.value.status, caught.value.exit_code, str(caught.value)) == (status, exit_code, str(error))


@pytest.mark.parametrize("name", [".", "..", "../admin", "a/../b", "..."])
def test_a_name_is_no_dot_segment(name: str) -> None:
    asked: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.raw_path)
        return httpx.Response(204)

    with ConnectClient("http://worker", transport=httpx.MockTransport(answer)) as client:
        client.delete(name)
    assert asked[0].startswith(b"/connectors/")
    assert unquote(asked[0].decode().removeprefix("/connectors/")) == name


def test_connect_itself_serves_no_name_with_a_slash() -> None:
    """Its server answers without a word."""
    transport = httpx.MockTransport(lambda _: httpx.Response(400))
    with ConnectClient("http://connect", transport=transport) as client, pytest.raises(RestError) as caught:
        client.pause("a/b")
    assert caught.value.message == (
        "HTTP 400 Bad Request: no request can name a connector with a / or % in its name there; lists show it"
    )


def test_answer_that_is_no_connect_worker() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(502, text="<html>"))
    with ConnectClient("http://proxy", transport=transport) as client, pytest.raises(RestError) as caught:
        client.connectors()
    assert caught.value.status == 502
    assert caught.value.message.startswith("HTTP 502 Bad Gateway (the answer of /connectors is text/plain rather than JSON")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, html="<html>"), "http://x is not a worker: the answer of /connectors is text/html"),
        (httpx.Response(200, json={"detail": 1}), "http://x is not a worker: the answer of its /connectors has another form"),
        (
            httpx.Response(302, headers={"Location": "https://x/"}),
            "HTTP 302 Found: http://x/connectors has moved to https://x/",
        ),
        (httpx.Response(404, json={"message": {}}), "http://x is not a Connect worker (HTTP 404 Not Found (the"),
        (
            httpx.Response(404, json={"message": "HTTP 404 Not Found"}),
            "http://x is not a Connect worker (HTTP 404 Not Found): check the URL",
        ),
        (httpx.Response(503), "HTTP 503 Service Unavailable"),
    ],
)
def test_what_is_no_connect_worker(answer: httpx.Response, said: str) -> None:
    transport = httpx.MockTransport(lambda _: answer)
    with ConnectClient("http://x", transport=transport) as client, pytest.raises(RestError) as caught:
        client.connectors()
    assert caught.value.message.startswith(said)


def test_what_speaks_no_http_is_told() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.")

    with ConnectClient("http://x", transport=httpx.MockTransport(answer)) as client, pytest.raises(RestError) as caught:
        client.connectors()
    assert caught.value.message.startswith("http://x is not a Connect worker (Server disconnected")
    assert caught.value.exit_code == 3


REBALANCE = "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"


def refusing(
    times: int, status: int = 409, message: str = REBALANCE, headers: dict[str, str] | None = None
) -> tuple[httpx.MockTransport, list[str]]:
    """A worker that answers so, and then as it should; and what it was asked."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        refused = httpx.Response(status, json={"message": message}, headers=headers)
        return refused if len(asked) <= times else httpx.Response(202)

    return httpx.MockTransport(answer), asked


@pytest.mark.parametrize("status", [409, 500])
def test_a_rebalance_is_waited_out_by_those_who_have_patience(status: int) -> None:
    transport, asked = refusing(2, status)
    with ConnectClient("http://x", transport=transport, patience=60) as client:
        client.pause("a")
    assert asked == ["PUT /connectors/a/pause"] * 3
    transport, asked = refusing(1, status)
    with ConnectClient("http://x", transport=transport) as client, pytest.raises(RestError) as caught:
        client.pause("a")
    assert (caught.value.message, len(asked)) == (REBALANCE, 1)


@pytest.mark.parametrize("status", [429, 503])
def test_who_is_told_to_come_again_does(status: int) -> None:
    transport, asked = refusing(2, status, "busy", {"Retry-After": "0"})
    with ConnectClient("http://x", transport=transport, patience=60) as client:
        client.pause("a")
    assert asked == ["PUT /connectors/a/pause"] * 3
    for headers in ({}, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}):
        transport, asked = refusing(1, status, "busy", headers)
        with ConnectClient("http://x", transport=transport, patience=60) as client, pytest.raises(RestError, match="busy"):
            client.pause("a")
        assert len(asked) == 1


def test_patience_ends_and_other_conflicts_have_none() -> None:
    transport, asked = refusing(1_000_000)
    with ConnectClient("http://x", transport=transport, patience=3.0) as client, pytest.raises(RestError) as caught:
        client.pause("a")
    assert caught.value.message == f"{REBALANCE} (asked again for 3 s)"
    assert len(asked) >= 2
    transport, asked = refusing(1, message="Connector a already exists")
    with ConnectClient("http://x", transport=transport, patience=60) as client, pytest.raises(RestError):
        client.pause("a")
    assert len(asked) == 1


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_wait_until_all_tasks_are_there(client: ConnectClient, herder: Unfolding) -> None:
    herder.script = [
        lambda: None,  # 404: no status yet
        lambda: setattr(herder, "fail_next", ConflictError("Cannot complete request momentarily")),
        lambda: herder.submit(CreateConnector("src", FILE_SOURCE)),
        lambda: herder.submit(PatchConfig("src", {"tasks.max": "2"})),
    ]
    status = client.wait_for("src", tasks=2, timeout=60)
    assert [task["state"] for task in status["tasks"]] == ["RUNNING", "RUNNING"]
    assert herder.script == []


def test_wait_for_other_states(client: ConnectClient, herder: Unfolding) -> None:
    client.create("src", {**FILE_SOURCE, "tasks.max": 2})
    herder.failed.add(("src", 1))
    assert client.wait_for("src", "FAILED", timeout=60)["tasks"][1]["state"] == "FAILED"
    assert client.wait_for("src", "FAILED", tasks=1, timeout=60)
    client.stop("src")
    assert client.wait_for("src", "STOPPED", tasks=0, timeout=60)["tasks"] == []


def test_wait_in_vain(client: ConnectClient, herder: Unfolding) -> None:
    client.create("src", FILE_SOURCE)
    herder.failed.add(("src", 0))
    in_vain, at_once = "Connector src was not RUNNING within 0.05 s; last seen: ", "Connector src failed while "
    for fail_fast, begins in ((False, in_vain), (True, at_once)):
        with pytest.raises(WaitError) as caught:
            client.wait_for("src", timeout=0.05, fail_fast=fail_fast)
        assert str(caught.value).startswith(begins)
        assert str(caught.value).endswith("connector RUNNING, task 0 FAILED (OSError: disk on fire)")
        assert caught.value.exit_code == 7
        assert caught.value.last is not None


def test_wait_for_what_never_comes(client: ConnectClient) -> None:
    with pytest.raises(WaitError, match="last seen: No status found for connector nope") as caught:
        client.wait_for("nope", timeout=0.05)
    assert caught.value.last is None


def test_wait_does_not_wait_out_a_mistake(client: ConnectClient, herder: Unfolding) -> None:
    herder.script = [lambda: setattr(herder, "fail_next", ConnectError("broken"))]
    with pytest.raises(RestError, match="broken") as caught:
        client.wait_for("src", timeout=60)
    assert not isinstance(caught.value, WaitError)


@pytest.mark.parametrize(
    ("named", "told", "trusted"),
    [
        ("http://n1:8083", "http://n1:8084", True),
        ("http://localhost:8083", "http://127.0.0.1:8084", True),
        ("http://n1:8083", "https://n2:8443", True),
        ("https://n1:8443", "https://n2:8443", True),
        ("http://n1:8083", "http://n2:8083", False),
        ("http://n1:8083", "http://n1.evil:8083", False),
        ("https://n1:8443", "http://n1:8083", False),
    ],
)
def test_passwords_go_to_other_workers_over_https_or_to_the_host_that_was_named(named: str, told: str, trusted: bool) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        known = request.headers.get("authorization") == "Bearer t"
        return httpx.Response(200 if known else 401, json={"message": "Who are you?"} if not known else {"version": "1"})

    transport = httpx.MockTransport(answer)
    with ConnectClient(named, transport=transport, authorization="Bearer t") as client, client.at(told) as other:
        if trusted:
            assert other.root() == {"version": "1"}
            return
        with pytest.raises(RestError, match=f"go only to the host of {named}. .* --url {told}") as raised:
            other.root()
    assert raised.value.exit_code == 8
