"""Many messages at once mean what they mean one by one, and bad ones are not made good by their neighbours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.api.converter import Converter
from kconnect.api.record import Header, SourceRecord
from kconnect.converters.json import JsonConverter
from kconnect.converters.json_readers import Inexact, _Nulled
from kconnect.converters.string import StringConverter
from kconnect.core.task.batch import Records
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.errors import strict
from kconnect.core.task.source_pump import SourceConversion
from kconnect.core.task.steps import Steps
from kconnect.data.column import Column
from kconnect.data.schema import (
    BOOLEAN_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_FLOAT32_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    struct,
)
from kconnect.data.values import column_texts, to_text
from kconnect.errors import DataError
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


def shown_value(value: Any) -> str:
    return repr((value.schema, list(map(shown_value, value.values))) if isinstance(value, Struct) else value)


def same(made: Converter, data: list[bytes]) -> bool:
    """Whether the batch was taken; if so, it must be right."""
    found = made.to_connect_all("t", data)
    if found is None:
        return False
    expected = one_by_one(made, data)
    assert [shown_value(value) for value in found.values] == [shown_value(each.value) for each in expected]
    assert all(each.schema == found.schema for each in expected)
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
    found = made.to_connect_all("t", data)
    assert found is not None
    assert [value["a"] for value in found.values] == [1, 2, None]
    assert found.schema == made.to_connect_data("t", data[0]).schema


FIELDS = {
    "a": {"type": "string", "optional": True},
    "b": {"type": "int8", "optional": False},
    "c": {"type": "double", "optional": True, "default": 1.5},
    "d": {"type": "boolean", "optional": False},
    "e": {"type": "int64", "optional": True, "name": "org.apache.kafka.connect.data.Timestamp"},
    "f": {"type": "array", "optional": True, "items": {"type": "string", "optional": False}},
}


# What looks like a negative zero takes the slower way, in a text as well.
HARMLESS = st.characters(codec="utf-8", exclude_characters="-")
GOOD = {
    "a": st.none() | st.text(HARMLESS, max_size=3),
    "b": st.integers(-128, 127),
    "c": st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0.0),
    "d": st.booleans(),
    "e": st.none() | st.integers(0, 2**40),
    "f": st.none() | st.lists(st.text(HARMLESS, max_size=2), max_size=2),
}
ODD = {
    "b": st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False),
    "c": st.none() | st.integers(0, 3),
    "d": st.just("true"),
    "f": st.lists(st.just(7), min_size=1, max_size=2),
}


def in_order(kinds: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Payloads with the fields in the schema's order: `fixed_dictionaries` would shuffle them."""
    return st.tuples(*kinds.values()).map(lambda values: dict(zip(kinds, values)))


ONE_ODD = st.sampled_from(sorted(ODD)).flatmap(lambda name: in_order({**GOOD, name: ODD[name]}))
SHORTER = st.sampled_from([{"b": 1, "d": False}, {"d": False, "b": 1}])


def envelopes(payloads: list[dict[str, Any]]) -> tuple[JsonConverter, list[bytes]]:
    """Return a converter that has read their schema, and the envelopes of these."""
    made = converter(True)
    schema = {"type": "struct", "optional": False, "fields": [{"field": name, **kind} for name, kind in FIELDS.items()]}
    known = {"a": None, "b": 1, "c": 2.5, "d": True, "e": None, "f": None}
    data = [json.dumps({"schema": schema, "payload": each}, separators=(",", ":")).encode() for each in (known, *payloads)]
    made.to_connect_data("t", data[0])
    return made, data


@given(st.lists(in_order(GOOD), min_size=1, max_size=4))
def test_structs_of_many_kinds_are_taken_together(payloads: list[dict[str, Any]]) -> None:
    assert same(*envelopes(payloads))


@given(st.lists(in_order(GOOD) | ONE_ODD | SHORTER, min_size=1, max_size=4))
def test_structs_with_odd_ones_are_right_or_left_to_the_slower_way(payloads: list[dict[str, Any]]) -> None:
    made, data = envelopes(payloads)
    try:
        found = made.to_connect_all("t", data)
    except (DataError, Inexact, _Nulled):
        return
    if found is not None:
        assert same(made, data)


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


def same_bytes(made: Converter, schema: Schema | None, values: list[Any]) -> bool:
    """Whether the column was taken; if so, what comes out must be what comes out one by one."""
    try:
        found = made.from_connect_all("t", Column(schema, values))
    except (orjson.JSONEncodeError, DataError):
        return False
    assert found is None or list(found) == [made.from_connect_data("t", schema, value) for value in values]
    return found is not None


TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from('",:{}[]\\\0%'), max_size=6)
FREE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(FREE, min_size=1, max_size=8), st.booleans())
def test_any_values_are_written_together(values: list[Any], schemas: bool) -> None:
    same_bytes(converter(schemas), None, values)


@given(st.lists(TEXTS, max_size=4, unique=True), st.data(), st.booleans())
def test_maps_with_the_same_keys_are_written_together(names: list[str], data: st.DataObject, schemas: bool) -> None:
    rows = data.draw(st.lists(st.tuples(*[st.integers(-5, 5) | TEXTS | FREE for _ in names]), min_size=1, max_size=5))
    same_bytes(converter(schemas), None, [dict(zip(names, row)) for row in rows])


