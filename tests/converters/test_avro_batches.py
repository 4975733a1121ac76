"""A batch of Avro messages has the values that its messages have one by one, or is left to that way."""

from __future__ import annotations

import decimal
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from fastavro import schemaless_writer
from hypothesis import event, given, settings
from hypothesis import strategies as st

from kconnect.converters.avro import AvroConverter
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.data.schema import Schema
from kconnect.errors import DataError
from tests.converters.avro_calls import converter, scope
from tests.converters.outcomes import Outcome
from tests.converters.test_avro_made_up import SCHEMAS, values_of
from tests.core.task.records import Message
from tests.support import examples


def compare(made: AvroConverter, bodies: Sequence[bytes | None]) -> Outcome:
    """Convert messages together and one by one, by a converter that has read one of them before."""
    messages = [Message(("t", 0, offset), text) for offset, text in enumerate(bodies)]
    Outcome(made, messages[:1], together=False)
    quick, slow = (Outcome(made, messages, together) for together in (True, False))
    assert quick.values == slow.values
    assert quick.reasons == slow.reasons
    return quick


def broken(text: bytes) -> st.SearchStrategy[bytes]:
    """Bodies that are a little different; the head stays."""
    more = st.sampled_from(
        [b"", b"\0", b"\1", b"\3", b"\2", b"\x80", b"\xff", b"\x80\0", b"\xff" * 9, b"\xff" * 9 + b"\1", b"abc"]
    )
    return st.builds(
        lambda at, new, size: text[:at] + new + text[at + size :], st.integers(5, max(5, len(text))), more, st.integers(0, 2)
    )


@st.composite
def written(draw: st.DrawFn, odd: bool) -> tuple[AvroConverter, list[bytes | None]]:
    schema: Schema = draw(SCHEMAS)
    made = converter()
    rows = draw(st.lists(values_of(schema), min_size=10, max_size=13))
    try:
        texts = [made.from_connect_data("t", schema, row) for row in rows]
    except DataError:
        texts = []
    texts = [text for text in texts if text is not None] or [b"\0"]
    texts = (texts * 10)[: max(10, len(texts))]
    if odd:
        for at in draw(st.sets(st.integers(1, len(texts) - 1), max_size=2)):
            texts[at] = draw(broken(texts[at] or b"") | st.none())
    return made, texts


@given(written(odd=False))
@settings(max_examples=examples(200))
def test_whatever_was_written_is_read_together_as_alone(case: tuple[AvroConverter, list[bytes | None]]) -> None:
    event(f"{compare(*case).batches} batches")


@given(written(odd=True))
@settings(max_examples=examples(250))
def test_whatever_was_written_and_then_broken(case: tuple[AvroConverter, list[bytes | None]]) -> None:
    outcome = compare(*case)
    event(f"{outcome.batches} batches, {bool(outcome.failures)}")


def registered(avro: Any, values: Sequence[Any]) -> tuple[AvroConverter, list[bytes | None]]:
    """A converter that reads a registered type, and twenty messages, with these values in turn as fastavro writes them."""
    registry = scope()
    id = MemoryRegistry.of(registry).register("t-value", json.dumps(avro))
    bodies = []
    for value in values:
        out = io.BytesIO()
        schemaless_writer(out, avro, value)
        bodies.append(b"\0" + id.to_bytes(4, "big") + out.getvalue())
    return converter(registry=registry), [bodies[at % len(bodies)] for at in range(20)]


