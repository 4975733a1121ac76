"""Columns of nested values are written as each value is alone, in JSON and Avro. What is wrong is left to be found alone."""

from __future__ import annotations

import datetime
import decimal
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.api.converter import Converter
from kconnect.api.record import SourceRecord
from kconnect.converters.json import JsonConverter
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.converters.string import StringConverter
from kconnect.core.task.chain import Converters, SourceChain
from kconnect.core.task.errors import strict
from kconnect.core.task.source_pump import SourceConversion
from kconnect.core.task.steps import Steps
from kconnect.data import schema as s
from kconnect.data.column import Column
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import DataError
from tests.converters.avro_calls import UTC, converter, scope
from tests.support import examples

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from('",:{}[]\\\0%'), max_size=6) | st.just("y" * 200)
BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
DATES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1), timezones=st.just(UTC))
OTHER = s.struct({"a": s.INT32_SCHEMA}, name="Other")


class Text(str):
    """No text of Connect's."""


class Texts(list[Any]):
    """One that orjson refuses."""


WRONG = [
    *(Text("x"), Texts("x")),
    *(
        None,
        True,
        1,
        -129,
        2**40,
        2**63,
        1.5,
        float("nan"),
        "x",
        "\ud800",
        b"\xff",
        [1],
        [None],
        {"a": 1},
        {1: "a"},
        object(),
    ),
    *(s.Int8(3), s.Int64(3), s.Float32(1), s.Float64(1), decimal.Decimal("1E+3"), decimal.Decimal("NaN")),
    *(datetime.datetime(2020, 1, 1, 1, 2, tzinfo=UTC), Struct(OTHER, {"a": 1})),
]
EXAMPLES = examples(100)
DAY = datetime.datetime(1970, 1, 1, tzinfo=UTC)
RIGHT = [1, 1.5, "a", True, b"a", *(decimal.Decimal((0, (1, 2), -scale)) for scale in (0, 2, -1)), DAY]
NAMES = {"json": ["a", "b%s", 'c"', "\u00e9"], "avro": ["a", "b", "c", "d"]}


PLAIN = [
    *(Schema(kind) for kind in SchemaType if kind.is_primitive),
    *(s.decimal_schema(0), s.decimal_schema(2), s.decimal_schema(-1), s.DATE_SCHEMA, s.TIME_SCHEMA, s.TIMESTAMP_SCHEMA),
]
DEFAULTS = [s.STRING_SCHEMA.replace(default="d"), s.INT32_SCHEMA.replace(default=7, optional=True)]
PRIMITIVES = [*PLAIN, *map(Schema.optional_copy, PLAIN), *DEFAULTS]
ALL = s.struct({f"f{place}": schema for place, schema in enumerate(PRIMITIVES)}, name="All")


def structs(parts: st.SearchStrategy[Schema], names: list[str], least: int = 0) -> st.SearchStrategy[Schema]:
    # By their names Avro tells structs apart.
    fields = st.lists(parts, min_size=least, max_size=4).map(lambda parts: dict(zip(names, parts)))
    return st.builds(lambda fields, id: s.struct(fields, name=f"S{id.hex}"), fields, st.uuids())


