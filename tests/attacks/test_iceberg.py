"""Attacks on the Iceberg sink by who may write one record to a data topic, or a file into the folder of a table."""

from __future__ import annotations

import bz2
import decimal
import gzip
import io
import math
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hypothesis
import orjson
import pyarrow as pa
import pytest
from hypothesis import strategies
from pyiceberg import serializers
from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    DateType,
    DecimalType,
    FixedType,
    ListType,
    LongType,
    NestedField,
    StructType,
    TimestampType,
    TimestamptzType,
)

from kconnect.api import (
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Column,
    ConfigError,
    ConnectError,
    DataError,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors import patterns
from kconnect.connectors.iceberg import answers, catalogs, files, settings, staging
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.iceberg.decoder import Decoder, check_elements
from kconnect.connectors.lake import pending, rows
from kconnect.connectors.lake.stages import Stage
from kconnect.testing import SinkRunner
from tests.attacks.hostile import Hostile, Reply, bomb, given

ROW = schema.struct({"id": INT32_SCHEMA, "to": OPTIONAL_STRING_SCHEMA})

ROW_OF_TABLE = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("to", pa.string())])


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "lake").mkdir()
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}


@pytest.fixture
def catalog(place: dict[str, str]) -> Catalog:
    return load_catalog("iceberg", **place)


def sink(place: dict[str, str], **more: str) -> SinkRunner:
    config = {
        "name": "lake",
        "topics": "t",
        **{f"iceberg.catalog.{name}": value for name, value in place.items()},
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.commit.interval-ms": "0",
        "errors.tolerance": "all",
        "max.retries": "0",
    }
    return SinkRunner(IcebergSinkConnector, {**config, **{name.replace("__", "."): value for name, value in more.items()}})


def record(offset: int, value: Any, own: Schema | None = None) -> SinkRecord:
    return SinkRecord("t", 0, None, None, own, value, offset)


@pytest.mark.parametrize(
    "value",
    [
        {"v": [{f"a{each}": 1} for each in range(40_000)]},
        {"v": [[{f"a{each}": {"b": 1}}] for each in range(20_000)]},
        {"v": {"w": [{f"a{each}": 1} for each in range(40_000)]}},
    ],
    ids=["list", "lists", "object"],
)
def test_names_in_a_list_are_no_columns_for_all_of_it(place: dict[str, str], catalog: Catalog, value: Any) -> None:
    """Who may write to the topic gives each object of a list another name: of half a megabyte Arrow made 13 GB."""
    with sink(place) as runner:
        runner.put([record(0, {"id": 0}), record(1, value), record(2, {"id": 2, "v": [{"a": 1}, {"b": 2}]})])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
        assert "so many different names" in str(runner.reported[0][1])
    assert sorted(catalog.load_table("shop.orders").scan().to_arrow().column("id").to_pylist()) == [0, 2]


def test_long_values_are_committed_sooner(place: dict[str, str], catalog: Catalog) -> None:
    """Who may write to the topic sends values of a megabyte: half a million rows of them had room until the next commit."""
    with sink(place, **{"iceberg.control.commit.interval-ms": "3600000", "commit.max.bytes": "4000000"}) as runner:
        for at in range(8):
            runner.put([record(at, {"id": at, "note": "x" * 1_000_000})])
            runner.flush()
        assert runner.committed == {TopicPartition("t", 0): 4}
    assert sorted(catalog.load_table("shop.orders").scan().to_arrow().column("id").to_pylist()) == [0, 1, 2, 3]


def test_names_of_several_records_are_no_columns_for_all_of_them() -> None:
    """Who may write to the topic has other names in each record: each may be written, and they are not in memory together."""
    objects = [{"v": {f"a{at}_{each}": 1 for each in range(300)}} for at in range(200)]
    with pytest.raises(DataError, match="so many different names"):
        rows.made(Column(None, objects), {})
    assert [len(rows.made(Column(None, [each]), {})) for each in objects[:3]] == [1] * 3
    assert len(rows.made(Column(None, [{"v": {f"a{each}": 1 for each in range(300)}}] * 2000), {})) == 2000


