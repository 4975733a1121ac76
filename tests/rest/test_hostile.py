"""
Requests that mean harm, written by hand (F16): what their names, bodies and numbers do to a real herder and real plugins.

None is answered with 5xx, and one that is refused has written nothing. Made-up ones are in `test_fuzz.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from kconnect.errors import BadRequestError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.rest import bodies
from kconnect.rest.app import RestSettings, build
from tests.support import starts

from .cluster import ClusterHerder
from .conftest import ADVERTISED, FILE_SOURCE, Http

JSON = {"content-type": "application/json"}


class Cluster(Http):
    """Calls that fail the test where a refusal has written something, or where anything is answered with 5xx."""

    def __init__(self, sandbox: Sandbox, max_record_bytes: int = 2**30) -> None:
        self.herder = ClusterHerder(sandbox)
        super().__init__(build(self.herder, RestSettings(ADVERTISED, max_record_bytes=max_record_bytes)))

    def __call__(self, method: str, path: str, **request: Any) -> httpx.Response:
        self.herder.cluster.settle()
        before = len(self.herder.records)
        response = super().__call__(method, path, **request)
        assert response.status_code < 500, response.text
        if response.status_code >= 400:
            self.herder.cluster.settle()
            assert len(self.herder.records) == before, "a request that was refused has written something"
        return response


@pytest.fixture(scope="module")
@starts("process")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox(Registry.scan(None))
    yield sandbox
    sandbox.close()


@pytest.fixture
def http(sandbox: Sandbox) -> Cluster:
    return Cluster(sandbox)


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["...", "a:", "a%2fb", "a/b", "/", "a/tasks/0/..", "x" * 300, "Größe 名前 🦆", "a-0", "-", "a?b#c", "*", "null", "a'\"<b>"],
)
def test_odd_names_work_throughout(http: Cluster, name: str) -> None:
    path = f"http://worker-1:8083/connectors/{quote(name, safe='').replace('.', '%2E')}"
    assert http("PUT", f"{path}/config", json=FILE_SOURCE).status_code == 201
    assert http("GET", path).json()["name"] == name
    http.herder.cluster.settle()
    assert http("GET", f"{path}/status").json()["connector"]["state"] == "RUNNING"
    assert http("POST", f"{path}/tasks/0/restart").status_code == 204
    assert http("PUT", f"{path}/stop").status_code == 204
    assert http("DELETE", path).status_code == 204
    assert http("GET", "/connectors").json() == []


@pytest.mark.parametrize("blank", ["\u00a0", "\u2028", "\u3000"])
def test_what_java_does_not_trim_is_a_part_of_a_name(http: Cluster, blank: str) -> None:
    name = f"{blank}src{blank}"
    response = http("POST", "/connectors", json={"name": f" \t{name} ", "config": FILE_SOURCE})
    assert (response.status_code, response.json()["name"], response.json()["config"]["name"]) == (201, name, name)
    assert http("GET", "/connectors").json() == [name]


def test_a_control_character_at_the_end_of_a_name_is_told_of(http: Cluster) -> None:
    response = http("POST", "/connectors", json={"name": "src\u0085", "config": FILE_SOURCE})
    assert "control sequences but had the following ASCII chars: 133" in response.json()["message"]


@pytest.mark.parametrize("name", ["a\nb", "\u0000", "a\rb", "a\u001bb", "a\u0085b", "", " ", None])
def test_names_that_are_refused(http: Cluster, name: str | None) -> None:
    response = http("POST", "/connectors", json={"name": name, "config": FILE_SOURCE})
    assert response.status_code == 400
    assert http("GET", "/connectors").json() == []


def test_a_newline_in_a_path(http: Cluster) -> None:
    assert http("PUT", "/connectors/a%0Ab/config", json=FILE_SOURCE).status_code == 400
    assert http("GET", "/connectors/a%0Ab").status_code == 404


@pytest.mark.parametrize("path", ["%ED%A0%80", "%FF%FE", "%C0%AF", "%00", "%25%32%66"])
def test_paths_that_are_no_text(http: Cluster, path: str) -> None:
    assert http("GET", f"/connectors/{path}").status_code == 404
    assert http("GET", f"/connectors/{path}/status").status_code == 404
    assert http("DELETE", f"/connectors/{path}").status_code == 404


@pytest.mark.parametrize("task", ["-1", "-2147483648", "2147483647", "2147483648", "+0x1", "1e3", "9" * 5000])
def test_numbers_that_are_no_task(http: Cluster, task: str) -> None:
    http.create("src")
    http.herder.cluster.settle()
    assert http("GET", "/connectors/src/tasks/0/status").status_code == 200  # the control
    assert http("GET", f"/connectors/src/tasks/{task}/status").status_code == 404
    assert http("POST", f"/connectors/src/tasks/{task}/restart").status_code == 404


# -- bodies -----------------------------------------------------------------------------------------------------------

ROOM = 10 * 2**20
BODIES = {
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep and never closed": b"[" * ROOM,
    "blanks": b" " * ROOM,
    "zeros": b"\0" * ROOM,
    "a number without end": b"1" * ROOM,
    "surrogate": b'{"name":"\\ud800","config":{}}',
    "surrogate in UTF-8": b'{"name":"\xed\xa0\x80","config":{}}',
    "surrogate in UTF-16": b'\xff\xfe{\x00"\x00a\x00"\x00:\x00"\x00\x00\xd8"\x00}\x00',
    "half of UTF-32": '{"name":"a"}'.encode("utf-32")[:-2],
    "NaN": b'{"name":"a","config":{"a":NaN}}',
    "two documents": b'{"name":"a","config":{}}{}',
    "comment": b'{"name":"a","config":{}}//',
    "list as name": b'{"name":["a"],"config":{}}',
    "list as config": b'{"name":"a","config":[]}',
    "object as setting": b'{"name":"a","config":{"a":{}}}',
    "text": b'"a"',
    "nothing": b"",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_bodies_that_are_refused(http: Cluster, body: bytes) -> None:
    response = http("POST", "/connectors", content=body, headers=JSON)
    assert response.status_code == 400
    assert len(response.content) < 1000, "the answer should not repeat the body"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_bodies_as_editors_save_them(http: Cluster, encoding: str) -> None:
    body = json.dumps({"name": "Größe 🦆", "config": FILE_SOURCE}, ensure_ascii=False).encode(encoding)
    assert http("POST", "/connectors", content=body, headers=JSON).status_code == 201
    assert http("GET", "/connectors").json() == ["Größe 🦆"]


@pytest.mark.parametrize(
    "method_and_path",
    [
        "POST /connectors",
        "PUT /connectors/src/config",
        "PATCH /connectors/src/config",
        "PUT /connector-plugins/FileStreamSource/config/validate",
    ],
)
@pytest.mark.parametrize("more", [{}, {"config": "x"}], ids=["plain", "with a setting called config"])
def test_a_config_that_fits_no_record_is_refused_at_once(sandbox: Sandbox, method_and_path: str, more: dict[str, str]) -> None:
    http = Cluster(sandbox, max_record_bytes=2**20)
    http.create("src")
    config = {**FILE_SOURCE, **more, **{f"setting.{number}": "x" for number in range(100_000)}}
    method, path = method_and_path.split()
    began = http.herder.asked
    refused = http(method, path, json={"name": "other", "config": config} if method == "POST" else config)
    assert refused.status_code == 400
    assert re.match(r"The config makes a record of more than 1,[0-9,]+ bytes, but the config topic", refused.json()["message"])
    assert http.herder.asked == began, "nothing was validated"


def test_what_fits_a_record_may_be_written_at_length(sandbox: Sandbox) -> None:
    http = Cluster(sandbox, max_record_bytes=200)
    body = json.dumps({"name": "src", "config": FILE_SOURCE}, indent=500)
    assert http("POST", "/connectors", content=body, headers=JSON).status_code == 201
    patch = dict.fromkeys(map(str, range(100)), None)
    assert http("PATCH", "/connectors/src/config", json=patch).status_code == 200


@pytest.mark.parametrize(
    ("key", "status", "message"),
    [
        ("file", 201, None),
        ("connector.class", 400, "Failed to find any class"),
        # What is said of an alias is many times as long as the alias: more than the sandbox gives out.
        ("transforms", 400, r"The config has [0-9,]+ characters and could not be validated; make it smaller: "),
    ],
)
def test_a_huge_value(http: Cluster, key: str, status: int, message: str | None) -> None:
    response = http("PUT", "/connectors/src/config", json={**FILE_SOURCE, key: "x" * ROOM})
    assert response.status_code == status
    assert message is None or re.match(message, response.json()["message"])


def test_a_huge_number_of_settings(http: Cluster) -> None:
    config = {**FILE_SOURCE, **{f"setting.{number}": "x" for number in range(50_000)}}
    assert http("PUT", "/connector-plugins/FileStreamSource/config/validate", json=config).status_code == 200


def test_the_last_of_two_keys_counts(http: Cluster) -> None:
    body = json.dumps({"name": "src", "config": FILE_SOURCE}).replace('"t"', '"first", "topic": "second"')
    assert http("POST", "/connectors", content=body, headers=JSON).json()["config"]["topic"] == "second"


@pytest.mark.parametrize("value", ["-0", "1" * 300, "1E-400", "0.10"])
def test_numbers_stay_as_they_were_written(http: Cluster, value: str) -> None:
    assert _with_number(http, value).json()["config"]["no.such"] == value


@pytest.mark.parametrize("value", ["1e999", "1" * 5000])
def test_numbers_beyond_all_floats_are_refused(http: Cluster, value: str) -> None:
    assert "not valid JSON" in _with_number(http, value).json()["message"]


def _with_number(http: Cluster, value: str) -> httpx.Response:
    body = json.dumps({"name": "src", "config": FILE_SOURCE}).replace('"t"', f'"t", "no.such": {value}')
    return http("POST", "/connectors", content=body, headers=JSON)


# -- the rest of a request --------------------------------------------------------------------------------------------


def test_a_flood_of_headers_and_parameters(http: Cluster) -> None:
    headers = [("x-flood", "x" * 100)] * 10_000 + [("accept", "text/plain;q=" + "0" * 100_000)]
    assert http("GET", "/connectors", headers=headers).status_code == 406
    assert http("GET", "/connectors?" + "&".join(["expand=status"] * 3000)).status_code == 200
    assert http("GET", "/connector-plugins/Cast/config?version=" + quote("[" * 5000)).status_code in (400, 404)


@pytest.mark.parametrize("version", ["[", "[1", "(,)", "[1,2", "[2,1]", "1.2.3.4.5.6", "[9.9,9.9]", "\n", "", "a" * 5000])
def test_versions_that_are_none(http: Cluster, version: str) -> None:
    path = f"/connector-plugins/FileStreamSource/config?version={quote(version)}"
    assert http("GET", path).status_code in (200, 400)


@pytest.mark.parametrize(
    ("tables", "where"), [(1001, None), (1000, "x" * 1000), (100, "x" * 20_000)], ids=["tables", "both", "conditions"]
)
def test_what_is_read_again_has_room_in_a_signal(tables: int, where: str | None) -> None:
    """Who may have tables read again sends a megabyte of names: with a condition for each it was gigabytes of the worker."""
    body = {"tables": [f"t{number}" for number in range(tables)], "where": where}
    with pytest.raises(BadRequestError, match="more than one signal has room for"):
        bodies.reread(json.dumps(body).encode())
    assert bodies.reread(json.dumps({**body, "tables": ["a", "b"]}).encode()) == (("a", "b"), where)
