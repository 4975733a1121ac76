"""
The connectors' promise: one record is one record, whatever is beside it. Every sink, given a mixed batch, makes what it makes
of the same records one by one, and refuses the same ones: in batches of each size, with the odd one at each place.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, SinkRecord, Struct, schema
from kconnect.connectors.file_sink import FileStreamSinkConnector
from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.testing import SinkRunner
from tests.rig.systems.http_service import HttpService

ROW = schema.struct({"id": INT32_SCHEMA, "a": OPTIONAL_STRING_SCHEMA})
OTHER = schema.struct({"id": INT32_SCHEMA, "a": OPTIONAL_STRING_SCHEMA, "b": OPTIONAL_STRING_SCHEMA})
TYPED = schema.struct({"id": STRING_SCHEMA, "a": OPTIONAL_STRING_SCHEMA})


def plain(at: int, value: Any) -> SinkRecord:
    return SinkRecord("t", 0, None, f"k{at}", None, value, at, timestamp=1)


def typed(at: int, own: Any, **values: Any) -> SinkRecord:
    return SinkRecord("t", 0, None, f"k{at}", own, Struct(own, values), at, timestamp=1)


ORDINARY: dict[str, Callable[[int], SinkRecord]] = {
    "object": lambda at: plain(at, {"id": at, "a": f"a{at}"}),
    "struct": lambda at: typed(at, ROW, id=at, a=f"a{at}"),
}
ODD: dict[str, Callable[[int], SinkRecord]] = {
    "tombstone": lambda at: plain(at, None),
    "text": lambda at: plain(at, "text"),
    "number": lambda at: plain(at, 0),
    "list": lambda at: plain(at, [1]),
    "empty object": lambda at: plain(at, {}),
    "another order": lambda at: plain(at, {"a": "x", "id": at}),
    "fewer fields": lambda at: plain(at, {"id": at}),
    "more fields": lambda at: plain(at, {"id": at, "a": "x", "b": "y"}),
    "unknown field": lambda at: plain(at, {"id": at, "none": 1}),
    "another type": lambda at: plain(at, {"id": "no number", "a": [1, {}]}),
    "other schema": lambda at: typed(at, OTHER, id=at, a="x", b="y"),
    "other type in schema": lambda at: typed(at, TYPED, id="i", a="x"),
    "null beside": lambda at: typed(at, ROW, id=at, a=None),
}


def file_sink(path: Path) -> tuple[type[Any], dict[str, str], Callable[[], Any]]:
    out = path / "out"
    return FileStreamSinkConnector, {"file": str(out)}, lambda: out.read_text() if out.exists() else ""


def objects(format: str) -> Callable[[Path], tuple[type[Any], dict[str, str], Callable[[], Any]]]:
    def made(path: Path) -> tuple[type[Any], dict[str, str], Callable[[], Any]]:
        config = {"store": f"file://{path}", "flush.size": "1", "format.class": format, "behavior.on.null.values": "ignore"}
        return (
            ObjectStoreSinkConnector,
            config,
            lambda: {str(each.relative_to(path)): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()},
        )

    return made


def sql(path: Path) -> tuple[type[Any], dict[str, str], Callable[[], Any]]:
    file = path / "d.db"
    with sqlite3.connect(file) as connection:
        connection.execute("create table t (id integer, a varchar(10), b varchar(10))")

    def rows() -> Any:
        with sqlite3.connect(file) as connection:
            return connection.execute("select id, a, b from t order by rowid").fetchall()

    return SqlSinkConnector, {"connection.url": f"jdbc:sqlite:{file}"}, rows


SINKS = {
    "file": file_sink,
    "json files": objects("JsonFormat"),
    "csv files": objects("CsvFormat"),
    "avro files": objects("AvroFormat"),
    "parquet files": objects("ParquetFormat"),
    "sql": sql,
}


def outcome(path: Path, name: str, batches: list[list[SinkRecord]]) -> tuple[Any, list[int]]:
    path.mkdir()
    connector, config, result = SINKS[name](path)
    with SinkRunner(connector, {"name": "c", "topics": "t", "errors.tolerance": "all", **config}) as sink:
        for batch in batches:
            sink.put(batch)
        sink.flush()
        bad = sorted({record.original_offset for record, _ in sink.reported})
    return result(), bad


def cases() -> Iterator[tuple[int, int]]:
    # Where batches begin is at ten.
    for size in (1, 2, 9, 10, 11, 60) if "KCONNECT_NIGHT" in os.environ else (11,):
        yield from ((size, place) for place in sorted({0, size // 2, size - 1}))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("ordinary", ORDINARY)
@pytest.mark.parametrize("name", SINKS)
def test_an_odd_one_among_others(tmp_path: Path, name: str, ordinary: str, odd: str) -> None:
    for size, place in cases():
        records = [ODD[odd](at) if at == place else ORDINARY[ordinary](at) for at in range(size)]
        together = outcome(tmp_path / f"all-{size}-{place}", name, [records])
        apart = outcome(tmp_path / f"one-{size}-{place}", name, [[each] for each in records])
        assert together == apart, (size, place)


@pytest.mark.parametrize("name", SINKS)
def test_all_kinds_in_one_batch(tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    kinds = [*ORDINARY.values(), *ODD.values()]
    for number in range(3):
        records = [dice.choice(kinds)(at) for at in range(80)]
        together = outcome(tmp_path / f"all-{number}", name, [records])
        apart = outcome(tmp_path / f"one-{number}", name, [[each] for each in records])
        assert together == apart, number


@pytest.mark.parametrize("odd", ODD)
def test_requests(odd: str) -> None:
    """Of HttpSink: their order and bodies."""
    found = []
    records = [ODD[odd](at) if at in (0, 7, 19) else ORDINARY["object"](at) for at in range(20)]
    for batches in ([records], [[each] for each in records]):
        service = HttpService()
        try:
            config = {"name": "c", "topics": "t", "errors.tolerance": "all", "http.api.url": f"{service.url}/x"}
            with SinkRunner(HttpSinkConnector, config) as sink:
                for batch in batches:
                    sink.put(batch)
                found.append(([taken.body for taken in service.taken], [each.original_offset for each, _ in sink.reported]))
        finally:
            service.end()
    assert found[0] == found[1]
