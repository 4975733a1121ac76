"""
Rows from table to table: the SQL source, a converter there and back, and the SQL sink, as records would go through Kafka.

Used by `test_types.py`.
"""

from __future__ import annotations

from typing import Any

from kconnect.api import Converter, SinkRecord, SourceRecord
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.converters.avro import AvroConverter
from kconnect.converters.json import JsonConverter
from kconnect.testing import SinkRunner, SourceRunner
from tests.connectors.sql.databases import Database

CONVERTERS: dict[str, tuple[type[Converter], dict[str, str]]] = {
    "json": (JsonConverter, {"schemas.enable": "true"}),
    "avro": (AvroConverter, {"schema.registry.url": "mock://truth"}),
}


class Way:
    """From the table of a name to the one of the same name with `_to` behind it."""

    def __init__(self, database: Database, table: str, converter: str, query: bool = False, **settings: str) -> None:
        self.database, self.table = database, table
        kind, config = CONVERTERS[converter]
        self._there, self._back = kind(), kind()
        self._there.configure(dict(config), False)
        self._back.configure(dict(config), False)
        more = {name.replace("_", "."): value for name, value in settings.items()}
        self.source_config = {
            **database.config,
            "name": "source",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "topic.prefix": "",
            "poll.interval.ms": "0",
            **({"query": f"select * from {table}", "topic.prefix": table} if query else {"table.whitelist": table}),
            **more,
        }
        self.sink_config = {
            **database.config,
            "name": "sink",
            "topics": table,
            "table.name.format": "${topic}_to",
            "errors.tolerance": "all",
            "max.retries": "0",
        }

    def source(self) -> SourceRunner:
        return SourceRunner(SqlSourceConnector, self.source_config)

    def sink(self) -> SinkRunner:
        return SinkRunner(SqlSinkConnector, self.sink_config)

    def through_kafka(self, record: SourceRecord, offset: int) -> SinkRecord:
        data = self._there.from_connect_data(self.table, record.value_schema, record.value)
        read: Any = self._back.to_connect_data(self.table, data)
        return SinkRecord(self.table, 0, None, None, read.schema, read.value, offset)