def test_names_at_the_top_are_counted_before_they_are_columns(place: dict[str, str], catalog: Catalog) -> None:
    """
    Who may write to the topic has other names in each record, or very many in one: they were made columns, for all records of a
    batch, before anybody counted them.
    """

    def room(count: int) -> None:
        if count > 1000:
            raise DataError("no room")

    with pytest.raises(DataError, match="no room"):
        rows.made(Column(None, [{f"a{at}_{each}": 1 for each in range(300)} for at in range(200)]), {}, room)
    own = schema.struct({f"b{each}": INT32_SCHEMA for each in range(3000)})
    many = {"id": 1, **{f"a{each}": 1 for each in range(3000)}}
    with sink(place) as runner:
        runner.put([record(0, {"id": 0, **{f"c{each}": 1 for each in range(900)}})])
        runner.put([record(1, many), record(2, Struct.unchecked(own, [1] * 3000), own), record(3, {"id": 3})])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1, 2]
        assert all("and iceberg.tables.max.columns is 1000" in str(error) for _, error in runner.reported)
    assert ids(catalog, "shop.orders") == [0, 3]


def row(offset: int, to: str | None = None) -> SinkRecord:
    return record(offset, Struct(ROW, {"id": offset, "to": to}), ROW)


def ids(catalog: Catalog, name: str) -> list[int]:
    found: list[int] = catalog.load_table(name).scan().to_arrow().column("id").to_pylist()
    return sorted(found)


NAMES = (
    *("shop./../../up", "shop.a/b", "shop...", "..", "a", "", ".", "shop.", ".a", "shop.a\nb", "shop.a\0b", "shop.a\\..\\b"),
    *("shop.a?x=1", "shop.a#b", "shop.%2e%2e", "shop." + "x" * 300, "shop.a%2f..%2fb", "shop.\u202ea", "shop. "),
)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:30])
def test_a_field_names_a_table_and_no_folder(tmp_path: Path, place: dict[str, str], catalog: Catalog, name: str) -> None:
    """Who may write to the topic names a table by a path: no folder beside the warehouse's is made, and the others are rows."""
    dynamic = {"iceberg.tables.route-field": "to", "iceberg.tables.dynamic-enabled": "true"}
    with sink(place, **dynamic) as runner:
        runner.put([row(0, "shop.good"), row(1, name), row(2, "shop.good")])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(catalog, "shop.good") == [0, 2]
    assert {each.name for each in tmp_path.iterdir()} == {"lake", "catalog.db"}
    assert {each.name for each in (tmp_path / "lake").iterdir()} <= {"shop", "shop.db"}


ODD: dict[str, Schema] = {
    "twice by case": schema.struct({"id": INT32_SCHEMA, "A": OPTIONAL_STRING_SCHEMA, "a": OPTIONAL_STRING_SCHEMA}),
    "another type": schema.struct({"id": OPTIONAL_STRING_SCHEMA, "to": OPTIONAL_STRING_SCHEMA}),
    "nested": schema.struct({"id": INT32_SCHEMA, "to": schema.struct({"x": OPTIONAL_STRING_SCHEMA}).optional_copy()}),
    "list without a type": schema.struct({"id": INT32_SCHEMA, "x": schema.mapping(INT32_SCHEMA, INT32_SCHEMA).optional_copy()}),
}


@pytest.mark.parametrize("own", ODD.values(), ids=ODD)
def test_fields_that_the_table_can_not_have_are_one_records_fault(place: dict[str, str], catalog: Catalog, own: Schema) -> None:
    """Who may write to the topic sends fields that do not go with the table's: the others are rows, and the task goes on."""
    values: dict[str, Any] = {each.name: 1 if each.schema.type.value == "INT32" else None for each in own.fields}
    if own.field("id") is not None and own.fields[0].schema.type.value == "STRING":
        values["id"] = "x"
    inner = own.field("to")
    if inner is not None and inner.schema.fields:
        values["to"] = Struct(inner.schema, {"x": "y"})
    with sink(place) as runner:
        runner.put([row(0)])
        runner.put([])
        runner.put([record(1, Struct(own, values), own), row(2)])
        runner.put([])
        runner.put([row(3)])
        runner.put([])
        bad = [each.original_offset for each, _ in runner.reported]
    assert bad in ([1], [])
    assert set(ids(catalog, "shop.orders")) - {1} == {0, 2, 3}


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


