"""
A batch of JSON messages with a schema has the values that its messages have one by one, or is left to that way: for schemas and
messages of any kind, good ones, odd ones and broken ones.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from kconnect.converters import json_schema, pinned
from kconnect.converters.inference import Misfit
from kconnect.converters.json import JsonConverter
from kconnect.converters.json_readers import Readers
from kconnect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP, SchemaAndValue
from tests.converters.outcomes import Outcome
from tests.core.task.records import Message
from tests.support import examples

Json = dict[str, Any]
NAMES = ["a", "b", "id", "\u00e9", 'q"', "a.b"]
INTEGERS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
GOOD: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.integers(-(2**bits), 2**bits - 1) for name, bits in INTEGERS.items()},
    "float": st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-100, 100),
    "double": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60),
    "boolean": st.booleans(),
    "string": st.text(st.characters(codec="utf-8") | st.sampled_from('",:{}[]\\\0\n'), max_size=4),
    "bytes": st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode()),
    DECIMAL: st.binary(min_size=1, max_size=4).map(lambda data: base64.b64encode(data).decode()) | st.integers(-99, 99),
    DATE: st.integers(-(2**31), 2**31 - 1),
    TIME: st.integers(0, 86_400_000),
    TIMESTAMP: st.integers(-(2**50), 2**50),
}
UNDER: dict[str, Json] = {
    DECIMAL: {"type": "bytes", "parameters": {"scale": "2"}},
    DATE: {"type": "int32"},
    TIME: {"type": "int32"},
    TIMESTAMP: {"type": "int64"},
}
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1.5, -0.0, 2**31, 128, -129, 1e300, "AAE=", "x", "", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=4,
)


def primitive(name: str) -> Json:
    return {**UNDER[name], "name": name} if name in UNDER else {"type": name}


def struct_of(fields: Sequence[tuple[str, Json]]) -> Json:
    return {"type": "struct", "fields": [{**kind, "field": name} for name, kind in fields]}


def with_options(kind: Json, optional: bool, default: Any) -> Json:
    return {**kind, "optional": optional, **({} if default is None else {"default": default})}


@st.composite
def primitives(draw: st.DrawFn) -> Json:
    name = draw(st.sampled_from(sorted(GOOD)))
    default = draw(GOOD[name]) if draw(st.integers(0, 3)) == 0 else None
    return with_options(primitive(name), draw(st.booleans()), default)


def structs(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    names = st.lists(st.sampled_from(NAMES), unique=True, max_size=4)
    return names.flatmap(
        lambda chosen: st.tuples(*[inner for _ in chosen]).map(lambda kinds: struct_of(list(zip(chosen, kinds))))
    )


def nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    kinds = st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        inner.map(lambda values: {"type": "map", "keys": {"type": "string"}, "values": values}),
        inner.map(lambda values: {"type": "map", "keys": {"type": "int32"}, "values": values}),
        structs(inner),
    )
    return st.builds(with_options, kinds, st.booleans(), st.none())


SCHEMAS = structs(st.recursive(primitives(), nested, max_leaves=5))


def kind_of(schema: Json) -> str:
    return str(schema.get("name") or schema["type"])


def fitting(schema: Json, odd: bool = False) -> st.SearchStrategy[Any]:
    """Values of a schema; `odd` ones may be null, of another type, or lack something, at any depth."""
    kind = kind_of(schema)
    if kind == "array":
        values: st.SearchStrategy[Any] = st.lists(fitting(schema["items"], odd), max_size=3)
    elif kind == "map" and schema["keys"]["type"] == "string":
        values = st.dictionaries(st.sampled_from(NAMES), fitting(schema["values"], odd), max_size=3)
    elif kind == "map":
        values = st.lists(st.tuples(GOOD["int32"], fitting(schema["values"], odd)).map(list), max_size=3)
    elif kind == "struct":
        fields = {field["field"]: fitting(field, odd) for field in schema["fields"]}
        if odd:
            whole = st.fixed_dictionaries(fields, optional={"other": ANYTHING})
            names = st.sets(st.sampled_from([*NAMES, "other"]), max_size=2)
            values = st.builds(lambda value, without: {n: v for n, v in value.items() if n not in without}, whole, names)
        else:
            values = st.tuples(*fields.values()).map(lambda row: dict(zip(fields, row)))
    else:
        values = GOOD[kind]
    if odd:
        beyond = st.sampled_from([at + by for bits in INTEGERS.values() for at in (2**bits, -(2**bits)) for by in (-1, 0)])
        return st.one_of(values, values, values, values, ANYTHING, beyond if kind in INTEGERS else ANYTHING)
    return st.none() | values if schema.get("optional") else values


def broken(text: bytes) -> st.SearchStrategy[bytes]:
    """Texts that are a little different, and maybe no JSON any more."""
    place = st.integers(0, len(text))
    more = st.sampled_from(
        [b"", b"{", b"}", b",", b'"', b"[", b"]", b"0", b"-", b"\\", b"\xff", b"\xed\xa0\x80", b" ", b"\n", b"\0", b"null"]
    )
    changed = st.builds(lambda at, new, size: text[:at] + new + text[at + size :], place, more, st.integers(0, 2))
    twice = b'{"a":1,"a":null,' + text[1:]
    others = [
        b"",
        b" ",
        b"\xef\xbb\xbf" + text,
        text + text,
        text + b" x",
        text + b",",
        text[:-1],
        twice,
        b"\n" + text + b"\r\n",
    ]
    return changed | st.sampled_from([*others, text.decode("utf-8", "replace").encode("utf-16"), b"NaN", b"[" * 2000])


def text_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def cases(draw: st.DrawFn, odd: bool) -> tuple[Json, list[bytes | None]]:
    """A schema, and payloads of messages: good ones, and with `odd` some others among them."""
    schema = draw(SCHEMAS)
    texts: list[bytes | None] = list(
        draw(st.lists(fitting({**schema, "optional": False}).map(text_of), min_size=10, max_size=14))
    )
    for _ in range(draw(st.integers(1, 3)) if odd else 0):
        place = draw(st.integers(0, len(texts) - 1))
        whole = texts[place] or b"{}"
        texts[place] = draw(fitting(schema, odd=True).map(text_of) | broken(whole) | st.none())
    return schema, texts


def converter(schema: Json, way: str, nulls: bool) -> JsonConverter:
    made = JsonConverter()
    settings = {"replace.null.with.default": str(nulls).lower()}
    if way in ("content", "pinned"):
        settings["schema.content"] = json.dumps(schema)
    if way in ("pinned", "inferred"):
        settings |= {"schemas.enable": "false", "schemas.infer": "true"}
    made.configure(settings)
    return made


def messages_of(schema: Json, texts: Sequence[bytes | None], way: str) -> list[Message]:
    """The messages, in envelopes if it is a way of those."""
    head, tail = (
        (b"", b"") if way not in ("envelope", "payload first") else (b'{"schema":%b,"payload":' % text_of(schema), b"}")
    )
    if way == "payload first":
        head, tail = b'{"payload":', b',"schema":%b}' % text_of(schema)
    bodies = [None if text is None else head + text + tail for text in texts]
    return [Message(("t", 0, offset), body) for offset, body in enumerate(bodies)]


def compare(schema: Json, texts: Sequence[bytes | None], way: str, nulls: bool = True) -> Outcome:
    """Convert messages together and one by one, each with a converter that has read a message of theirs before."""
    messages = messages_of(schema, texts, way)
    outcomes = []
    for together in (True, False):
        made = converter(schema, way, nulls)
        if way == "inferred":
            # Before anything is converted, as `units/inferring.py` has it.
            assert made.inferring is not None
            for some in (texts[: len(texts) // 2], texts):
                made.inferring.learn("t", some)
        else:
            # Only what comes behind an envelope is read with what is known of it.
            Outcome(made, messages_of(schema, [b"{}"], way), together=False)
        outcomes.append(Outcome(made, messages, together))
    quick, slow = outcomes
    assert quick.values == slow.values
    assert quick.reasons == slow.reasons
    return quick


WAYS = st.sampled_from(["content", "envelope", "payload first", "pinned", "inferred"])


@given(cases(odd=False), WAYS, st.booleans())
@settings(max_examples=examples(200))
def test_good_messages_are_read_together(case: tuple[Json, list[bytes | None]], way: str, nulls: bool) -> None:
    outcome = compare(*case, way, nulls)
    event(f"{outcome.batches} batches")


@given(cases(odd=True), WAYS, st.booleans())
@settings(max_examples=examples(250))
def test_messages_among_which_some_are_odd_or_broken(case: tuple[Json, list[bytes | None]], way: str, nulls: bool) -> None:
    outcome = compare(*case, way, nulls)
    event(f"{outcome.batches} batches, {bool(outcome.failures)}")


ORDINARY: dict[str, list[Any]] = {
    **{name: [0, 1, -1, 127] for name in INTEGERS},
    "float": [0.5, 2, 1e30],
    "double": [0.5, 2, -1e300],
    "boolean": [True, False],
    "string": ["", "x", '"\u00e9\n'],
    "bytes": ["", "AAE="],
    DECIMAL: ["AAE=", 7],
    DATE: [0, -1],
    TIME: [0, 1],
    TIMESTAMP: [0, -1, 2**41],
}


def ordinary(values: Sequence[Any], more: Sequence[Any] = ()) -> list[bytes | None]:
    """Messages whose field has each of these values, over and over."""
    return [text_of({"x": [*values, *more][at % len([*values, *more])]}) for at in range(20)]


@pytest.mark.parametrize("way", ["content", "envelope", "payload first"])
@pytest.mark.parametrize("name", sorted(GOOD))
def test_each_type_takes_the_quick_way(name: str, way: str) -> None:
    kind, values = primitive(name), ORDINARY[name]
    assert compare(struct_of([("x", kind)]), ordinary(values), way).batches == 1
    assert compare(struct_of([("x", with_options(kind, True, None))]), ordinary(values, [None]), way).batches == 1
    assert compare(struct_of([("x", with_options(kind, True, values[1]))]), ordinary(values, [None]), way).batches == 1
    for nested_kind, nested_values in (
        ({"type": "array", "items": kind}, [[], values]),
        ({"type": "map", "keys": {"type": "string"}, "values": kind}, [{}, {"a": values[0], "b": values[1]}]),
        ({"type": "map", "keys": {"type": "int32"}, "values": kind}, [[], [[1, values[0]], [2, values[1]], [1, values[0]]]]),
        (struct_of([("y", kind)]), [{"y": value} for value in values]),
    ):
        assert compare(struct_of([("x", nested_kind)]), ordinary(nested_values), way).batches == 1
        optional = with_options(nested_kind, True, None)
        assert compare(struct_of([("x", optional)]), ordinary(nested_values, [None]), way).batches == 1


FIVE = struct_of([(name, {"type": "int32", "optional": name != "a"}) for name in ("a", "b", "c", "d", "e")])
WHOLE = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}


@pytest.mark.parametrize("way", ["content", "envelope", "payload first"])
@pytest.mark.parametrize(
    "odd",
    [{"a": 1}, {**WHOLE, "other": 1}, {"a": 1, "other": 1}, dict(reversed(WHOLE.items())), {**WHOLE, "b": None}, {"a": "1"}],
    ids=["missing", "more", "missing and more", "other order", "null", "other type"],
)
def test_other_shapes_stay_with_the_rest(odd: Any, way: str) -> None:
    texts: list[bytes | None] = [text_of(odd if at % 7 == 3 else WHOLE) for at in range(30)]
    assert compare(FIVE, texts, way).batches == 1


@pytest.mark.parametrize("way", ["content", "envelope", "payload first"])
@pytest.mark.parametrize(
    "bad",
    [
        *(b"", b" ", b"null", b"[]", b"1", b"x", b'{"a":null}', b"{}", b'{"a":1}{"a":2}', b'{"a":1} x', b'{"a":1'),
        *(b'{"a":1},{"a":2}', b'{"a":NaN}', b'{"a":01}', b'{"a":1e400}', b'{"a":-0}', b'{"a":12345678901234567890}'),
        *(b'{"a":1,"b":"\xff"}', b'{"a":1,"b":"\\ud800"}', b'\xef\xbb\xbf{"a":1}', b"[" * 3000, b'{"a":"\0"}', None),
    ],
)
def test_a_message_of_its_own_kind_changes_no_other(bad: bytes | None, way: str) -> None:
    texts: list[bytes | None] = [bad if at == 17 else text_of(WHOLE) for at in range(30)]
    compare(FIVE, texts, way)


@pytest.mark.parametrize("around", [(b"[", b"]"), (b"{", b"}"), (b'{"a":[', b"]}"), (b'{"a":1},', b""), (b'{"a":"', b'"}')])
def test_texts_that_are_one_value_only_together(around: tuple[bytes, bytes]) -> None:
    texts: list[bytes | None] = [text_of(WHOLE) for _ in range(30)]
    texts[11], texts[12] = around[0] + b'{"a":1}', b'{"a":2}' + around[1]
    assert compare(FIVE, texts, "content").batches == 0


def test_what_stands_for_too_much_alone_is_refused_among_others() -> None:
    """Each message has a room of its own: what others leave of theirs is not for it."""
    kind = {"type": "array", "items": struct_of([(f"f{n}", {"type": "int32", "optional": True}) for n in range(1000)])}
    texts: list[bytes | None] = [text_of({"x": [{}] * (300 if at == 5 else 1)}) for at in range(20)]
    outcome = compare(struct_of([("x", kind)]), texts, "content")
    assert [offset for offset, _, _ in outcome.reasons] == [5]


@pytest.mark.parametrize("name", [*INTEGERS, "float", "double", "boolean", "string"])
def test_values_of_another_type_or_beyond_it(name: str) -> None:
    """Connect takes the lower bits of a number, and makes 0, false or null of what is none."""
    for odd in [128, -129, 2**15, 2**31, -(2**31) - 1, 2**62, 1.5, -1.5, 1e300, True, "7", [], {}]:
        for optional in (True, False):
            schema = struct_of([("x", with_options({"type": name}, optional, None))])
            outcome = compare(schema, ordinary(ORDINARY[name], [odd]), "content")
            # A text that is none is null, which only a struct refuses, in its own words.
            assert outcome.batches == (0 if name == "string" and not optional and odd != "7" else 1)


def test_what_is_nearer_to_zero_than_any_number() -> None:
    assert math.copysign(1, json.loads("-1e-400")) == -1
    texts: list[bytes | None] = [b'{"x":-1e-400}' if at % 2 else b'{"x":0.5}' for at in range(20)]
    assert compare(struct_of([("x", {"type": "double"})]), texts, "content").batches == 1


@pytest.mark.parametrize(
    ("text", "remembered"),
    [
        (b'{"schema": %b, "payload": {"a": 1}}', True),
        (b' {"schema":%b ,\n"payload" : {"a":1} } \n', True),
        (b'{ "payload": {"a": 1}, "schema": %b }', True),
        (b'{"payload":{"a":1,"schema":2},"schema":%b}', True),
        (b'{"schema":%b,"payload":{"a":1},"payload":{"a":2}}', False),
        (b'{"schema":{"type":"string"},"payload":{"a":1},"schema":%b}', False),
        (b'{"payload":{"a":1},"schema":{"type":"string"},"schema":%b}', False),
        (b'{"payload":{"a":2},"schema":%b,"payload":{"a":1}}', False),
    ],
)
def test_envelopes_are_known_by_what_is_around_their_payloads(text: bytes, remembered: bool) -> None:
    """A name that comes twice is the last one of them, and what is in between may be another thing in the next message."""
    schema = {**FIVE, "parameters": {"payload": "x", "schema": "y"}}
    texts = [text.replace(b"1", b"%d" % at) for at in range(20)]
    messages = [Message(("t", 0, at), each % text_of(schema)) for at, each in enumerate(texts)]
    made = converter(FIVE, "envelope", nulls=True)
    Outcome(made, messages[:1], together=False)
    quick, slow = (Outcome(made if way else converter(FIVE, "envelope", nulls=True), messages, way) for way in (True, False))
    assert (quick.values, quick.reasons, slow.reasons) == (slow.values, [], [])
    assert quick.batches == remembered


@pytest.mark.parametrize(
    ("bad", "batches"), [([], 1), ([77], 7), ([0, 399], 6), ([3, 50, 151, 160], 5), (list(range(0, 400, 9)), 0)]
)
def test_a_bad_message_throws_only_those_beside_it_off_the_columns(bad: list[int], batches: int) -> None:
    texts: list[bytes | None] = [b"{" if at in bad else text_of({**WHOLE, "a": at}) for at in range(400)]
    outcome = compare(FIVE, texts, "content")
    assert outcome.batches == batches
    assert [offset for offset, _, _ in outcome.reasons] == bad


def test_tombstones_cut_a_batch() -> None:
    texts: list[bytes | None] = [None if at in (100, 300) else text_of({**WHOLE, "a": at}) for at in range(400)]
    texts[120] = b"x"
    assert compare(FIVE, texts, "content").batches == 9


def test_where_cutting_is_in_vain_it_is_tried_ever_more_seldom() -> None:
    made, calls = converter(FIVE, "content", nulls=True), []
    texts: list[bytes | None] = [b"{" if at % 9 == 0 else text_of(WHOLE) for at in range(400)]
    read = made.to_connect_all
    made.to_connect_all = lambda topic, data: (calls.append(len(data)), read(topic, data))[1]  # type: ignore[method-assign]
    intake = Outcome(made, messages_of(FIVE, texts, "content"), together=True).intake
    for _ in range(30):
        intake(messages_of(FIVE, texts, "content"))
    # Each batch as a whole, and eight pieces of the first, the third, the seventh, the fifteenth and the thirty-first.
    assert (calls.count(400), calls.count(50)) == (31, 5 * 8)


MARKS = st.lists(
    st.tuples(st.sampled_from("ab"), st.none() | st.sampled_from([b"x", b"[1]", b"{}", b"7", b"\xff", b"2020-01-01"]))
)


@given(st.lists(st.none() | MARKS, min_size=10, max_size=14))
def test_headers_are_those_of_each_record(marks: list[Any]) -> None:
    messages = [Message(("t", 0, at), text_of(WHOLE), marks=each) for at, each in enumerate(marks)]
    slow = Outcome(converter(FIVE, "content", nulls=True), messages, together=False)
    for takes in (True, False):
        quick = Outcome(converter(FIVE, "content", nulls=True), messages, together=True, headers=takes)
        assert (quick.values, quick.headers) == (slow.values, slow.headers)
        assert quick.batches == (takes or not any(marks)), "a task that does not ask for such gets records"


def test_what_a_header_holds_is_not_shared() -> None:
    messages = [Message(("t", 0, at), text_of(WHOLE), marks=[("a", b"[1]"), ("b", b"x")]) for at in range(20)]
    chain = Outcome(converter(FIVE, "content", nulls=True), messages, together=True).chain
    batch = chain.at_once(messages)
    assert batch is not None
    lists = [next(iter(record.headers)).value for record in batch.records()]
    assert lists == [[1]] * 20
    assert len(set(map(id, lists))) == 20


class ByHeaders(JsonConverter):
    """A converter from elsewhere, to which a header says something."""

    def to_connect_data(self, topic: str, data: bytes | None, headers: Any = None) -> SchemaAndValue:
        return SchemaAndValue(None, len(list(headers or ())))


def test_what_others_make_of_a_message_may_depend_on_its_headers() -> None:
    made = ByHeaders()
    made.configure({"schemas.enable": "false"})
    messages = [Message(("t", 0, at), b"1", marks=[("a", b"x")] * (at % 2)) for at in range(20)]
    outcome = Outcome(made, messages, together=True, headers=True)
    assert (outcome.batches, [value for _, _, value in outcome.values]) == (0, ["int 0", "int 1"] * 10)


@pytest.mark.parametrize("way", ["pinned", "inferred"])
def test_what_is_pinned_or_inferred_takes_the_quick_way(way: str) -> None:
    kinds = [(name, with_options({"type": name}, True, None)) for name in ("int64", "double", "boolean", "string")]
    schema = struct_of(
        [*kinds, ("list", {"type": "array", "items": {"type": "int64", "optional": True}}), ("in", struct_of(kinds))]
    )
    row = {"int64": 1, "double": 1.5, "boolean": True, "string": "x"}
    texts: list[bytes | None] = [text_of({**row, "list": [1, 2, None], "in": {**row, "string": None}}) for _ in range(20)]
    assert compare(schema, texts, way).batches == 1


@given(
    SCHEMAS.flatmap(
        lambda schema: st.tuples(st.just(schema), st.lists(fitting(schema) | fitting(schema, odd=True), max_size=4))
    )
)
@settings(max_examples=examples(250))
def test_all_fit_a_pinned_schema_only_if_each_does(case: tuple[Json, list[Any]]) -> None:
    described, plains = case
    schema = json_schema.read(described, Readers(True))
    assert schema is not None
    each = True
    for plain in plains:
        try:
            pinned.require(schema, plain)
        except Misfit:
            each = False
    together = pinned.all_fit(schema, plains)
    event(f"together {together}, each {each}")
    assert each or not together
