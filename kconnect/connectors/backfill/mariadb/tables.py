"""
The tables that Debezium would capture: their columns, their keys, and how they are divided into ranges of keys.

An integer's range is halved where the database guesses that too many rows are; other keys are walked along. A table without a
key that rows can be ordered by is one range. Called by `source.py` and `task.py`. Read next: `ddl.py`, `keys.py`, `types.py`.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConnectError, schema
from kconnect.connectors.backfill.mariadb import ddl, keys, settings
from kconnect.connectors.backfill.mariadb.defaults import default_of
from kconnect.connectors.backfill.mariadb.keys import KeyColumn, quoted
from kconnect.connectors.backfill.mariadb.types import Modes, reading_of
from kconnect.connectors.backfill.records import SNAPSHOT_FIELD, Shape, matches, refuse_shared, shape_of, topic_of
from kconnect.connectors.backfill.types import Reading

_BUILT_IN = ("mysql", "information_schema", "performance_schema", "sys")
_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_ROWS FROM information_schema.TABLES
WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY TABLE_SCHEMA, TABLE_NAME
"""
_CHARSETS = """
SELECT COLUMN_NAME, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
"""
_ENGINE = "innodb"
"""Whose tables are read as they were at one moment."""
_MOST_RANGES = 1000
"""Of all tables together: all tasks' configs have them."""
_LONGEST_BORDER = 400
_WALK_S = 30.0
BEGIN_ANEW = "What is left of it can't be read: cancel the backfill and begin it anew"

SOURCE = schema.struct(
    {
        **dict.fromkeys(("version", "connector", "name"), schema.STRING_SCHEMA),
        "ts_ms": schema.INT64_SCHEMA,
        "snapshot": SNAPSHOT_FIELD,
        "db": schema.STRING_SCHEMA,
        "sequence": schema.OPTIONAL_STRING_SCHEMA,
        **dict.fromkeys(("ts_us", "ts_ns"), schema.OPTIONAL_INT64_SCHEMA),
        "table": schema.OPTIONAL_STRING_SCHEMA,
        "server_id": schema.INT64_SCHEMA,
        "gtid": schema.OPTIONAL_STRING_SCHEMA,
        "file": schema.STRING_SCHEMA,
        "pos": schema.INT64_SCHEMA,
        "row": schema.INT32_SCHEMA,
        "thread": schema.OPTIONAL_INT64_SCHEMA,
        "query": schema.OPTIONAL_STRING_SCHEMA,
    },
    name="io.debezium.connector.mariadb.Source",
    version=1,
)


@dataclass(frozen=True, order=True)
class Name:
    """The name of a table, with that of its database."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def quoted(self) -> str:
        return f"{quoted(self.database)}.{quoted(self.table)}"


@dataclass(frozen=True)
class Found:
    """A table of the server. The database guesses that there are `rows`."""

    name: Name
    engine: str
    rows: int
    is_captured: bool


@dataclass(frozen=True)
class Plan:
    """A table's division, at `borders`, each of which has the first values of a key. `key` says which key that is."""

    name: Name
    rows: int
    key: str
    borders: Sequence[Sequence[str]]

    def as_json(self) -> list[Any]:
        """
        Return it for the configs of tasks. The first six are as for PostgreSQL, by which `kconnect backfill status` counts: no
        file, and ranges that are one apart.
        """
        return [self.name.database, self.name.table, 0, 1, len(self.borders) + 1, self.rows, self.key, self.borders]

    @classmethod
    def of_json(cls, parts: Sequence[Any]) -> Plan:
        database, table, _, _, _, rows, key, borders = parts
        return cls(Name(database, table), rows, key, borders)

    def ranges(self) -> list[Range]:
        ends = [*self.borders, None]
        return [Range(self.name, number, self.key, first, end) for number, (first, end) in enumerate(zip([None, *ends], ends))]


