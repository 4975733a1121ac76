"""The application over a herder in memory, called without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from kconnect.rest.app import RestSettings, build

from .herder import MemoryHerder

ADVERTISED = "http://worker-1:8083/"
FILE_SOURCE = {"connector.class": "FileStreamSource", "topic": "t", "file": "in.txt"}


class Http:
    """Calls an ASGI application; each call has an event loop of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    def __call__(self, method: str, path: str, **request: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://worker-1:8083") as client:
                return await client.request(method, path, **request)

        return asyncio.run(call())

    def create(self, name: str, **config: str) -> httpx.Response:
        response = self("POST", "/connectors", json={"name": name, "config": {**FILE_SOURCE, **config}})
        assert response.status_code == 201
        return response


@pytest.fixture
def herder() -> MemoryHerder:
    return MemoryHerder()


@pytest.fixture
def http(herder: MemoryHerder) -> Http:
    return Http(build(herder, RestSettings(ADVERTISED)))


def assert_error(response: httpx.Response, status: int, message: str) -> None:
    assert (response.status_code, response.json()) == (status, {"error_code": status, "message": message})
    assert response.headers["content-type"] == "application/json"


def assert_framework_error(response: httpx.Response, status: int, message: str) -> None:
    """Errors that come before a resource have no Content-Type."""
    assert (response.status_code, response.json()) == (status, {"error_code": status, "message": message})
    assert "content-type" not in response.headers
