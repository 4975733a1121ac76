"""`kconnect schemas --pin`: by content, in Avro, and by a subject of the registry that the config names, and no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kconnect.converters import inference
from kconnect.core.herder.requests.schemas import GetSchemas
from kconnect.core.state.schema_records import Key
from kconnect.kafka.inferred import shown
from kconnect.rest.client import ConnectClient
from tests.cli.calls import Called, call, serving
from tests.converters.test_schema_registry import Server
from tests.rest.herder import MemoryHerder

Sink = Callable[..., Called]
_REGISTRY = "value.converter.schema.registry.url"


@pytest.fixture
def registry() -> Iterator[Server]:
    server = Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sink]:
    """Calls `kconnect schemas` for a sink with more settings, which has inferred the schema of `orders`."""
    herder = MemoryHerder()
    shape = inference.to_plain(inference.shape_of({"id": 1, "of": {"x": "a"}}))
    known = list(shown({Key("snk", "value", "orders", 0): {"version": 3, "shape": shape}}))
    answers = {**herder._answers, GetSchemas: lambda *_: {"name": "snk", "schemas": known}}
    monkeypatch.setattr(herder, "_answers", answers)
    with serving(herder) as url, ConnectClient(url) as client:

        def asked(*arguments: str, **more: str) -> Called:
            settings = {name.replace("__", "."): text for name, text in more.items()}
            client.put_config("snk", {"connector.class": "FileStreamSink", "topics": "orders", **settings})
            return call("schemas", "snk", *arguments, "--url", url)

        yield asked


def test_by_content_and_in_avro(sink: Sink) -> None:
    (content,) = json.loads(sink("--pin", "orders").out).values()
    assert [field["field"] for field in json.loads(content)["fields"]] == ["id", "of"]
    avro = json.loads(sink("--pin", "orders", "--avro").out)
    assert [field["name"] for field in avro["fields"]] == ["id", "of"] and "connect.version" not in avro


def test_by_a_subject_of_the_registry_that_the_config_names(sink: Sink, registry: Server) -> None:
    found = sink("--pin", "orders", "--subject", "s", **{_REGISTRY: registry.url})
    assert json.loads(found.out) == {"value.converter.schema.subject": "s", "value.converter.schema.subject.version": "1"}
    assert list(registry.subjects) == ["s"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, f"The config has no {_REGISTRY}"),
        ({_REGISTRY: "${env:REGISTRY}"}, f"{_REGISTRY} is a reference or a file"),
        ({"value.converter.basic.auth.user.info": "u:${file:/f:p}"}, "basic.auth.user.info is a reference or a file"),
        ({"value.converter.schema.registry.ssl.keystore.location": "/root/key"}, "keystore.location is a reference or a file"),
    ],
    ids=["none", "reference", "part", "file"],
)
def test_secrets_and_files_of_this_machine_go_to_no_registry(
    sink: Sink, registry: Server, settings: dict[str, Any], said: str
) -> None:
    more = settings if not settings or _REGISTRY in settings else {_REGISTRY: registry.url, **settings}
    found = sink("--pin", "orders", "--subject", "s", **more)
    assert (found.status, found.out) == (6, "") and said in found.err
    assert registry.asked == []


def test_options_that_say_nothing_together(sink: Sink) -> None:
    for words in (("--avro",), ("--subject", "s"), ("--pin", "orders", "--avro", "--subject", "s"), ("--pin", "x", "--forget")):
        assert sink(*words).status == 2