@dataclass(frozen=True)
class Range:
    """Rows of a table, from the key `first` to before `end`; None is the first one, and the last one."""

    name: Name
    number: int
    key: str
    first: Sequence[str] | None
    end: Sequence[str] | None


@dataclass(frozen=True)
class Table:
    """
    How a table is read, and what its records are. `order` are the columns of its key, in whose order it can be read; none if
    it can't. `index` is the name of that key.
    """

    name: Name
    shape: Shape
    order: tuple[KeyColumn, ...]
    index: str

    @property
    def key(self) -> str:
        """Return what identifies the key by which the table is divided."""
        return ",".join(column.identity for column in self.order)

    def statement(self, part: Range, last: Sequence[str] | None, count: int) -> str:
        """Return the statement that reads the next rows of a range: its key's texts, if it has one, and then its columns."""
        columns = [reading.expression.format(quoted(name)) for name, reading in self.shape.columns]
        if not self.order:
            return f"SELECT {', '.join(columns)} FROM {self.name.quoted}"
        selected = ", ".join([*(column.selected for column in self.order), *columns])
        conditions = []
        if last is not None:
            conditions.append(keys.behind(self.order, last))
        elif part.first is not None:
            conditions.append(keys.behind(self.order, part.first, ">="))
        if part.end is not None:
            conditions.append(keys.behind(self.order, part.end, "<"))
        where = f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""
        return f"SELECT {selected} FROM {self.source}{where} ORDER BY {keys.order(self.order)} LIMIT {count}"

    @property
    def source(self) -> str:
        """The table, to be read by its key."""
        return f"{self.name.quoted} FORCE INDEX ({quoted(self.index)})"


