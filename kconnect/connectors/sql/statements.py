"""
Statements: inserts, upserts, updates and deletions of many rows at once.

PostgreSQL gets them by COPY, five times as quick as by INSERT: into the table, or into a temporary one, from which a statement
merges them. For the others the drivers make one statement of many rows. Called by `task.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.dialects.postgresql import MONEY
from sqlalchemy.exc import DBAPIError, StatementError

from kconnect.api import ConnectError
from kconnect.connectors.sql import database, faults, owners, settings
from kconnect.connectors.sql.rows import Rows, unique_keys

_TEMPORARY = "kconnect_rows"
"""Of one statement at a time, since it is dropped behind it."""
_KEPT = 100
"""Statements: records without schemas may have any of the columns, in ever other sets."""
_BY_ANY_KEY = ("mysql", "mariadb")
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
        """Write all rows, or none and raise an error. One that is a row's own is so by `database.is_bad_row`."""
        mode = "delete" if rows.deletes else self._mode
        # The table itself, not its id: that may be another's once this one is forgotten.
        name = (rows.table, rows.names, rows.keys, mode)
        run = self._compiled.get(name)
        if run is None:
            if len(self._compiled) >= _KEPT:
                self._compiled.clear()
            run = self._compiled[name] = self._made(rows, mode)
        try:
            run(connection, rows if mode == "insert" else rows.last_of_each_key())
        except Exception as error:
            if faults.is_of_row(error) and not database.is_bad_row(error):
                # What drivers raise beside their own errors, such as an OverflowError, has the form of what a value can't be.
                raise StatementError(str(error), None, None, error, hide_parameters=True) from error
            raise

    def forget(self) -> None:
        self._compiled.clear()

    def _made(self, rows: Rows, mode: str) -> Callable[[sa.Connection, Rows], None]:
        if self._backend == "postgresql":
            return _copies(self._engine, rows, mode)
        # Of a percent sign behind the values of many rows, PyMySQL makes two.
        has_percent = any("%" in name for name in rows.names)
        if mode == "upsert" and self._backend in _BY_ANY_KEY and (has_percent or _has_other_keys(rows)):
            update, insert = self._made(rows, "update"), _run(rows, _insert_of_new(rows))

            def run(connection: sa.Connection, given: Rows) -> None:
                # In their order: one may give another the place in an index. The driver sends updates one by one anyway.
                for at in range(len(given)):
                    update(connection, given.cut(at, at + 1))
                    insert(connection, given.cut(at, at + 1))

            return run
        if mode == "update" and rows.keys == len(rows.names):
            return _nothing
        return _run(rows, _core(rows, mode, self._backend), mode in ("insert", "upsert"))


def _has_other_keys(rows: Rows) -> bool:
    """
    Return whether rows may meet one of another key: ON DUPLICATE KEY is about each unique index, and would change that row. Or
    whether none of them is that of the rows' key, by which nothing would be met.
    """
    keys, names, unique = set(rows.names[: rows.keys]), set(rows.names), unique_keys(rows.table)
    # An index with columns that rows leave to the database, such as a number of its own, is met by none of them.
    return keys not in unique or any(
        not index_names or (index_names & names and not index_names >= keys) for index_names in unique
    )


def _insert_of_new(rows: Rows) -> Any:
    """An insert of a row whose key is not there: what another unique index says against it is the row's own fault."""
    columns = [rows.table.columns[name] for name in rows.names]
    parameters = [sa.bindparam(f"_{column.name}", type_=column.type).label(column.name) for column in columns]
    aliased = rows.table.alias("t")
    same = [aliased.columns[name] == sa.bindparam(f"_{name}") for name in rows.names[: rows.keys]]
    exists = sa.exists(sa.select(sa.literal_column("1")).select_from(aliased).where(*same))
    return sa.insert(rows.table).from_select(list(rows.names), sa.select(*parameters).where(~exists))


def _run(rows: Rows, statement: Any, plain: bool = False) -> Callable[[sa.Connection, Rows], None]:
    """`plain`: the parameters have the names of the columns."""
    names = rows.names if plain else tuple(f"_{name}" for name in rows.names)
    kinds = [rows.table.columns[name].type for name in rows.names[: rows.keys]]
    singles = () if plain else tuple(at for at, kind in enumerate(kinds) if isinstance(kind, mysql.FLOAT))

    def run(connection: sa.Connection, given: Rows) -> None:
        columns = list(given.columns)
        for at in singles:
            # The database compares with all digits of what the column has: the nearest number of 32 bits.
            columns[at] = [struct.unpack("f", struct.pack("f", value))[0] for value in columns[at]]
        connection.execute(statement, [dict(zip(names, row)) for row in zip(*columns)])

    return run


