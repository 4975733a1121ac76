"""`If-Match`: a config is changed only if it still is the one that was read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconnect.core.herder.views import config_tag
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.support import starts

from .conftest import FILE_SOURCE
from .test_hostile import Cluster

CONFIG = "/connectors/x/config"
OTHERS = '"0123456789abcdef0123456789abcdef"'


@pytest.fixture(scope="module")
@starts("process")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(Registry.scan(None))
    yield made
    made.close()


@pytest.fixture
def http(sandbox: Sandbox) -> Cluster:
    made = Cluster(sandbox)
    assert made("PUT", CONFIG, json=FILE_SOURCE).status_code == 201
    return made


def _tag(http: Cluster) -> str:
    tag: str = http("GET", CONFIG).headers["ETag"]
    return tag


def test_who_was_quicker_is_not_undone(http: Cluster) -> None:
    tag = _tag(http)
    assert http("PATCH", CONFIG, json={"batch.size": "7"}, headers={"If-Match": tag}).status_code == 200
    assert _tag(http) != tag
    for method, body in (("PUT", FILE_SOURCE), ("PATCH", {"file": "other"})):
        refused = http(method, CONFIG, json=body, headers={"If-Match": tag})
        assert refused.status_code == 412
        assert refused.json()["message"].startswith("Somebody else has changed the config of x meanwhile")
    assert http("GET", CONFIG).json()["batch.size"] == "7"
    assert http("PUT", CONFIG, json=FILE_SOURCE, headers={"If-Match": f"{OTHERS}, {_tag(http)}"}).status_code == 200
    assert "batch.size" not in http("GET", CONFIG).json()


def test_what_is_there_already_is_done(http: Cluster) -> None:
    """As for a request that is made again, because nobody heard whether it had been carried out."""
    tag = _tag(http)
    for method, body in (("PATCH", {"batch.size": "7"}), ("PUT", {**FILE_SOURCE, "batch.size": "9"})):
        for _ in range(2):
            assert http(method, CONFIG, json=body, headers={"If-Match": tag}).status_code == 200
        tag = _tag(http)


def test_a_shell_takes_the_quotes_of_a_tag_away(http: Cluster) -> None:
    tag = _tag(http).strip('"')
    assert http("PATCH", CONFIG, json={"batch.size": "7"}, headers={"If-Match": tag}).status_code == 200
    assert http("PATCH", CONFIG, json={"batch.size": "8"}, headers={"If-Match": tag}).status_code == 412


def test_what_is_gone_is_not_made_again(http: Cluster) -> None:
    tag = _tag(http)
    assert http("PATCH", CONFIG, json={"batch.size": "7"}, headers={"If-Match": "*"}).status_code == 200
    assert http("DELETE", "/connectors/x").status_code == 204
    for given in (tag, "*"):
        refused = http("PUT", CONFIG, json=FILE_SOURCE, headers={"If-Match": given})
        assert (refused.status_code, "is not there any more" in refused.json()["message"]) == (412, True)
        assert http("PATCH", CONFIG, json={"a": "b"}, headers={"If-Match": given}).status_code == 404
    assert http("GET", "/connectors").json() == []


def test_a_proxy_that_compresses_answers_keeps_nobody_from_changing_a_config(http: Cluster) -> None:
    """nginx makes the tag a weak one, Apache's httpd appends how it has compressed."""
    for number, (before, behind) in enumerate((("W/", ""), ("", "-gzip"), ("W/", "-br"))):
        tag = f'{before}{_tag(http)[:-1]}{behind}"'
        body = {"batch.size": str(number + 1)}
        assert http("PATCH", CONFIG, json=body, headers={"If-Match": tag}).status_code == 200
        assert http("PATCH", CONFIG, json={"batch.size": "99"}, headers={"If-Match": tag}).status_code == 412


def test_the_tag_is_of_names_and_values() -> None:
    tags = {config_tag(each) for each in ({"a": "bc"}, {"ab": "c"}, {"a": "b", "c": ""}, {"a": None}, {"a": "None "}, {})}
    assert len(tags) == 6
    assert config_tag({"a": "1", "b": "2"}) == config_tag({"b": "2", "a": "1"})
    assert config_tag({"a": "\ud800"})
