"""JSON without schemas is read as Connect's own converter reads it (`shim/PlainJson.java`), or left to that."""

from __future__ import annotations

import functools
from typing import Any

import jpype
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.jvm import machine

pytestmark = pytest.mark.process

CONVERTER = "org.apache.kafka.connect.json.JsonConverter"

SINGLE = (
    "null", "true", "false", "0", "-0", "-0.0", "0.1", "1e400", "1e-400", "5e-324", "123456789.000000000000000001", "1.0",
    "1E2", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "123456789012345678901234567890", '""',
    '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"', "{}", "[]", '{"a":1,"b":2,"a":3}', '{"a":{"b":[1,2.5,null,{"c":"d"}]}}',
    " [1 , 2] ", "1 2", '{"a":1} rubbish', "[[[[[]]]]]",
)  # fmt: skip
BAD = (
    "",
    " ",
    "nul",
    "{",
    '{"a"',
    '{"a":}',
    "[1,",
    "NaN",
    "Infinity",
    "'a'",
    "01",
    "+1",
    "1.",
    '"\n"',
    "]",
    "/* */ 1",
    "[" * 1001,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@functools.cache
def converter(schemas: bool, content: str = "") -> Any:
    """With `content` that is the schema of every message (KIP-1054)."""
    machine.start()
    made = jpype.JClass(CONVERTER)()
    made.configure(machine.to_map({"schemas.enable": str(schemas).lower(), "schema.content": content}), False)
    return made


def read(data: bytes) -> Any:
    return jpype.JClass("kconnect.shim.PlainJson").read(jpype.JArray(jpype.JByte)(data))


def read_alike(data: bytes) -> None:
    expected = converter(schemas=False).toConnectData("t", data)
    found = read(data)
    assert found is not None
    assert found.equals(expected), (found, expected)


def test_whose_messages_are_read() -> None:
    machine.start()
    of = jpype.JClass("kconnect.shim.PlainJson").is_
    text = jpype.JClass("org.apache.kafka.connect.storage.StringConverter")()
    fixed = converter(schemas=True, content='{"type": "int64"}')
    assert fixed.toConnectData("t", b"1").value() == 1, "the control: it takes what has no envelope, too"
    others = (converter(schemas=True), fixed, text, None)
    assert [bool(of(each)) for each in (converter(schemas=False), *others)] == [True, False, False, False, False]


@pytest.mark.parametrize("text", SINGLE)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-be", "utf-32-le"])
def test_a_value_is_that_of_the_converter(text: str, encoding: str) -> None:
    read_alike(text.encode(encoding))


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_good_is_left_to_the_converter(text: str) -> None:
    machine.start()
    assert read(text.encode()) is None


def test_a_tombstone_is_left_to_the_converter() -> None:
    machine.start()
    assert jpype.JClass("kconnect.shim.PlainJson").read(None) is None


@given(VALUES)
def test_any_value_is_that_of_the_converter(value: Any) -> None:
    try:
        data = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return  # an integer of more than 64 bits, or half a character
    read_alike(data)