def _nothing(connection: sa.Connection, rows: Rows) -> None:
    """Rows that are keys only have nothing to update."""


def _copies(engine: sa.Engine, rows: Rows, mode: str) -> Callable[[sa.Connection, Rows], None]:
    preparer = engine.dialect.identifier_preparer
    table = preparer.format_table(rows.table)
    names = [preparer.quote(name) for name in rows.names]
    keys, other_names, every = names[: rows.keys], names[rows.keys :], ", ".join(names)
    if mode == "update" and not other_names:
        return _nothing
    columns = [rows.table.columns[name].type for name in rows.names]
    has_money = any(isinstance(getattr(kind, "item_type", kind), MONEY) for kind in columns)

    def copy(connection: sa.Connection, target: str, given: Rows) -> None:
        if has_money:
            # By the settings of another country, 1.50 would be 150.
            connection.exec_driver_sql("SET LOCAL lc_monetary = 'C'")
        _copy(connection, f"COPY {target} ({every}) FROM STDIN", given)

    if mode == "insert":
        return lambda connection, given: copy(connection, table, given)
    same = " AND ".join(f"t.{name} {owners.equals(kind)} s.{name}" for name, kind in zip(keys, columns))
    sets = ", ".join(f"{name} = {'s' if mode == 'update' else 'excluded'}.{name}" for name in other_names)
    merge = {
        "delete": f"DELETE FROM {table} AS t USING {_TEMPORARY} AS s WHERE {same}",
        "update": f"UPDATE {table} AS t SET {sets} FROM {_TEMPORARY} AS s WHERE {same}",
        "upsert": f"INSERT INTO {table} ({every}) SELECT {every} FROM {_TEMPORARY} "
        f"ON CONFLICT ({', '.join(keys)}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}",
    }[mode]
    # Its columns have the types of the table's, and so refuse what these would: those that they have by now, for it lives no
    # longer than the transaction. So nobody else finds it either, who shares the session behind a pool.
    make = f"CREATE TEMPORARY TABLE {_TEMPORARY} ON COMMIT DROP AS SELECT {every} FROM {table} WITH NO DATA"

    def run(connection: sa.Connection, given: Rows) -> None:
        connection.exec_driver_sql(make)
        copy(connection, _TEMPORARY, given)
        connection.exec_driver_sql(merge)
        connection.exec_driver_sql(f"DROP TABLE {_TEMPORARY}")

    return run


def _copy(connection: sa.Connection, statement: str, rows: Rows) -> None:
    """Errors of the driver come as SQLAlchemy has them."""
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement.replace("%%", "%")) as copy:
            write = copy.write_row
            for row in zip(*rows.columns):
                write(row)
    except connection.dialect.loaded_dbapi.Error as error:
        base = connection.dialect.loaded_dbapi.Error
        raise DBAPIError.instance(statement, None, error, base, hide_parameters=True, dialect=connection.dialect) from error


def _core(rows: Rows, mode: str, backend: str) -> Any:
    """SQLAlchemy's; parameters of updates and deletions have names of their own, as a column's may be there only once."""
    table, keys, other_names = rows.table, rows.names[: rows.keys], rows.names[rows.keys :]
    if mode in ("update", "delete"):
        same = [table.columns[name] == sa.bindparam(f"_{name}") for name in keys]
        if mode == "delete":
            return sa.delete(table).where(*same)
        return sa.update(table).where(*same).values({name: sa.bindparam(f"_{name}") for name in other_names})
    if mode == "insert" or not keys:
        return sa.insert(table)
    if backend in ("mysql", "mariadb"):
        insert = mysql.insert(table)
        return insert.on_duplicate_key_update({name: insert.inserted[name] for name in other_names or keys})
    upsert = sqlite.insert(table)
    if not other_names:
        return upsert.on_conflict_do_nothing(index_elements=list(keys))
    return upsert.on_conflict_do_update(index_elements=list(keys), set_={name: upsert.excluded[name] for name in other_names})
