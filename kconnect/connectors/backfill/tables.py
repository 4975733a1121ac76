"""
The tables that Debezium would capture, as the database describes them now: columns, keys, ranges of pages.

Names are matched as Debezium does: whole names, by patterns, whatever their case. Called by `source.py` and `task.py`. Read
next: `types.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConnectError, Schema, schema
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.defaults import default_of
from kconnect.connectors.backfill.types import ColumnType, Reading, is_text, reading_of
from kconnect.connectors.patterns import Pattern

_TABLES = """
SELECT n.nspname, c.relname, c.relkind::text, pg_relation_size(c.oid) / current_setting('block_size')::int8,
       EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid), greatest(c.reltuples, 0)::int8,
       has_any_column_privilege(c.oid, 'SELECT'), row_security_active(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_toast%'
ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
SELECT a.attname, a.attnotnull, a.atttypmod, a.attgenerated <> '',
       pg_get_expr(d.adbin, d.adrelid), t.oid::int8
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_TYPE = """
SELECT t.typname, t.typtype::text, t.typbasetype::int8, t.typtypmod,
       CASE WHEN t.typcategory = 'A' THEN t.typelem::int8 ELSE 0 END,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t WHERE t.oid = %s
"""
_KEY = """
SELECT ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place)
             JOIN pg_attribute a ON (a.attrelid, a.attnum) = (i.indrelid, k.number)
             WHERE k.place <= i.indnkeyatts ORDER BY k.place),
       i.indnkeyatts, i.indisprimary
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass AND i.indisunique AND i.indisvalid ORDER BY i.indisprimary DESC, c.relname
"""
_FILES = "SELECT relfilenode::int8, pg_relation_filenode(oid)::int8 FROM pg_class WHERE oid = %s::regclass"
"""The first as the snapshot sees it, the second as it is now."""
_UNFIT = re.compile(r"[^A-Za-z0-9._\-]")
_MOST_RANGES = 1000

_SOURCE = schema.struct(
    {
        **dict.fromkeys(("version", "connector", "name"), schema.STRING_SCHEMA),
        "ts_ms": schema.INT64_SCHEMA,
        "snapshot": schema.STRING_SCHEMA.replace(
            optional=True,
            default="false",
            name="io.debezium.data.Enum",
            version=1,
            parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
        ),
        "db": schema.STRING_SCHEMA,
        "sequence": schema.OPTIONAL_STRING_SCHEMA,
        **dict.fromkeys(("ts_us", "ts_ns"), schema.OPTIONAL_INT64_SCHEMA),
        **dict.fromkeys(("schema", "table"), schema.STRING_SCHEMA),
        **dict.fromkeys(("txId", "lsn", "xmin"), schema.OPTIONAL_INT64_SCHEMA),
        "origin": schema.OPTIONAL_STRING_SCHEMA,
        "origin_lsn": schema.OPTIONAL_INT64_SCHEMA,
    },
    name="io.debezium.connector.postgresql.Source",
    version=1,
)
_TRANSACTION = schema.struct(
    {"id": schema.STRING_SCHEMA, "total_order": schema.INT64_SCHEMA, "data_collection_order": schema.INT64_SCHEMA},
    name="event.block",
    version=1,
    optional=True,
)


@dataclass(frozen=True)
class Name:
    """Of a table."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def quoted(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.table)}"


@dataclass(frozen=True)
class Range:
    """Pages of a table, from `first` to before `end`, or to the last one. The database guesses that there are `rows`."""

    name: Name
    first: int
    end: int | None
    rows: int = 0

    @property
    def text(self) -> str:
        """Its pages, for offsets and messages."""
        return f"{self.first}-{'' if self.end is None else self.end}"


@dataclass(frozen=True)
class Table:
    """How a table is read, and what its records are. `key` has the places of the key's fields among the columns."""

    name: Name
    topic: str
    columns: Sequence[tuple[str, Reading]]
    key: Sequence[int]
    key_schema: Schema | None
    row_schema: Schema
    schema: Schema
    source_schema: Schema

    @property
    def long(self) -> Sequence[int]:
        """The places of columns whose values may be long."""
        return [place for place, (_, reading) in enumerate(self.columns) if is_text(reading)]

    def selection(self) -> str:
        """Return what to select for each of the columns."""
        return ", ".join(reading.expression.format(quoted(name)) for name, reading in self.columns)


def quoted(name: str) -> str:
    """Return a name as it stands in a statement, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def ranges(connection: Any, config: Mapping[str, Any]) -> list[Range]:
    """
    Return the ranges of all tables that the config names, those of the largest table first. ConnectError if a table can't be
    read by ranges, or if there is none.
    """
    found: list[tuple[int, list[Range]]] = []
    pages_of_range: int = config[settings.RANGE_PAGES]
    for schema_name, table, kind, pages, has_children, rows, may_read, is_partly in connection.execute(_TABLES):
        name = Name(schema_name, table)
        if not _is_captured(name, config):
            continue
        if kind == "p" or has_children:
            raise ConnectError(
                f"{name} has partitions or tables that inherit from it, which can't be read by ranges: name those themselves "
                f"in {settings.TABLES_IN}"
            )
        # The borders stay where they are while a table grows.
        if not may_read:
            raise ConnectError(
                f"{config[settings.USER]} may not read {name}: GRANT SELECT ON {name.quoted} TO "
                f"{quoted(config[settings.USER])}; or leave it out by {settings.TABLES_OUT}"
            )
        if is_partly:
            raise ConnectError(
                f"{config[settings.USER]} sees only some rows of {name}, by row-level security, and the change stream has all: "
                f"ALTER ROLE {quoted(config[settings.USER])} BYPASSRLS; or leave it out by {settings.TABLES_OUT}"
            )
        size = pages_of_range
        while pages > size * _MOST_RANGES:
            size *= 2
        firsts = list(range(0, max(pages, 1), size))
        each_has = rows // len(firsts)
        found.append((pages, [Range(name, first, end, each_has) for first, end in zip(firsts, [*firsts[1:], None])]))
    if not found:
        raise ConnectError(
            f"The database {config[settings.DATABASE]} has no table that the config names and the user may read: look at "
            f"{settings.TABLES_IN}, {settings.SCHEMAS_IN} and the user's rights (GRANT SELECT)"
        )
    found.sort(key=lambda each: -each[0])
    return [each for _, of_table in found for each in of_table]


def _is_captured(name: Name, config: Mapping[str, Any]) -> bool:
    return _matches(config, settings.SCHEMAS_IN, settings.SCHEMAS_OUT, name.schema) and _matches(
        config, settings.TABLES_IN, settings.TABLES_OUT, str(name)
    )


def _matches(config: Mapping[str, Any], including: str, excluding: str, name: str) -> bool:
    if config[including]:
        return any(Pattern(f"(?i:{text})").fullmatch(name) for text in config[including])
    return not any(Pattern(f"(?i:{text})").fullmatch(name) for text in config[excluding])


def lock(connection: Any, name: Name) -> None:
    """
    Keep others from altering a table until the transaction, or its savepoint, ends. ConnectError if it has been emptied or made
    anew since the snapshot, which would see no rows then.
    """
    connection.execute(f"LOCK TABLE ONLY {name.quoted} IN ACCESS SHARE MODE")
    before, now = connection.execute(_FILES, [name.quoted]).fetchone() or (None, None)
    if before != now:
        raise ConnectError(
            f"{name} was emptied, or altered so that it was written anew, since the snapshot was taken: its rows can't be read "
            "any more. Cancel the backfill and begin it anew"
        )


def look(connection: Any, name: Name, config: Mapping[str, Any]) -> Table:
    """Return a table as it is now. ConnectError for a column of a type that is not understood."""
    columns: list[tuple[str, Reading]] = []
    types: dict[int, ColumnType] = {}
    decimals = config[settings.DECIMALS].lower()
    for column, is_required, modifier, is_generated, default, oid in connection.execute(_COLUMNS, [name.quoted]).fetchall():
        if not _matches(config, settings.COLUMNS_IN, settings.COLUMNS_OUT, f"{name}.{column}"):
            continue
        kind = _type(connection, oid, modifier, types)
        try:
            reading = reading_of(kind, not is_required, decimals)
        except ConnectError as error:
            raise ConnectError(f"{name}.{column}: {error}") from None
        if reading is None:
            continue
        if not is_generated and (value := default_of(kind, default, decimals)) is not None:
            reading = reading.of(reading.schema.replace(default=value))
        columns.append((column, reading))
    if not columns:
        raise ConnectError(f"{name} has no column that can be read")
    names = [column for column, _ in columns]
    key = [names.index(column) for column in _key(connection, name) if column in names]
    topic = config[settings.DELIMITER].join((config[settings.PREFIX], name.schema, name.table))
    topic = _UNFIT.sub("_", topic)
    row = schema.struct({column: reading.schema for column, reading in columns}, name=f"{topic}.Value", optional=True)
    times = dict.fromkeys(("ts_ms", "ts_us", "ts_ns"), schema.OPTIONAL_INT64_SCHEMA)
    parts = {"before": row, "after": row, "source": _SOURCE, "transaction": _TRANSACTION, "op": schema.STRING_SCHEMA, **times}
    return Table(
        name,
        topic,
        columns,
        key,
        schema.struct({names[place]: columns[place][1].schema for place in key}, name=f"{topic}.Key") if key else None,
        row,
        schema.struct(parts, name=f"{topic}.Envelope", version=2),
        _SOURCE,
    )


def _type(connection: Any, oid: int, modifier: int, known: dict[int, ColumnType]) -> ColumnType:
    for _ in range(64):
        name, kind, base, base_modifier, element, labels = connection.execute(_TYPE, [oid]).fetchone()
        if kind != "d":
            break
        # A domain is what it is made of.
        oid, modifier = base, base_modifier
    else:
        raise ConnectError(f"The type {name} is made of too many others")
    inner = _type(connection, element, modifier, known) if element else None
    return ColumnType(name, modifier, labels if kind == "e" else (), inner, is_range=kind in ("r", "m"))


def _key(connection: Any, name: Name) -> Iterator[str]:
    """The columns of the primary key, or of the first unique index, as Debezium takes it."""
    for columns, count, _ in connection.execute(_KEY, [name.quoted]).fetchall():
        # An index over an expression has fewer columns than parts.
        if len(columns) == count:
            yield from columns
            return
