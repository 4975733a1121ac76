"""
Attacks by texts that cost more than they are long: headers, numbers, JSON, schemas and expressions that take hours of a host.

Each is of the size that a topic takes. The time that is allowed is many times what is needed, and a small part of what was.
"""

from __future__ import annotations

import base64
import decimal
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from kconnect import cel
from kconnect.api import Column, ConfigError, DataError, Header, Schema, SinkConnector, SinkRecord, Struct, schema
from kconnect.cel import CelError
from kconnect.cel.values import plain
from kconnect.connectors import documents, limits, names
from kconnect.connectors.file_sink import FileStreamSinkConnector
from kconnect.connectors.groups import groups_of
from kconnect.connectors.http import links
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.iceberg.guard import Rules, guarded
from kconnect.connectors.limits import TooMuchError
from kconnect.connectors.objects.avro_blocks import check_elements
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.search.actions import Action, Bad, Maker
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.connectors.sql import loose, pg_texts, reader, room, types
from kconnect.converters.avro import AvroConverter
from kconnect.converters.json import JsonConverter
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.converters.simple_header import SimpleHeaderConverter
from kconnect.data import values
from kconnect.data.column import Unusual
from kconnect.java import regex
from kconnect.plugins.reach import Reach
from kconnect.rest.passwords import PasswordHash
from kconnect.testing import SinkRunner
from kconnect.transforms import numerals
from kconnect.transforms.expression import Expression
from kconnect.transforms.flatten import FlattenValue
from kconnect.transforms.header_from import HeaderFromValue
from kconnect.transforms.mask_field import MaskFieldValue
from kconnect.transforms.regex_router import RegexRouter
from kconnect.transforms.timestamp_router import TimestampRouter

LONG = 100_000
"""A tenth of what a record may have: what grows with the square takes minutes of it, all else a moment."""


@contextmanager
def soon(seconds: float = 15) -> Iterator[None]:
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


# Numbers.


@pytest.mark.parametrize("text", ["{0}x", "[{0}x]", '{{"a":{0}x}}', "{0}e{0}x", "-{0}.{0}x"])
def test_a_header_takes_no_hours(text: str) -> None:
    """Who may write to a topic sends a header of digits that is no number after all; each way to split it was tried."""
    data = text.format("1" * LONG).encode()
    with soon():
        found = SimpleHeaderConverter().to_connect_header("t", "h", data)
    assert found.value == data.decode()


def test_a_text_that_is_cast_takes_no_hours() -> None:
    """Who may write to a topic sends a text of digits with a letter behind them, which Cast is to make a number of."""
    with soon(), pytest.raises(numerals.NotANumber):
        numerals.float64_of("1" * LONG + "x")


def test_a_number_of_a_million_digits_is_cut_to_64_bits_at_once() -> None:
    """Who may write to a topic sends a text of a million digits, of which the lowest bits are to be an integer."""
    with soon():
        assert values.convert_to_long(None, "1" * (10 * LONG)) == values.convert_to_long(
            None, decimal.Decimal("1" * (10 * LONG))
        )
    for text in ("7" * 1500, "-" + "7" * 1500 + ".99", "9" * 1200 + "e5", "-1e63"):
        whole = int(decimal.Decimal(text))
        assert values.convert_to_long(None, text) == (whole + (1 << 63)) % (1 << 64) - (1 << 63)


