"""JSON without schemas, read with inferred ones: what is inferred, how it grows, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from kconnect.converters import inference
from kconnect.converters.inference import NOTHING, Misfit
from kconnect.converters.json import JsonConverter
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import ConfigError, DataError


def _converter(**more: str) -> JsonConverter:
    made = JsonConverter()
    settings = {name.replace("_", "."): text for name, text in more.items()}
    made.configure({"schemas.enable": "false", "schemas.infer": "true", **settings})
    return made


def _texts(*values: Any) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


def _read(converter: JsonConverter, *values: Any) -> list[Any]:
    """Read a batch as a task does. Return values in plain Python, and errors as texts."""
    return _read_texts(converter, _texts(*values))


def _read_texts(converter: JsonConverter, texts: list[bytes]) -> list[Any]:
    assert converter.inferring is not None
    converter.inferring.learn("t", texts)
    found: list[Any] = []
    for text in texts:
        try:
            found.append(_plain(converter.to_connect_data("t", text).value))
        except DataError as error:
            found.append(str(error))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {field.name: _plain(value[field.name]) for field in value.schema.fields}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _said(schema: Schema | None) -> Any:
    """A schema in short."""
    if schema is None:
        return None
    if schema.type is SchemaType.STRUCT:
        return {field.name: _said(field.schema) for field in schema.fields}
    return [_said(schema.value_schema)] if schema.type is SchemaType.ARRAY else schema.type.value.lower()


def _schema(converter: JsonConverter, topic: str = "t") -> Any:
    assert converter.inferring is not None
    return _said(converter.inferring.subject(topic).schema)


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([{"a": 1, "b": "x", "c": True, "d": 1.5}], {"a": "int64", "b": "string", "c": "boolean", "d": "float64"}),
        ([{"a": 1}, {"a": 1.5}, {"b": None, "a": 2}], {"a": "float64"}),
        ([{"a": None, "b": {}}, {"a": []}, {"b": None}], {}),
        ([{"a": []}, {"a": {}}], {"a": "string"}),
        ([{"a": [1, 2.5]}, {"a": []}], {"a": ["float64"]}),
        ([{"a": [{"b": 1}, {"c": "x"}, None]}], {"a": [{"b": "int64", "c": "string"}]}),
        ([{"a": {"b": {"c": 1}}}, {"a": {"b": {"d": False}}}], {"a": {"b": {"c": "int64", "d": "boolean"}}}),
        ([{"a": 1}, {"a": "x"}, {"a": {"b": 1}}, {"a": [1]}], {"a": "string"}),
        ([{"a": 2**63}, {"b": 2**53 + 1}], {"a": "string", "b": "int64"}),
        ([{"a": 2**53 + 1}, {"a": 0.5}], {"a": "string"}),
        ([{"a": "2026-01-31"}, {"a": "10"}], {"a": "string"}),
        ([{"b": 1}, {"a": 1}, {"": 2}], {"b": "int64", "a": "int64"}),
        ([1, 2.5], "float64"),
        (["x", 1], "string"),
        ([[1], [2]], ["int64"]),
        ([None, None], None),
        ([{}], {}),
    ],
    ids=lambda value: str(value).replace(" ", "")[:60],
)
def test_what_is_inferred_of_a_first_batch(values: list[Any], schema: Any) -> None:
    converter = _converter()
    _read(converter, *values)
    assert _schema(converter) == schema
    if isinstance(schema, dict):
        # The order of fields is that in which they came.
        assert list(_schema(converter)) == list(schema)


def test_values_are_told_as_they_are() -> None:
    values = [{"a": 1, "b": [1, "x", None, {"c": 0.5}]}, {"a": "é", "b": None}, {"a": 2**70, "b": []}]
    assert _read(_converter(), *values) == [
        {"a": "1", "b": ["1", "x", None, '{"c":0.5}']},
        {"a": "é", "b": None},
        {"a": str(2**70), "b": []},
    ]


def test_a_schema_grows_and_has_versions() -> None:
    converter = _converter()
    assert converter.inferring is not None
    versions = []
    for value in ({"a": 1}, {"a": None}, {"a": 2, "b": {"c": "x"}}, {"a": 0.5}, {"b": {"d": [True]}}, {"a": 3}):
        _read(converter, value)
        found = converter.to_connect_data("t", _texts(value)[0]).schema
        versions.append(None if found is None else found.version)
    assert versions == [1, 1, 2, 3, 4, 4]
    assert _schema(converter) == {"a": "float64", "b": {"c": "string", "d": ["boolean"]}}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": "x"}, "the field 'a' is of the type text, but the schema that was inferred has integer there"),
        (
            {"a": 2**70},
            "the field 'a' is a number that no type of Connect's has exactly, but the schema that was inferred has",
        ),
        ({"b": 1}, "the field 'b' is of the type integer, but the schema that was inferred has text there"),
        ({"c": {"d": [True]}}, "the field 'c.d[]' is of the type boolean, but the schema that was inferred has integer there"),
        ({"c": [1]}, "the field 'c' is of the type array"),
        ({"e": 0.5}, "the field 'e' has whole numbers beyond 2^53 and fractions"),
        ([1], "it is of the type array, but others of its topic are of the type object"),
        ("x", "it is of the type text, but others of its topic are of the type object"),
    ],
    ids=str,
)
def test_what_is_settled_is_not_changed_by_a_record(value: Any, why: str) -> None:
    converter = _converter()
    settled = {"a": 1, "b": "x", "c": {"d": [1]}, "e": 2**60}
    _read(converter, settled)
    before = _schema(converter)
    first, bad, last = _read(converter, settled, value, {"f": 1})
    assert first == {**settled, "f": None}
    assert why in bad
    assert last["f"] == 1
    assert _schema(converter) == {**before, "f": "int64"}


def test_new_fields_of_one_batch_are_looked_at_together() -> None:
    converter = _converter()
    _read(converter, {"a": 1})
    assert _read(converter, {"b": 1}, {"b": "x"}) == [{"a": None, "b": "1"}, {"a": None, "b": "x"}]


def test_values_that_orjson_does_not_write_are_texts_all_the_same() -> None:
    converter = _converter()
    values = [{"a": "x"}, {"a": [10**30]}, {"a": {"b": "\ud800"}}]
    assert [each["a"] for each in _read(converter, *values)] == ["x", f"[{10**30}]", '{"b":"\\ud800"}']


def test_no_record_adds_fields_without_an_end() -> None:
    converter = _converter(schemas_infer_max_fields="3")
    first, bad, last = _read(converter, {"a": {"b": 1}}, {"c": 1, "d": 2}, {"c": 1})
    assert (first, last) == ({"a": {"b": 1}, "c": None}, {"a": None, "c": 1})
    assert "would have 4 fields, more than schemas.infer.max.fields=3" in bad
    many = {f"f{number}": number for number in range(100_000)}
    for bad_one in (many, [{name: 1} for name in many], {"a": [[{name: 1} for name in many]]}):
        (bad,) = _read(_converter(), bad_one)
        assert "an inferred schema may have 500 fields" in bad
    (bad,) = _read(_converter(), {"a" * 257: 1})
    assert "a field whose name has 257 characters: 1 to 256" in bad
    # In one message, which a broker takes.
    long = {f"{number:03}" + "\U0001f600" * 240: 1 for number in range(100)}
    (bad,) = _read(_converter(), long)
    assert "bytes, of which 64000 may be for schemas.infer.max.fields=500" in bad
    assert isinstance(_read(_converter(schemas_infer_max_fields="900"), long)[0], dict)
    # Control characters have six bytes each in that message.
    converter = _converter(schemas_infer_max_fields="5000")
    (bad,) = _read(converter, {"\1" * 250 + f"{number:06}": 1 for number in range(1000)})
    assert "bytes, of which 640000 may be" in bad
    _read(converter, {"\1" * 250 + f"{number:06}": [[{"a": number}]] for number in range(390)})
    assert converter.inferring is not None
    assert 600_000 < len(json.dumps(inference.to_plain(converter.inferring.subject("t").shape))) < 1_000_000
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    (bad,) = _read(_converter(), {"a": deep})
    assert "deeper than 32" in bad


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"])
def test_half_a_pair_of_surrogates_is_no_name(encoding: str) -> None:
    """In UTF-8 it is no JSON at all; in these it was, and no schema with it could be written down: the task failed for good."""
    good, *bad = _read_texts(_converter(), [text.encode(encoding) for text in ('{"a":1}', '{"\\ud800":1}', '[{"\\udfff":1}]')])
    assert good == {"a": 1}
    assert all("half a pair of surrogates" in each for each in bad)


def test_topics_have_their_own_and_batches_are_columns() -> None:
    converter = _converter()
    column = converter.to_connect_all("t", _texts({"a": 1}, {"a": 2, "b": "x"}))
    assert column is not None
    assert [_plain(value) for value in column.values] == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    # The same text, in another topic.
    _read(converter, {"a": 1})
    other = converter.to_connect_all("u", _texts({"a": 1}))
    assert other is not None
    assert _said(other.schema) == {"a": "int64"}
    assert converter.to_connect_all("t", _texts({"a": 1}, "x")) is None


def test_no_value_is_a_tombstone_and_no_json_is_refused() -> None:
    converter = _converter()
    assert converter.to_connect_data("t", None) == (None, None)
    assert converter.to_connect_data("t", b"null") == (None, None)
    assert converter.to_connect_data("t", b"  ") == (None, None)
    with pytest.raises(DataError, match="serialization error"):
        converter.to_connect_data("t", b'{"a":')


PINNED = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int32", "optional": False},
            {"field": "price", "type": "double", "optional": True},
            {"field": "tags", "type": "array", "items": {"type": "string", "optional": True}, "optional": True},
            {
                "field": "of",
                "type": "struct",
                "fields": [{"field": "x", "type": "boolean", "optional": True}],
                "optional": True,
            },
        ],
    }
)


def test_an_empty_list_is_no_tombstone() -> None:
    converter = _converter()
    found = _read(converter, [], [None], None)
    assert found[2] is None
    assert all("of which nobody knows yet what is in it" in text for text in found[:2])
    assert _read(converter, [1], [], [None]) == [[1], [], [None]]


def test_what_does_not_fit_a_pinned_schema_is_refused() -> None:
    converter = _converter(schema_content=PINNED)
    good = {"id": 1, "price": 2, "tags": ["a", None], "of": {"x": True}}
    assert _read(converter, good, {"id": 2}) == [good, {"id": 2, "price": None, "tags": None, "of": None}]
    bad = [
        ({"price": 1.5}, "the field 'id' is null or missing, and the pinned schema requires it"),
        ({"id": 2**31}, "the field 'id' is of the type int, and the pinned schema has INT32 there"),
        ({"id": "1"}, "the field 'id' is of the type str"),
        ({"id": 1, "price": "2"}, "the field 'price' is of the type str"),
        ({"id": 1, "price": 2**53 + 1}, "the field 'price' is of the type int"),
        ({"id": 1, "tags": [1]}, "the field 'tags[]' is of the type int"),
        ({"id": 1, "other": 1}, "the field 'other' is not in the pinned schema"),
        ({"id": 1, "of": {"y": 1}}, "the field 'of.y' is not in the pinned schema"),
        ({"id": 1, "of": []}, "the field 'of' is of the type list"),
        ([], "it is of the type list"),
    ]
    for value, why in bad:
        (said,) = _read(converter, value)
        assert why in said, value


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "int64", "name": "com.acme.Id"}, [7], ["abc", 1.5, True, [], {}, 2**63]),
        ({"type": "boolean", "name": "com.acme.Is"}, [True], ["true", 1]),
        ({"type": "string", "name": "com.acme.Text"}, ["a"], [1, {}]),
        ({"type": "bytes"}, ["QUI="], [7, "QUI", []]),
        ({"type": "float"}, [0.1, 1.5, 3, 3.4028235e38], [1e300, 16777217.5, 0.1000000001, 2**24 + 1]),
        ({"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"}, [7], [2**70, 1.5, "7"]),
        (
            {"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}},
            [[[1, 2]]],
            [[[1, "x"]], [[1, 2], [1, 3]], [1], {}],
        ),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, [{"a": 1}], [{"a": "x"}, [["a", 1]]]),
    ],
)
def test_no_value_becomes_another_one_in_a_pinned_schema(schema: Any, good: list[Any], bad: list[Any]) -> None:
    fields = [{"field": "v", "optional": True, **schema}]
    converter = _converter(schema_content=json.dumps({"type": "struct", "fields": fields}))
    assert not [found for found in _read(converter, *({"v": value} for value in good)) if isinstance(found, str)]
    assert [type(found) for found in _read(converter, *({"v": value} for value in bad))] == [str] * len(bad)


def test_decimals_of_a_pinned_schema_are_read_digit_by_digit() -> None:
    decimal = {"field": "v", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    other = {"field": "x", "type": "double", "optional": True}
    converter = _converter(schema_content=json.dumps({"type": "struct", "fields": [decimal, other]}))
    texts = [b'{"v":12345678901234567.89,"x":0.5}', b'{"v":1.500}', b'{"v":7}', b'{"v":1.005}', b'{"v":"1.50"}']
    found = [value if isinstance(value, str) else str(value["v"]) for value in _read_texts(converter, texts)]
    assert found[:3] == ["12345678901234567.89", "1.500", "7"]
    assert "does not hold exactly" in found[3] and "Decimal" in found[4]


def test_no_fraction_is_rounded() -> None:
    """A writer of floating point numbers writes at most 17 digits; amounts of money have more now and then."""
    long, other = b"12345678901234567.89", b'{"a":[1.000000000000000000001,{"b":null}]}'
    first = _converter()
    assert first.inferring is not None
    found = _read_texts(first, [b'{"x":0.30000000000000004,"y":%b}' % long, b'{"x":0.1000000000000000000,"y":1}', other])
    assert found[:2] == [
        {"a": None, "x": 0.30000000000000004, "y": long.decode()},
        {"a": None, "x": 0.1, "y": "1"},
    ]
    assert _schema(first) == {"x": "float64", "y": "string", "a": ["string"]}
    assert found[2]["a"] == ["1.000000000000000000001", '{"b":null}']
    settled = _converter()
    assert _read_texts(settled, [b'{"x":0.5}']) == [{"x": 0.5}]
    (said,) = _read_texts(settled, [b'{"x":%b}' % long])
    assert "a number that no type of Connect's has exactly" in said
    schema = {"type": "struct", "fields": [{"field": "x", "type": "double"}]}
    (said,) = _read_texts(_converter(schema_content=json.dumps(schema)), [b'{"x":%b}' % long])
    assert "does not hold exactly" in said


def test_messages_with_schemas_need_none() -> None:
    with pytest.raises(ConfigError, match=r"schemas\.enable.*must be false"):
        JsonConverter().configure({"schemas.infer": "true"})


_VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-(2**66), 2**66)
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(max_size=3),
    lambda some: (
        strategies.lists(some, max_size=3) | strategies.dictionaries(strategies.sampled_from("abcd"), some, max_size=3)
    ),
    max_leaves=8,
)


@hypothesis.given(strategies.lists(strategies.dictionaries(strategies.sampled_from("abcd"), _VALUES, max_size=4), max_size=6))
def test_whatever_comes_is_delivered_as_it_is_or_refused(values: list[Any]) -> None:
    converter = _converter()
    for batch in (values[:3], values[3:], values):
        for value, found in zip(batch, _read(converter, *batch)):
            if not isinstance(found, str):
                assert _is_same(value, found), (value, found)
    assert converter.inferring is not None
    shape = converter.inferring.subject("t").shape
    assert inference.of_plain(json.loads(json.dumps(inference.to_plain(shape)))) == shape


def _is_same(value: Any, found: Any) -> bool:
    """Whether nothing is lost but what has no column yet, and texts stand for other values only."""
    if isinstance(value, dict) and isinstance(found, dict):
        return all(_is_empty(each) or _is_same(each, found.get(name)) for name, each in value.items())
    if isinstance(value, list) and isinstance(found, list):
        return len(value) == len(found) and all(map(_is_same, value, found))
    if isinstance(found, str) and not isinstance(value, str):
        return bool(json.loads(found) == value)
    return bool(value == found) or (found is None and _is_empty(value))


def _is_empty(value: Any) -> bool:
    """Whether nothing in it has a type."""
    if isinstance(value, dict | list):
        return all(map(_is_empty, value.values() if isinstance(value, dict) else value))
    return value is None


def test_shapes_that_were_kept_are_looked_at() -> None:
    for plain in ({"fields": 1}, {"element": "x"}, {}, 7, "other", {"fields": [["a"]]}):
        with pytest.raises(DataError, match="no inferred schema"):
            inference.of_plain(plain)
    with pytest.raises(Misfit):
        inference.grown(inference.shape_of(1), inference.shape_of("x"), inference.shape_of(1))
    assert inference.grown(NOTHING, inference.shape_of(1)) == inference.shape_of(1)


@hypothesis.given(_VALUES, strategies.lists(_VALUES, max_size=5))
def test_values_fit_together_if_each_fits(first: Any, values: list[Any]) -> None:
    shape = inference.shape_of(first)
    for some in (values, [first, *values], [first, None, first]):
        assert inference.fit_together(shape, some) is all(inference.fits(shape, each) for each in some)
