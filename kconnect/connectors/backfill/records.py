"""
What a table's records are, whatever the database: the envelope of Debezium, the choice of tables, and rows that become records.

Called by the tasks and by what describes a database's tables. Read next: `tables.py`, `mariadb/tables.py`.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConnectError, Header, Schema, SourceRecord, Struct, schema
from kconnect.connectors.backfill.types import Reading, is_text
from kconnect.connectors.names import printable
from kconnect.connectors.patterns import Pattern

_UNFIT = re.compile(r"[^A-Za-z0-9._\-]")
_TRANSACTION = schema.struct(
    {"id": schema.STRING_SCHEMA, "total_order": schema.INT64_SCHEMA, "data_collection_order": schema.INT64_SCHEMA},
    name="event.block",
    version=1,
    optional=True,
)
SNAPSHOT_FIELD = schema.STRING_SCHEMA.replace(
    optional=True,
    default="false",
    name="io.debezium.data.Enum",
    version=1,
    parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
)
"""The field `snapshot` of each database's source block."""


@dataclass(frozen=True)
class Shape:
    """What the records of a table are. `key` has the places of the key's fields among the columns."""

    topic: str
    columns: Sequence[tuple[str, Reading]]
    key: Sequence[int]
    key_schema: Schema | None
    row_schema: Schema
    schema: Schema

    @property
    def long(self) -> Sequence[int]:
        """The places of columns whose values may be long."""
        return [place for place, (_, reading) in enumerate(self.columns) if is_text(reading)]


def shape_of(topic: str, columns: Sequence[tuple[str, Reading]], key_names: Sequence[str], source: Schema) -> Shape:
    """Return what the records of a table with these columns are. Columns of the key that are not read are left out of it."""
    names = [column for column, _ in columns]
    key = [names.index(column) for column in key_names if column in names]
    row = schema.struct({column: reading.schema for column, reading in columns}, name=f"{topic}.Value", optional=True)
    times = dict.fromkeys(("ts_ms", "ts_us", "ts_ns"), schema.OPTIONAL_INT64_SCHEMA)
    parts = {"before": row, "after": row, "source": source, "transaction": _TRANSACTION, "op": schema.STRING_SCHEMA, **times}
    return Shape(
        topic,
        columns,
        key,
        schema.struct({names[place]: columns[place][1].schema for place in key}, name=f"{topic}.Key") if key else None,
        row,
        schema.struct(parts, name=f"{topic}.Envelope", version=2),
    )


_MOST_TOLD, _LONGEST_TOLD = 20, 500


def topic_of(delimiter: str, *parts: str) -> str:
    """Return the name of a table's topic, by the connector's prefix and the names of the table."""
    return _UNFIT.sub("_", delimiter.join(parts))


def refuse_shared(topics: Iterable[tuple[object, str]], excluding: str) -> None:
    """
    ConnectError if two tables have one topic: whoever may make a table would write into another's. `topics` has each table's
    name and topic, `excluding` is the setting that leaves one out.
    """
    names: dict[str, object] = {}
    for name, topic in topics:
        if (other := names.setdefault(topic, name)) is not name:
            raise ConnectError(
                f"The tables {other} and {name} have one topic, {topic}: rename one of them, or leave it out by {excluding}"
            )


def told_of(left_out: Mapping[str, str]) -> list[str]:
    """Return sentences about tables that are left out, for the configs of tasks, which others can make no longer than so."""
    told = [printable(text if name in text else f"{name}: {text}")[:_LONGEST_TOLD] for name, text in left_out.items()]
    more = len(told) - _MOST_TOLD
    return [*told[:_MOST_TOLD], f"and {more} more"] if more > 0 else told


def matches(config: Mapping[str, Any], including: str, excluding: str, name: str) -> bool:
    """Return whether Debezium would take `name`, by two settings with patterns: whole names, whatever their case."""
    if config[including]:
        return any(_pattern(text).fullmatch(name) for text in config[including])
    return not any(_pattern(text).fullmatch(name) for text in config[excluding])


@functools.lru_cache(maxsize=1000)
def _pattern(text: str) -> Pattern:
    # Each is asked for every column.
    return Pattern(f"(?i:{text})")


def headers_of(prefix: str, connector: str, run: str) -> tuple[Header, ...]:
    """Return the headers that Debezium gives each record."""
    values = {"connectorLogicalName": prefix, "taskId": "0", "connectorName": connector, "runId": run}
    return tuple(Header(f"__debezium.context.{name}", value, schema.STRING_SCHEMA) for name, value in values.items())


def records_of(
    shape: Shape,
    table: object,
    columns: Sequence[Sequence[Any]],
    places: tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]],
    source: Struct,
    headers: tuple[Header, ...],
) -> list[SourceRecord]:
    """
    Return the records of some rows, which come as columns. `places` are the source partition, and the offsets before and after
    them: all but the last one have that before, so who stops in between begins with the first one again. `table` is for
    messages.
    """
    converted = [_converted(shape, table, place, values) for place, values in enumerate(columns)]
    keys = list(zip(*(converted[place] for place in shape.key))) if shape.key else None
    now_ns = time.time_ns()
    times = [now_ns // 1_000_000, now_ns // 1000, now_ns]
    row_schema, value_schema, topic = shape.row_schema, shape.schema, shape.topic
    partition, before, after = places
    records = []
    new, make = SourceRecord.__new__, Struct.unchecked
    # Attribute by attribute it takes three quarters of the time of calls with all of them.
    for values in zip(*converted):
        record = new(SourceRecord)
        record.source_partition, record.source_offset = partition, before
        record.topic, record.partition, record.headers, record.timestamp = topic, None, headers, None
        record.key_schema = record.key = None
        record.value_schema = value_schema
        record.value = make(value_schema, [None, make(row_schema, list(values)), source, None, "r", *times])
        records.append(record)
    if keys is not None:
        key_schema = shape.key_schema
        assert key_schema is not None
        for record, key in zip(records, keys):
            record.key_schema, record.key = key_schema, make(key_schema, list(key))
    records[-1].source_offset = after
    return records


def _converted(shape: Shape, table: object, place: int, values: Sequence[Any]) -> Sequence[Any]:
    name, reading = shape.columns[place]
    convert = reading.convert
    if convert is not None:
        try:
            values = [None if value is None else convert(value) for value in values]
        except ConnectError as error:
            raise ConnectError(f"{table}.{name}: {error}") from None
    if not reading.schema.optional and None in values:
        raise ConnectError(f"{table}.{name} has a value, such as NaN, that Debezium has no place for")
    return values