VALUES: dict[str, Any] = {
    "huge": {"id": 1 << 70},
    "half a pair": {"id": 1, "to": "\ud800"},
    "another type": {"id": "x"},
    "deep": {"id": 1, "to": _deep(3000)},
    "a number for a name": {1: 2},
    "no object": "text",
    "a list": [1],
    "mixed": {"id": 1, "x": [1, "a"]},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_values_that_no_column_takes_are_one_records_fault(place: dict[str, str], catalog: Catalog, value: Any) -> None:
    """Who may write to the topic sends a value without a schema of which there is no row: the others are rows."""
    with sink(place) as runner:
        runner.put([record(0, {"id": 0}), record(1, value), record(2, {"id": 2})])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(catalog, "shop.orders") == [0, 2]


@pytest.mark.parametrize(
    "told",
    [
        b"[]",
        b"5",
        b"{}",
        b'{"snapshot": 1, "manifests": 5, "parts": []}',
        b'{"snapshot": 1, "manifests": "file:///etc/passwd", "parts": [["t", 0, 0, 5]]}',
        b'{"snapshot": 1, "manifests": "LOCATION/../../x.avro", "parts": [["t", 0, 0, 5]]}',
        b'{"snapshot": 1, "manifests": "LOCATION/x.avro", "parts": [["t", 0, "0", 5]]}',
        b'{"snapshot": 1, "manifests": "LOCATION/x.avro", "parts": [5]}',
    ],
)
def test_a_stage_that_is_none_of_ours_is_left(place: dict[str, str], catalog: Catalog, told: bytes) -> None:
    """Who may write into the table's folder tells of a stage whose files are elsewhere, or of anything: nobody commits it."""
    with sink(place) as runner:
        runner.put([row(0)])
        runner.put([])
    table = catalog.load_table("shop.orders")
    where = TopicPartition("t", 0)

    def tell(data: bytes) -> list[Stage]:
        with table.io.new_output(f"{table.location()}/kconnect/lake/t/0.json").create(overwrite=True) as file:
            file.write(data.replace(b"LOCATION", table.location().encode()))
        return staging.published(table, "lake", [where])

    assert tell(told) == []
    # The control: one of ours is seen.
    stage = {"snapshot": 1, "manifests": f"{table.location()}/metadata/x.avro", "parts": [["t", 0, 0, 5]]}
    assert len(tell(orjson.dumps(stage))) == 1


@pytest.mark.parametrize("name", ["../../../../up", "a/../../../../../up", "\u4e2d" * 300], ids=ascii)
def test_a_name_leads_a_stage_out_of_no_folder(tmp_path: Path, place: dict[str, str], catalog: Catalog, name: str) -> None:
    """Who may create connectors calls one by a path: its stages were written there, beside the folders that are allowed."""
    with sink(place) as runner:
        runner.put([row(0)])
        runner.put([])
    table, where = catalog.load_table("shop.orders"), TopicPartition("t", 0)
    stage = Stage(1, f"{table.location()}/metadata/x.avro", {where: 0}, {where: 5})
    staging.publish(table, name, stage)
    assert staging.published(table, name, [where]) == [stage]
    told = list(tmp_path.rglob("0.json"))
    assert [each.relative_to(tmp_path / "lake").parts[:3] for each in told] == [("shop", "orders", "kconnect")]
    staging.withdraw(table, name, stage)
    assert list(tmp_path.rglob("0.json")) == []


def test_an_answer_of_a_catalog_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is the catalog drips an answer without an end, sends one as quickly as it is taken, packs it, or says nothing."""
    props = {"name": "n", "topics": "t", "iceberg.tables": "shop.orders", "iceberg.catalog.type": "rest"}
    ordinary = given({"defaults": {}, "overrides": {}})
    with Hostile() as service:
        props["iceberg.catalog.uri"] = service.url
        config = settings.CONFIG.parse(props)
        packed = gzip.compress(b'{"defaults": {}, "overrides": {}}')
        for answer in (ordinary, lambda asked: Reply(200, {"Content-Encoding": "gzip"}, packed)):
            service.default = answer
            assert catalogs.made_catalog(config, props, {}).properties["uri"] == service.url
        for name, value in (("SILENT_S", 1.0), ("WHOLE_S", 1.0), ("MOST_BYTES", 1_000_000)):
            monkeypatch.setattr(answers, name, value)
        for answer in (service.dripping(), service.endless(), service.silent(), bomb(16_000_000)):
            service.default = answer
            begin = time.monotonic()
            with pytest.raises(ConfigError):
                catalogs.made_catalog(config, props, {})
            assert time.monotonic() - begin < 30


def test_an_answer_with_a_token_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is the catalog drips the token that a credential asks for, sends one without an end, packs it, or says nothing."""
    props = {"name": "n", "topics": "t", "iceberg.tables": "shop.orders", "iceberg.catalog.credential": "id:secret"}
    with Hostile() as service:
        service.default = given({"defaults": {}, "overrides": {}})
        props["iceberg.catalog.uri"] = service.url
        config = settings.CONFIG.parse(props)
        for name, value in (("SILENT_S", 0.5), ("WHOLE_S", 0.5)):
            monkeypatch.setattr(answers, name, value)
        token = given({"access_token": "t", "token_type": "bearer"})
        odd = bytes("{}", "utf-16")
        last = ""
        for answer in (
            *(token, service.dripping(), service.endless(), service.silent(), bomb(16_000_000)),
            lambda asked: Reply(200, {"Content-Type": "application/json; charset=utf-16"}, odd),
        ):
            service.paths["/v1/oauth/tokens"] = answer
            try:
                catalogs.made_catalog(config, props, {})
            except ConfigError as error:
                last = str(error)
            assert (last == "") == (answer is token), last
        assert "Invalid JSON" in last


def _nested(levels: int) -> Schema:
    return OPTIONAL_STRING_SCHEMA if levels == 0 else schema.array(_nested(levels - 1))


COLUMNS: dict[str, tuple[Schema, Any]] = {
    "no fields": (schema.struct({}), Struct(schema.struct({}), {})),
    "no fields within": (schema.array(schema.struct({})), []),
    "deep": (_nested(200), []),
    "a scale below 0": (schema.decimal_schema(-5), decimal.Decimal(100_000)),
    "many": (schema.struct({f"c{number}": OPTIONAL_STRING_SCHEMA for number in range(1000)}, optional=True), None),
    "a long name": (schema.struct({"n" * 300: OPTIONAL_STRING_SCHEMA}, optional=True), None),
}


@pytest.mark.parametrize("first", [True, False], ids=["a new table", "a table"])
@pytest.mark.parametrize("kind", [*COLUMNS, "a name"])
def test_no_column_spoils_the_table(place: dict[str, str], catalog: Catalog, kind: str, first: bool) -> None:
    """
    Who may write to the topic sends a field of a type that no file can have, or that is written into the table's metadata and
    can't be read from there: the table was lost for everybody, or the task failed for good.
    """
    kinds = {**COLUMNS, "a name": (OPTIONAL_STRING_SCHEMA, "x")}
    own = schema.struct({"id": INT32_SCHEMA, "a\x1bb" if kind == "a name" else "odd": kinds[kind][0]})
    odd = record(0 if first else 1, Struct.unchecked(own, [7, kinds[kind][1]]), own)
    with sink(place) as runner:
        for each in [odd, row(1)] if first else [row(0), odd]:
            # What was all bad has made no table, and is over at the next put.
            runner.put([each])
        runner.put([row(2)])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [odd.original_offset]
    assert ids(catalog, "shop.orders") == [1 if first else 0, 2]


@pytest.mark.parametrize("first", [True, False], ids=["a new table", "a table"])
@pytest.mark.parametrize("within", [False, True], ids=["at the top", "within"])
@pytest.mark.parametrize("name", ["ID", "ıd", "İd", "i̇d"])
def test_no_two_columns_differ_by_case_only(
    place: dict[str, str], catalog: Catalog, first: bool, within: bool, name: str
) -> None:
    """Who may write to the topic sends a field ID beside id: Spark, Trino and Hive take them for one."""

    def of(at: int, *names: str) -> SinkRecord:
        fields: dict[str, Any] = dict.fromkeys(names, at)
        return record(at, {"id": at, "inner": {"id": at, **fields}} if within else {"id": at, **fields})

    good, odd = (1, 0) if first else (0, 1)
    with sink(place) as runner:
        for each in sorted((of(odd, name), of(good)), key=lambda some: some.offset):
            runner.put([each])
        runner.put([of(2, "other")])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [odd]
    assert ids(catalog, "shop.orders") == [good, 2]


@pytest.mark.parametrize(
    "value", [{"x": 1}, {"id": [1], "x": 1}, {"id": {"a": 1}, "x": 1}], ids=["none", "a list", "an object"]
)
def test_no_first_record_makes_a_table_without_an_id(place: dict[str, str], catalog: Catalog, value: Any) -> None:
    """Who may write to the topic sends the first record of a table, without an id that rows are found by: the task ended."""
    more = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
    with sink(place, **more) as runner:
        for at, each in enumerate((value, {"id": 1, "x": 1}, {"id": 2, "x": 1}, {"id": 1, "x": 2})):
            runner.put([record(at, each)])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [0]
    assert ids(catalog, "shop.orders") == [1, 2]


@pytest.mark.parametrize("parted", ["city", "truncate(city, 3)"])
@pytest.mark.parametrize("value", [{}, {"city": [1]}, {"city": b"x"}], ids=["none", "a list", "bytes"])
def test_no_first_record_ends_a_table_with_partitions(place: dict[str, str], catalog: Catalog, parted: str, value: Any) -> None:
    """Who may write to the topic sends the first record of a table, and nothing that it could be partitioned by."""
    with sink(place, **{"iceberg.tables.default-partition-by": parted}) as runner:
        for at, each in enumerate((value, {"city": "Rome"}, {"city": "Ulm"})):
            runner.put([record(at, {"id": at, **each})])
        runner.put([])
        bad = [each.original_offset for each, _ in runner.reported]
    # A text is bytes, too, which may be a partition as a whole.
    is_made = value.get("city") == b"x" and parted == "city"
    assert bad == ([] if is_made else [0])
    assert ids(catalog, "shop.orders") == ([0, 1, 2] if is_made else [1, 2])
    assert len(catalog.load_table("shop.orders").spec().fields) == 1


@pytest.mark.parametrize(
    ("parted", "kind", "good", "bad"),
    [
        ("city.x", schema.struct({"x": STRING_SCHEMA}), "Rome", "x" * 400),
        ("city.x", schema.struct({"x": FLOAT64_SCHEMA}), 1.0, math.nan),
        ("truncate(city, 10)", schema.decimal_schema(2), decimal.Decimal("1.00"), decimal.Decimal("-" + "9" * 36 + ".99")),
        (
            "truncate(city.x, 10)",
            schema.struct({"x": schema.decimal_schema(0)}),
            decimal.Decimal(1),
            decimal.Decimal("-" + "9" * 38),
        ),
    ],
    ids=["a long text within", "no number within", "too many digits", "too many digits within"],
)
def test_no_value_ends_a_table_with_partitions(
    place: dict[str, str], catalog: Catalog, parted: str, kind: Schema, good: Any, bad: Any
) -> None:
    """Who may write to the topic sends a value of which no partition can be made: all commits failed for it."""
    own = schema.struct({"id": INT32_SCHEMA, "city": kind})
    with sink(place, **{"iceberg.tables.default-partition-by": parted}) as runner:
        for at, value in enumerate((good, bad, good)):
            city = Struct(kind, {"x": value}) if kind.name is None else value
            runner.put([record(at, Struct(own, {"id": at, "city": city}), own)])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(catalog, "shop.orders") == [0, 2]


def test_all_folders_of_a_row_have_room_in_a_key(place: dict[str, str], catalog: Catalog) -> None:
    """Who may write to the topic sends a text for each of several partitions: no store has a key for all of them."""
    parts = ("a", "b", "c", "d")
    with sink(place, **{"iceberg.tables.default-partition-by": ",".join(parts)}) as runner:
        for at, size in enumerate((1, 250, 150)):
            runner.put([record(at, {"id": at, **dict.fromkeys(parts, "x" * size)})])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert ids(catalog, "shop.orders") == [0, 2]


def test_columns_that_differ_by_case_and_are_there_stay(place: dict[str, str], catalog: Catalog) -> None:
    """Whoever made the table so reads it with a tool that can."""
    catalog.create_namespace("shop")
    catalog.create_table("shop.orders", pa.schema([("id", pa.int64()), ("ID", pa.int64())]))
    with sink(place) as runner:
        runner.put([record(0, {"id": 1, "ID": 2, "more": 3})])
        runner.put([])
        assert runner.reported == []
    assert ids(catalog, "shop.orders") == [1]


@pytest.mark.parametrize(
    ("cities", "commits"), [(lambda at: f"city {at}", 3), (lambda at: f"city {at % 3}", 0)], ids=["many", "few"]
)
@pytest.mark.parametrize("parted", ["city", "bucket(city, 1000000)", "id, truncate(city, 9)"])
def test_rows_of_many_partitions_are_committed_sooner(
    place: dict[str, str],
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    cities: Callable[[int], str],
    commits: int,
    parted: str,
) -> None:
    """Who may write to the topic gives each record its own partition: a commit of 8,000 files took a minute."""
    monkeypatch.setattr(pending, "MOST_FOLDERS", 20)
    more = {"iceberg.tables.default-partition-by": parted, "iceberg.control.commit.interval-ms": "3600000"}
    with sink(place, **more) as runner:
        for begin in range(0, 80, 10):
            runner.put([record(at, {"id": 1, "city": cities(at)}) for at in range(begin, begin + 10)])
    there = catalog.load_table("shop.orders")
    assert len(there.snapshots()) == commits
    assert len(there.scan().to_arrow()) == commits * 20


@pytest.mark.parametrize(
    ("own", "good", "odd"),
    [
        (STRING_SCHEMA, "a", "x" * 300),
        (STRING_SCHEMA, "a", "é" * 60),
        (FLOAT64_SCHEMA, 1.0, math.nan),
    ],
    ids=["long", "quoted", "not a number"],
)
def test_a_value_that_names_no_partition_is_one_records_fault(
    place: dict[str, str], catalog: Catalog, own: Schema, good: Any, odd: Any
) -> None:
    """Who may write to the topic sends a value of which there is no folder for a partition: the commit failed for good."""
    parted = schema.struct({"id": INT32_SCHEMA, "city": own})
    with sink(place, **{"iceberg.tables.default-partition-by": "city"}) as runner:
        values = [odd if offset == 1 else good for offset in range(3)]
        runner.put(
            [record(offset, Struct(parted, {"id": offset, "city": value}), parted) for offset, value in enumerate(values)]
        )
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert ids(catalog, "shop.orders") == [0, 2]


def test_a_table_that_a_topic_names_and_that_is_not_there_is_its_records_fault(place: dict[str, str], catalog: Catalog) -> None:
    """Who may write to the topic chooses the topic by a transform, and so a table that there is not: the task failed."""
    catalog.create_namespace("shop")
    catalog.create_table("shop.t", ROW_OF_TABLE)
    tables = {"iceberg.tables": "shop.${topic}", "iceberg.tables.auto-create-enabled": "false"}
    with sink(place, **tables) as runner:
        runner.put([row(0), row(1).new_record(topic="none"), row(2)])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert ids(catalog, "shop.t") == [0, 2]


def test_a_topic_gives_a_connector_no_offsets_of_another(place: dict[str, str], catalog: Catalog) -> None:
    """
    Who may create topics calls one so that its offsets in the table have the name of another connector's: that one skipped as
    many records, and said nothing.
    """

    def put(name: str, topic: str, numbers: Iterable[int]) -> None:
        with sink(place, name=name, topics=topic) as runner:
            for at, number in enumerate(numbers):
                runner.put([SinkRecord(topic, 0, None, None, ROW, Struct(ROW, {"id": number, "to": None}), at)])
            runner.put([])  # its interval is over

    put("a", "b.c", range(4))
    put("a.b", "d", [4, 5])
    with pytest.raises(ConfigError, match=r"offsets of the connector a by the same name as those of a\.b"):
        put("a.b", "c", [6])
    put("a.b", "d", [4, 5, 7])
    put("other", "c", [8])
    assert ids(catalog, "shop.orders") == [0, 1, 2, 3, 4, 5, 7, 8]


def test_a_field_keeps_no_pattern_busy(place: dict[str, str], catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write a record has a value that splits in many ways, in the field that says which table it is for."""
    monkeypatch.setattr(patterns, "LONGEST_S", 0.05)
    more = {"iceberg.tables": "shop.orders", "iceberg.tables.route-field": "to"}
    with sink(place, **more, **{"iceberg.table.shop.orders.route-regex": "(a|aa)+"}) as runner:
        runner.put([row(0, "aaa"), row(1, "a" * 60 + "!"), row(2, "b")])
        assert [each.offset for each, _ in runner.reported] == [1]
        runner.put([])
    assert ids(catalog, "shop.orders") == [0]


PACKED = {
    "deflate": lambda data: zlib.compress(data)[2:-4],
    "bzip2": bz2.compress,
    "zstandard": lambda data: pa.compress(data, "zstd", asbytes=True),
    # By the length alone, which is in front: nothing is unpacked.
    "snappy": lambda data: b"\xa0\x8d\x06" + bytes(8),
}


def _write_list(directory: Path, block: bytes, codec: str) -> None:
    """Put one block, packed so, in place of those of the only list of manifests."""
    (path,) = directory.glob("lake/**/snap-*.avro")
    data = path.read_bytes()
    sync = data[-16:]
    head = data[: data.index(sync)].replace(b"\x0edeflate", bytes([2 * len(codec)]) + codec.encode())
    packed = PACKED[codec](block)
    path.write_bytes(head + sync + b"\x02" + _number(len(packed)) + packed + sync)


@pytest.mark.parametrize("codec", PACKED)
def test_a_list_of_manifests_is_not_unpacked_without_an_end(
    tmp_path: Path, place: dict[str, str], monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """Who may write a file where the table is makes the list that each commit reads a bomb: the task fails, and says so."""
    monkeypatch.setattr(files, "MOST_OF_BLOCK", 10_000)
    with sink(place) as runner:
        runner.put([row(0)])
        runner.put([])
        runner.put([row(1)])
        _write_list(tmp_path, bytes(100_000), codec)
        with pytest.raises(ConnectError, match="has more than 10000 bytes in a block, unpacked"):
            runner.put([])


def test_a_list_of_manifests_reads_nothing_beside_it(tmp_path: Path, place: dict[str, str]) -> None:
    """Who may write a file where the table is has a text that is longer than the file: pyiceberg read the process's memory."""
    with sink(place) as runner:
        runner.put([row(0)])
        runner.put([])
        runner.put([row(1)])
        _write_list(tmp_path, _number(100_000) + b"s3://", "deflate")
        with pytest.raises(Exception, match="100000 bytes are asked for, of which 5 are left"):
            runner.put([])


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"\x0aab", Decoder.read_bytes),
        (b"\x0aab", Decoder.read_utf8),
        (b"\x0aab", Decoder.skip_bytes),
        (b"\x01ab", Decoder.skip_bytes),
        (b"\xff" * 100, Decoder.read_int),
        (b"\x80", Decoder.read_int),
        (b"", Decoder.read_int),
        (b"abc", Decoder.read_double),
        (b"", Decoder.read_boolean),
    ],
)
def test_bytes_of_manifests_end(data: bytes, read: Callable[[Decoder], Any]) -> None:
    with pytest.raises(EOFError):
        read(Decoder(data))