def test_an_integer_in_json_has_no_billion_digits() -> None:
    """Who may write to a topic sends 1e999999 as an integer, beside a decimal for which all numbers are read exactly."""
    scale = {"scale": "1"}
    of_decimal = {"field": "d", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": scale}
    own = json.dumps({"type": "struct", "fields": [{"field": "i", "type": "int32"}, of_decimal]})

    def read(number: str) -> Any:
        return JsonConverter().to_connect_data("t", f'{{"schema":{own},"payload":{{"i":{number},"d":1.5}}}}'.encode()).value

    assert read("3.7").get("i") == 3
    for exponent in ("999999", "99999999", "999999999"):
        with soon(), pytest.raises(DataError):
            read(f"1e{exponent}")


@pytest.mark.parametrize("text", ["a" + "\u0315\u0300" * 2 * LONG, "%25" * LONG, "\ufdfa" * LONG, "." * LONG])
def test_a_key_in_a_path_takes_no_hours(text: str) -> None:
    """Who may write to a topic sends a key of marks above a letter, which take the square of their number to sort."""
    with soon(), pytest.raises(DataError):
        names.check_segment(text)
    names.check_segment("\u0915\u094d\u0937 e\u0301" * 100)


# JSON.


@pytest.mark.parametrize("text", ['"{0}', '{{"a":00,"b{0}', "[00,{0}"])
def test_a_text_in_json_that_does_not_end_takes_no_hours(text: str) -> None:
    """Who may write to a topic sends JSON that is one text of quotes behind backslashes, and does not end it."""
    made = JsonConverter()
    made.configure({"schemas.enable": "false"})
    with soon(), pytest.raises(DataError):
        made.to_connect_data("t", text.format('\\"' * LONG).encode())
    assert made.to_connect_data("t", b'{"a":007,"b":"0\\"01"}').value == {"a": 7, "b": '0"01'}


def test_to_measure_how_deeply_a_text_is_nested_takes_no_hours() -> None:
    """Who is a service nests lists of all depths beside each other, so that each level is another look at all of it."""
    stairs = b"".join(b"[" * depth + b"]" * depth for depth in range(1, 450)) * 5
    with soon():
        limits.check_depth(stairs, "s", 449)
    for deepest in (1, 15, 16, 17, 200, 448):
        with soon(), pytest.raises(TooMuchError):
            limits.check_depth(stairs, "s", deepest)
    limits.check_depth(b'[{"a":[[]]},[[[]]]]' * 100, "s", 4)
    with pytest.raises(TooMuchError):
        limits.check_depth(b'[{"a":[[]]},[[[]]]]' * 100, "s", 3)


# Schemas that name each other.


def doubling(levels: int) -> Any:
    made: Any = {"type": "record", "name": "R0", "fields": [{"name": "x", "type": "int"}]}
    for level in range(1, levels):
        fields = [{"name": "a", "type": made}, {"name": "b", "type": f"R{level - 1}"}]
        made = {"type": "record", "name": f"R{level}", "fields": fields}
    return made


def test_a_schema_in_the_registry_is_no_tree_without_an_end() -> None:
    """Who may register a schema has each of 40 types twice in the next one: 4 kilobytes, and a million million fields."""
    scope = "attacks-texts"
    registry = MemoryRegistry.of(scope)
    try:
        made = AvroConverter()
        made.configure({"schema.registry.url": f"mock://{scope}"})
        small, large = (registry.register(f"t{each}-value", json.dumps(doubling(each))) for each in (6, 40))
        found = made.to_connect_data("t6", b"\0" + small.to_bytes(4, "big") + b"\2" * 32)
        assert found.value.get("a").get("b").schema.name == "R3"
        with soon(), pytest.raises(DataError, match="parts"):
            made.to_connect_data("t40", b"\0" + large.to_bytes(4, "big") + b"\2" * 32)
    finally:
        MemoryRegistry.drop(scope)


def test_a_schema_in_a_file_is_no_tree_without_an_end() -> None:
    """Who may put a file into a store writes such a schema into it."""
    check_elements(doubling(12))
    with soon(), pytest.raises(DataError, match="parts"):
        check_elements(doubling(40))


# Expressions.


def evaluated(text: str, value: Any) -> Any:
    made = Expression()
    made.configure({"header.h": text})
    return made.apply(SinkRecord("t", 0, None, None, None, value, 0))


def test_an_expression_makes_no_list_that_holds_itself_over_and_over() -> None:
    """Who may submit an expression doubles a list forty times: little work to make, and no end to what is in it."""
    assert evaluated("[value]" + ".map(x, [x, x])" * 2, "a").headers[0].value == [[["a", "a"], ["a", "a"]]]
    with soon(), pytest.raises(DataError, match="parts"):
        evaluated("[value]" + ".map(x, [x, x])" * 40, "a")


def test_a_record_brings_no_pattern_that_takes_gigabytes() -> None:
    """Who may write to a topic brings a pattern of a megabyte, of which RE2 made a tree of 3 GB before it refused it."""
    program = cel.compile("'a'.matches(value)", {"value": lambda record: record})
    assert program("[a-z]") is True
    with soon(), pytest.raises(CelError, match="pattern of"):
        program("\\pL" * LONG)


# Decimals, of which a text of eleven characters is enough.

FAR = [decimal.Decimal(text) for text in ("1E-999999999", "0E-999999999", "1E-2147483640", "1E+999999999")]
SCALES = (2_000_000_000, -2_000_000_000, 100)


def sink(connector: type[SinkConnector], **more: str) -> SinkRunner:
    config = {"name": "attacked", "topics": "t", "errors.tolerance": "all", "max.retries": "0"}
    return SinkRunner(connector, {**config, **{name.replace("__", "."): value for name, value in more.items()}})


def decimals() -> list[SinkRecord]:
    """A good record, and others behind it."""
    rows: list[Any] = [(schema.decimal_schema(2), decimal.Decimal("1.00"))]
    rows += [(schema.decimal_schema(2), each) for each in FAR]
    rows += [(schema.array(schema.decimal_schema(2)), [each]) for each in FAR]
    rows += [(schema.decimal_schema(scale), decimal.Decimal(1)) for scale in SCALES]
    found = []
    for offset, (own, value) in enumerate(rows):
        row = schema.struct({"a" if own.name else "b": own.optional_copy()})
        found.append(
            SinkRecord("t", 0, None, None, row, Struct(row, dict.fromkeys([each.name for each in row.fields], value)), offset)
        )
    return found


@pytest.mark.parametrize("kind", ["ParquetFormat", "AvroFormat", "CsvFormat"])
def test_no_decimal_ends_the_process(tmp_path: Path, kind: str) -> None:
    """Who may write to a topic sends a decimal so small, or of such a scale, that Arrow ended the host with all tasks."""
    store = tmp_path / "lake"
    settings = {"store": f"file://{store}", "format__class": kind, "flush__size": "1", "schema__compatibility": "none"}
    with sink(ObjectStoreSinkConnector, **settings) as runner:
        for each in decimals():
            runner.put([each])
        runner.put([])
        bad = [each.original_offset for each, _ in runner.reported]
    assert bad == list(range(1, len(decimals())))
    assert len([each for each in store.rglob("*") if each.is_file()]) == 1


def test_no_decimal_of_a_table_ends_the_process(tmp_path: Path) -> None:
    """Who may write to a topic sends such decimals to a table, with a schema and without."""
    (tmp_path / "lake").mkdir()
    settings = {
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{tmp_path}/catalog.db",
        "iceberg.catalog.warehouse": f"file://{tmp_path}/lake",
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.commit.interval-ms": "0",
    }
    given = decimals()
    free = [{"a": each} for each in FAR] + [{"c": [{"d": each}]} for each in FAR]
    given += [SinkRecord("t", 0, None, None, None, value, len(given) + at) for at, value in enumerate(free)]
    with sink(IcebergSinkConnector, **settings) as runner:
        for each in given:
            runner.put([each])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == list(range(1, len(given)))


LAKE = {
    "iceberg.tables": "shop.orders",
    "iceberg.tables.auto-create-enabled": "true",
    "iceberg.control.commit.interval-ms": "0",
}
SMALL = ("1E-999999999", "0E-999999999", "1E-99999999999999999999", f"0.{'0' * 500_000}1", "1E-2000000", "\u0661E-999999999")
DEEP: dict[str, Callable[[Any], Any]] = {
    "alone": lambda value: value,
    "list": lambda value: [value],
    "object": lambda value: {"x": value},
    "list of objects": lambda value: [{"x": value}],
}


@pytest.mark.parametrize("place", DEEP)
def test_no_text_of_a_table_ends_the_process(tmp_path: Path, place: str) -> None:
    """
    Who may write to a topic sends the text 1E-999999999 for a column of decimals, at any depth: Arrow read beside its table of
    powers of ten, and ended the host with all tasks, as often as it was started.
    """
    (tmp_path / "lake").mkdir()
    settings = {
        **LAKE,
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{tmp_path}/catalog.db",
        "iceberg.catalog.warehouse": f"file://{tmp_path}/lake",
    }
    within = DEEP[place]
    good = [decimal.Decimal("1000.00"), "2.50", "1e2"]
    with sink(IcebergSinkConnector, **settings) as runner:
        for offset, value in enumerate([*good, *SMALL, "3"]):
            runner.put([SinkRecord("t", 0, None, None, None, {"id": offset, "v": within(value)}, offset)])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == [len(good) + at for at in range(len(SMALL))]


@pytest.mark.parametrize(
    "far", [FAR[-1], decimal.Decimal("-7E+10000000"), decimal.Decimal("NaN"), decimal.Decimal("-Infinity")]
)
def test_no_decimal_is_written_out_as_an_integer(far: decimal.Decimal) -> None:
    """
    Who may write to a topic sends 1E999999999 as a version of a document, and who is a database as a number without a fraction:
    of that Python makes a billion digits, and all else of the host waits.
    """
    config = {"topics": "t", "connection.url": "http://localhost:1", "external.version.header": "v"}
    maker = Maker(OpenSearchSinkConnector().config().parse(config))
    versions = (far, decimal.Decimal(8), "9")
    records = [
        SinkRecord("t", 0, None, "k", None, {"a": 1}, at, headers=[Header("v", version)]) for at, version in enumerate(versions)
    ]
    with soon():
        bad, *good = [each for group in groups_of(records) for each in maker.actions(group)]
    assert isinstance(bad, Bad) and "is no version" in str(bad.error)
    assert [b'"version":%d,' % number in each.lines[0] for each, number in zip(good, (8, 9)) if isinstance(each, Action)] == [
        True
    ] * 2
    for read in (loose.whole, reader._whole):
        with soon(), pytest.raises(ValueError, match="is no integer, or too large"):
            read(far)
        assert read(decimal.Decimal("7.0")) == 7


def test_a_decimal_is_no_longer_than_its_record() -> None:
    """Who may write to a topic sends a list of decimals of four characters each, which had a hundred thousand as JSON."""
    own = schema.array(schema.decimal_schema(100_000))
    assert len(documents.to_json([decimal.Decimal("0E-100000"), decimal.Decimal("1E-100000")] * 1000, own)) < 50_000
    for text in ("0E-100000", "-7E+100000", "1.25E-90", "1E-64", "1E+30", "-12.50", "0.00", "0"):
        assert decimal.Decimal(documents.decimal_text(decimal.Decimal(text))) == decimal.Decimal(text)
    assert documents.decimal_text(decimal.Decimal("1E-20")) == "0.00000000000000000001"


@pytest.mark.parametrize("kind", [sa.Double(), sa.Numeric(10, 2)], ids=str)
@pytest.mark.parametrize("own", [schema.decimal_schema(2_000_000_000), None], ids=["a schema", "none"])
def test_a_decimal_is_not_written_out_for_a_database(kind: Any, own: Schema | None) -> None:
    """Who may write to a topic, and name a schema, sends a decimal of two billion zeros: MySQL's driver wrote them."""
    convert = types.conversion(own, sa.Column("v", kind), "mysql", ZoneInfo("UTC"), rounds=True)
    assert convert is not None
    for far in (*FAR[:1], *FAR[2:]):
        with pytest.raises(DataError, match="places from the point"):
            convert(far)
    assert len(format(convert(FAR[1]), "f")) == 1
    assert convert(decimal.Decimal("-1.25")) == decimal.Decimal("-1.25")


def test_a_value_that_has_no_text_ends_no_file(tmp_path: Path) -> None:
    """Who may write to a topic nests a value so deeply that it has no text: that record is bad, and the next one is a line."""
    nested: Any = 1
    for _ in range(5000):
        nested = [nested]
    rows = [SinkRecord("t", 0, None, None, None, value, at) for at, value in enumerate(["a", {"b": nested}, "c"])]
    with sink(FileStreamSinkConnector, file=str(tmp_path / "lines")) as runner:
        runner.put(rows)
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert (tmp_path / "lines").read_text() == "a\nc\n"


# Topics.


@pytest.mark.parametrize("has_schema", [False, True])
def test_no_name_is_before_fifty_thousand_others(has_schema: bool) -> None:
    """Who may write to a topic nests many fields below one of a very long name, which Flatten writes before each: 25 GB."""
    made = FlattenValue()
    made.configure({})

    def flattened(above: str, fields: int, records: int = 1) -> Any:
        names_below = [f"{each:05}" for each in range(fields)]
        value: Any = {above: dict.fromkeys(names_below, 1)}
        own = None
        if has_schema:
            below = schema.struct(dict.fromkeys(names_below, schema.INT32_SCHEMA))
            own = schema.struct({above: below})
            value = Struct(own, {above: Struct(below, value[above])})
        record = SinkRecord("t", 0, None, None, own, value, 0)
        batch = made.column(Column(own, [value] * 20), None).values[0] if records > 1 else made.apply(record).value
        return {field.name: item for field, item in batch.items()} if has_schema else batch

    with soon(), pytest.raises(DataError, match="Flatten would make names"):
        flattened("x" * 5 * LONG, 5000)
    assert flattened("x" * 100, 5000)["x" * 100 + ".00007"] == 1
    assert len(flattened("x" * 10_000, 20)) == 20
    if not has_schema:
        with soon(), pytest.raises(DataError, match="Flatten would make names"):
            flattened("x" * 5 * LONG, 5000, records=20)


@pytest.mark.parametrize(
    ("transform", "config"),
    [
        (RegexRouter, {"regex": "(.*)", "replacement": "$1" * 100_000}),
        (TimestampRouter, {"topic.format": "${topic}" * 100_000}),
    ],
    ids=["regex", "timestamp"],
)
def test_a_chain_doubles_no_topic_without_an_end(transform: type[Any], config: dict[str, str]) -> None:
    """Whoever may create connectors has transforms in a row that each make many of the topic, until no memory is left."""
    made = transform()
    made.configure(config)
    record = SinkRecord("t" * 1000, 0, None, None, None, None, 0, timestamp=0)
    with pytest.raises(DataError, match="10000 may be"):
        made.apply(record)


def test_a_topic_keeps_no_pattern_busy_for_ever() -> None:
    """Whoever names a topic, as a record may in a chain, names one that a pattern can split in more ways than there is time."""
    pattern = regex.JavaPattern("(a|aa)+b")
    name = "a" * 200
    for look in (pattern.matches, pattern.find):
        with soon(), pytest.raises(regex.LateError, match="not many ways"):
            look(name, 0.2)
    begin = time.monotonic()
    for _ in range(100):
        with pytest.raises(regex.LateError):
            pattern.matches(name)
    assert time.monotonic() - begin < regex.LONGEST_S, "what is known is asked for again"
    assert pattern.matches("aab") is not None


# What is tried in every way.


@pytest.mark.parametrize("text", ['{{"a":"{0}"}}', '{{"a":{0}}}', "{0}", '{{"a":"{0}."}}'])
def test_digits_in_json_whose_schema_is_inferred_take_no_hours(text: str) -> None:
    """Who may write to a topic sends a text of digits: each of them was tried as the first of a long fraction."""
    made = JsonConverter()
    made.configure({"schemas.enable": "false", "schemas.infer": "true"})
    with soon(), suppress(DataError):
        made.to_connect_data("t", text.format("1" * LONG).encode())
    exact = made.to_connect_data("u", b'{"a":0.1234567890123456789,"b":[12345678901234567.25]}').value
    assert (exact.get("a"), exact.get("b")) == ("0.1234567890123456789", ["12345678901234567.25"])


@pytest.mark.parametrize("text", [" " * LONG + "x", "2024-01-01" + " " * LONG + "x", ":00" * LONG, "1" + " " * LONG + "1"])
def test_a_text_for_a_column_of_times_takes_no_hours(text: str) -> None:
    """Who may write to a topic sends blanks for a date or a time: a thousand of them took seconds, of the whole host."""
    for backend, kind in itertools.product(
        ("sqlite", "mysql", "postgresql"), (sa.Date(), sa.DateTime(), sa.Time(), sa.ARRAY(sa.DateTime()))
    ):
        check = room.check_of(None, kind, backend, rounds=False)
        assert check is not None
        with soon(), suppress(DataError):
            check(text)
    with soon(), suppress(DataError):
        pg_texts.check_no_zone(pg_texts.without_blanks(text))
    with soon(), suppress(DataError):
        pg_texts.of_array(pg_texts.check_no_zone)("{" + '"\\' * LONG)


@pytest.mark.parametrize("parameter", [";a= ", "; a = ", ';a="b" ', ";a ", "<>;", ";a=<>"])
def test_a_link_takes_no_hours(parameter: str) -> None:
    """Who is a service sends a header Link of 40 parameters, with a blank that could belong to either of two texts in each."""
    with soon():
        assert links.following(["<http://a/>" + parameter * 2000 + '"']) is None
    given = ['<http://a/?x=1,2>; rel="up self"; title = "a, b" , <http://b/> ;rel= ;x=y; Rel=next, <http://c/>;rel=next ;a=']
    assert links.following(given) == "http://c/"


def of_one_hash(count: int) -> Iterator[int]:
    """Python hashes a number by what it leaves when divided by this."""
    return (5 + each * ((1 << 61) - 1) for each in range(10, 10 + count))


def test_a_map_of_decimals_takes_no_minutes() -> None:
    """Who may write to a topic chooses keys of a map so that each is compared with all others, in a value or in a header."""
    key = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "version": 1, "parameters": {"scale": "0"}}
    own = {"type": "map", "keys": key, "values": {"type": "int32"}}

    def read(numbers: Iterable[int]) -> Any:
        pairs = [[base64.b64encode(each.to_bytes(12, "big")).decode(), 1] for each in numbers]
        return JsonConverter().to_connect_data("t", json.dumps({"schema": own, "payload": pairs}).encode()).value

    with soon(), pytest.raises(DataError, match="can't tell apart"):
        read(of_one_hash(30_000))
    with soon():
        text = "{" + ",".join(f"{each}:1" for each in of_one_hash(30_000)) + "}"
        assert SimpleHeaderConverter().to_connect_header("t", "h", text.encode()).value == text
    assert len(read(range(5000))) == 5000
    assert read([7] * 5000) == {decimal.Decimal(7): 1}
    assert len(read(of_one_hash(900))) == 900


