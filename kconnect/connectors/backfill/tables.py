"""
The tables that Debezium would capture, as a snapshot sees the database's description: columns, keys, ranges of pages.

Called by `source.py` and `task.py`. Read next: `records.py`, `types.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConnectError, schema
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.defaults import default_of
from kconnect.connectors.backfill.records import SNAPSHOT_FIELD, Shape, matches, refuse_shared, shape_of, topic_of
from kconnect.connectors.backfill.types import ColumnType, Reading, reading_of

_TABLES = """
SELECT n.nspname, c.relname, c.relfilenode::int8, c.relkind::text,
       pg_relation_size(c.oid::regclass) / current_setting('block_size')::int8,
       EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid), greatest(c.reltuples, 0)::int8,
       has_table_privilege(c.oid, 'SELECT'), has_schema_privilege(n.oid, 'USAGE'), row_security_active(c.oid),
       c.relpersistence = 'u'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_toast%'
ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
SELECT a.attnum::int8, a.attname, a.attnotnull OR (t.typtype = 'd' AND t.typnotnull), a.atttypmod, a.attgenerated <> '',
       pg_get_expr(d.adbin, d.adrelid), t.oid::int8
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_TYPE = """
SELECT t.typname, n.nspname, t.typtype::text, t.typbasetype::int8, t.typtypmod,
       CASE WHEN t.typcategory = 'A' THEN t.typelem::int8 ELSE 0 END,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = %s
"""
_KEY = """
SELECT ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place)
             JOIN pg_attribute a ON (a.attrelid, a.attnum) = (i.indrelid, k.number)
             WHERE k.place <= i.indnkeyatts ORDER BY k.place),
       i.indnkeyatts
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass AND i.indisunique AND i.indisvalid ORDER BY i.indisprimary DESC, c.relname
"""
_FILE = "SELECT pg_relation_filenode(%s::regclass)::int8"
"""As it is now, whatever the snapshot sees."""
_LAYOUT = """
SELECT md5(string_agg(format('%%s %%s %%s %%s', attnum, attname, atttypid, atttypmod), ',' ORDER BY attnum))
FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = ANY(%s) AND NOT attisdropped
"""
_OF_EXTENSIONS = ("citext", "hstore", "ltree")
ROW = "kconnect_row"
"""What a table is called where it is read: no name within an expression can stand for one of its columns."""
BEGIN_ANEW = "What is left of it can't be read: cancel the backfill and begin it anew"
_MOST_RANGES = 1000

