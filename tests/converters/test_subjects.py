"""A pinned schema that stands in a registry: what was inferred goes there and back, and what JSON can't have is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.converters import inference, subjects
from kconnect.converters.json import JsonConverter
from kconnect.converters.schema_registry import MemoryRegistry, RegisteredSchema
from kconnect.data import schema as s
from kconnect.errors import ConfigError, ConnectError, DataError

from .avro_calls import scope

SHAPE = inference.shape_of({"id": 1, "price": 0.5, "of": {"tags": ["a"], "rows": [{"x": True}]}})


def _converter(registry: str, **more: str) -> JsonConverter:
    made = JsonConverter()
    settings = {"schemas.enable": "false", "schemas.infer": "true", "schema.subject": "orders-value"}
    more = {name.replace("_", "."): text for name, text in more.items()}
    made.configure({**settings, "schema.registry.url": f"mock://{registry}", **more})
    return made


def _register(registry: str, *texts: str, subject: str = "orders-value") -> None:
    for text in texts:
        MemoryRegistry.of(registry).register(subject, text)


def test_what_was_inferred_comes_back_with_the_versions_of_the_subject() -> None:
    registry = scope()
    inferred = inference.schema_of(SHAPE, 7)
    assert inferred is not None
    plain = inferred.replace(version=None)
    assert subjects.register(MemoryRegistry.of(registry), "orders-value", s.struct({"id": s.INT64_SCHEMA})) == 1
    assert subjects.register(MemoryRegistry.of(registry), "orders-value", plain) == 2
    assert subjects.register(MemoryRegistry.of(registry), "orders-value", plain) == 2, "it is there already"
    newest = _converter(registry).to_connect_data("t", b'{"id": 7, "of": {"rows": [{}]}}')
    assert newest.schema == plain.replace(version=2)
    first = _converter(registry, schema_subject_version="1")
    assert first.to_connect_data("t", b'{"id": 7}').schema == s.struct({"id": s.INT64_SCHEMA}, version=1)
    with pytest.raises(DataError, match="the field 'price' is not in the pinned schema"):
        first.to_connect_data("t", b'{"id": 7, "price": 1}')


@pytest.mark.parametrize(("depth", "version"), [(900, 1), (5000, 1), (1, "one")])
def test_what_a_registry_answers_that_nobody_can_read_is_said(depth: int, version: Any) -> None:
    """Who answers as the registry must not end a task with an error that names neither setting nor remedy."""
    text = '{"type":"array","items":' * depth + '"int"' + "}" * depth

    class Odd(MemoryRegistry):
        def by_version(self, subject: str, version_: int | None = None) -> RegisteredSchema:
            return RegisteredSchema(text, 1, version)

    with pytest.raises(ConfigError, match=r"schema\.subject"):
        subjects.read(Odd(), "s", None)


def test_an_enumeration_has_its_symbols_only() -> None:
    registry = scope()
    of = {"type": "enum", "name": "Of", "symbols": ["A", "B"]}
    _register(registry, json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": of}]}))
    converter = _converter(registry)
    assert converter.to_connect_data("t", b'{"v": "A"}').value["v"] == "A"
    for value in (b'{"v": "C"}', b'{"v": 1}', b"{}"):
        with pytest.raises(DataError):
            converter.to_connect_data("t", value)


@pytest.mark.parametrize(
    ("avro", "why"),
    [
        (["int", "string"], "it is a union of several types"),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 4}}, "is bytes of a fixed length"),
        ({"type": "record", "name": "io.confluent.connect.avro.Anything", "fields": []}, "it says nothing of its values' type"),
    ],
    ids=["union", "fixed", "anything"],
)
def test_what_json_has_no_form_for_is_refused_at_the_start(avro: Any, why: str) -> None:
    registry = scope()
    _register(registry, json.dumps(avro))
    with pytest.raises(ConfigError, match=why):
        _converter(registry)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "has no version latest of subject orders-value"),
        ({"schema.subject.version": "7"}, "has no version 7 of subject orders-value"),
        ({"schema.subject.version": "newest"}, "must be a whole number from 1 on, or latest"),
        ({"schema.registry.url": ""}, "No schema registry is named"),
        ({"schema.content": '{"type":"string"}'}, "only one schema can hold"),
        ({"schemas.infer": "false"}, "it is read with schemas.infer=true only"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each) or "none",
)
def test_settings_that_name_no_schema_are_refused(settings: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        _converter(scope(), **settings)


def test_a_registry_that_is_away_says_what_starts_the_task_again() -> None:
    with pytest.raises(
        ConnectError, match=r"needs the schema of schema\.subject=orders-value.*errors\.restart\.max\.attempts"
    ) as told:
        _converter("x", schema_registry_url="http://127.0.0.1:9")
    assert "errors.retry.timeout" not in str(told.value)


@pytest.mark.parametrize("name", ["first-name", "1x", "straße", ""])
def test_names_that_avro_can_not_have_are_refused_by_name(name: str) -> None:
    nested = s.struct({"a": s.array(s.struct({name or " ": s.STRING_SCHEMA}))})
    with pytest.raises(DataError, match=r"Pin it with `schema\.content` instead"):
        subjects.text_of(nested)