def test_a_name_that_is_there_twice_is_found_at_once() -> None:
    """Who puts a file into a store writes an object of very many names into it, of which the last one comes twice."""
    names_of_object = [f'"k{each:07}":1' for each in range(LONG)]
    data = ("{" + ",".join([*names_of_object, names_of_object[-1]]) + "}").encode()
    with soon(), pytest.raises(DataError, match="k0099999"):
        documents.check_names(data, documents.parsed(data))


def test_headers_in_each_turn_of_a_macro_take_no_minutes() -> None:
    """Who may write to a topic sends a long list, and very many headers, to an expression that looks at both."""
    chosen = Expression()
    chosen.configure({"drop": 'value.all(i, i != headers["x"])'})
    headers = [Header(f"h{each}", "a") for each in range(LONG)] + [Header("x", -1)]
    with soon():
        assert chosen.apply(SinkRecord("t", 0, None, None, None, list(range(LONG)), 0, headers=headers)) is None


def test_a_number_that_may_be_a_boolean_takes_no_minutes() -> None:
    """Who may write to a topic sends a list of ones, and a map in which 1 is behind very many others."""
    chosen = Expression()
    chosen.configure({"drop": "value.l.all(i, i in value.m)"})
    value = {"l": [1] * LONG, "m": {**dict.fromkeys(range(2, LONG), 0), 1: 0}}
    with soon(), pytest.raises(DataError, match="takes more work than is allowed"):
        chosen.apply(SinkRecord("t", 0, None, None, None, value, 0))
    few = {"l": [1] * 100, "m": {2: 0, 1: 0}}
    assert chosen.apply(SinkRecord("t", 0, None, None, None, few, 0)) is None


