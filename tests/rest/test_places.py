"""How places are shared out among callers: of requests, of long polls, and of turns in the line."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from kconnect.core.herder.requests.overview import GetOverview
from kconnect.rest.app import RestSettings, build
from kconnect.rest.authentication import Gate
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.line import Line
from kconnect.rest.places import NoPlaceError, Places, caller_of
from kconnect.rest.server import Server
from tests.support import wait_until

from .conftest import ADVERTISED
from .herder import MemoryHerder
from .test_credentials import BOTH, quick

LOCAL = "http://127.0.0.1:0"
AT_ONCE = {"at": "x-1", "whole": False, "connectors": [], "deleted": []}


# -- places -----------------------------------------------------------------------------------------------------------


def taken(places: Places, stack: ExitStack, caller: str, many: int, changes: bool = False) -> int:
    """Take up to `many` places, and return how many there were."""
    for number in range(many):
        try:
            stack.enter_context(places.take(caller, changes))
        except NoPlaceError:
            return number
    return many


def test_a_caller_has_half_of_the_places_at_most() -> None:
    places = Places(connections=200)
    with ExitStack() as stack:
        assert taken(places, stack, "greedy", 500) == 50
        assert taken(places, stack, "other", 1) == 1
    with ExitStack() as stack:
        assert taken(places, stack, "greedy", 500) == 50, "they were given back"


def test_changes_have_places_of_their_own() -> None:
    places = Places(connections=200)
    with ExitStack() as stack:
        for caller in "abc":
            taken(places, stack, caller, 500)
        assert taken(places, stack, "a", 500, changes=True) == 25
        assert taken(places, stack, "d", 1, changes=True) == 1


def test_every_caller_has_some_places_however_many_there_are() -> None:
    places = Places(connections=200)
    with ExitStack() as stack:
        for caller in "abc":
            taken(places, stack, caller, 500)
        for caller in "defghij":
            assert taken(places, stack, caller, 500) == 8


def test_long_polls_give_way_the_oldest_first() -> None:
    async def run() -> None:
        places = Places(connections=80)
        with ExitStack() as stack:
            polls = []
            for _ in range(14):
                stack.enter_context(places.take("greedy", changes=False))
                polls.append(stack.enter_context(places.poll("greedy")))
            assert [poll.done() for poll in polls] == [True] * 4 + [False] * 10, "a quarter of the places is a caller's"
            assert taken(places, stack, "greedy", 19) == 19, "its reads come before its polls"
            assert [poll.done() for poll in polls] == [True] * 13 + [False]
            assert taken(places, stack, "greedy", 19) == 1
            assert taken(places, stack, "other", 500) == 20, "and other callers' before them"
        assert places._reads.has_room("greedy")
        assert not places._reads._taken
        assert not places._polls

    asyncio.run(run())


def test_the_greediest_caller_gives_way_for_others() -> None:
    async def run() -> None:
        places = Places(connections=80)
        with ExitStack() as stack:
            polls: dict[str, list[asyncio.Future[None]]] = {"a": [], "b": []}
            for caller, many in (("a", 10), ("b", 5)):
                for _ in range(many):
                    stack.enter_context(places.take(caller, changes=False))
                    polls[caller].append(stack.enter_context(places.poll(caller)))
            assert taken(places, stack, "c", 20) == 20
            assert taken(places, stack, "d", 10) == 10
            assert [poll.done() for poll in polls["a"]].count(True) == 5
            assert not any(poll.done() for poll in polls["b"])

    asyncio.run(run())


@pytest.mark.parametrize(
    ("address", "caller"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_without_a_login_a_caller_is_an_address(address: str, caller: str) -> None:
    assert caller_of(Request({"type": "http", "client": (address, 1), "headers": []})) == caller


def test_with_a_login_a_caller_is_a_user_in_a_role() -> None:
    notes = {"user": "ann", "role": "read"}
    scope = {"type": "http", "client": ("10.0.0.1", 1), "headers": [], "state": {"kconnect": notes}}
    assert caller_of(Request(scope)) == ("ann", "read")


# -- long polls over HTTP ---------------------------------------------------------------------------------------------


class Waiting(MemoryHerder):
    """A herder whose overview never changes: a poll waits until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.polls: list[Any] = []

    def submit(self, request: Any) -> Any:
        if not isinstance(request, GetOverview):
            return super().submit(request)
        self.hold = True
        future = super().submit(request)
        self.hold = False
        if request.wait_ms:
            self.polls.append(future)
        else:
            future.set_result(AT_ONCE)
        return future


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(quick("ann", "admin", "a") + quick("eve", "read", "e"))
    path.chmod(0o600)
    return path


