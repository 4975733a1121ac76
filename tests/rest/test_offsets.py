"""`/connectors/{c}/offsets` and `/fence`: what a request body becomes, statuses and bodies (KIP-875, KIP-618)."""

from __future__ import annotations

import pytest

from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.offsets import AlterOffsets
from kconnect.core.herder.requests.tasks import FenceTasks
from kconnect.core.state.records import SessionKey
from kconnect.rest import signature

from .conftest import Http, assert_error
from .herder import MemoryHerder

PATH = "/connectors/src/offsets"


def test_what_get_gives_can_be_sent_back(http: Http, herder: MemoryHerder) -> None:
    http.create("src")
    response = http("PATCH", PATH, json=http("GET", PATH).json())
    assert (response.status_code, response.json()) == (200, {"message": "altered"})
    assert herder.seen[-1] == AlterOffsets("src", (({"filename": "in.txt"}, {"position": 7}),))


def test_numbers_stay_numbers_and_what_is_missing_is_null(http: Http, herder: MemoryHerder) -> None:
    http.create("src")
    body = b'{"offsets": [{"partition": {"a": 1, "b": 1.5, "c": "1", "d": true}, "offset": null}, {"offset": {"n": 12345678}}]}'
    assert http("PATCH", PATH, content=body, headers={"Content-Type": "application/json"}).status_code == 200
    sent = herder.seen[-1]
    assert isinstance(sent, AlterOffsets)
    assert repr(sent.offsets) == "(({'a': 1, 'b': 1.5, 'c': '1', 'd': True}, None), (None, {'n': 12345678}))"


def test_a_connector_may_be_created_with_offsets(http: Http, herder: MemoryHerder) -> None:
    offsets = b'[{"partition": {"p": 1, "q": "1"}, "offset": {"n": 2.5}}, {"partition": {"p": 2}}]'
    body = b'{"name": "src", "config": {"connector.class": "X", "n": 1.50}, "initial_offsets": %s}' % offsets
    assert http("POST", "/connectors", content=body, headers={"Content-Type": "application/json"}).status_code == 201
    sent = herder.seen[-1]
    assert isinstance(sent, CreateConnector)
    assert repr(sent.initial_offsets) == "(({'p': 1, 'q': '1'}, {'n': 2.5}), ({'p': 2}, None))"
    # A config's numbers are texts, as they were written.
    assert sent.config["n"] == "1.50"
    assert http("POST", "/connectors", json={"name": "b", "config": {}, "initial_offsets": None}).status_code == 201
    last = herder.seen[-1]
    assert isinstance(last, CreateConnector)
    assert last.initial_offsets is None


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ("[]", "Partitions / offsets need to be provided for an alter offsets request"),
        ("{}", "The request's 'initial_offsets' is not a list of objects; send {\"initial_offsets\": ["),
        ('[{"key": 1}]', "Unknown property 'key' in the request's 'initial_offsets'"),
        ('[{"partition": 1}]', "The value of 'partition' in the request's 'initial_offsets' is not an object"),
    ],
)
def test_wrong_initial_offsets(http: Http, herder: MemoryHerder, offsets: str, text: str) -> None:
    body = f'{{"name": "src", "config": {{}}, "initial_offsets": {offsets}}}'
    response = http("POST", "/connectors", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert response.json()["message"].startswith(text)
    assert herder.seen == []


@pytest.mark.parametrize("body", ["{}", '{"offsets": []}', '{"offsets": null}'])
def test_nothing_to_alter_is_said_before_the_connector_is_looked_for(http: Http, herder: MemoryHerder, body: str) -> None:
    response = http("PATCH", PATH, content=body, headers={"Content-Type": "application/json"})
    assert_error(response, 400, "Partitions / offsets need to be provided for an alter offsets request")
    assert herder.seen == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("[]", "not a JSON object"),
        ("", "has no body"),
        ('{"offsets": [', "not valid JSON"),
        ('{"key": []}', "Unknown property 'key'"),
        ('{"offsets": {}}', "'offsets' is not a list of objects"),
        ('{"offsets": [123]}', "'offsets' is not a list of objects"),
        ('{"offsets": [{"key": "val"}]}', "Unknown property 'key' in the request's 'offsets'"),
        ('{"offsets": [{"partition": [], "offset": null}]}', "'partition' in the request's 'offsets' is not an object"),
        ('{"offsets": [{"partition": {"a": NaN}}]}', "not valid JSON"),
    ],
)
def test_wrong_bodies(http: Http, herder: MemoryHerder, body: str, text: str) -> None:
    response = http("PATCH", PATH, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert text in response.json()["message"]
    assert 'send {"offsets": [' in response.json()["message"]
    assert herder.seen == []


def test_reset(http: Http, herder: MemoryHerder) -> None:
    assert_error(http("DELETE", PATH), 404, "Connector src not found")
    http.create("src")
    response = http("DELETE", PATH)
    assert (response.status_code, response.json()) == (200, {"message": "reset"})


def test_only_a_worker_may_have_tasks_fenced(http: Http, herder: MemoryHerder) -> None:
    path = "/connectors/src/fence"
    key = SessionKey("c2VjcmV0", "HmacSHA256", 0)
    herder.session_keys = (key,)
    assert_error(http("PUT", path), 400, "Internal request missing required signature")
    signed = [signature.sign(key, "HmacSHA256", "worker-1:8083", "PUT", path, b"") for _ in range(2)]
    assert_error(http("PUT", path, headers=signed[0]), 404, "Connector src not found")
    http.create("src")
    assert http("PUT", path, headers=signed[1]).status_code == 204
    assert herder.seen[-1] == FenceTasks("src")
    assert_error(http("PUT", path, headers=signed[1]), 403, "Internal request contained invalid signature.")
    other = signature.sign(key, "HmacSHA256", "worker-1:8083", "POST", "/connectors/src/tasks", b"")
    assert_error(http("PUT", path, headers=other), 403, "Internal request contained invalid signature.")