@hypothesis.given(strategies.lists(strategies.integers(-(2**63), 2**63 - 1) | strategies.binary(max_size=300), max_size=5))
def test_manifests_are_read_as_pyiceberg_reads_them(values: list[int | bytes]) -> None:
    """The control: what is in order is read the same."""
    out = io.BytesIO()
    encoder = BinaryEncoder(out)
    for value in values:
        encoder.write_int(value) if isinstance(value, int) else encoder.write_bytes(value)
    ours, theirs = Decoder(out.getvalue()), StreamingBinaryDecoder(out.getvalue())
    for value in values:
        for decoder in (ours, theirs):
            assert (decoder.read_int() if isinstance(value, int) else decoder.read_bytes()) == value
    assert ours.tell() == len(out.getvalue())


@pytest.mark.parametrize(
    ("element", "has_end"),
    [
        (StructType(NestedField(1, "a", FixedType(0), required=True)), False),
        (StructType(NestedField(1, "a", FixedType(0))), True),
        (LongType(), True),
    ],
    ids=["nothing", "optional", "long"],
)
def test_a_manifest_has_no_lists_of_nothing(element: Any, has_end: bool) -> None:
    """Who may write a file where the table is has a list that nobody can count: the task would be busy for ever."""
    kind = StructType(NestedField(1, "more", ListType(2, element, element_required=True)))
    if has_end:
        check_elements(kind, "x")
        return
    with pytest.raises(ConnectError, match="elements have no bytes"):
        check_elements(kind, "x")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_table_s_metadata_have_a_size(
    tmp_path: Path, place: dict[str, str], monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """Who may write a file where the table is makes its metadata longer than memory is: the task fails, and says so."""
    with sink(place) as runner:
        runner.put([row(0)])
        runner.put([])
        monkeypatch.setattr(files, "MOST_BYTES", 20_000)
        newest = max(tmp_path.glob("lake/**/*.metadata.json"))
        long = newest.read_bytes() + b" " * 100_000
        if packed:
            stream = io.BytesIO(gzip.compress(long))
            with pytest.raises(ConnectError, match="has more than 20000 bytes"):
                serializers.FromByteStream.table_metadata(stream, compression=serializers.GzipCompressor())
            return
        newest.write_bytes(long)
        with pytest.raises(ConnectError, match="has more than 20000 bytes"):
            runner.put([row(1)])


def _number(value: int) -> bytes:
    """A number as Avro writes it."""
    value, data = value << 1, b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def values_of(catalog: Catalog, name: str) -> list[Any]:
    found: list[Any] = catalog.load_table("shop.orders").scan().to_arrow().column(name).to_pylist()
    return found


HARD = ["\ud7ff" * 20, "\U0010ffff" * 15 + "\ud7ffx", "\U0010ffff" * 20, "x" * 15 + "\U0010ffffx"]


@pytest.mark.parametrize("text", HARD, ids=["halves", "halves last", "last", "last letter"])
def test_a_text_with_which_a_file_ends_is_written(place: dict[str, str], catalog: Catalog, text: str) -> None:
    """
    Who may write to the topic sends a text whose bound in a file would have half a pair of surrogates: each commit failed,
    after each start.
    """
    with sink(place) as runner:
        runner.put([record(0, {"id": 0, "to": "a"}), record(1, {"id": 1, "to": text}), record(2, {"id": 2, "to": "b"})])
        runner.put([])
        assert runner.reported == []
    assert sorted(values_of(catalog, "to")) == sorted(["a", text, "b"])
    found = catalog.load_table("shop.orders").scan(f"to = '{text}'").to_arrow()
    assert found.column("id").to_pylist() == [1], "its bound is one"


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "date"])
@pytest.mark.parametrize("partition", [None, "day", "identity"])
def test_a_time_that_python_has_not_is_one_records_fault(
    place: dict[str, str], catalog: Catalog, kind: str, partition: str | None
) -> None:
    """Who may write to the topic sends a text of the year 0 for a column of times: each commit failed, after each start."""
    types: dict[str, Any] = {"timestamp": TimestampType(), "timestamptz": TimestamptzType(), "date": DateType()}
    catalog.create_namespace("shop")
    table = catalog.create_table(
        "shop.orders", IcebergSchema(NestedField(1, "id", LongType()), NestedField(2, "at", types[kind]))
    )
    if partition:
        with table.update_spec() as spec:
            spec.add_field("at", parse_transform(partition))
    zone = {"timestamp": "T00:00:00", "timestamptz": "T00:00:00Z", "date": ""}[kind]
    moments = ["2024-01-01", "0000-01-01", "9999-12-31", "0001-01-01"]
    with sink(place) as runner:
        runner.put([record(at, {"id": at, "at": f"{moment}{zone}"}) for at, moment in enumerate(moments)])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert ids(catalog, "shop.orders") == [0, 2, 3]


