"""What is asked for `kconnect describe connector`, of workers and brokers that do not answer everything."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kconnect.cli.brokers import Brokers
from kconnect.cli.describe import connector_report as connector
from kconnect.errors import RetriableError, UnavailableError
from kconnect.kafka import stamped
from kconnect.rest.client import ConnectClient

STATUS = {"connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": [], "type": "sink"}


def answers(request: httpx.Request) -> httpx.Response:
    name, _, what = request.url.path.removeprefix("/connectors/").partition("/")
    bodies: dict[str, Any] = {"": {"name": name, "config": {}, "type": "sink"}, "status": STATUS, "offsets": {"offsets": []}}
    return httpx.Response(200, json=bodies[what]) if what in bodies else httpx.Response(404, json={})


def test_brokers_that_do_not_answer_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def silent(error: Exception) -> Any:
        def ask(*_: Any) -> None:
            asked.append(error)
            raise error

        return ask

    monkeypatch.setattr(stamped, "read", silent(RetriableError("No broker answered for a topic")))
    monkeypatch.setattr(connector, "lag", silent(UnavailableError("No broker answers")))
    brokers = Brokers("127.0.0.1:9", own={"config_topic": "c", "status_topic": "s"})
    with ConnectClient("http://w", transport=httpx.MockTransport(answers)) as client:
        look = connector.Look(client, brokers, ["a", "b"])
        found = [look.connector(name) for name in ("a", "b")]
    assert len(asked) == 2
    why = {"since": "No broker answered for a topic", "lag": "No broker answers"}
    why["changes"] = why["since"]
    for each in found:
        assert {what: each["unknown"][what] for what in why} == why
