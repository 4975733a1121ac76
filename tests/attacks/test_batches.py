"""Attacks by whoever may write one record, on those that are read and delivered together with it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import SinkRecord
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.converters.json import JsonConverter
from kconnect.converters.simple_header import SimpleHeaderConverter
from kconnect.core.task.batch import Batch
from kconnect.core.task.chain import Converters, SinkChain
from kconnect.core.task.errors import strict
from kconnect.core.task.sink_pump import Parts, SinkConversion
from kconnect.core.task.steps import Step, Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.testing import SinkRunner
from kconnect.transforms.extract_field import ExtractFieldValue
from tests.core.task.records import Message

COUNT = 12
"""So many records come as a batch; fewer come one by one."""


def delivered(values: Sequence[bytes], steps: Sequence[Step] = (), schemas: str = "false") -> list[Any]:
    """Convert messages as a task does that takes batches. Return the values; an AssertionError for a batch with a null."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": schemas}, False)
    used: set[str] = set()
    chain = SinkChain(Converters(converter, converter, SimpleHeaderConverter))
    convert = SinkConversion(chain, Steps(list(steps)), strict(), TopicUse(lambda: used, used.add), columns=True)
    given = convert([Message(("t", 0, offset), value) for offset, value in enumerate(values)])
    found: list[Any] = []
    for part in given.parts if isinstance(given, Parts) else [given]:
        if isinstance(part, Batch):
            assert None not in part.value.values, "a batch has a null"
        found += [record.value for record in (part.records() if isinstance(part, Batch) else part)]
    return found


OBJECT = b'{"id": 1}'
ENVELOPE = b'{"schema":{"type":"struct","optional":true,"fields":[{"type":"int32","field":"id"}]},"payload":%b}'


@pytest.mark.parametrize(("schemas", "form"), [("false", b"%b"), ("true", ENVELOPE)], ids=["free", "schema"])
def test_a_null_that_is_no_tombstone_is_one_records(schemas: str, form: bytes) -> None:
    """Who may write to the topic sends `null` in JSON, as which all of a batch counted: their rows were deleted."""
    values = [form % (b"null" if place == 5 else OBJECT) for place in range(COUNT)]
    found = delivered(values, schemas=schemas)
    assert [place for place, value in enumerate(found) if value is None] == [5]
    assert len(found) == COUNT


def test_a_null_that_a_transform_makes_is_one_records() -> None:
    """Who may write to the topic sends a field that is null, which a transform makes the value of."""
    transform: Any = ExtractFieldValue()
    transform.configure({"field": "a"})
    transform.owns_records = True
    step = Step("x", transform.apply, apply_batch=transform.apply_batch)
    values = [json.dumps({"a": None if place == 5 else {"id": place}}).encode() for place in range(COUNT)]
    assert delivered(values, [step]) == [None if place == 5 else {"id": place} for place in range(COUNT)]


def sql(path: Path, **more: str) -> SinkRunner:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INT PRIMARY KEY, name TEXT)")
    config = {"topics": "t", "connection.url": f"sqlite:///{path}", "errors.tolerance": "all", "insert.mode": "upsert"}
    return SinkRunner(SqlSinkConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def ids(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        return [number for (number,) in connection.execute("SELECT id FROM t ORDER BY id")]


@pytest.mark.parametrize(
    ("odd", "bad"), [({"id": 5}, []), ({"name": "x"}, [5]), ([5], [5]), ("5", [5])], ids=["fewer", "no key", "list", "text"]
)
def test_other_fields_are_one_records(tmp_path: Path, odd: Any, bad: list[int]) -> None:
    """Who may write to the topic sends a record without a schema whose fields are others: all of the batch were bad records."""
    path = tmp_path / "db"
    with sql(path, pk_mode="record_value", pk_fields="id") as runner:
        rows = [odd if place == 5 else {"id": place, "name": "a"} for place in range(COUNT)]
        runner.put([SinkRecord("t", 0, None, None, None, value, offset) for offset, value in enumerate(rows)])
        assert [record.original_offset for record, _ in runner.reported] == bad
    assert ids(path) == [place for place in range(COUNT) if place not in bad]


@pytest.mark.parametrize("odd", [None, 5, {"no": 5}], ids=["null", "number", "other"])
def test_another_key_is_one_records(tmp_path: Path, odd: Any) -> None:
    """Who may write to the topic sends a record without a schema whose key is another one."""
    path = tmp_path / "db"
    with sql(path, pk_mode="record_key", pk_fields="id") as runner:
        keys = [odd if place == 5 else {"id": place} for place in range(COUNT)]
        runner.put([SinkRecord("t", 0, None, key, None, {"name": "a"}, offset) for offset, key in enumerate(keys)])
        assert set(ids(path)) >= set(range(COUNT)) - {5}
        assert {record.original_offset for record, _ in runner.reported} <= {5}


def test_one_bad_record_has_no_later_ones_kept(tmp_path: Path) -> None:
    """Who may write to the topic sends one bad record: the messages of all later ones were kept until a file was full."""
    config = {"topics": "t", "store": f"file://{tmp_path}", "format.class": "JsonFormat", "flush.size": "1000000"}
    with SinkRunner(
        ObjectStoreSinkConnector, config | {"errors.tolerance": "all", "behavior.on.null.values": "fail"}
    ) as runner:
        for begin in range(0, 10 * COUNT, COUNT):
            values = [None if offset == 0 else {"id": offset} for offset in range(begin, begin + COUNT)]
            runner.put([SinkRecord("t", 0, None, None, None, value, begin + at) for at, value in enumerate(values)])
        assert [record.original_offset for record, _ in runner.reported] == [0]
        errant = runner._pump._errant
        assert errant is not None
        assert not any(errant._kept.values())
