"""Lines of many values are the documents that each value has alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.api import Column, DataError, Schema, Struct, schema
from kconnect.connectors import documents

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from('\0",:{}[]\\'), max_size=5)
ROW = schema.struct(
    {"text": schema.OPTIONAL_STRING_SCHEMA, "list": schema.array(schema.STRING_SCHEMA), "number": schema.OPTIONAL_INT64_SCHEMA}
)
ROWS = st.lists(
    st.tuples(st.none() | TEXTS, st.lists(TEXTS, max_size=2), st.none() | st.integers(-(2**63), 2**63 - 1)), max_size=5
)


def column(own: Schema, rows: list[Any]) -> Column:
    return Column(own, [Struct.unchecked(own, list(row)) for row in rows])


@given(ROWS)
def test_lines_are_documents(rows: list[Any]) -> None:
    made = column(ROW, rows)
    assert documents.to_lines(made) == [documents.to_json(value, ROW) for value in made.values]


def test_structs_without_fields_are_documents_too() -> None:
    assert documents.to_lines(column(schema.struct({}), [(), ()])) == [b"{}", b"{}"]


def test_rows_may_be_as_deep_as_documents() -> None:
    outcomes = []
    for depth in range(240, 260):
        # Elements without a schema are as deep as they like.
        own, value = schema.struct({"x": Schema(schema.SchemaType.ARRAY)}), _within(depth)
        try:
            document = documents.to_json(Struct.unchecked(own, [value]), own)
        except DataError:
            with pytest.raises(DataError):
                documents.to_lines(column(own, [(value,)]))
        else:
            assert documents.to_lines(column(own, [(value,)])) == [document]
            outcomes.append(depth)
    assert 0 < len(outcomes) < 20


def _within(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value