@given(st.lists(st.tuples(TEXTS, st.integers(-(2**31), 2**31 - 1), st.none() | st.floats(), st.booleans()), min_size=1))
def test_structs_are_written_together(rows: list[Any]) -> None:
    kinds = {"text": STRING_SCHEMA, "number%s": INT32_SCHEMA, "float": OPTIONAL_FLOAT64_SCHEMA, "bool": BOOLEAN_SCHEMA}
    schema = struct(kinds)
    values = [Struct(schema, dict(zip(kinds, row))) for row in rows]
    for schemas in (True, False):
        same_bytes(converter(schemas), schema, values)


def test_ordinary_values_are_written_together() -> None:
    assert same_bytes(converter(False), None, ["a", '","', "b\\"])
    assert same_bytes(converter(False), None, [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}])
    assert same_bytes(converter(True), None, [{"a": [1], "b": 1.5}, {"a": {}, "b": 1e300}])
    assert same_bytes(converter(True), STRING_SCHEMA, ["a", "\U0001f600", "\x1f"])
    assert same_bytes(StringConverter(), STRING_SCHEMA, ["a", "\ud800", "\u00e9"])
    schema = struct({"a": INT32_SCHEMA, "b": STRING_SCHEMA})
    assert same_bytes(converter(True), schema, [Struct(schema, {"a": n, "b": "100%"}) for n in range(3)])


def test_what_is_wrong_is_left_to_be_found_alone() -> None:
    schema = struct({"a": INT32_SCHEMA})
    assert not same_bytes(converter(True), schema, [Struct(schema, {"a": 1}), Struct(schema)])
    assert not same_bytes(converter(False), None, ["a", None])
    assert not same_bytes(converter(False), None, [1, object()])


@given(st.lists(FREE, min_size=1, max_size=5) | st.lists(st.fixed_dictionaries({"a%": FREE, "b": st.integers()}), min_size=1))
def test_texts_of_columns_are_those_of_their_values(values: list[Any]) -> None:
    assert column_texts(Column(None, values)) == [to_text(value) for value in values]


@given(st.lists(st.tuples(TEXTS, st.none() | st.floats(width=32)), min_size=1))
def test_texts_of_structs_are_those_of_their_values(rows: list[Any]) -> None:
    schema = struct({"a%": STRING_SCHEMA, "b": OPTIONAL_FLOAT32_SCHEMA})
    values = [Struct(schema, dict(zip(("a%", "b"), row))) for row in rows]
    assert column_texts(Column(schema, values)) == [to_text(value, schema) for value in values]


def shown(record: Any) -> list[Any]:
    return [getattr(record, name) for name in record.__slots__]


def messages(odd: int | None = None, keys: bool = True) -> list[Message]:
    return [
        Message(("t", 0, n), b"%d" % n if n != odd else None, b"k" if keys and n % 2 else None, (n % 3, 100 + n))
        for n in range(20)
    ]


MADE = Converters(StringConverter(), converter(False), lambda: None)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("keys", [True, False])
def test_a_batch_has_the_records_that_its_messages_have_alone(keys: bool) -> None:
    batch = SinkChain(MADE).at_once(messages(keys=keys))
    assert batch is not None
    alone = [record for message in messages(keys=keys) for record in SinkChain(MADE).apply([message])]
    assert [shown(record) for record in batch.records()] == [shown(record) for record in alone]
    for name in ("topic", "partition", "offset", "timestamp", "headers"):
        assert list(batch.every(name)) == [getattr(record, name) for record in alone]


def test_a_tombstone_goes_alone() -> None:
    assert SinkChain(MADE).at_once(messages(odd=7)) is None


def test_a_topic_is_known_whichever_way_its_messages_went() -> None:
    for way in (SinkChain.at_once, SinkChain.apply):
        chain = SinkChain(MADE)
        way(chain, messages())
        assert set(chain.topics) == {"t"}


def source_records(*odd: SourceRecord) -> list[SourceRecord]:
    return [*[SourceRecord({}, {}, "t", n % 2, None, None, None, {"a": n}, n) for n in range(20)], *odd]


def test_a_source_batch_has_the_messages_that_its_records_have_alone() -> None:
    batch = Records.of(source_records(), owned=False)
    assert batch is not None
    assert SourceChain(MADE).at_once(batch) == SourceChain(MADE).apply(source_records())


@pytest.mark.parametrize(
    "odd",
    [
        SourceRecord({}, {}, "other", value={"a": 1}),
        SourceRecord({}, {}, "t", value={"a": 1}, headers=[Header("h", 1)]),
        SourceRecord({}, {}, "t", value={"a": object()}),
        SourceRecord({}, {}, "t", key_schema=STRING_SCHEMA, key="k", value={"a": 1}),
    ],
)
def test_a_source_batch_whose_records_differ_goes_record_by_record(odd: SourceRecord) -> None:
    batch = Records.of(source_records(odd), owned=False)
    assert batch is not None
    assert SourceChain(MADE).at_once(batch) is None


def test_runs_of_several_topics_have_the_messages_that_their_records_have_alone() -> None:
    for each in (other := source_records()):
        each.topic = "other"
    records = [*source_records(), *other, SourceRecord({}, {}, "t"), *source_records()]
    assert [len(run) for run in Records.runs(records)] == [20, 20, 1, 20]
    done = SourceConversion(SourceChain(MADE), Steps([]), strict())(records)
    assert (list(done.messages), done.topics) == (SourceChain(MADE).apply(records), {"t", "other"})
    assert (done.origins, done.given) == (records, records)


def test_records_that_differ_too_often_are_not_cut() -> None:
    records = source_records()
    for each in records[::2]:
        each.topic = "other"
    assert Records.runs(records) == [records]
