"""Two topics whose records go to one table, since names that differ by case are one there: the log says so."""

from __future__ import annotations

import pytest

from kconnect.api import INT32_SCHEMA, STRING_SCHEMA, SinkRecord, Struct, schema
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.testing import SinkRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database

ROW = schema.struct({"id": INT32_SCHEMA, "v": STRING_SCHEMA})


def _record(topic: str) -> SinkRecord:
    return SinkRecord(topic, 0, None, None, ROW, Struct(ROW, {"id": 1, "v": topic}), 0)


@pytest.mark.parametrize("database", EVERY, indirect=True)
def test_tables_whose_names_differ_by_case(database: Database, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    upper = topic.upper()
    config = {"name": "c", "topics": f"{topic},{upper}", **database.config, "auto.create": "true", "insert.mode": "upsert"}
    with SinkRunner(SqlSinkConnector, {**config, "pk.mode": "record_value", "pk.fields": "id"}) as sink:
        sink.put([_record(topic), _record(upper)])
    said = f"The topics '{topic}' and '{upper}' go to the same table" in caplog.text
    assert said == (database.backend == "sqlite"), "the others tell them apart"
    assert (database.rows(f"select v from {topic}") == [(upper,)]) == said