MARKS = "a" + "\u0345" * LONG + "\u0316" * LONG
"""A letter with marks in the wrong order: to put them right takes minutes, and nothing else of the process runs meanwhile."""


def test_a_letter_with_very_many_marks_in_a_config() -> None:
    """A config's value of a few hundred kilobytes holds up the host at each start of a task."""
    with soon():
        reach = Reach(folders=("/tmp",))
        for config in ({"anything": MARKS}, {"service.url": f"http://{MARKS}/x"}):
            assert len(list(reach.problems(config))) == 1
        assert [setting for setting, _ in reach.problems({"a": f"http://１６９.254.169.254/{MARKS}"})] == ["a"]
        assert [setting for setting, _ in reach.problems({"b": f"file://{MARKS}/etc"})] == ["b"]


def test_a_letter_with_very_many_marks_in_a_key() -> None:
    """A record's key of marks holds up the host of an HttpSink."""
    with soon(), pytest.raises(DataError, match="more than 30 marks"):
        names.check_segment("a" + "\u0345" * 4000 + "\u0316" * 4000)


def test_a_letter_with_very_many_marks_in_a_password() -> None:
    """A stranger's password of marks holds up the whole worker."""
    known = PasswordHash.of("caf\u00e9", ln=4)
    with soon():
        assert not known.matches(MARKS)
    assert known.matches("cafe\u0301")


