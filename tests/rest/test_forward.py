"""
Forwarding between real servers, each over a herder in memory: two hops at most, what goes along, and what comes back.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from kconnect.core.herder.desk import BUSY, ForwardError
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.offsets import AlterOffsets, ResetOffsets
from kconnect.core.herder.requests.tasks import PutTaskConfigs
from kconnect.core.herder.requests.worker import GetSessionKeys, ReadConfigs
from kconnect.core.state.records import SessionKey, TargetState
from kconnect.errors import AlreadyExistsError, RequestTimeoutError
from kconnect.local.broker import free_port
from kconnect.rest import forward
from kconnect.rest.app import RestSettings, build
from kconnect.rest.server import Server

from ..attacks.hostile import Hostile, bomb
from .conftest import FILE_SOURCE
from .herder import MemoryHerder

KEY = SessionKey("c2VjcmV0LXNlY3JldC1zZWNyZXQ=", "HmacSHA256", 0)


class Follower(MemoryHerder):
    """Names another worker for every write, as often as `times` says; then it answers itself."""

    def __init__(self, leader: str, times: int = 10**9) -> None:
        super().__init__()
        self.leader, self.times = leader, times

    def submit(self, request: Request[Any]) -> Future[Any]:
        future: Future[Any] = Future()
        if isinstance(request, GetSessionKeys):
            future.set_result((KEY,))
            return future
        if request.writes and self.times > 0:
            self.times -= 1
            self.seen.append(request)
            future.set_exception(ForwardError(self.leader))
            return future
        if isinstance(request, PutTaskConfigs):
            self.seen.append(request)
            future.set_result(None)
            return future
        return super().submit(request)


class Worker:
    def __init__(self, herder: MemoryHerder, timeout: float = 10.0) -> None:
        self.herder = herder
        self.server = Server(
            build(herder, RestSettings("http://127.0.0.1:0/", request_timeout=timeout)), ["http://127.0.0.1:0"]
        )
        self.server.start()
        self.url = f"http://127.0.0.1:{self.server.port}/"


@pytest.fixture
def workers() -> Iterator[Any]:
    started: list[Worker] = []

    def start(herder: MemoryHerder, timeout: float = 10.0) -> Worker:
        started.append(Worker(herder, timeout))
        return started[-1]

    yield start
    for worker in started:
        worker.server.stop()


def call(worker: Worker, method: str, path: str, **more: Any) -> httpx.Response:
    return httpx.request(method, worker.url + path, timeout=60, **more)


BODY = {"name": "x", "config": FILE_SOURCE}


def test_a_write_is_answered_by_the_leader_with_this_worker_s_address(workers: Any) -> None:
    leader = workers(MemoryHerder())
    follower = workers(Follower(leader.url))
    made = call(follower, "POST", "connectors", json=BODY)
    assert made.status_code == 201
    assert made.headers["location"] == f"{follower.url}connectors/x"
    assert made.json()["config"] == {**FILE_SOURCE, "name": "x"}
    assert list(leader.herder.configs) == ["x"]
    assert not follower.herder.configs
    assert call(follower, "PUT", "connectors/x/pause").status_code == 202
    assert call(follower, "DELETE", "connectors/x").status_code == 204


class Behind(Follower):
    """Never reads as far as the leader has written."""

    def submit(self, request: Request[Any]) -> Future[Any]:
        if isinstance(request, ReadConfigs):
            self.seen.append(request)
            future: Future[Any] = Future()
            future.set_exception(RequestTimeoutError("Request timed out"))
            return future
        return super().submit(request)


def test_who_forwards_a_change_has_read_it_before_it_answers(workers: Any) -> None:
    leader = workers(MemoryHerder())
    between = workers(Follower(leader.url))
    follower = workers(Follower(between.url))
    assert call(follower, "POST", "connectors", json=BODY).status_code == 201
    assert call(between, "GET", "connectors?forward=true").status_code == 200
    leader.herder.config_offset = 41
    changed = call(follower, "PATCH", "connectors/x/config", json={"topic": "t"})
    assert changed.status_code == 200
    assert not [name for name in changed.headers if name.startswith("kconnect")]
    assert between.herder.read_to == follower.herder.read_to == [7, 41]
    # A refusal has changed nothing, and who answers itself has read what it has written.
    assert call(follower, "POST", "connectors", json=BODY).status_code == 409
    assert call(leader, "PUT", "connectors/x/pause").status_code == 202
    assert between.herder.read_to == follower.herder.read_to == [7, 41]
    assert leader.herder.read_to == []


def test_a_change_that_can_t_be_read_yet_is_answered_all_the_same(workers: Any) -> None:
    leader = workers(MemoryHerder())
    follower = workers(Behind(leader.url))
    assert call(follower, "POST", "connectors", json=BODY).status_code == 201
    assert [type(request).__name__ for request in follower.herder.seen] == ["CreateConnector", "ReadConfigs"]


def test_a_stop_and_changes_of_offsets_are_the_leader_s(workers: Any) -> None:
    """KIP-875: whichever worker is asked; what GET gives may go back through any of them."""
    leader = workers(MemoryHerder())
    follower = workers(Follower(leader.url))
    call(leader, "POST", "connectors", json=BODY)
    stopped = call(follower, "PUT", "connectors/x/stop")
    assert (stopped.status_code, stopped.content) == (204, b"")
    body = call(leader, "GET", "connectors/x/offsets").json()
    altered = call(follower, "PATCH", "connectors/x/offsets", json=body)
    assert (altered.status_code, altered.json()) == (200, {"message": "altered"})
    reset = call(follower, "DELETE", "connectors/x/offsets")
    assert (reset.status_code, reset.json()) == (200, {"message": "reset"})
    offsets = (({"filename": "in.txt"}, {"position": 7}),)
    assert leader.herder.seen[-2:] == [AlterOffsets("x", offsets), ResetOffsets("x")]
    assert leader.herder.targets["x"] is TargetState.STOPPED
    gone = call(follower, "PUT", "connectors/nope/stop")
    assert (gone.status_code, gone.json()["message"]) == (404, "Unknown connector nope")


def test_the_leader_s_refusal_comes_back_as_it_is(workers: Any) -> None:
    leader = workers(MemoryHerder())
    leader.herder.fail_next = AlreadyExistsError("Connector x already exists")
    follower = workers(Follower(leader.url))
    refused = call(follower, "POST", "connectors", json=BODY)
    assert (refused.status_code, refused.json()["message"]) == (409, "Connector x already exists")


def test_a_leader_that_is_gone_is_not_waited_for(workers: Any) -> None:
    """Its machine has vanished, so its answer never comes; the group loses it after its session, and another one leads."""
    leader = workers(MemoryHerder())
    leader.herder.hold = True
    herder = Follower(leader.url, times=1)
    herder.configs["x"] = dict(FILE_SOURCE)
    follower = workers(herder, timeout=90.0)
    herder.lost.add(leader.url)
    began = time.monotonic()
    assert call(follower, "PUT", "connectors/x/pause").status_code == 202
    assert time.monotonic() - began < 60, "not the whole time of a request"
    assert herder.targets["x"] is TargetState.PAUSED


def test_what_can_not_be_done_twice_waits_for_the_leader_that_has_it(workers: Any) -> None:
    leader = workers(MemoryHerder())
    leader.herder.hold = True
    herder = Follower(leader.url, times=1)
    follower = workers(herder, timeout=3.0)
    herder.lost.add(leader.url)
    refused = call(follower, "POST", "connectors", json=BODY)
    assert refused.status_code == 500
    assert herder.configs == {}


def test_two_hops_and_no_more(workers: Any) -> None:
    third = workers(Follower("http://127.0.0.1:9/"))
    refused = call(third, "PUT", "connectors/x/pause?forward=false")
    assert (refused.status_code, refused.json()["message"]) == (409, BUSY)
    # As the first worker asks it. Refused twice, it leads itself, and knows of no such connector.
    answered = call(workers(Follower(third.url, times=2)), "PUT", "connectors/x/pause?forward=true")
    assert answered.status_code == 404
    assert len(third.herder.seen) == 3, "the second hop was made, and each was the last"
    leader = workers(MemoryHerder())
    second = workers(Follower(leader.url))
    first = workers(Follower(second.url))
    assert call(first, "POST", "connectors", json=BODY).status_code == 201
    assert second.herder.seen, "the control: the way was by it"
    assert call(leader, "PUT", "connectors/x/stop?forward=false").status_code == 204
    refused = call(workers(Follower(leader.url)), "PUT", "connectors/x/stop?forward=false")
    assert (refused.status_code, refused.json()["message"]) == (409, BUSY)


def test_a_leader_that_is_not_there_is_waited_for_within_the_limit(workers: Any) -> None:
    absent = f"http://127.0.0.1:{free_port()}/"
    follower = workers(Follower(absent, times=3))
    assert call(follower, "POST", "connectors", json=BODY).status_code == 201, "it leads itself by now"
    hopeless = workers(Follower(absent), timeout=0.6)
    refused = call(hopeless, "POST", "connectors", json=BODY)
    assert (refused.status_code, refused.json()["message"]) == (409, BUSY)


class Recorder(BaseHTTPRequestHandler):
    """A member that answers with what its class says, and keeps what it was asked."""

    seen: list[tuple[str, dict[str, str]]] = []
    status = 204
    headers_out: dict[str, str] = {}

    def do_PUT(self) -> None:
        type(self).seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.send_response(self.status)
        for name, value in self.headers_out.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def recorder() -> Iterator[str]:
    Recorder.seen, Recorder.status, Recorder.headers_out = [], 204, {}
    server = HTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_only_the_authorization_goes_along(workers: Any, recorder: str) -> None:
    follower = workers(Follower(recorder))
    sent = {"Authorization": "Basic abc", "Cookie": "session=1", "X-Forwarded-For": "1.2.3.4"}
    assert call(follower, "PUT", "connectors/a%20b/stop?x=1", headers=sent).status_code == 204
    [(path, headers)] = Recorder.seen
    assert path == "/connectors/a%20b/stop?x=1&forward=true"
    assert headers["authorization"] == "Basic abc"
    assert headers["user-agent"] == "kafka-connect"
    assert not {"cookie", "x-forwarded-for", "x-connect-authorization"} & headers.keys()


def test_headers_go_along_as_they_came(workers: Any, recorder: str) -> None:
    sent = {"Authorization": "Basic \xe9".encode("latin-1"), "If-Match": '"\xe9"'.encode("latin-1")}
    assert call(workers(Follower(recorder)), "PUT", "connectors/a/config", json={}, headers=sent).status_code == 204
    [(_, headers)] = Recorder.seen
    assert (headers["authorization"], headers["if-match"]) == ("Basic \xe9", '"\xe9"')


def test_no_redirect_is_followed(workers: Any, recorder: str) -> None:
    elsewhere = workers(MemoryHerder())
    Recorder.status, Recorder.headers_out = 302, {"Location": f"{elsewhere.url}connectors/x/stop"}
    refused = call(workers(Follower(recorder)), "PUT", "connectors/x/stop")
    assert refused.status_code == 500
    assert refused.json()["message"] == "Unexpected status code when handling forwarded request: 302"
    assert not elsewhere.herder.seen


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("endless", "answers with more than"), ("packed", "answers packed"), ("dripping", "was not complete within 1 s")],
)
def test_an_answer_without_an_end_takes_neither_memory_nor_time(
    workers: Any, monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    """Who is on the way between two workers, or a member of the group that is none of ours."""
    monkeypatch.setattr(forward, "MOST_BYTES", 2**20)
    with Hostile() as between:
        between.default = {"endless": between.endless(), "packed": bomb(2**24), "dripping": between.dripping()}[kind]
        follower = workers(Follower(between.url), timeout=1.0 if kind == "dripping" else 60.0)
        refused = call(follower, "POST", "connectors", json=BODY)
    assert refused.status_code == 500
    assert reason in refused.json()["message"]


def test_a_path_goes_on_as_it_was_sent(workers: Any, recorder: str) -> None:
    port = workers(Follower(recorder)).server.port
    names = ["..", "a#b", '"', "a%2eb%20", "%7e"]
    targets = [f"/connectors/{name}/stop" for name in names]
    for target in targets:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(f"PUT {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert raw.makefile("rb").readline().split()[1] == b"204"
    assert [path for path, _ in Recorder.seen] == [f"{target}?forward=true" for target in targets]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "http://user:pw@127.0.0.1:1/",
        "ftp://127.0.0.1/",
        "http://h:1/path",
        "http://[bad",
        "http://h:x/",
        "http://ä..x/",
    ],
)
def test_only_plain_addresses_are_asked(workers: Any, url: str) -> None:
    refused = call(workers(Follower(url)), "PUT", "connectors/x/stop")
    assert refused.status_code == 409
    assert "can't be used" in refused.json()["message"]


def test_a_proxy_of_the_environment_is_not_used(workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    leader = workers(MemoryHerder())
    follower = workers(Follower(leader.url))
    made = httpx.post(f"{follower.url}connectors", json=BODY, trust_env=False, timeout=60)
    assert made.status_code == 201


def test_an_internal_request_that_is_forwarded_is_signed_again(workers: Any) -> None:
    from kconnect.rest import signature

    leader = workers(Follower("http://127.0.0.1:9/", times=0))
    follower = workers(Follower(leader.url))
    body = b'[{"task.class":"T"}]'
    headers = signature.sign(KEY, "HmacSHA256", signature.worker_at(follower.url), "POST", "/connectors/x/tasks", body)
    done = call(follower, "POST", "connectors/x/tasks", content=body, headers=headers)
    assert done.status_code == 204
    [asked] = leader.herder.seen
    assert asked == PutTaskConfigs("x", ({"task.class": "T"},))
    replayed = call(follower, "POST", "connectors/x/tasks", content=body, headers=headers)
    assert (replayed.status_code, replayed.json()["message"]) == (403, "Internal request contained invalid signature.")
    assert leader.herder.seen == [asked]


def test_an_internal_request_is_checked_once_however_often_it_is_sent_on(workers: Any) -> None:
    from kconnect.rest import signature

    absent = f"http://127.0.0.1:{free_port()}/"
    follower = workers(Follower(absent, times=2))
    headers = signature.sign(KEY, "HmacSHA256", signature.worker_at(follower.url), "POST", "/connectors/x/tasks", b"[]")
    done = call(follower, "POST", "connectors/x/tasks", content=b"[]", headers=headers)
    assert done.status_code == 204


def test_an_internal_request_without_a_signature_reaches_nobody(workers: Any) -> None:
    leader = workers(Follower("http://127.0.0.1:9/", times=0))
    refused = call(leader, "POST", "connectors/x/tasks", json=[])
    assert (refused.status_code, refused.json()["message"]) == (400, "Internal request missing required signature")
    assert not leader.herder.seen
