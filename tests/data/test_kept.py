"""What is kept for schemas: `kconnect/data/kept.py`."""

from __future__ import annotations

from kconnect.data import schema
from kconnect.data.kept import Kept, weight_of
from kconnect.data.schema import INT32_SCHEMA, STRING_SCHEMA


def test_the_oldest_goes_when_there_are_too_many_or_they_are_too_heavy() -> None:
    kept: Kept[str, int] = Kept(3, heaviest=10)
    for number, name in enumerate("abcd"):
        kept.put(name, number, 1)
    assert [kept.get(name) for name in "abcd"] == [None, 1, 2, 3]
    kept.put("e", 4, 9)
    assert [kept.get(name) for name in "bcde"] == [None, None, 3, 4]
    kept.put("f", 5, 1000)
    assert [kept.get(name) for name in "def"] == [None, None, 5], "a single one may be as heavy as it is"
    kept.put("g", 6, 1)
    assert [kept.get(name) for name in "fg"] == [None, 6]


def test_nothing_is_kept_where_nothing_may_be() -> None:
    kept: Kept[str, int] = Kept(0)
    kept.put("a", 1, 1)
    assert "a" not in kept


def test_a_schema_weighs_as_many_fields_as_it_has_and_what_its_texts_do() -> None:
    inner = schema.struct({"a": INT32_SCHEMA, "b": STRING_SCHEMA})
    assert weight_of(INT32_SCHEMA) == 1
    assert weight_of(inner) == 3
    assert (
        weight_of(schema.struct({"x": schema.array(inner), "y": schema.mapping(STRING_SCHEMA, inner)})) == 1 + 1 + 3 + 1 + 1 + 3
    )
    assert weight_of(inner.replace(doc="x" * 2560)) == 13
    assert weight_of(STRING_SCHEMA.replace(default="x" * 2560)) == 11
    assert weight_of(None, inner) == 3
    deep = INT32_SCHEMA
    for _ in range(200):
        deep = schema.array(deep)
    assert weight_of(deep) == 201