def test_a_letter_with_very_many_marks_in_an_answer_of_a_catalog() -> None:
    """A catalog's address of marks, or that of a file, holds up the host of an IcebergSink."""
    rules = Rules("rest", {"uri": "http://127.0.0.1:1"}, {})
    with soon():
        with pytest.raises(ConfigError):
            rules.check({"s3.endpoint": f"https://{MARKS}"})
        for location in (f"hdfs://{MARKS}/x", f"s3://{MARKS}/x", f"file://{MARKS}/x"):
            with pytest.raises(ConfigError, match="at no address"):
                rules.check_location(location)
        kind = guarded("rest", rules)
        catalog = kind.__new__(kind)
        catalog.properties = {}
        with pytest.raises(ConfigError, match="at no address"):
            catalog._load_file_io({}, f"s3://{MARKS}/x")


def expression(text: str, value: Any, of: Schema | None = None) -> Any:
    transform = Expression()
    transform.configure({"field.out": text})
    return transform.apply(SinkRecord("t", 0, None, None, of, value, 0)).value


TWICE = "".join([".map(x, {'a': x, 'b': x})"] * 36)


def test_an_expression_makes_no_schema_without_an_end() -> None:
    """Each step of an expression has the type of the one before in it twice: the schema of an empty list never ends."""
    row = schema.struct({"n": schema.INT32_SCHEMA})
    with soon():
        with pytest.raises(ConfigError, match="over 200000 parts"):
            expression(f"[1].filter(x, false){TWICE}", {})
        with pytest.raises(DataError, match="over 200000 parts"):
            expression(f"[value.n].filter(x, false){TWICE}", Struct(row, {"n": 1}), row)


