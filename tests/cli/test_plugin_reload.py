"""`kconnect plugin reload` of clusters as their workers answer, one of them silent, and of Kafka Connect."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from kconnect.cli.plugins import reload as plugin_reload
from kconnect.core.herder.requests.cluster import GetCluster
from kconnect.errors import BadRequestError
from kconnect.rest.client import ConnectClient
from tests.cli.calls import call, serving
from tests.rest.herder import MemoryHerder

CLUSTER = {
    "answered_by": "n1:8083",
    "workers": [{"worker_id": f"n{n}:8083", "url": f"http://n{n}:8083/"} for n in (1, 2, 3)]
    + [{"worker_id": "gone:8083", "url": None}],
}
NOTHING: dict[str, Any] = {"added": [], "removed": [], "installed": [], "broken": []}


def answers(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/cluster":
        return httpx.Response(200, json=CLUSTER)
    assert (request.method, request.url.path) == ("POST", "/kconnect/plugins/reload")
    if request.url.host == "n3":
        raise httpx.ConnectError("refused")
    return httpx.Response(200, json={**NOTHING, "added": [f"/p/{request.url.host}"]})


def test_each_worker_is_asked_and_the_one_that_answered_where_it_was_found() -> None:
    with ConnectClient("http://proxy", transport=httpx.MockTransport(answers)) as client:
        found = plugin_reload._all(client)
    assert [(row["worker_id"], row.get("added")) for row in found] == [
        ("n1:8083", ["/p/proxy"]),
        ("n2:8083", ["/p/n2"]),
        ("n3:8083", None),
    ]
    assert "No worker answers at http://n3:8083" in found[2]["error"]


def test_kafka_connect_is_said_to_have_no_such_thing() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(404, json={"error_code": 404, "message": "HTTP 404 Not Found"}))
    client = ConnectClient("http://connect:8083", transport=transport)
    with client, pytest.raises(BadRequestError, match="only when it starts"):
        plugin_reload._all(client)


def test_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    herder = MemoryHerder()
    herder.broken = [{"location": "/p/empty", "reason": "the directory is empty"}]
    cluster = {"answered_by": "w:1", "workers": [{"worker_id": "w:1", "url": "http://elsewhere/"}]}
    monkeypatch.setattr(herder, "_answers", {**herder._answers, GetCluster: lambda *_: cluster})
    with serving(herder) as url:
        called = call("plugin", "reload", "--url", url)
        assert (called.status, called.out.splitlines()) == (
            0,
            ["w:1: added /p/a-1; installed with kconnect, used after a restart: b.B", "  /p/empty: the directory is empty"],
        )
        found = json.loads(call("plugin", "reload", "--url", url, "-o", "json").out)
    assert found[0]["added"] == ["/p/a-1"]