def schemas(form: str) -> st.SearchStrategy[Schema]:
    def larger(parts: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
        keys = st.sampled_from([s.STRING_SCHEMA, s.STRING_SCHEMA, s.OPTIONAL_STRING_SCHEMA, s.INT32_SCHEMA])
        nested = structs(parts, NAMES[form]) | parts.map(s.array) | st.builds(s.mapping, keys, parts)
        return nested | nested.map(Schema.optional_copy)

    return structs(st.recursive(st.sampled_from(PRIMITIVES), larger, max_leaves=6), NAMES[form], least=1)


def values_of(schema: Schema, odd: bool = False) -> st.SearchStrategy[Any]:
    """Values of a schema; if `odd`, each part may also be of a wrong class, or of another schema."""
    values = present_values(schema, odd)
    if schema.optional:
        values = st.none() | values
    return st.integers(0, 23).flatmap(lambda chance: st.sampled_from(WRONG) if chance == 11 else values) if odd else values


def present_values(schema: Schema, odd: bool) -> st.SearchStrategy[Any]:
    kind = schema.type
    if schema.name == s.DECIMAL:
        unscaled = st.integers(-(10**30), 10**30) | st.sampled_from([0, -1, 128, -128, 100])
        return unscaled.map(
            lambda number: decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -s.decimal_scale(schema)))
        )
    if schema.name == s.DATE:
        return DATES.map(lambda at: at.replace(hour=0, minute=0, second=0, microsecond=0))
    if schema.name == s.TIME:
        return DATES.map(lambda at: at.replace(1970, 1, 1))
    if schema.name == s.TIMESTAMP:
        return DATES
    if kind in BITS:
        whole = st.integers(-(1 << BITS[kind] - 1), (1 << BITS[kind] - 1) - 1) | st.integers(-3, 70)
        return whole | whole.map(s.EXACT[kind])
    if kind in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        numbers = st.floats(width=32 if kind is SchemaType.FLOAT32 else 64)
        return numbers | st.sampled_from([0.0, -0.0, 1.5, 1e7, 1e-3]) | numbers.map(s.EXACT[kind])
    if kind is SchemaType.BOOLEAN:
        return st.booleans()
    if kind is SchemaType.STRING:
        return TEXTS
    if kind is SchemaType.BYTES:
        data = st.binary(max_size=5)
        return data | data.map(bytearray) | data.map(lambda data: memoryview(data))
    if kind is SchemaType.ARRAY:
        items = st.lists(values_of(part(schema.value_schema), odd), max_size=3)
        return items | items.map(tuple)
    if kind is SchemaType.MAP:
        keys = TEXTS if part(schema.key_schema).type is SchemaType.STRING else st.integers(-5, 500)
        return st.dictionaries(keys, values_of(part(schema.value_schema), odd), max_size=3)
    fields = [values_of(field.schema, odd) for field in schema.fields]
    # Sources may make an equal schema for each record.
    same = st.sampled_from([schema, schema, schema.replace()])
    return st.builds(lambda schema, values: Struct.unchecked(schema, list(values)), same, st.tuples(*fields))


def part(schema: Schema | None) -> Schema:
    assert schema is not None
    return schema


def batches(form: str, odd: bool = False) -> st.SearchStrategy[tuple[Schema, list[Any]]]:
    return schemas(form).flatmap(
        lambda schema: st.tuples(st.just(schema), st.lists(values_of(schema, odd), min_size=1, max_size=5))
    )


def json_converter(**config: str) -> Converter:
    made = JsonConverter()
    made.configure({name.replace("_", "."): value for name, value in config.items()})
    return made


MAKERS: dict[str, Callable[[], Converter]] = {
    "json": json_converter,
    "json without schemas": lambda: json_converter(schemas_enable="false"),
    "json, numeric": lambda: json_converter(decimal_format="numeric", replace_null_with_default="false"),
    "avro": converter,
    "avro, ignoring defaults": lambda: converter(ignore_default_for_nullables="true", connect_meta_data="false"),
    "avro, enhanced": lambda: converter(enhanced_avro_schema_support="true"),
}


def in_struct(kind: Schema) -> tuple[Schema, Callable[[Any], Any]]:
    inner = s.struct({"x": kind}, name="inner")
    schema = s.struct({"inner": inner}, name="outer")
    return schema, lambda value: Struct.unchecked(schema, [Struct.unchecked(inner, [value])])


def in_array(kind: Schema) -> tuple[Schema, Callable[[Any], Any]]:
    schema = s.struct({"all": s.array(kind)}, name="outer")
    return schema, lambda value: Struct.unchecked(schema, [[value]])


def in_map(kind: Schema) -> tuple[Schema, Callable[[Any], Any]]:
    schema = s.struct({"all": s.mapping(s.STRING_SCHEMA, kind)}, name="outer")
    return schema, lambda value: Struct.unchecked(schema, [{"key": value}])


def as_key(kind: Schema) -> tuple[Schema, Callable[[Any], Any]]:
    schema = s.struct({"all": s.mapping(kind, s.STRING_SCHEMA)}, name="outer")

    def within(value: Any) -> Any:
        try:
            return Struct.unchecked(schema, [{value: "item"}])
        except TypeError:
            return Struct.unchecked(schema, [value])

    return schema, within


WITHIN = {"a struct": in_struct, "an array": in_array, "a map": in_map, "a key": as_key}


def by_field(schema: Schema, values: Sequence[Any]) -> Sequence[Any]:
    """The same with structs held by field, at any depth."""
    if (
        schema.type is not SchemaType.STRUCT
        or not schema.fields
        or not values
        or not all(isinstance(value, Struct) for value in values)
    ):
        return values
    columns = zip(*[value.values for value in values])
    parts = [by_field(field.schema, column) for field, column in zip(schema.fields, columns)]
    return Column.by_field(schema, [field.name for field in schema.fields], parts, len(values))


def written(made: Converter, schema: Schema | None, values: Sequence[Any]) -> list[bytes | None] | None:
    """What the chain gets: None after any error."""
    column = values if isinstance(values, Column) else Column(schema, values)
    try:
        found = made.from_connect_all("t", column)
    except Exception:  # noqa: BLE001 - as the chain has it
        return None
    return None if found is None else list(found)