@pytest.mark.parametrize("typed", [False, True])
def test_an_expression_makes_no_list_of_the_same_text_over_and_over(typed: bool) -> None:
    """A record of half a megabyte becomes one of fifty gigabytes."""
    value: Any = {"big": "x" * LONG, "items": list(range(LONG)), "row": {"big": "x" * LONG}}
    inner = schema.struct({"big": schema.STRING_SCHEMA})
    of = schema.struct({"big": schema.STRING_SCHEMA, "items": schema.array(schema.INT64_SCHEMA), "row": inner})
    given = Struct(of, {**value, "row": Struct(inner, value["row"])}) if typed else value
    with soon():
        for text in ("value.items.map(i, value.big)", "value.items.map(i, value.row)", "value.items.map(i, {'a': value.big})"):
            with pytest.raises(DataError, match="134217728 characters"):
                expression(text, given, of if typed else None)
    assert expression("[value.row, value.row]", given, of if typed else None)


@pytest.mark.parametrize(
    "text",
    [
        "value.items.exists(i, value.map[value.big] == 1)",
        "value.items.exists(i, int(value.big) == 1)",
        "value.items.exists(i, value.decimal == 1.5)",
        "value.items.exists(i, timestamp(0).getHours('Area/Nr' + string(i)) == 30)",
        r"value.items.exists(i, 'a'.matches(value.pattern + string(i)))",
        r"value.items.exists(i, 'a'.matches(value.short + string(i)))",
    ],
)
def test_an_expression_takes_no_minutes(text: str) -> None:
    """What one turn of a macro costs is charged: messages about long texts, digits of decimals, files of zones, patterns."""
    value = {
        "items": list(range(20_000)),
        "big": "x" * 5 * LONG,
        "decimal": decimal.Decimal("1" * 5 * LONG + ".5"),
        "map": {"a": 1},
        "pattern": "(?i)" + r"\PL" * 1000,
        "short": "(?i)" + r"\PL" * 80,
    }
    with soon(), suppress(DataError):
        expression(text, value)


