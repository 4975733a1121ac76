"""Many messages at once mean what they mean one by one, and bad ones are not made good by their neighbours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.api.converter import Converter
from kconnect.converters.json import JsonConverter
from kconnect.converters.string import StringConverter
from kconnect.core.task.chain import Converters, SinkChain
from tests.core.task.records import Message

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
SCHEMA = {"type": "struct", "optional": False, "fields": [{"field": "a", "type": "int32", "optional": True}]}


def converter(schemas: bool) -> JsonConverter:
    made = JsonConverter()
    made.configure({"schemas.enable": str(schemas).lower()})
    return made


def one_by_one(made: Converter, data: list[bytes]) -> list[Any]:
    return [made.to_connect_data("t", each) for each in data]


def same(made: Converter, data: list[bytes]) -> bool:
    """Whether the batch was taken; if so, it must be right."""
    found = made.to_connect_all("t", data)
    if found is None:
        return False
    expected = one_by_one(made, data)
    assert [repr(value) for value in found[1]] == [repr(each.value) for each in expected]
    assert all(each.schema == found[0] for each in expected)
    return True


@given(st.lists(PLAIN, min_size=1, max_size=8), st.sampled_from(["", " ", "\n"]))
def test_any_json(values: list[Any], blank: str) -> None:
    same(converter(False), [f"{blank}{json.dumps(value)}{blank}".encode() for value in values])


def test_ordinary_json_is_taken_together() -> None:
    assert same(converter(False), [b'{"a": 1}', b"[2]", b'"x"', b"null", b" 3 "])


def test_structs_are_taken_together_once_their_schema_is_known() -> None:
    made = converter(True)
    data = [json.dumps({"schema": SCHEMA, "payload": {"a": n}}, separators=(",", ":")).encode() for n in (1, 2, None)]
    assert not same(made, data), "no schema has been read yet"
    made.to_connect_data("t", data[0])
    assert made.to_connect_all("t", data) is not None
    schema, values = made.to_connect_all("t", data) or (None, [])
    assert [value["a"] for value in values] == [1, 2, None]
    assert schema == made.to_connect_data("t", data[0]).schema


@pytest.mark.parametrize(
    "data",
    [
        [b"[1", b"2],3"],
        [b'{"a":[{}', b'{"c":1}]},{"d":2}'],
        [b'{"a":[{}', b'{"c":1}]},{"d":2},{"e":3}'],
        [b"1,2", b""],
        [b"", b"1,2"],
        [b'"a', b'b"'],
        [b'{"a":1', b'"b":2},5'],
        [b"1]", b"[2"],
        [b"1],[2", b"3"],
    ],
)
def test_two_bad_texts_are_no_two_good_ones(data: list[bytes]) -> None:
    assert converter(False).to_connect_all("t", data) is None


def test_what_takes_the_slower_way_is_left_to_it() -> None:
    for odd in (b"12345678901234567890", b"-0", b"01", b"1 2", b"NaN", b""):
        assert converter(False).to_connect_all("t", [b"1", odd, b"3"]) is None


def test_texts() -> None:
    assert same(StringConverter(), [b"a", "\u00e9".encode(), b"\xff", b""])
    wide = StringConverter()
    wide.configure({"converter.encoding": "UTF-16"})
    assert wide.to_connect_all("t", [b"a"]) is None


@pytest.mark.parametrize("bad", [None, 7])
def test_a_chain_gives_the_same_records_either_way(bad: int | None) -> None:
    messages = [
        Message(("t", 0, n), b"%d" % n if n != bad else None, None if n % 2 else b"k", (n % 3, 100 + n)) for n in range(20)
    ]
    made = Converters(StringConverter(), converter(False), lambda: None)  # type: ignore[arg-type, return-value]
    together = SinkChain(made).apply(messages)
    alone = [record for message in messages for record in SinkChain(made).apply([message])]

    def shown(record: Any) -> list[Any]:
        return [getattr(record, name) for name in record.__slots__]

    assert [shown(record) for record in together] == [shown(record) for record in alone]


def test_a_topic_is_known_whichever_way_its_messages_went() -> None:
    made = Converters(StringConverter(), converter(False), lambda: None)  # type: ignore[arg-type, return-value]
    chain = SinkChain(made)
    chain.apply([Message(("t", 0, n), b"1", b"k") for n in range(20)])
    assert set(chain.topics) == {"t"}
