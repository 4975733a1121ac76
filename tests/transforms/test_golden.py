"""The transforms and predicates, by their Java names, against what Connect 4.3.1's own did to the same records."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api import ConnectError, Header, Schema, SchemaAndValue, SinkRecord, SourceRecord, TimestampType
from kconnect.plugins.registry import Registry
from kconnect.worker.transforms import Transforms
from tests.golden import envelopes

PLUGINS = Registry.scan(None)
JVM = {
    "java.lang.NullPointerException",
    "java.lang.ClassCastException",
    "java.lang.IndexOutOfBoundsException",
    "java.lang.NumberFormatException",
}
"""Errors whose message is the JVM's; Python's have other classes."""


@pytest.mark.parametrize(("file", "count"), [("transforms.jsonl", 1114), ("predicates.jsonl", 31), ("chains.jsonl", 26)])
def test_all_cases_are_run(file: str, count: int) -> None:
    cases = envelopes.load(file)
    assert len({case["id"] for case in cases}) == len(cases) == count


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("transforms.jsonl")))
def test_transforms(case: dict[str, Any]) -> None:
    transform = PLUGINS.load(case["class"], "transformation")()
    asked = case["predicate"]
    predicate = PLUGINS.load(asked["class"], "predicate")() if asked else None
    error = case["error"]
    if error is not None and error["phase"] == "configure":
        with pytest.raises(Exception) as raised:
            transform.configure(case["config"])
        assert_error(raised.value, error)
        assert_validation(transform, case)
        return
    transform.configure(case["config"])
    record = record_of(case["kind"], case["in"])
    applies = True
    if predicate is not None:
        predicate.configure(asked["config"])
        applies = predicate.test(record) is not asked["negate"]
    if error is None:
        assert_record(transform.apply(record) if applies else record, case["out"])
        return
    with pytest.raises(Exception) as raised:
        transform.apply(record)
    assert_error(raised.value, error)


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("predicates.jsonl")))
def test_predicates(case: dict[str, Any]) -> None:
    predicate = PLUGINS.load(case["class"], "predicate")()
    error = case["error"]
    if error is not None and error["phase"] == "configure":
        with pytest.raises(Exception) as raised:
            predicate.configure(case["config"])
        assert_error(raised.value, error)
        assert_validation(predicate, case)
        return
    predicate.configure(case["config"])
    record = record_of(case["kind"], case["in"])
    if error is None:
        assert predicate.test(record) is case["result"]
        return
    with pytest.raises(Exception) as raised:
        predicate.test(record)
    assert_error(raised.value, error)


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("chains.jsonl")))
def test_chains(case: dict[str, Any]) -> None:
    """As a task runs them; and each shorter chain before it, to see which step it was that dropped the record."""
    chains = [Transforms(chain_config(case["steps"][:length]), PLUGINS) for length in range(1, len(case["steps"]) + 1)]
    for body, wanted in zip(case["ins"], case["outs"], strict=True):
        stopped_at: int | None = None
        for index, chain in enumerate(chains):
            try:
                (found,) = chain.steps.apply([record_of(case["kind"], body)])
            except ConnectError as error:
                assert wanted["error"] is not None, error
                assert isinstance(error.__cause__, Exception)
                assert_error(error.__cause__, wanted["error"])
                found, stopped_at = None, index
                break
            if found is None:
                assert wanted["error"] is None
                stopped_at = index
                break
        assert stopped_at == wanted["stopped_at"]
        assert_record(found, wanted["out"])


def chain_config(steps: list[dict[str, Any]]) -> dict[str, str]:
    """A connector's settings for these transforms."""
    config = {"transforms": ",".join(f"t{index}" for index in range(len(steps)))}
    predicates = []
    for index, step in enumerate(steps):
        prefix = f"transforms.t{index}."
        config[f"{prefix}type"] = step["class"]
        config.update({f"{prefix}{name}": value for name, value in step["config"].items()})
        asked = step.get("predicate")
        if asked:
            predicates.append(f"p{index}")
            config[f"{prefix}predicate"] = f"p{index}"
            config[f"{prefix}negate"] = str(asked["negate"]).lower()
            config[f"predicates.p{index}.type"] = asked["class"]
            config.update({f"predicates.p{index}.{name}": value for name, value in asked["config"].items()})
    return {**config, "predicates": ",".join(predicates)}


def record_of(kind: str, body: dict[str, Any]) -> SourceRecord | SinkRecord:
    key = envelopes.input_of(body["key"])
    value = envelopes.input_of(body["value"])
    headers = []
    for header in body["headers"]:
        schema, content = envelopes.input_of(header["value"])
        headers.append(Header(header["name"], content, schema))
    topic, partition, timestamp = body["topic"], body["partition"], body["timestamp"]
    if kind == "source":
        return SourceRecord({"p": 1}, {"o": 1}, topic, partition, *key, *value, timestamp, headers)
    of_time = TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
    return SinkRecord(topic, partition, *key, *value, body["offset"], timestamp, of_time, headers)


def assert_record(found: Any, wanted: dict[str, Any] | None) -> None:
    if wanted is None:
        assert found is None
        return
    assert found is not None
    for part in ("topic", "partition", "timestamp"):
        assert getattr(found, part) == wanted[part], part
    if isinstance(found, SinkRecord):
        assert found.offset == wanted["offset"]
        original = {
            "topic": found.original_topic,
            "partition": found.original_partition,
            "offset": found.original_offset,
        }
        assert original == wanted["original"]
    else:
        assert (found.source_partition, found.source_offset) == ({"p": 1}, {"o": 1})
    assert_data(found.key_schema, found.key, wanted["key"])
    assert_data(found.value_schema, found.value, wanted["value"])
    headers = list(found.headers)
    assert [header.key for header in headers] == [header["name"] for header in wanted["headers"]]
    for header, expected in zip(headers, wanted["headers"], strict=True):
        assert_data(header.schema, header.value, expected["value"])


def assert_data(schema: Schema | None, value: Any, wanted: dict[str, Any]) -> None:
    envelopes.assert_same(SchemaAndValue(schema, value), wanted)


def assert_error(found: Exception, error: dict[str, Any]) -> None:
    if error["class"] in JVM:
        return
    if error["class"] == "java.lang.IllegalArgumentException":
        assert isinstance(found, ValueError)
        assert str(found) == error["message"]
    else:
        envelopes.assert_error(found, error)


def assert_validation(plugin: Any, case: dict[str, Any]) -> None:
    """The messages, a setting, of validating the config."""
    found = {value.name: value.errors for value in plugin.config().validate(case["config"]) if value.errors}
    assert found == {name: errors for name, errors in case.get("validation", {}).items() if errors}
