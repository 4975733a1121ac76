"""
Each kind of value, alone and within a list, a map and a struct, in files of each format and in tables of Iceberg: it is there
as it is, or its record is refused, and those beside it are written.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import INT32_SCHEMA, STRING_SCHEMA, ConnectError, Schema, SchemaType, SinkRecord, Struct, schema
from kconnect.connectors.http.source import HttpSourceConnector
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.testing import SinkRunner, SourceRunner
from tests.connectors.iceberg.test_iceberg_sink import Lake
from tests.connectors.objects.test_sink import read
from tests.connectors.truth.moody_service import AUTHORITY, MoodyService
from tests.connectors.truth.values import TYPED, same

Wrap = Callable[[Schema, Any], tuple[Schema, Any]]


def _struct(own: Schema, value: Any) -> tuple[Schema, Any]:
    made = schema.struct({"x": own, "y": own.replace(optional=True)})
    return made, Struct(made, {"x": value, "y": None})


def _map(own: Schema, value: Any) -> tuple[Schema, Any]:
    return schema.mapping(STRING_SCHEMA, own.replace(optional=True)), {"k": value, "none": None}


WRAPS: dict[str, Wrap] = {
    "alone": lambda own, value: (own, value),
    "list": lambda own, value: (schema.array(own.replace(optional=True)), [value, None, value]),
    "map": _map,
    "struct": _struct,
}
ALL = [(own, value) for own, values in TYPED for value in values]


def is_odd(own: Schema, value: Any, format: str) -> bool:
    """Whether a format may refuse a value."""
    if value == "\ud800":
        return True
    if isinstance(value, float) and not math.isfinite(value):
        return format == "JsonFormat"
    return own.name == schema.DECIMAL and schema.decimal_scale(own) < 0


def equal(value: Any, own: Schema, stored: Any, plain: bool) -> bool:
    """`plain`: the format has only what JSON has, such as base64 for bytes."""
    if value is None:
        return stored is None
    if own.type is SchemaType.STRUCT:
        return all(equal(value[field.name], field.schema, stored[field.name], plain) for field in own.fields)
    if own.type is SchemaType.ARRAY:
        assert own.value_schema is not None
        return len(value) == len(stored) and all(equal(a, own.value_schema, b, plain) for a, b in zip(value, stored))
    if own.type is SchemaType.MAP:
        assert own.value_schema is not None
        there = dict(stored)
        return value.keys() == there.keys() and all(equal(value[k], own.value_schema, there[k], plain) for k in value)
    if isinstance(value, str):
        return bool(stored == value)
    if isinstance(stored, float) and isinstance(value, decimal.Decimal):
        return float(value) == stored  # Of JSON's readers: the text has all digits.
    if isinstance(stored, datetime.datetime) and own.name == schema.TIMESTAMP:
        return (stored if stored.tzinfo else stored.replace(tzinfo=datetime.timezone.utc)) == value
    return same(value, own, stored)


def record(at: int, wrap: Wrap, own: Schema, value: Any) -> SinkRecord:
    wrapped, within = wrap(own, value)
    row = schema.struct({"id": INT32_SCHEMA, "v": wrapped})
    return SinkRecord("orders", 0, None, None, row, Struct(row, {"id": at, "v": within}), at, timestamp=1)


def check(records: list[SinkRecord], rows: dict[int, Any], refused: dict[int, str], format: str) -> None:
    wrong = []
    for each, (own, value) in zip(records, ALL):
        at = each.original_offset
        where = f"{value!r} of {own.name or own.type.value}"
        wrapped = each.value_schema.field("v").schema  # type: ignore[union-attr]
        if at in refused:
            if at in rows:
                wrong.append(f"{where} is refused and written")
            elif not is_odd(own, value, format):
                wrong.append(f"{where} is refused: {refused[at]}")
        elif at not in rows:
            wrong.append(f"{where} is lost")
        elif not equal(each.value["v"], wrapped, rows[at], format == "JsonFormat"):
            wrong.append(f"{where} has become {rows[at]!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("wrap", list(WRAPS))
@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_each_kind_of_value_in_a_file(tmp_path: Path, format: str, wrap: str) -> None:
    config = {"name": "o", "topics": "orders", "store": f"file://{tmp_path}", "format.class": format, "flush.size": "1"}
    records = [record(at, WRAPS[wrap], own, value) for at, (own, value) in enumerate(ALL)]
    with SinkRunner(ObjectStoreSinkConnector, {**config, "errors.tolerance": "all"}) as sink:
        sink.put(records)
        sink.flush()
        refused = {each.original_offset: str(error) for each, error in sink.reported}
    rows: dict[int, Any] = {}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            rows |= {row["id"]: row["v"] for row in read(str(path), path.read_bytes())}
    check(records, rows, refused, format)


@pytest.mark.parametrize("wrap", ["struct", *(pytest.param(wrap, marks=pytest.mark.long) for wrap in ("alone", "list", "map"))])
def test_each_kind_of_value_in_a_table_of_iceberg(tmp_path: Path, wrap: str) -> None:
    """A table for the values of each schema, as records name it."""
    (tmp_path / "warehouse").mkdir()
    lake = Lake("sql", f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse")
    records = [record(at, WRAPS[wrap], own, value) for at, (own, value) in enumerate(ALL)]
    tables = {}
    for at, (own, _) in enumerate(ALL):
        tables[at] = f"v{[schema for schema, _ in TYPED].index(own)}"
        records[at].topic = tables[at]
    config = {"iceberg.tables": "shop.${topic}", "errors.tolerance": "all"}
    with lake.sink(**config) as sink:
        sink.put(records)
        sink.put([])
        refused = {each.original_offset: str(error) for each, error in sink.reported}
    rows: dict[int, Any] = {}
    for table in set(tables.values()):
        if lake.catalog.table_exists(("shop", table)):
            rows |= {row["id"]: row["v"] for row in lake.catalog.load_table(f"shop.{table}").scan().to_arrow().to_pylist()}
    check(records, rows, refused, "Iceberg")


def test_texts_of_json_are_read_as_they_were(tmp_path: Path) -> None:
    """A reader that is not ours."""
    config = {"name": "o", "topics": "orders", "store": f"file://{tmp_path}", "format.class": "JsonFormat", "flush.size": "1"}
    number = decimal.Decimal("99999999999999999.99")
    own = schema.struct({"v": schema.decimal_schema(2)})
    with SinkRunner(ObjectStoreSinkConnector, config) as sink:
        sink.put([SinkRecord("orders", 0, None, None, own, Struct(own, {"v": number}), 0)])
    (path,) = (path for path in tmp_path.rglob("*.json"))
    assert json.loads(path.read_text(), parse_float=decimal.Decimal) == {"v": number}


def test_an_integer_that_is_too_large_is_refused_where_json_is_read(tmp_path: Path) -> None:
    """orjson makes the nearest floating point number of it."""
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "t+0+0.json").write_text(
        '{"a": 9223372036854775807, "s": "18446744073709551616"}\n{"a": 18446744073709551616}\n'
    )
    config = {"store": f"file://{tmp_path}", "format.class": "JsonFormat", "s3.poll.interval.ms": "1"}
    with SourceRunner(ObjectStoreSourceConnector, config) as source:
        found: list[Any] = []
        with pytest.raises(ConnectError, match="behind its record 1: the number 18446744073709551616 has no place in INT64"):
            for _ in range(3):
                found += [record.value for record in source.poll()]
        assert found == [{"a": 2**63 - 1, "s": "18446744073709551616"}]
    service = MoodyService()
    service.answer = lambda path: ({}, [{"id": 2**64}])
    try:
        config = {"kafka.topic": "t", "http.api.url": f"{service.url}/x", "ssl.ca.location": AUTHORITY}
        with SourceRunner(HttpSourceConnector, config) as http, pytest.raises(ConnectError, match="has no place in INT64"):
            http.poll()
    finally:
        service.end()


def test_a_number_that_json_has_not_is_refused_however_deep(tmp_path: Path) -> None:
    config = {"name": "o", "topics": "orders", "store": f"file://{tmp_path}", "format.class": "JsonFormat", "flush.size": "1"}
    values = [{"v": [1.5, None]}, {"v": [{"x": math.nan}]}, {"v": "null"}, math.inf]
    with SinkRunner(ObjectStoreSinkConnector, {**config, "errors.tolerance": "all"}) as sink:
        sink.put([SinkRecord("orders", 0, None, None, None, value, at) for at, value in enumerate(values)])
        sink.flush()
        assert [each.original_offset for each, _ in sink.reported] == [1, 3]