def record(*types: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": f"f{at}", "type": kind} for at, kind in enumerate(types)]}


TEXTS = ["", "a", "\u00e9" * 40, "y" * 200]
QUICK: dict[str, tuple[Any, list[Any]]] = {
    "boolean": ("boolean", [True, False]),
    "int": ("int", [0, -1, 63, 64, -64, -65, 2**31 - 1]),
    "long": ("long", [0, 2**61, -(2**61)]),
    "float": ("float", [0.5, -0.0, float("inf"), float("nan")]),
    "double": ("double", [0.5, -0.0, 1e300]),
    "bytes": ("bytes", [b"", b"\xff" * 100]),
    "string": ("string", TEXTS),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, ["A", "B"]),
    "fixed": ({"type": "fixed", "name": "F", "size": 3}, [b"abc"]),
    "date": ({"type": "int", "logicalType": "date"}, [0, -1]),
    "timestamp": ({"type": "long", "logicalType": "timestamp-millis"}, [0, -1, 2**41]),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        [decimal.Decimal("1.50"), decimal.Decimal("-300.00")],
    ),
    "int8": ({"type": "int", "connect.type": "int8"}, [0, 300, -129]),
    "null first": (["null", "string"], [None, *TEXTS]),
    "null behind": (["long", "null"], [None, 1, 300]),
    "never null": (["null", "string"], TEXTS),
    "always null": (["null", "string"], [None]),
    "union of one": (["string"], TEXTS),
    "record": ({"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}, [{"x": 1}, {"x": 300}]),
    "optional record": (["null", {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}], [{"x": 1}, None]),
    "array": ({"type": "array", "items": "string"}, [[], ["a"], TEXTS]),
    "array of arrays": ({"type": "array", "items": {"type": "array", "items": "int"}}, [[], [[]], [[1], [2, 300]]]),
    "array of records": (
        {"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "x", "type": ["null", "int"]}]}},
        [[], [{"x": 1}, {"x": None}]],
    ),
    "map": ({"type": "map", "values": ["null", "long"]}, [{}, {"a": 1, "b": None, "c": 300}]),
}


@pytest.mark.parametrize("name", sorted(QUICK))
def test_each_type_takes_the_quick_way(name: str) -> None:
    kind, values = QUICK[name]
    made, bodies = registered(record("int", kind, "string"), [{"f0": 1, "f1": value, "f2": "z"} for value in values])
    assert compare(made, bodies).batches == 1
    if name not in ("null first", "null behind", "always null", "optional record"):
        made, bodies = registered(kind, values)
        assert compare(made, bodies).batches == 1


SLOW: dict[str, tuple[Any, list[Any]]] = {
    "several types": (["null", "string", "long"], [None, "a", 1]),
    "long of ten bytes": ("long", [2**63 - 1, -(2**63)]),
    "long list": ({"type": "array", "items": "int"}, [[1] * 2000]),
    "itself": (
        {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]},
        [{"next": None}, {"next": {"next": None}}],
    ),
}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_what_is_rare_is_read_one_by_one(name: str) -> None:
    kind, values = SLOW[name]
    made, bodies = registered(record(kind), [{"f0": value} for value in values])
    outcome = compare(made, bodies)
    # What contains itself may have no schema of Connect's at all.
    assert (outcome.batches, len(outcome.values) + len(outcome.reasons)) == (0, 20)


@pytest.mark.parametrize(
    "bad",
    [
        *(b"", b"\2", b"\2a", b"\2a\0", b"\2a\2", b"\2a\2\2", b"\2a\2\2b\0", b"\2a\1\2b", b"\2a\3\2b", b"\2a\4\2b"),
        *(
            b"\1a\2\2b",
            b"\2\xff\2\2b",
            b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0",
            b"\2a\x82\0\2b",
            b"\2a\2\xff\xff\xff\xff\x0f",
        ),
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7fabc",
    ],
)
@pytest.mark.parametrize("place", [3, 19])
def test_wrong_bytes_are_found_where_they_are(bad: bytes, place: int) -> None:
    made, bodies = registered(record("string", ["null", "string"]), [{"f0": "a", "f1": "b"}, {"f0": "", "f1": None}])
    head = (bodies[0] or b"")[:5]
    bodies[place] = head + bad
    # A neighbour that has as many bytes too many as this one has too few.
    bodies[place - 1] = (bodies[place - 1] or b"") + b"\2b"[: len(bad)]
    outcome = compare(made, bodies)
    assert len(outcome.values) + len(outcome.reasons) == 20


def test_blocks_that_tell_their_size() -> None:
    made, bodies = registered({"type": "array", "items": "int"}, [[1, 2]])
    bodies[4] = (bodies[4] or b"")[:5] + b"\3\4\2\4\0"
    bodies[5] = (bodies[5] or b"")[:5] + b"\2\2\2\4\0"
    outcome = compare(made, bodies)
    assert (outcome.batches, len(outcome.values)) == (0, 20)


def test_lists_of_two_blocks() -> None:
    """The second block's count is no end, even if what comes behind it would be another value of the same size."""
    made, bodies = registered(record({"type": "array", "items": "int"}, "string"), [{"f0": [1, 2], "f1": "x"}])
    bodies[4] = (bodies[4] or b"")[:5] + b"\4\2\4" + b"\2\6" + b"\0" + b"\2a"
    outcome = compare(made, bodies)
    assert (outcome.batches, len(outcome.values)) == (0, 20)


def test_messages_of_two_schemas_and_heads_that_are_none() -> None:
    made, bodies = registered(record("int"), [{"f0": 1}])
    for odd in (b"\0\0\0\xff\xff\2", b"\1", b"", b"\0\0", None):
        assert len(compare(made, [odd if at == 3 else text for at, text in enumerate(bodies)]).values) >= 19
