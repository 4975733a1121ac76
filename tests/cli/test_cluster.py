"""`kconnect cluster`, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
import yaml

from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.cluster import GetCluster, GetDemand
from tests.cli.calls import call, serving
from tests.rest.herder import MemoryHerder

VIEW = {
    "leader": "n1:8083",
    "generation": 7,
    "answered_by": "n2:8083",
    "workers": [
        {
            "worker_id": name,
            "url": url,
            "leaving": leaving,
            "generation": 7,
            "connectors": 1,
            "tasks": 2,
            "hosts": [
                {
                    **{"host": 0, "node": "n", "pid": 7, "connectors": 1, "tasks": 2, "stuck": 0, "directories": []},
                    "dedicated_to": None,
                    **({"dedicated_to": {"connector": "x", "task": 0}, "directories": ["/p/a-1"]} if leaving else {}),
                }
            ]
            if hosts
            else [],
        }
        for name, url, leaving, hosts in (
            ("n1:8083", "http://n1:8083/", False, True),
            ("n2:8083", "http://n2:8083/", True, True),
            ("n3:8083", None, False, True),
            ("n4:8083", "http://n4:8083/", False, False),
        )
    ],
    "moving": [
        {"connector": "x", "task": 0, "from": "n2:8083", "to": None},
        {"connector": "y", "task": None, "from": None, "to": "n1:8083"},
    ],
}


DEMAND = {"workers": 3, "workers_now": 2, "cores": 3.9, "cores_per_worker": 2, "target": 0.7}


class Herder(MemoryHerder):
    def submit(self, request: Request[Any]) -> Future[Any]:
        if isinstance(request, (GetCluster, GetDemand)):
            future: Future[Any] = Future()
            future.set_result(VIEW if isinstance(request, GetCluster) else DEMAND)
            return future
        return super().submit(request)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Herder()) as url:
        yield url


def test_the_table(url: str) -> None:
    called = call("cluster", "--url", url)
    assert called.status == 0
    lines = [line.split() for line in called.out.splitlines()]
    assert ["Led", "by", "n1:8083,", "generation", "7;", "answered", "by", "n2:8083"] in lines
    assert ["n1:8083", "leader", "1", "2", "0:1+2"] in lines
    assert ["n2:8083", "leaving", "1", "2", "0:1+2"] in lines
    assert ["n3:8083", "gone", "1", "2", "0:1+2"] in lines
    assert ["n4:8083", "starting", "1", "2"] in lines
    told = "Host 0 of n2:8083 has plugins of /p/a-1, is for x-0 alone"
    assert [line for line in lines if line[:1] == ["Host"]] == [told.split()]
    assert ["All", "hosts", "take", "3.9", "cores,", "which", "want", "3", "workers"] in lines
    assert ["Moving:", "x-0", "from", "n2:8083", "to", "(not", "decided", "yet)"] in lines
    assert ["Moving:", "y", "from", "nowhere", "to", "n1:8083"] in lines


def test_json_is_the_answer_itself(url: str) -> None:
    called = call("cluster", "-o", "json", env={"KAFKA_CONNECT_URL": url})
    assert (called.status, json.loads(called.out)) == (0, VIEW)


def test_yaml_is_the_same(url: str) -> None:
    called = call("cluster", "-o", "yaml", "--url", url)
    assert (called.status, yaml.safe_load(called.out)) == (0, VIEW)


def test_an_address_of_the_rest_api_is_no_worker_s(url: str) -> None:
    called = call("get", "connectors", "--url", f"{url}/connectors")
    assert called.status == 4
    assert f"{url}/connectors is an address of the REST API. Give the worker's: {url}" in called.err


@pytest.mark.parametrize(
    "words", [["--url", "http://n"], ["get", "--url=http://n"], ["--user", "ann", "offsets"]], ids=" ".join
)
def test_options_without_a_verb_lack_a_verb(words: list[str]) -> None:
    called = call(*words)
    assert called.status == 2
    assert "No such option" not in called.err and "Usage: kconnect" in called.out + called.err


def test_no_worker_and_a_wrong_option() -> None:
    called = call("cluster", "--url", "http://127.0.0.1:9")
    assert (called.status, called.out) == (3, "")
    assert "No worker answers at http://127.0.0.1:9" in called.err
    assert call("cluster", "-o", "xml").status == 2