def alone(made: Converter, schema: Schema | None, value: Any) -> Any:
    try:
        return made.from_connect_data("t", schema, value)
    except Exception as error:  # noqa: BLE001 - what it is shows in the comparison
        return error


@pytest.mark.parametrize("name", MAKERS)
def test_values_of_any_schema_are_written_together_as_each_is_alone(name: str) -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES)
    @given(batches(name[:4]))
    def check(batch: tuple[Schema, list[Any]]) -> None:
        schema, values = batch
        made = MAKERS[name]()
        expected = [alone(made, schema, value) for value in values]
        for column in (values, by_field(schema, values)):
            found = written(made, schema, column)
            if [data for data in expected if isinstance(data, Exception)]:
                assert found is None
            else:
                assert found == expected
                counts["nested"] += len(values) > 1 and schema.depth > 2

    check()
    assert counts["nested"] > 12, counts


@pytest.mark.parametrize("name", MAKERS)
def test_values_of_all_primitive_types_are_written_together_as_each_is_alone(name: str) -> None:
    counts: Counter[str] = Counter()
    made = MAKERS[name]()

    @settings(max_examples=EXAMPLES)
    @given(st.lists(values_of(ALL), min_size=2, max_size=4))
    def check(values: list[Any]) -> None:
        expected = [alone(made, ALL, value) for value in values]
        assert written(made, ALL, values) == expected
        counts["different"] += len(set(expected)) > 1

    check()
    assert counts["different"] > 18, counts


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("place", WITHIN)
def test_one_wrong_value_is_not_written_together(name: str, place: str) -> None:
    counts: Counter[str] = Counter()
    for kind in PRIMITIVES:
        schema, within = WITHIN[place](kind)
        made = MAKERS[name]()
        right = next(value for value in RIGHT if not isinstance(alone(made, schema, within(value)), Exception))
        for value in WRONG:
            values = [within(right), within(value), within(right)]
            expected = [alone(made, schema, value) for value in values]
            found = written(made, schema, values)
            if isinstance(expected[1], Exception):
                assert found is None
                counts["errors"] += 1
            else:
                assert found is None or found == expected
                counts["written"] += found is not None
    assert counts["errors"] > 500, counts
    assert counts["written"] > 50, counts


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_wrong_at_any_depth_is_not_written_together(name: str) -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES)
    @given(batches(name[:4], odd=True))
    def check(batch: tuple[Schema, list[Any]]) -> None:
        schema, values = batch
        made = MAKERS[name]()
        expected = [alone(made, schema, value) for value in values]
        found = written(made, schema, values)
        if [data for data in expected if isinstance(data, Exception)]:
            assert found is None
            counts["errors"] += 1
        else:
            assert found is None or found == expected
            counts["written"] += found is not None

    check()
    assert counts["errors"] > 5, counts
    assert counts["written"] > 8, counts


def test_struct_of_columns_needs_no_structs() -> None:
    inner = s.struct({"x": s.INT64_SCHEMA, "y": s.STRING_SCHEMA}, name="inner")
    schema = s.struct({"inner": inner, "n": s.INT32_SCHEMA}, name="outer")
    for made in (json_converter(), converter()):
        values = [Struct(schema, {"inner": Struct(inner, {"x": n, "y": "y"}), "n": 1}) for n in range(3)]
        expected = [made.from_connect_data("t", schema, value) for value in values]
        nested = Column.by_field(inner, ["x", "y"], [[0, 1, 2], ["y"] * 3], 3)
        column = Column.by_field(schema, ["inner", "n"], [nested, [1] * 3], 3)
        assert made.from_connect_all("t", column) == expected
        assert nested.as_field() is nested
        assert column.as_field() is column


@pytest.mark.parametrize("values", [[1, "x"], [1, None], ["wrong", "x"]])
def test_one_object_in_all_rows_is_written_as_if_each_had_its_own(values: list[Any]) -> None:
    inner = s.struct({"a": s.INT32_SCHEMA, "b": s.OPTIONAL_STRING_SCHEMA})
    outer = s.struct({"id": s.INT32_SCHEMA, "source": inner})
    shared = Struct.unchecked(inner, values)
    rows = [Struct.unchecked(outer, [number, shared]) for number in range(20)]
    made = json_converter()
    if values[0] == "wrong":
        with pytest.raises(DataError):
            made.from_connect_all("t", Column(outer, rows))
    else:
        assert made.from_connect_all("t", Column(outer, rows)) == [made.from_connect_data("t", outer, row) for row in rows]