def found(connection: Any, config: Mapping[str, Any]) -> list[Found]:
    """Return all tables of the server but its own, in the order of their names."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        rows = cursor.fetchall()
    names = [(Name(database, table), engine, count) for database, table, engine, count in rows]
    return [
        Found(name, (engine or "").lower(), count or 0, _is_captured(name, config))
        for name, engine, count in sorted(names, key=lambda each: each[0])
        if name.database.lower() not in _BUILT_IN
    ]


def _is_captured(name: Name, config: Mapping[str, Any]) -> bool:
    return matches(config, settings.DATABASES_IN, settings.DATABASES_OUT, name.database) and matches(
        config, settings.TABLES_IN, settings.TABLES_OUT, str(name)
    )


def look(connection: Any, definition: str, name: Name, config: Mapping[str, Any]) -> Table:
    """Return a table by its definition. ConnectError for a column of a type that is not understood."""
    modes = Modes(config[settings.DECIMALS].lower(), config[settings.UNSIGNED].lower())
    parsed = ddl.parse(definition)
    columns: list[tuple[str, Reading]] = []
    for column in parsed.columns:
        if not matches(config, settings.COLUMNS_IN, settings.COLUMNS_OUT, f"{name}.{column.name}"):
            continue
        try:
            reading = reading_of(column, modes)
        except ConnectError as error:
            raise ConnectError(f"{name}.{column.name}: {error}") from None
        if (value := default_of(column, modes)) is not None:
            reading = reading.of(reading.schema.replace(default=value))
        columns.append((column.name, reading))
    if not columns:
        raise ConnectError(f"{name} has no column that can be read")
    topic = topic_of(config[settings.DELIMITER], config[settings.PREFIX], name.database, name.table)
    key = parsed.key
    shape = shape_of(topic, columns, key.columns if key else (), SOURCE)
    order: tuple[KeyColumn, ...] = ()
    if key is not None and key.is_whole:
        with connection.cursor() as cursor:
            cursor.execute(_CHARSETS, [name.database, name.table])
            texts = {column: (charset, collation) for column, charset, collation in cursor.fetchall()}
        order = keys.of_columns(parsed.columns, key.columns, texts)
    # By numbers of labels no index can be read from one of them on.
    is_ordered = bool(order) and all(column.is_ordered for column in order) and not order[0].is_compared_otherwise
    return Table(name, shape, order if is_ordered else (), key.name if key is not None else "")


def plans(
    connection: Any, captured: Iterable[Found], definition: Callable[[Name], str], config: Mapping[str, Any]
) -> list[Plan]:
    """
    Return how tables are divided, the largest first. `definition` gives a table's. ConnectError if one can't be read, or if
    there is none.
    """
    tables = list(captured)
    if not tables:
        raise ConnectError(
            f"The server has no table that the config names: look at {settings.TABLES_IN} and {settings.DATABASES_IN}"
        )
    size = config[settings.RANGE_ROWS]
    while sum(each.rows // size + 1 for each in tables) > max(_MOST_RANGES, 2 * len(tables)):
        size *= 2
    divided, topics = [], []
    for each in sorted(tables, key=lambda table: -table.rows):
        if each.engine != _ENGINE:
            raise ConnectError(
                f"{each.name} has the engine {each.engine or 'of nothing'}, and only tables of InnoDB can be read as they were "
                f"at one moment: leave it out by {settings.TABLES_OUT}, or let Debezium take its snapshot itself"
            )
        table = look(connection, definition(each.name), each.name, config)
        borders = _borders(connection, table, each.rows, size) if table.order else []
        divided.append(Plan(each.name, each.rows, table.key, borders))
        topics.append((each.name, table.shape.topic))
    refuse_shared(topics, settings.TABLES_OUT)
    return divided


def _borders(connection: Any, table: Table, rows: int, size: int) -> list[list[str]]:
    if rows <= size:
        return []
    if table.order[0].is_integer:
        return [[str(border)] for border in _halved(connection, table, size, -(-rows // size) * 2)]
    return _walked(connection, table, size)


def _halved(connection: Any, table: Table, size: int, most: int) -> list[int]:
    """Halve the range of an integer, always where most rows are, as far as the database guesses without reading them."""
    column = quoted(table.order[0].name)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT MIN({column}), MAX({column}) FROM {table.source}")
        [(least, greatest)] = cursor.fetchall()
        if least is None:
            return []

        def guess(first: int, end: int) -> int:
            cursor.execute(f"EXPLAIN SELECT 1 FROM {table.source} WHERE {column} >= {first} AND {column} < {end}")
            [row] = cursor.fetchall()
            count = row[8]
            return int(count) if count is not None else 0

        pieces = [(-guess(least, greatest + 1), least, greatest + 1)]
        single: list[tuple[int, int, int]] = []
        while pieces and len(pieces) + len(single) < most:
            count, first, end = pieces[0]
            if -count <= size:
                break
            if end - first <= 1:
                single.append(heapq.heappop(pieces))
                continue
            middle = (first + end) // 2
            heapq.heapreplace(pieces, (-guess(first, middle), first, middle))
            heapq.heappush(pieces, (-guess(middle, end), middle, end))
    return sorted(first for _, first, _ in (*pieces, *single) if first != least)


def _walked(connection: Any, table: Table, size: int) -> list[list[str]]:
    """Go along a key, and take each of so many for a border, for as long as it may take."""
    borders: list[list[str]] = []
    selected = ", ".join(column.selected for column in table.order)
    until = time.monotonic() + _WALK_S
    last: list[str] | None = None
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            where = f" WHERE {keys.behind(table.order, last)}" if last is not None else ""
            cursor.execute(
                f"SELECT {selected} FROM {table.source}{where} ORDER BY {keys.order(table.order)} LIMIT 1 OFFSET {size - 1}"
            )
            row = cursor.fetchone()
            if row is None:
                break
            last = list(row)
            if sum(map(len, last)) <= _LONGEST_BORDER:
                borders.append(last)
    return borders


def ranges(divided: Iterable[Plan]) -> list[Range]:
    """Return the ranges of all tables."""
    return [each for plan in divided for each in plan.ranges()]