@pytest.fixture
def server(waiting: Waiting, users: Path) -> Iterator[Server]:
    gate = Gate(CredentialsFile(str(users), BOTH), BOTH)
    started = Server(build(waiting, RestSettings(ADVERTISED, gate=gate, connections=8)), [LOCAL])
    started.start()
    yield started
    started.stop()


def polled(server: Server, answers: list[httpx.Response], user: str = "eve") -> threading.Thread:
    url = f"http://127.0.0.1:{server.port}/kconnect/overview?since=x-1&wait=30000"
    thread = threading.Thread(target=lambda: answers.append(httpx.get(url, auth=(user, user[0]), timeout=60)))
    thread.start()
    return thread


def test_a_poll_that_gives_way_is_answered_with_what_there_is(server: Server, waiting: Waiting) -> None:
    answers: list[httpx.Response] = []
    first = polled(server, answers)
    wait_until(lambda: len(waiting.polls) == 1)
    second = polled(server, answers)
    first.join(60)
    assert (answers[0].status_code, answers[0].json()) == (200, AT_ONCE)
    wait_until(lambda: len(waiting.polls) == 2)
    assert waiting.polls[0].cancelled()
    waiting.polls[1].set_result({**AT_ONCE, "at": "x-2"})
    second.join(60)
    assert answers[1].json()["at"] == "x-2", "the newer one waited for its news"


def test_a_poll_ends_with_its_connection(server: Server, waiting: Waiting) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 60) as raw:
        raw.sendall(b"GET /kconnect/overview?since=x-1&wait=30000 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ZXZlOmU=\r\n\r\n")
        wait_until(lambda: len(waiting.polls) == 1)
    wait_until(lambda: waiting.polls[0].cancelled())


def test_who_is_removed_while_polling_hears_nothing_more(server: Server, waiting: Waiting, users: Path) -> None:
    answers: list[httpx.Response] = []
    thread = polled(server, answers)
    wait_until(lambda: len(waiting.polls) == 1)
    users.write_text(quick("ann", "admin", "a"))
    url = f"http://127.0.0.1:{server.port}/connectors"
    wait_until(lambda: httpx.get(url, auth=("eve", "e"), timeout=60).status_code == 401)
    waiting.polls[0].set_result({**AT_ONCE, "connectors": ["news"]})
    thread.join(60)
    assert answers[0].status_code == 401


def test_whoever_has_no_place_is_told_to_come_again(server: Server, waiting: Waiting) -> None:
    url = f"http://127.0.0.1:{server.port}"
    answers: list[httpx.Response] = []
    waiting.hold = True
    held = [
        threading.Thread(target=lambda: answers.append(httpx.get(f"{url}/connectors", auth=("eve", "e"), timeout=60)))
        for _ in range(2)
    ]
    for thread in held:
        thread.start()
    wait_until(lambda: len(waiting.held) == 2)
    refused = httpx.get(f"{url}/connectors", auth=("eve", "e"), timeout=60)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "as many requests of this caller" in refused.json()["message"]
    waiting.hold = False
    assert httpx.get(f"{url}/connectors", auth=("ann", "a"), timeout=60).status_code == 200, "others have places"
    assert httpx.get(f"{url}/health", timeout=60).status_code == 200
    assert httpx.put(f"{url}/connectors/x/pause", auth=("ann", "a"), timeout=60).status_code == 404
    for future in waiting.held:
        future.set_result([])
    for thread in held:
        thread.join(60)
    assert [answer.status_code for answer in answers] == [200, 200]


# -- the line ---------------------------------------------------------------------------------------------------------


def handled(requests: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Have all of them arrive at once, and return the order in which they were handled."""
    order: list[tuple[str, bytes]] = []

    async def run() -> None:
        line = Line()
        for address, request in requests:
            line.enter(address, request, lambda entry=(address, request): order.append(entry))  # type: ignore[misc]
        while len(order) < len(requests):
            await asyncio.sleep(0)

    asyncio.run(run())
    return order


def test_few_requests_are_handled_as_they_come() -> None:
    requests = [("a", b"GET /"), ("a", b"GET /"), ("b", b"GET /health")]
    assert handled(requests) == requests


def test_health_and_changes_do_not_wait_for_a_crowd() -> None:
    order = handled([("crowd", b"GET /")] * 1000 + [("crowd", b"PUT /connectors/x/config"), ("crowd", b"GET /health")])
    assert order.index(("crowd", b"GET /health")) < 20
    assert order.index(("crowd", b"PUT /connectors/x/config")) < 20


def test_addresses_have_their_turns() -> None:
    order = handled([("crowd", b"GET /")] * 1000 + [("other", b"GET /a"), ("other", b"GET /b")])
    assert order.index(("other", b"GET /b")) < 20


def test_reads_go_on_beside_a_crowd_of_changes() -> None:
    order = handled([("crowd", b"PUT /")] * 1000 + [("other", b"GET /")])
    assert order.index(("other", b"GET /")) < 20