SOURCE = schema.struct(
    {
        **dict.fromkeys(("version", "connector", "name"), schema.STRING_SCHEMA),
        "ts_ms": schema.INT64_SCHEMA,
        "snapshot": SNAPSHOT_FIELD,
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


@dataclass(frozen=True)
class Name:
    """The name of a table, with that of its schema."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def quoted(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.table)}"


@dataclass(frozen=True)
class Plan:
    """
    How a table is divided: into `count` ranges of `size` pages, of which the last one goes to the end. `file` is where its rows
    are: who writes it anew, or puts another table in its place, changes that. The database guesses that there are `rows`.
    """

    name: Name
    file: int
    size: int
    count: int
    rows: int

    def as_json(self) -> list[Any]:
        """Return it for the configs of tasks."""
        return [self.name.schema, self.name.table, self.file, self.size, self.count, self.rows]

    @classmethod
    def of_json(cls, parts: Sequence[Any]) -> Plan:
        schema_name, table, *rest = parts
        return cls(Name(schema_name, table), *rest)

    def ranges(self) -> list[Range]:
        firsts = [number * self.size for number in range(self.count)]
        return [Range(self.name, self.file, first, end) for first, end in zip(firsts, [*firsts[1:], None])]


@dataclass(frozen=True)
class Range:
    """Pages of a table, from `first` to before `end`, or to the last one."""

    name: Name
    file: int
    first: int
    end: int | None

    @property
    def text(self) -> str:
        """Its pages, for offsets and messages."""
        return f"{self.first}-{'' if self.end is None else self.end}"


@dataclass(frozen=True)
class Table:
    """How a table is read, and what its records are. `numbers` are the database's of the columns."""

    name: Name
    numbers: Sequence[int]
    shape: Shape

    def selection(self) -> str:
        """Return what to select for each of the columns."""
        return ", ".join(reading.expression.format(f"{ROW}.{quoted(name)}") for name, reading in self.shape.columns)


def quoted(name: str) -> str:
    """Return a name as it stands in a statement, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def plans(connection: Any, config: Mapping[str, Any], left_out: dict[str, str] | None = None) -> list[Plan]:
    """
    Return how all tables that the config names are divided, the largest first. ConnectError if a table can't be read by ranges,
    or not as a whole, or if there is none. If the config leaves such tables out, `left_out` is given their names, with the
    reasons.
    """
    found: list[tuple[int, Plan]] = []
    reasons: dict[str, str] = {}
    for schema_name, table, file, kind, pages, has_children, rows, *rights in connection.execute(_TABLES).fetchall():
        name = Name(schema_name, table)
        if not _is_captured(name, config):
            continue
        reason = _unfit(name, config[settings.USER], kind == "p" or has_children, *rights)
        if config[settings.UNFIT] == settings.LEAVE_OUT:
            reason = reason or _unfit_columns(connection, name, config)
            if reason is not None:
                reasons[str(name)] = reason
                continue
        if reason is not None:
            raise ConnectError(reason)
        # The borders stay where they are while a table grows.
        size: int = config[settings.RANGE_PAGES]
        while pages > size * _MOST_RANGES:
            size *= 2
        found.append((pages, Plan(name, file, size, max(1, -(-pages // size)), rows)))
    if not found:
        but = f". All others are left out: {next(iter(reasons.values()))}" if reasons else ""
        raise ConnectError(
            f"The database {config[settings.DATABASE]} has no table that the config names: look at {settings.TABLES_IN} and "
            f"{settings.SCHEMAS_IN}{but}"
        )
    refuse_shared(((plan.name, _topic(plan.name, config)) for _, plan in found), settings.TABLES_OUT)
    if left_out is not None:
        left_out.update(reasons)
    found.sort(key=lambda each: -each[0])
    return [plan for _, plan in found]


def _unfit(
    name: Name, user: str, is_divided: bool, may_read: bool, may_look: bool, is_partly: bool, is_unlogged: bool
) -> str | None:
    """Return why a table can't be read by ranges, or not as a whole, with what to do; None if it can."""
    if is_divided:
        return (
            f"{name} has partitions or tables that inherit from it, which can't be read by ranges: name those themselves "
            f"in {settings.TABLES_IN}"
        )
    if not may_read:
        return (
            f"{user} may not read {name}: GRANT SELECT ON {name.quoted} TO {quoted(user)}, of the whole table, for rows "
            f"are read by their places (ctid); or leave it out by {settings.TABLES_OUT}"
        )
    if not may_look:
        return (
            f"{user} may not read {name}: GRANT USAGE ON SCHEMA {quoted(name.schema)} TO {quoted(user)}; or leave it out by "
            f"{settings.TABLES_OUT}"
        )
    if is_partly:
        return (
            f"{user} sees only some rows of {name}, by row-level security, and the change stream has all: ALTER ROLE "
            f"{quoted(user)} BYPASSRLS; or leave it out by {settings.TABLES_OUT}"
        )
    if is_unlogged:
        return (
            f"{name} is UNLOGGED, so the change stream never has its changes: ALTER TABLE {name.quoted} SET LOGGED; or "
            f"leave it out by {settings.TABLES_OUT}"
        )
    return None


def _unfit_columns(connection: Any, name: Name, config: Mapping[str, Any]) -> str | None:
    """Return why a table's columns can't be read; None if they can. psycopg.Error if the session is gone."""
    import psycopg

    from kconnect.connectors.sql.database import reason

    try:
        # Whoever owns it may drop it meanwhile.
        with connection.transaction():
            look(connection, name, config)
    except ConnectError as error:
        return str(error)
    except psycopg.Error as error:
        if connection.closed:
            raise
        return f"{name} can't be looked at: {reason(error)}"
    return None


def ranges(divided: Iterable[Plan]) -> list[Range]:
    """Return the ranges of all tables."""
    return [each for plan in divided for each in plan.ranges()]


def _is_captured(name: Name, config: Mapping[str, Any]) -> bool:
    return matches(config, settings.SCHEMAS_IN, settings.SCHEMAS_OUT, name.schema) and matches(
        config, settings.TABLES_IN, settings.TABLES_OUT, str(name)
    )


def lock(connection: Any, part: Range, table: Table, now: Any) -> None:
    """
    Keep others from altering a table until the transaction, or its savepoint, ends. `now` is a connection that sees what there
    is now. ConnectError if it is not the table that it was when the snapshot was taken.
    """
    quoted_name = part.name.quoted
    connection.execute(f"LOCK TABLE ONLY {quoted_name} IN ACCESS SHARE MODE")
    if connection.execute(_FILE, [quoted_name]).fetchone() != (part.file,):
        raise ConnectError(f"{part.name} was emptied, written anew or replaced since the snapshot was taken. {BEGIN_ANEW}")
    layout = [each.execute(_LAYOUT, [quoted_name, list(table.numbers)]).fetchone() for each in (connection, now)]
    if layout[0] != layout[1]:
        raise ConnectError(f"Columns of {part.name} were altered since the snapshot was taken. {BEGIN_ANEW}")


def look(connection: Any, name: Name, config: Mapping[str, Any]) -> Table:
    """Return a table as the connection's snapshot sees it. ConnectError for a column of a type that is not understood."""
    columns: list[tuple[str, Reading]] = []
    decimals = config[settings.DECIMALS].lower()
    numbers: list[int] = []
    for number, column, is_required, modifier, is_generated, default, oid in connection.execute(
        _COLUMNS, [name.quoted]
    ).fetchall():
        if not matches(config, settings.COLUMNS_IN, settings.COLUMNS_OUT, f"{name}.{column}"):
            continue
        kind = _type(connection, oid, modifier)
        try:
            reading = reading_of(kind, not is_required, decimals)
        except ConnectError as error:
            raise ConnectError(f"{name}.{column}: {error}") from None
        if reading is None:
            continue
        if not is_generated and (value := default_of(kind, default, decimals)) is not None:
            reading = reading.of(reading.schema.replace(default=value))
        columns.append((column, reading))
        numbers.append(number)
    if not columns:
        raise ConnectError(f"{name} has no column that can be read")
    return Table(name, numbers, shape_of(_topic(name, config), columns, list(_key(connection, name)), SOURCE))


def _topic(name: Name, config: Mapping[str, Any]) -> str:
    return topic_of(config[settings.DELIMITER], config[settings.PREFIX], name.schema, name.table)


def _type(connection: Any, oid: int, modifier: int) -> ColumnType:
    for _ in range(64):
        name, schema_name, kind, base, base_modifier, element, labels = connection.execute(_TYPE, [oid]).fetchone()
        if kind != "d":
            break
        # A domain is what it is made of.
        oid, modifier = base, base_modifier
    else:
        raise ConnectError(f"The type {name} is made of too many others")
    inner = _type(connection, element, modifier) if element else None
    is_extension = kind == "b" and name in _OF_EXTENSIONS
    if schema_name != "pg_catalog" and not is_extension:
        # A type of a user's may have the name of one of PostgreSQL's.
        name = f"{schema_name}.{name}"
    where = f"{quoted(schema_name)}." if is_extension else ""
    return ColumnType(name, modifier, labels if kind == "e" else (), inner, kind in ("r", "m"), where)


def _key(connection: Any, name: Name) -> Iterator[str]:
    """The columns of the primary key, or of the first unique index, as Debezium takes it."""
    for columns, count in connection.execute(_KEY, [name.quoted]).fetchall():
        # An index over an expression has fewer columns than parts.
        if len(columns) == count:
            yield from columns
            return
