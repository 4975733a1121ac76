"""
Statements: inserts, upserts, updates and deletions of many rows at once.

For PostgreSQL a statement gets an array for each column, which is many times quicker than a set of parameters for each row. For
the others the drivers make one statement of many rows. Called by `task.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite

from kconnect.api import ConnectError
from kconnect.connectors.sql import settings
from kconnect.connectors.sql.rows import Rows

UPSERTS = ("postgresql", "mysql", "mariadb", "sqlite")


class Writer:
    """Writes rows by `mode`: insert, upsert or update."""

    def __init__(self, engine: sa.Engine, mode: str) -> None:
        self._engine = engine
        self._backend = engine.dialect.name
        self._mode = mode
        if mode == "upsert" and self._backend not in UPSERTS:
            raise ConnectError(f"{settings.MODE}=upsert is there for {', '.join(UPSERTS)}, but not for {self._backend}")
        self._compiled: dict[Any, Callable[[sa.Connection, Rows], None]] = {}

    def write(self, connection: sa.Connection, rows: Rows) -> None:
        """All of them, or an error and none."""
        mode = "delete" if rows.deletes else self._mode
        if mode != "insert":
            rows = rows.last_of_each_key()
        name = (id(rows.table), rows.names, rows.keys, mode)
        run = self._compiled.get(name)
        if run is None:
            run = self._compiled[name] = self._made(rows, mode)
        run(connection, rows)

    def forget(self) -> None:
        self._compiled.clear()

    def _made(self, rows: Rows, mode: str) -> Callable[[sa.Connection, Rows], None]:
        if self._backend == "postgresql":
            kinds = [_array_of(rows.table.columns[name].type) for name in rows.names]
            if None not in kinds:
                return _arrays(_postgresql(self._engine, rows, mode, [str(kind) for kind in kinds]))
        statement = _core(rows, mode, self._backend)
        names = rows.names if mode in ("insert", "upsert") else tuple(f"_{name}" for name in rows.names)

        def run(connection: sa.Connection, given: Rows) -> None:
            connection.execute(statement, [dict(zip(names, row)) for row in zip(*given.columns)])

        return run


def _arrays(statement: str) -> Callable[[sa.Connection, Rows], None]:
    def run(connection: sa.Connection, rows: Rows) -> None:
        connection.exec_driver_sql(statement, tuple(map(list, rows.columns)))

    return run


_NAMED: Mapping[type[Any], Callable[[Any], str]] = {
    sa.DateTime: lambda kind: "timestamptz" if kind.timezone else "timestamp",
    sa.Time: lambda kind: "timetz" if kind.timezone else "time",
    sa.Date: lambda kind: "date",
    sa.Boolean: lambda kind: "boolean",
    sa.SmallInteger: lambda kind: "smallint",
    sa.BigInteger: lambda kind: "bigint",
    sa.Integer: lambda kind: "integer",
    sa.Double: lambda kind: "double precision",
    sa.REAL: lambda kind: "real",
    sa.Float: lambda kind: "double precision",
    sa.Numeric: lambda kind: "numeric",
    sa.LargeBinary: lambda kind: "bytea",
    sa.JSON: lambda kind: "jsonb" if kind.__visit_name__ == "JSONB" else "json",
    sa.Uuid: lambda kind: "uuid",
    # Not varchar(10): a cast would cut off what is too long, which is to be refused.
    sa.String: lambda kind: "text",
}


def _array_of(kind: Any) -> str | None:
    """The type of an array's elements that the column takes without losing anything; None if an array can't have them."""
    if isinstance(kind, sa.Enum):
        return None
    return next((named(kind) for known, named in _NAMED.items() if isinstance(kind, known)), None)


def _postgresql(engine: sa.Engine, rows: Rows, mode: str, kinds: list[str]) -> str:
    preparer = engine.dialect.identifier_preparer
    table = preparer.format_table(rows.table)
    names = [preparer.quote(name) for name in rows.names]
    keys, others = names[: rows.keys], names[rows.keys :]
    given = f"unnest({', '.join(f'%s::{kind}[]' for kind in kinds)}) AS s ({', '.join(names)})"
    same = " AND ".join(f"t.{name} = s.{name}" for name in keys)
    if mode == "delete":
        return f"DELETE FROM {table} AS t USING {given} WHERE {same}"
    if mode == "update":
        return f"UPDATE {table} AS t SET {', '.join(f'{name} = s.{name}' for name in others)} FROM {given} WHERE {same}"
    insert = f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM {given}"
    if mode == "insert":
        return insert
    sets = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"{insert} ON CONFLICT ({', '.join(keys)}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}"


def _core(rows: Rows, mode: str, backend: str) -> Any:
    """SQLAlchemy's; parameters of updates and deletions have names of their own, as a column's may be there only once."""
    table, keys, others = rows.table, rows.names[: rows.keys], rows.names[rows.keys :]
    if mode in ("update", "delete"):
        same = [table.columns[name] == sa.bindparam(f"_{name}") for name in keys]
        if mode == "delete":
            return sa.delete(table).where(*same)
        return sa.update(table).where(*same).values({name: sa.bindparam(f"_{name}") for name in others})
    if mode == "insert" or not keys:
        return sa.insert(table)
    if backend in ("mysql", "mariadb"):
        made = mysql.insert(table)
        return made.on_duplicate_key_update({name: made.inserted[name] for name in others or keys})
    from sqlalchemy.dialects import postgresql

    upsert = postgresql.insert(table) if backend == "postgresql" else sqlite.insert(table)
    if not others:
        return upsert.on_conflict_do_nothing(index_elements=list(keys))
    return upsert.on_conflict_do_update(index_elements=list(keys), set_={name: upsert.excluded[name] for name in others})