def chain(*configs: dict[str, str]) -> Any:
    """Give a record to one Expression after the other."""
    inner = schema.struct({"big": schema.STRING_SCHEMA})
    record = SinkRecord("t", 0, None, None, inner, Struct(inner, {"big": "x" * LONG}), 0)
    for config in configs:
        transform = Expression()
        transform.configure(config)
        record = transform.apply(record)
    return record


@pytest.mark.parametrize(
    "configs",
    [
        [{f"field.f{each}": "value.big" for each in range(2000)}],
        [{f"header.h{each}": "value.big" for each in range(2000)}],
        [{f"header.h{each}": "value" for each in range(2000)}],
        [{f"field.f{each}": "value"} for each in range(16)],
        [{"expression": "{'a': value, 'b': value}"}] * 16,
        [{f"header.{step}h{each}": "value.big" for each in range(100)} for step in range(20)],
        [{f"field.f{step}": "[value.big, value.big]"} for step in range(1000)],
    ],
    ids=["fields", "headers", "structs", "doubling", "whole", "steps", "many steps"],
)
def test_expressions_make_no_record_of_gigabytes_together(configs: list[dict[str, str]]) -> None:
    """Each makes little, and all settings of one, or all of a chain, make gigabytes of a record of 100 KB."""
    with soon(), pytest.raises(DataError, match="134217728 characters"):
        chain(*configs)
    assert chain(*configs[:1]) if len(configs) > 1 else chain({"field.f": "value", "header.h": "value.big"})


