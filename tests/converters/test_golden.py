"""The key and value converters against what Connect 4.3.1's own did: the same bytes, data, and errors."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.schema import NULL
from kconnect.converters import numbers
from kconnect.converters.bytes import ByteArrayConverter
from kconnect.converters.json import JsonConverter
from kconnect.converters.simple_header import SimpleHeaderConverter
from kconnect.converters.string import StringConverter
from tests.golden import envelopes

CONVERTERS: dict[str, type[Converter]] = {
    "org.apache.kafka.connect.json.JsonConverter": JsonConverter,
    "org.apache.kafka.connect.storage.StringConverter": StringConverter,
    "org.apache.kafka.connect.converters.ByteArrayConverter": ByteArrayConverter,
    "org.apache.kafka.connect.converters.BooleanConverter": numbers.BooleanConverter,
    "org.apache.kafka.connect.converters.ShortConverter": numbers.ShortConverter,
    "org.apache.kafka.connect.converters.IntegerConverter": numbers.IntegerConverter,
    "org.apache.kafka.connect.converters.LongConverter": numbers.LongConverter,
    "org.apache.kafka.connect.converters.FloatConverter": numbers.FloatConverter,
    "org.apache.kafka.connect.converters.DoubleConverter": numbers.DoubleConverter,
}
"""Add a row when there is another one: its cases are in the files."""

CASES = [case for case in envelopes.load("converters.jsonl") if case["converter"] in CONVERTERS]


@pytest.mark.parametrize("case", envelopes.as_params(CASES))
def test_converters(case: dict[str, Any]) -> None:
    converter = CONVERTERS[case["converter"]]()
    error = case["error"]
    if error is not None and error["phase"] == "configure":
        with pytest.raises(Exception) as raised:
            converter.configure(case["config"], case["isKey"])
        envelopes.assert_error(raised.value, error)
        return
    converter.configure(case["config"], case["isKey"])
    check(converter, case["topic"], case, case)


def check(converter: Converter, topic: str, step: dict[str, Any], result: dict[str, Any]) -> None:
    if result["error"] is not None:
        with pytest.raises(Exception) as raised:
            convert(converter, topic, step)
        envelopes.assert_error(raised.value, result["error"])
    elif step["direction"] == "fromConnectData":
        assert_bytes(convert(converter, topic, step), bytes_of(result), envelopes.has_unordered_map(step["in"]))
    else:
        envelopes.assert_same(convert(converter, topic, step), result["out"])


def convert(converter: Converter, topic: str, step: dict[str, Any]) -> Any:
    if step["direction"] == "fromConnectData":
        return converter.from_connect_data(topic, *envelopes.input_of(step["in"]))
    return converter.to_connect_data(topic, bytes_of(step))


def bytes_of(holder: dict[str, Any]) -> bytes | None:
    encoded = holder["bytes_base64"]
    return None if encoded is None else base64.b64decode(encoded)


def assert_bytes(found: bytes | None, wanted: bytes | None, any_order: bool) -> None:
    """The very bytes; only entries of a map may come in another order, as a Java map has none."""
    if not any_order or found is None or wanted is None:
        assert found == wanted
    else:
        assert sorted(found) == sorted(wanted)
        assert json.loads(found) == json.loads(wanted)


SEQUENCES = [case for case in envelopes.load("converter_sequences.jsonl") if case["converter"] in CONVERTERS]


@pytest.mark.parametrize("case", envelopes.as_params(SEQUENCES))
def test_one_converter_called_several_times(case: dict[str, Any]) -> None:
    converter = CONVERTERS[case["converter"]]()
    converter.configure(case["config"], case["isKey"])
    for step, result in zip(case["steps"], case["results"], strict=True):
        check(converter, case["topic"], step, result)


def test_no_case_is_left_out_unseen() -> None:
    assert (len(CASES), len(SEQUENCES)) == (426, 6)


HEADER_CONVERTERS: dict[str, Any] = {
    **CONVERTERS,
    "org.apache.kafka.connect.storage.SimpleHeaderConverter": SimpleHeaderConverter,
}


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("header_converters.jsonl")))
def test_header_converters(case: dict[str, Any]) -> None:
    converter: HeaderConverter = HEADER_CONVERTERS[case["converter"]]()
    converter.configure({"converter.type": "header", **case["config"]})
    if case["error"] is not None:
        with pytest.raises(Exception) as raised:
            convert_header(converter, case)
        envelopes.assert_error(raised.value, case["error"])
        return
    found = convert_header(converter, case)
    if case["direction"] == "fromConnectHeader":
        assert_bytes(found, bytes_of(case), envelopes.has_unordered_map(case["in"]))
    elif case.get("java_null"):
        assert found == NULL
    else:
        envelopes.assert_same(found, case["out"])


def convert_header(converter: HeaderConverter, case: dict[str, Any]) -> Any:
    if case["direction"] == "fromConnectHeader":
        return converter.from_connect_header(case["topic"], case["header"], *envelopes.input_of(case["in"]))
    return converter.to_connect_header(case["topic"], case["header"], bytes_of(case))