def test_column_of_another_schema_is_wrong() -> None:
    schema = s.struct({"inner": s.struct({"x": s.INT64_SCHEMA}, name="inner")}, name="outer")
    lists = s.struct({"inner": s.array(s.STRING_SCHEMA)}, name="outer")
    for made in (json_converter(), converter()):
        for outer, other in ((schema, OTHER), (schema, None), (lists, None), (lists, OTHER)):
            nested = Column.by_field(other, ["a"], [[1, 2]], 2)
            column = Column.by_field(outer, ["inner"], [nested], 2)
            alone(made, outer, Struct.unchecked(outer, [None]))
            assert written(made, outer, column) is None


def test_maps_within_maps_are_written_together() -> None:
    for made in (json_converter(), json_converter(schemas_enable="false")):
        nested = Column.by_field(None, ["x"], [[1, 2]], 2)
        column = Column.by_field(None, ["a", "b"], [nested, [{"y": 1}, {"z": [None]}]], 2)
        assert written(made, None, column) == [
            made.from_connect_data("t", None, value)
            for value in ({"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 2}, "b": {"z": [None]}})
        ]


def test_no_values_have_no_bytes() -> None:
    inner = s.struct({"x": s.INT64_SCHEMA}, name="inner")
    schema = s.struct({"inner": inner, "all": s.array(inner)}, name="outer")
    for made in (json_converter(), json_converter(schemas_enable="false"), converter()):
        alone(made, schema, Struct(schema))
        assert written(made, schema, []) == []
        assert written(made, None, []) in ([], None)


def test_record_that_is_wrong_deep_within_it_fails_as_it_does_alone() -> None:
    inner = s.struct({"x": s.INT64_SCHEMA}, name="inner")
    schema = s.struct({"all": s.array(inner)}, name="outer")

    def record(x: Any) -> SourceRecord:
        items = [Struct.unchecked(inner, [1]), Struct.unchecked(inner, [x])]
        return SourceRecord(None, None, "t", value_schema=schema, value=Struct.unchecked(schema, [items]))

    for make in (json_converter, converter):
        records = [record("wrong" if n == 7 else n) for n in range(20)]
        converters = Converters(StringConverter(), make(), lambda: None)  # type: ignore[arg-type, return-value]
        done = SourceConversion(SourceChain(converters), Steps([]), strict())(records)
        expected = [make().from_connect_data("t", schema, record(n).value) for n in range(7)]
        assert [message[1] for message in done.messages] == expected
        assert done.failure is not None
        assert str(alone(make(), schema, records[7].value)) in str(done.failure.__cause__)


AVRO_TARGETS: dict[str, tuple[Schema, Any, list[Any]]] = {
    "promoted": (s.INT32_SCHEMA, "double", [1, 2]),
    "one of several": (s.INT64_SCHEMA, ["null", "string", "long"], [1, 300]),
    "null behind": (s.OPTIONAL_STRING_SCHEMA, ["string", "null"], ["a", None]),
    "union of one": (s.STRING_SCHEMA, ["string"], ["a", "b"]),
    "always there": (s.STRING_SCHEMA, ["null", "bytes"], ["a", "b"]),
    "enum": (s.STRING_SCHEMA, {"type": "enum", "name": "e", "symbols": ["a", "b"]}, ["b", "a", "b"]),
    "fixed": (
        s.decimal_schema(1),
        {"type": "fixed", "name": "f", "size": 3},
        [decimal.Decimal("0.1"), decimal.Decimal("-9.9")],
    ),
    "text of bytes": (s.BYTES_SCHEMA, "string", [b"a", bytearray(b"b")]),
    "float": (s.FLOAT32_SCHEMA, "float", [0.1, float("inf")]),
}


@pytest.mark.parametrize("name", AVRO_TARGETS)
def test_values_are_written_as_the_newest_type_together(name: str) -> None:
    kind, target, values = AVRO_TARGETS[name]
    registry = scope()
    added = {"name": "added", "type": ["null", {"type": "array", "items": "int"}], "default": None}
    listed = {"name": "list", "type": {"type": "array", "items": "string"}, "default": ["x"]}
    fields = [added, {"name": "value", "type": target}, listed]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    MemoryRegistry.of(registry).register("t-value", text)
    settings = {"use_latest_version": "true", "auto_register_schemas": "false", "latest_compatibility_strict": "false"}
    made = converter(registry=registry, **settings)
    schema = s.struct({"value": kind}, name="r")
    rows = [Struct(schema, {"value": value}) for value in values]
    expected = [made.from_connect_data("t", schema, row) for row in rows]
    assert written(made, schema, rows) == expected


def test_nothing_is_registered_for_a_column() -> None:
    made = converter()
    assert made.from_connect_all("t", Column(s.STRING_SCHEMA, ["a"] * 2)) is None
