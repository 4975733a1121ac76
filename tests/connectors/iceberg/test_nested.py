"""The connectors' promise, for IcebergSink, and the nested half of schemas: what is new at any depth is added, or refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kconnect.api import INT32_SCHEMA, OPTIONAL_INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, Struct, schema
from kconnect.connectors.lake import columns

from .test_iceberg_sink import Lake, lake, put, record

__all__ = ["lake"]

EVOLVES = {"iceberg.tables.evolve-schema-enabled": "true"}
TOLERANT = {"errors.tolerance": "all"}
OLD = schema.struct({"x": OPTIONAL_INT32_SCHEMA}).replace(optional=True)
NEW = schema.struct({"x": OPTIONAL_INT32_SCHEMA, "y": OPTIONAL_STRING_SCHEMA, "must": STRING_SCHEMA}).replace(optional=True)
PLACES: dict[str, Any] = {
    "struct": (lambda own: own, lambda value: value),
    "struct in a struct": (
        lambda own: schema.struct({"in": own}).replace(optional=True),
        lambda value: {"in": value},
    ),
    "list": (lambda own: schema.array(own).replace(optional=True), lambda value: [value]),
    "map": (lambda own: schema.mapping(STRING_SCHEMA, own).replace(optional=True), lambda value: {"k": value}),
}


def structs(own: Schema, value: Any) -> Any:
    """The value with a Struct wherever its schema has one."""
    if isinstance(value, list):
        return [structs(own.value_schema, each) for each in value]  # type: ignore[arg-type]
    if isinstance(value, dict) and own.value_schema is not None:
        return {key: structs(own.value_schema, each) for key, each in value.items()}
    if isinstance(value, dict):
        return Struct(own, {name: structs(own.field(name).schema, each) for name, each in value.items()})  # type: ignore[union-attr]
    return value


@pytest.mark.parametrize("evolves", [True, False], ids=["evolves", ""])
@pytest.mark.parametrize(
    ("place", "with_schema"),
    # Without a schema a map is an object.
    [*((place, True) for place in PLACES), *((place, False) for place in PLACES if place != "map")],
)
def test_a_new_field_within_a_column(lake: Lake, place: str, evolves: bool, with_schema: bool) -> None:
    wrap, within = PLACES[place]
    first, second = within({"x": 1}), within({"x": 2, "y": "new", "must": "m"})

    def row(id: int, inner: Schema, value: Any) -> Any:
        if not with_schema:
            return record(id, {"id": id, "a": value})
        own = schema.struct({"id": INT32_SCHEMA, "a": wrap(inner)})
        return record(id, structs(own, {"id": id, "a": value}), own)

    with lake.sink(**TOLERANT, **(EVOLVES if evolves else {})) as runner:
        put(runner, row(1, OLD, first))
        put(runner, row(2, NEW, second))
        bad = [str(error) for _, error in runner.reported]
    rows = {each["id"]: each["a"] for each in lake.rows()}
    if isinstance(rows[1], list) and place == "map":
        rows = {id: dict(pairs) for id, pairs in rows.items()}
    if evolves:
        assert bad == []
        assert rows == {1: within({"x": 1, "y": None, "must": None}), 2: second}
    else:
        path = {"struct": "a", "struct in a struct": "a.in", "list": "a.element", "map": "a.value"}[place]
        assert rows == {1: first}
        assert len(bad) == 1
        assert f"{path}.y" in bad[0] and f"{path}.must" in bad[0]


@pytest.mark.parametrize("name", ["element", "key", "value", "x"])
def test_what_a_column_lacks(name: str) -> None:
    there = pa.schema([pa.field("a", pa.struct([pa.field("other", pa.int32())]))])
    wanted = pa.schema([pa.field("a", pa.struct([pa.field(name, pa.int32())])), pa.field("b", pa.list_(pa.int32()))])
    assert columns.lacking(there, wanted) == ["b", f"a.{name}"]
    assert columns.lacking(wanted, wanted) == []


def test_an_upsert_of_a_row_that_is_older_than_a_column(lake: Lake) -> None:
    upsert = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id", **EVOLVES}
    old = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
    new = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
    with lake.sink(**upsert) as sink:
        put(sink, record(0, Struct(old, {"id": 1, "name": "a"}), old), record(1, Struct(old, {"id": 2, "name": "b"}), old))
        changed, added = Struct(new, {"id": 1, "name": "c", "more": "m"}), Struct(new, {"id": 3, "name": "d"})
        put(sink, record(2, changed, new), record(3, added, new))
    rows = sorted(lake.rows(), key=lambda row: row["id"])
    assert [(row["id"], row["name"], row["more"]) for row in rows] == [(1, "c", "m"), (2, "b", None), (3, "d", None)]
