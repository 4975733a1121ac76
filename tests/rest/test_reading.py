"""What of a body is read, and when: not from strangers, not without bounds, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from kconnect.core.state.records import SessionKey
from kconnect.rest import bodies, signature
from kconnect.rest.app import RestSettings, build
from kconnect.rest.reading import BusyError, Reading, TooLargeError
from kconnect.rest.server import Server

from .conftest import ADVERTISED, FILE_SOURCE, Http, assert_error
from .herder import MemoryHerder

TASKS, FENCE = ("POST", "/connectors/x/tasks"), ("PUT", "/connectors/x/fence")
KEY = SessionKey("c2VjcmV0", "HmacSHA256", 0)


@pytest.fixture
def port(herder: MemoryHerder) -> Iterator[int]:
    server = Server(build(herder, RestSettings(ADVERTISED)), ["http://127.0.0.1:0"])
    server.start()
    yield server.port
    server.stop()


UNREADABLE = {"X-Connect-Authorization": "%", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}


@pytest.mark.parametrize("headers", [{}, UNREADABLE])
@pytest.mark.parametrize("request_line", [TASKS, FENCE])
def test_nothing_is_read_from_strangers(
    port: int, herder: MemoryHerder, request_line: tuple[str, str], headers: dict[str, str]
) -> None:
    method, path = request_line
    named = [f"{name}: {text}" for name, text in headers.items()]
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Content-Length: 1000", *named]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall("\r\n".join([*lines, "", ""]).encode())
        with raw.makefile("rb") as answer:
            assert answer.readline().startswith(b"HTTP/1.1 400"), "before the body has come"
    assert not herder.seen


def test_fencing_needs_no_body(http: Http, herder: MemoryHerder) -> None:
    herder.session_keys = (KEY,)
    http.create("x")
    for size, status in ((0, 204), (2**16, 204), (2**16 + 1, 413)):
        headers = signature.sign(KEY, "HmacSHA256", "worker-1:8083", *FENCE, b" " * size)
        assert http(*FENCE, content=b" " * size, headers=headers).status_code == status


def test_nobody_waits_while_a_large_body_is_parsed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parsing, go_on, real = threading.Event(), threading.Event(), bodies.config

    def config(*given: Any) -> Any:
        parsing.set()
        assert go_on.wait(120)
        return real(*given)

    monkeypatch.setattr(bodies, "config", config)
    url, answers = f"http://127.0.0.1:{port}", []
    large = {**FILE_SOURCE, "file": "x" * 100_000}
    sender = threading.Thread(target=lambda: answers.append(httpx.put(f"{url}/connectors/x/config", json=large, timeout=150)))
    sender.start()
    try:
        assert parsing.wait(60)
        assert httpx.get(f"{url}/connectors", timeout=60).json() == []
    finally:
        go_on.set()
        sender.join(150)
    assert answers[0].status_code == 201


# -- the budget -------------------------------------------------------------------------------------------------------


def request(*parts: bytes, **headers: str) -> Request:
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.request", "body": b"", "more_body": False}

    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return Request({"type": "http", "method": "PUT", "headers": raw}, receive)


def test_all_bodies_in_hand_have_one_budget() -> None:
    large, small = b"x" * 100_000, b"x" * 60_000

    async def work() -> None:
        reading = Reading(budget=60_000)
        async with reading.body(request(large), 10**6, 60) as body:
            assert body == large
            with pytest.raises(BusyError):
                async with reading.body(request(small, small), 10**6, 60):
                    pass
            async with reading.body(request(small), 10**6, 60) as other:
                assert other == small, "small ones always pass"
        async with reading.body(request(small, small), 10**6, 60) as body:
            assert body == small + small, "there is room again, also of what was refused"

    asyncio.run(work())


def test_a_length_that_is_too_large_is_refused_before_it_comes() -> None:
    async def work() -> None:
        async with Reading().body(request(content_length="101"), 100, 60):
            pass

    with pytest.raises(TooLargeError):
        asyncio.run(work())


def test_who_comes_while_there_is_no_room_is_told_when_to_come_again(
    herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kconnect.rest.reading._BUDGET", 0)
    http = Http(build(herder, RestSettings(ADVERTISED)))
    refused = http("PUT", "/connectors/x/config", json={**FILE_SOURCE, "file": "x" * 100_000})
    assert_error(refused, 503, "This worker is reading as many large bodies as it can at once. Try again in a moment.")
    assert refused.headers["retry-after"] == "1"
    assert http("PUT", "/connectors/x/config", json=FILE_SOURCE).status_code == 201