@pytest.mark.parametrize(
    ("first", "second"), [("1a", "_1a"), ("a.b", "a_x2Eb"), ("a-b", "a_x2Db")], ids=["digit", "dot", "dash"]
)
@pytest.mark.parametrize("within", [False, True], ids=["columns", "fields"])
def test_two_columns_have_two_names_in_files(
    place: dict[str, str], catalog: Catalog, first: str, second: str, within: bool
) -> None:
    """
    Who may write to the topic names two fields that are one in files: the table got both columns, and nobody wrote to it any
    more.
    """
    both = {first: 1, second: "x"}
    with sink(place) as runner:
        runner.put([record(0, {"id": 0})])
        runner.put([])
        runner.put([record(1, {"id": 1, **({"v": both} if within else both)}), record(2, {"id": 2, first: 1})])
        runner.put([])
        runner.put([record(3, {"id": 3, second: "x"})])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [1, 3]
    assert ids(catalog, "shop.orders") == [0, 2]


@pytest.mark.parametrize("text", ["{", "[]", '{"format-version": 2}'])
def test_metadata_that_can_not_be_read_are_no_records_fault(
    tmp_path: Path, place: dict[str, str], catalog: Catalog, text: str
) -> None:
    """Whoever may write where the table is breaks its metadata: good records became bad ones."""
    with sink(place, max__retries="-1", retry__backoff__ms="1") as runner:
        runner.put([record(0, {"id": 0})])
        runner.put([])
        newest = Path(catalog.load_table("shop.orders").metadata_location.removeprefix("file://"))
        before = newest.read_text()
        newest.write_text(text)
        for _ in range(2):
            with pytest.raises(RetriableError, match="what its catalog or its metadata say can't be read"):
                runner.put([record(1, {"id": 1, "new": "x"})])
        assert runner.reported == []
        newest.write_text(before)
        runner.put([record(1, {"id": 1, "new": "x"})])
        runner.put([])
    assert ids(catalog, "shop.orders") == [0, 1]


def test_a_bound_of_a_decimal_takes_no_hours() -> None:
    """Who may write into a table's folder writes a manifest with a bound of a megabyte for a column of decimals."""
    files.bound()
    kind = DecimalType(38, 2)
    assert from_bytes(kind, (-12345).to_bytes(16, "big", signed=True)) == decimal.Decimal("-123.45")
    begin = time.process_time()
    with pytest.raises(ConnectError, match="a bound of 500000 bytes"):
        from_bytes(kind, b"\x7f" * 500_000)
    assert time.process_time() - begin < 5
