"""`/connector-plugins`: parameters, and which config fits which path."""

from __future__ import annotations

import pytest

from kconnect.core.herder.requests.plugins import GetPluginConfig

from .conftest import Http, assert_error
from .herder import MemoryHerder


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 1), ("?connectorsOnly=true", 1), ("?connectorsOnly=false", 2), ("?connectorsOnly=bogus", 2)],
)
def test_list(http: Http, query: str, count: int) -> None:
    assert len(http("GET", f"/connector-plugins{query}").json()) == count


def test_config(http: Http, herder: MemoryHerder) -> None:
    assert http("GET", "/connector-plugins/FileStreamSource/config").json()[0]["name"] == "topic"
    http("GET", "/connector-plugins/FileStreamSource/config?version=4.3.1")
    assert herder.seen == [
        GetPluginConfig("FileStreamSource", None),
        GetPluginConfig("FileStreamSource", "4.3.1"),
    ]


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/connector-plugins/Nope/config", 404, "Unknown plugin Nope."),
        ("/connector-plugins/FileStreamSource/config?version=%5B", 400, "Invalid version specification: ["),
    ],
)
def test_config_refused(http: Http, path: str, status: int, message: str) -> None:
    assert_error(http("GET", path), status, message)


@pytest.mark.parametrize(
    ("plugin", "named"),
    [
        ("FileStreamSource", "org.apache.kafka.connect.file.FileStreamSourceConnector"),
        ("FileStreamSourceConnector", "FileStreamSource"),
        ("org.apache.kafka.connect.file.FileStreamSourceConnector", "org.apache.kafka.connect.file.FileStreamSource"),
        ("Source", "FileStreamSource"),
    ],
)
def test_validate(http: Http, plugin: str, named: str) -> None:
    response = http("PUT", f"/connector-plugins/{plugin}/config/validate", json={"connector.class": named})
    assert (response.status_code, response.json()["name"]) == (200, named)


@pytest.mark.parametrize("plugin", ["FileStreamSink", "my.FileStreamSource"])
def test_validate_the_config_of_another_plugin(http: Http, plugin: str) -> None:
    response = http("PUT", f"/connector-plugins/{plugin}/config/validate", json={"connector.class": "FileStreamSource"})
    text = f"Included connector type FileStreamSource does not match request type {plugin}"
    assert_error(response, 400, text)


def test_validate_without_a_class_or_a_body(http: Http) -> None:
    path = "/connector-plugins/FileStreamSource/config/validate"
    assert_error(http("PUT", path, json={"topic": "t"}), 400, "The config has no connector.class")
    assert http("PUT", path).json()["message"].startswith("The request has no body; send the connector's config")