@pytest.mark.parametrize("has_schema", [False, True])
@pytest.mark.parametrize(
    ("transform", "config"),
    [
        (HeaderFromValue, {"fields": ",".join(["f0"] * 2000), "headers": ",".join(["h"] * 2000), "operation": "copy"}),
        (HeaderFromValue, {"fields": ",".join(["f0"] * 2000), "headers": ",".join(["h"] * 2000), "operation": "move"}),
        (MaskFieldValue, {"fields": ",".join(f"f{each}" for each in range(2000)), "replacement": "x" * LONG}),
    ],
    ids=["copied", "moved", "masked"],
)
def test_a_config_makes_no_record_of_gigabytes(transform: Any, config: dict[str, str], has_schema: bool) -> None:
    """A field that is named over and over, and a text that is put into very many: 20 GB of a megabyte of settings."""

    def changed(length: int, config: dict[str, str]) -> Any:
        made = transform()
        made.configure(config)
        value: Any = {f"f{each}": "x" * length for each in range(2000)}
        of = schema.struct(dict.fromkeys(value, schema.STRING_SCHEMA)) if has_schema else None
        record = SinkRecord("t", 0, None, None, of, Struct(of, value) if of else value, 0)
        if hasattr(made, "column"):
            with pytest.raises(Unusual):
                made.column(Column(of, [record.value] * 20), None)
        return made.apply(record)

    with soon(), pytest.raises(DataError, match="134217728 characters"):
        changed(LONG if transform is HeaderFromValue else 1, config)
    assert changed(20, {**config, **({"replacement": "x" * 100} if "replacement" in config else {})})


def test_a_long_separator_is_not_before_thousands_of_names() -> None:
    """It counted as a part of the names that a record has, of which there may be so many times more."""
    made = FlattenValue()
    made.configure({"delimiter": "-" * LONG})
    with soon(), pytest.raises(DataError, match="Flatten would make names"):
        made.apply(SinkRecord("t", 0, None, None, None, {"a": dict.fromkeys(map(str, range(5000)), 1)}, 0))
    assert made.apply(SinkRecord("t", 0, None, None, None, {"a": {1: 2}}, 0)).value == {"a" + "-" * LONG + "1": 2}


def test_a_decimal_of_an_expression_is_the_nearest_double() -> None:
    for digits in ("1" * 1000, "9007199254740993", "9007199254740993." + "0" * 2000 + "1", "-0", "1E-400", "2.5"):
        exact = decimal.Decimal(digits)
        assert repr(plain(exact)) == repr(float(exact) if exact.adjusted() < 300 else float("inf"))


@pytest.mark.parametrize("quoted", [0, 1, 2])
def test_a_config_names_no_host_of_very_many_marks(quoted: int) -> None:
    """Drivers of databases and clients of HTTP bring the host of an address into a normal form, and take hours for this one."""
    host = MARKS
    for _ in range(quoted):
        host = quote(host)
    for address in (f"postgresql://{host}/x", f"postgresql:///x?host={host}", f"http://{host}/"):
        with soon():
            [(setting, message)] = Reach().problems({"name": "a", "connection.url": address})
        assert setting == "connection.url" and "more than 30 marks" in message and len(message) < 200
    assert not list(Reach().problems({"connection.url": "postgresql://b%C3%BCcher.example/x", "doc": "e\u0301" * LONG}))


def test_a_config_of_very_many_paths_takes_no_minutes() -> None:
    """Each part of each path of a config is looked for on the disk: of a setting of 300 KB that is millions."""
    with soon():
        found = list(Reach(folders=("/tmp",)).problems({"a": "file:/" * LONG, "b.file": "/x" * LONG}))
    assert {setting for setting, _ in found} == {"a", "b.file"}
    assert max(len(message) for _, message in found) < 5000
