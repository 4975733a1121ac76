"""`/connectors`: statuses, bodies and headers of each call, and what a request body becomes."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, PutConfig, ValidateConfig
from kconnect.core.state.records import TargetState

from .conftest import FILE_SOURCE, Http, assert_error
from .herder import MemoryHerder

# -- list -------------------------------------------------------------------------------------------------------------


def test_list(http: Http) -> None:
    assert http("GET", "/connectors").json() == []
    http.create("a")
    http.create("b")
    assert http("GET", "/connectors").json() == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("expand=status", {"status"}),
        ("expand=info", {"info"}),
        ("expand=status&expand=info", {"status", "info"}),
        ("expand=info&expand=bogus", {"info"}),
        ("expand=bogus", set()),
        ("expand=", set()),
        ("expand", set()),
    ],
)
def test_list_with_expansions(http: Http, query: str, keys: set[str]) -> None:
    http.create("a")
    http.create("b")
    listed = http("GET", f"/connectors?{query}").json()
    assert {name: set(entry) for name, entry in listed.items()} == {"a": keys, "b": keys}


# -- create -----------------------------------------------------------------------------------------------------------


def test_create(http: Http) -> None:
    response = http("POST", "/connectors", json={"name": "src", "config": FILE_SOURCE})
    assert response.status_code == 201
    assert response.headers["location"] == "http://worker-1:8083/connectors/src"
    config = {**FILE_SOURCE, "name": "src"}
    assert response.json() == {"name": "src", "config": config, "tasks": [], "type": "source"}


def test_create_trims_the_name(http: Http) -> None:
    response = http("POST", "/connectors", json={"name": " my src\t", "config": FILE_SOURCE})
    assert response.json()["name"] == "my src"
    assert response.headers["location"] == "http://worker-1:8083/connectors/my%20src"
    assert http("GET", "/connectors/my%20src/config").json()["name"] == "my src"


def test_location_of_a_name_with_a_slash(http: Http) -> None:
    location = http.create("a/b").headers["location"]
    assert location == "http://worker-1:8083/connectors/a%2Fb"
    assert http("GET", location).json()["name"] == "a/b"


def test_create_twice(http: Http) -> None:
    http.create("src")
    response = http("POST", "/connectors", json={"name": "src", "config": FILE_SOURCE})
    assert_error(response, 409, "Connector src already exists")


@pytest.mark.parametrize(
    ("given", "state"),
    [(None, "RUNNING"), ("RUNNING", "RUNNING"), ("paused", "PAUSED"), ("Stopped", "STOPPED")],
)
def test_initial_state(http: Http, given: str | None, state: str) -> None:
    body = {"name": "src", "config": FILE_SOURCE, "initial_state": given}
    assert http("POST", "/connectors", json=body).status_code == 201
    assert http("GET", "/connectors/src/status").json()["connector"]["state"] == state


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/connectors", {"name": "src", "config": {"name": "other"}}),
        ("PUT", "/connectors/src/config", {"name": "other"}),
    ],
)
def test_config_of_another_connector(http: Http, method: str, path: str, body: dict[str, Any]) -> None:
    text = "Connector name configuration (other) doesn't match connector name in the URL (src)"
    assert_error(http(method, path, json=body), 400, text)


@pytest.mark.parametrize("name", [{}, {"name": None}, {"name": "  "}])
def test_missing_name_is_left_to_validation(http: Http, herder: MemoryHerder, name: dict[str, Any]) -> None:
    response = http("POST", "/connectors", json={**name, "config": FILE_SOURCE})
    assert_error(response, 400, "Invalid value  for configuration name: String may not be empty")
    assert herder.seen == [CreateConnector("", {**FILE_SOURCE, "name": ""}, None)]


SEND_CREATE = (
    'send {"name": "<connector>", "config": {"connector.class": "<class>", ...}}, and optionally "initial_state" or '
    '"initial_offsets".'
)


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        (b"", "The request has no body; "),
        (b"  ", "The request has no body; "),
        (b"{", "The request's body is not valid JSON ("),
        (b'{"name": "src", "config": {"a": NaN}}', "The request's body is not valid JSON ("),
        (b'{"name": "\\ud800", "config": {}}', "The request's body is not valid JSON ("),
        (b'{"name": "\xff", "config": {}}', "The request's body is not valid JSON ("),
        (b"[" * 100_000, "The request's body is not valid JSON ("),
        (b"[]", "The request's body is not a JSON object; "),
        (b"null", "The request's body is not a JSON object; "),
        (b'{"name": "src"}', "The request has no 'config'; "),
        (b'{"name": "src", "config": null}', "The request has no 'config'; "),
        (b'{"name": "src", "config": []}', "The request's 'config' is not an object; "),
        (b'{"name": "src", "config": {}, "foo": 1}', "Unknown property 'foo' in the request; "),
        (b'{"name": {}, "config": {}}', "The value of 'name' is an object, "),
        (b'{"name": "src", "config": {"a": {"b": 1}}}', "The value of 'a' is an object, "),
        (b'{"name": "src", "config": {"a": [1]}}', "The value of 'a' is a list, "),
    ],
)
def test_create_says_what_to_send(http: Http, herder: MemoryHerder, body: bytes, begins: str) -> None:
    response = http("POST", "/connectors", content=body, headers={"content-type": "application/json"})
    assert response.status_code == response.json()["error_code"] == 400
    message = response.json()["message"]
    assert message.startswith(begins)
    assert message.endswith(SEND_CREATE)
    assert herder.seen == []


def test_unknown_initial_state(http: Http) -> None:
    body = {"name": "src", "config": {}, "initial_state": "BOGUS"}
    text = "Unknown initial_state 'BOGUS'; send one of RUNNING, PAUSED, STOPPED, or none."
    assert_error(http("POST", "/connectors", json=body), 400, text)


# -- configs ----------------------------------------------------------------------------------------------------------

COERCED = [
    ("1", "1"),
    ("-0", "-0"),
    ("1.5", "1.5"),
    ("1.50", "1.50"),
    ("1e5", "1e5"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("true", "true"),
    ("false", "false"),
    ('"text"', "text"),
    ('""', ""),
    ("null", None),
]


@pytest.mark.parametrize(("json", "stored"), COERCED)
@pytest.mark.parametrize("way", ["POST", "PUT", "validate"])
def test_values_become_text(http: Http, herder: MemoryHerder, way: str, json: str, stored: str | None) -> None:
    flat = f'{{"connector.class": "FileStreamSource", "name": "src", "x": {json}}}'
    method, path, body = {
        "POST": ("POST", "/connectors", f'{{"name": "src", "config": {flat}}}'),
        "PUT": ("PUT", "/connectors/src/config", flat),
        "validate": ("PUT", "/connector-plugins/FileStreamSource/config/validate", flat),
    }[way]
    response = http(method, path, content=body.encode(), headers={"content-type": "application/json"})
    assert response.is_success
    request = herder.seen[0]
    assert isinstance(request, CreateConnector | PutConfig | ValidateConfig)
    assert request.config == {"connector.class": "FileStreamSource", "name": "src", "x": stored}


def test_tasks_max_as_a_number_is_echoed_as_text(http: Http) -> None:
    response = http("POST", "/connectors", json={"name": "src", "config": {**FILE_SOURCE, "tasks.max": 1}})
    assert response.json()["config"]["tasks.max"] == "1"


def test_put_config_creates_then_replaces(http: Http) -> None:
    created = http("PUT", "/connectors/my%20src/config", json=FILE_SOURCE)
    assert created.status_code == 201
    assert created.headers["location"] == "http://worker-1:8083/connectors/my%20src"
    assert created.json()["config"] == {**FILE_SOURCE, "name": "my src"}
    replaced = http("PUT", "/connectors/my%20src/config", json={"topic": "other"})
    assert replaced.status_code == 200
    assert "location" not in replaced.headers
    assert replaced.json() == {
        "name": "my src",
        "config": {"topic": "other", "name": "my src"},
        "tasks": [{"connector": "my src", "task": 0}],
        "type": "source",
    }


def test_patch_config(http: Http) -> None:
    http.create("src")
    response = http("PATCH", "/connectors/src/config", json={"file": None, "tasks.max": 2, "name": "kept as it is"})
    assert response.status_code == 200
    assert response.json()["config"] == {
        "connector.class": "FileStreamSource",
        "topic": "t",
        "tasks.max": "2",
        "name": "kept as it is",
    }


def test_patch_of_an_unknown_connector(http: Http) -> None:
    assert_error(http("PATCH", "/connectors/nope/config", json={}), 404, "Connector nope not found")


@pytest.mark.parametrize(("method", "hint"), [("PUT", "send the connector's config"), ("PATCH", "send the settings")])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b'{"a": {}}'])
def test_config_says_what_to_send(http: Http, method: str, hint: str, body: bytes) -> None:
    response = http(method, "/connectors/src/config", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert hint in response.json()["message"]


# -- reads ------------------------------------------------------------------------------------------------------------


def test_reads(http: Http, herder: MemoryHerder) -> None:
    http.create("src", **{"tasks.max": "2"})
    herder.topics["src"] = ["t"]
    info = http("GET", "/connectors/src").json()
    assert info["tasks"] == [{"connector": "src", "task": 0}, {"connector": "src", "task": 1}]
    assert http("GET", "/connectors/src/config").json() == info["config"]
    assert [task["id"] for task in http("GET", "/connectors/src/tasks").json()] == info["tasks"]
    assert http("GET", "/connectors/src/status").json()["connector"]["state"] == "RUNNING"
    assert http("GET", "/connectors/src/tasks/1/status").json()["id"] == 1
    assert http("GET", "/connectors/src/topics").json() == {"src": {"topics": ["t"]}}
    offsets = [{"partition": {"filename": "in.txt"}, "offset": {"position": 7}}]
    assert http("GET", "/connectors/src/offsets").json() == {"offsets": offsets}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/connectors/nope", "Connector nope not found"),
        ("/connectors/nope/config", "Connector nope not found"),
        ("/connectors/nope/tasks", "Connector nope not found"),
        ("/connectors/nope/offsets", "Connector nope not found"),
        ("/connectors/nope/status", "No status found for connector nope"),
        ("/connectors/nope/tasks/0/status", "No status found for task nope-0"),
        ("/connectors/nope/tasks/-1/status", "No status found for task nope--1"),
    ],
)
def test_reads_of_an_unknown_connector(http: Http, path: str, message: str) -> None:
    assert_error(http("GET", path), 404, message)


# -- states -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "action", "status", "target"),
    [
        ("PUT", "pause", 202, TargetState.PAUSED),
        ("PUT", "resume", 202, TargetState.STARTED),
        ("PUT", "stop", 204, TargetState.STOPPED),
    ],
)
def test_target_states(http: Http, herder: MemoryHerder, method: str, action: str, status: int, target: TargetState) -> None:
    http.create("src")
    for _ in range(2):
        response = http(method, f"/connectors/src/{action}")
        assert (response.status_code, response.content) == (status, b"")
        assert "content-type" not in response.headers
        assert herder.targets["src"] is target
    assert_error(http(method, f"/connectors/nope/{action}"), 404, "Unknown connector nope")


def test_delete(http: Http) -> None:
    http.create("src")
    response = http("DELETE", "/connectors/src")
    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers
    assert_error(http("DELETE", "/connectors/src"), 404, "Connector src not found")


@pytest.mark.parametrize(
    "query", ["", "?includeTasks=false&onlyFailed=false", "?includeTasks=bogus", "?onlyFailed=", "?includeTasks=1"]
)
def test_plain_restart(http: Http, herder: MemoryHerder, query: str) -> None:
    http.create("src")
    response = http("POST", f"/connectors/src/restart{query}")
    assert (response.status_code, response.content) == (204, b"")
    assert herder.restarted == [("src", -1)]


@pytest.mark.parametrize(
    ("query", "connector", "tasks"),
    [
        ("includeTasks=true", "RESTARTING", ["RESTARTING", "RESTARTING"]),
        ("includeTasks=TRUE&onlyFailed=true", "RUNNING", ["RUNNING", "RESTARTING"]),
        ("onlyFailed=true", "RUNNING", ["RUNNING", "FAILED"]),
        ("includeTasks=true&includeTasks=false", "RESTARTING", ["RESTARTING", "RESTARTING"]),
    ],
)
def test_restart_with_parameters(http: Http, herder: MemoryHerder, query: str, connector: str, tasks: list[str]) -> None:
    http.create("src", **{"tasks.max": "2"})
    herder.failed.add(("src", 1))
    response = http("POST", f"/connectors/src/restart?{query}")
    assert response.status_code == 202
    assert response.headers["content-type"] == "application/json"
    status = response.json()
    assert (status["connector"]["state"], [task["state"] for task in status["tasks"]]) == (connector, tasks)


def test_restart_task(http: Http, herder: MemoryHerder) -> None:
    http.create("src")
    response = http("POST", "/connectors/src/tasks/0/restart")
    assert (response.status_code, response.content) == (204, b"")
    assert herder.restarted == [("src", 0)]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/connectors/nope/restart", "Unknown connector: nope"),
        ("/connectors/nope/restart?includeTasks=true", "Unknown connector: nope"),
        ("/connectors/nope/tasks/0/restart", "Unknown connector: nope"),
        ("/connectors/src/tasks/7/restart", "Unknown task: src-7"),
    ],
)
def test_restart_of_what_is_not_there(http: Http, path: str, message: str) -> None:
    http.create("src")
    assert_error(http("POST", path), 404, message)


# -- topics -----------------------------------------------------------------------------------------------------------


def test_topics_of_an_unknown_connector(http: Http) -> None:
    response = http("GET", "/connectors/nope/topics")
    assert (response.status_code, response.json()) == (200, {"nope": {"topics": []}})


def test_reset_topics_answers_as_the_kip_says(http: Http, herder: MemoryHerder) -> None:
    herder.topics["src"] = ["t"]
    for name in ("src", "nope"):
        response = http("PUT", f"/connectors/{name}/topics/reset")
        assert (response.status_code, response.content) == (200, b"")
    assert herder.topics == {}


def test_reset_topics_when_refused(http: Http, herder: MemoryHerder) -> None:
    herder.reset_allowed = False
    assert_error(http("PUT", "/connectors/src/topics/reset"), 403, "Topic tracking reset is disabled")
