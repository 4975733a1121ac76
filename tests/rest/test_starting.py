"""What waits for an application that is not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from starlette.responses import Response

from kconnect.rest import starting
from kconnect.rest.starting import Starting


def test_of_very_many_requests_the_last_ones_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger asks over and over while a worker waits for Kafka, and hangs up each time: what he asked stayed, and ran."""
    monkeypatch.setattr(starting, "_MOST", 5)
    told: dict[int, int] = {}

    async def ask(waiting: Starting, number: int) -> None:
        async def receive() -> Any:
            raise AssertionError("nothing is read of who waits")

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                told[number] = message["status"]

        await waiting({"type": "http", "method": "GET", "path": "/connectors", "headers": []}, receive, send)

    async def play() -> None:
        waiting = Starting()
        asked = [asyncio.create_task(ask(waiting, number)) for number in range(20)]
        while len(told) < 15:
            await asyncio.sleep(0)
        assert told == dict.fromkeys(range(15), 503)
        waiting.become(Response(status_code=204))
        await asyncio.wait_for(asyncio.gather(*asked), 60)
        await ask(waiting, 20)

    asyncio.run(play())
    assert told == {**dict.fromkeys(range(15), 503), **dict.fromkeys(range(15, 21), 204)}
