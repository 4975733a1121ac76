"""
Relations: what the SQL source reads, a table or a query, with the columns that it has at the moment.

What a database says of a result's columns is cheap to ask: so each round looks whether they have changed. Used by `reader.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.types import NullType

from kconnect.api import DataError, Schema, schema
from kconnect.connectors.sql import owners, positions
from kconnect.connectors.sql.fields import Geometry, Options, ReadField, by_text, field_of
from kconnect.connectors.sql.listing import TableName


class Relation(ABC):
    """After `look` it has `columns`, `fields` and `schema`."""

    def __init__(self, partition: Mapping[str, Any], topic: str, shown: str) -> None:
        self.partition, self.topic, self.shown = partition, topic, shown
        self.source: sa.FromClause = sa.table("")
        self.columns: Mapping[str, sa.ColumnClause[Any]] = {}
        self.fields: Sequence[ReadField] = ()
        self.schema: Schema = schema.struct({})
        self._known: object = None
        self.reads_texts = False
        """Whether dates are to be read as texts, until the columns change."""

    def look(self, connection: sa.Connection, options: Options) -> None:
        """Look which columns it has now. SQLAlchemyError if it is not there, DataError if it can't be read."""
        self._check_owner(connection)
        described = self._described(connection)
        if (described, self.reads_texts) == self._known:
            return
        self.source, columns = self._found(connection, described)
        self.columns = {column.name: column for column in columns}
        self.fields = [field_of(column, options) for column in columns]
        if self.reads_texts and options.backend == "postgresql":
            self.fields = [by_text(field, column) for field, column in zip(self.fields, columns)]
        if len(self.columns) < len(self.fields):
            raise DataError(f"{self.shown} has two columns of one name: name one of them differently with AS")
        self.schema = schema.struct({field.name: field.schema for field in self.fields}, name=self._name())
        self._known = (described, self.reads_texts)

    def forget(self) -> None:
        """Look anew at what is not told of a result's columns, such as whether they may be null."""
        self._known = None

    def column(self, name: str) -> sa.ColumnClause[Any]:
        """
        Return a column by its name as it is written, or in the case that the database has it. Raise DataError if there is none.
        """
        column = self.columns.get(name)
        if column is None:
            column = next((candidate for candidate in self.columns.values() if candidate.name.lower() == name.lower()), None)
        if column is None:
            raise DataError(f"{self.shown} has no column {name}, but {', '.join(self.columns)}")
        return column

    def _described(self, connection: sa.Connection) -> list[tuple[Any, ...]]:
        result = connection.execute(sa.select(sa.text("*")).select_from(self._all()).where(sa.false()))
        described = _described(result.cursor)
        result.close()
        return described

    def is_there(self, engine: sa.Engine) -> bool:
        return True

    def _check_owner(self, connection: sa.Connection) -> None:
        """DataError if to read it would run what somebody else has written with the rights of this login."""

    def _name(self) -> str | None:
        return None

    @abstractmethod
    def _all(self) -> sa.FromClause:
        """Return what to select from to ask which columns there are."""

    @abstractmethod
    def _found(
        self, connection: sa.Connection, described: Sequence[tuple[Any, ...]]
    ) -> tuple[sa.FromClause, Sequence[sa.ColumnClause[Any]]]:
        """Return what to select from, and its columns."""


class TableRelation(Relation):
    def __init__(self, name: TableName, prefix: str) -> None:
        super().__init__(positions.partition_of(name.full), prefix + name.table, f"The table {name.full}")
        self._table = name

    def is_there(self, engine: sa.Engine) -> bool:
        with owners.inspected(engine) as (inspector, _):
            return inspector.has_table(self._table.table, schema=self._table.schema)

    def _name(self) -> str | None:
        return self._table.table

    def _check_owner(self, connection: sa.Connection) -> None:
        if connection.dialect.name == "postgresql":
            owners.check(connection, self._all(), self.shown)

    def _all(self) -> sa.TableClause:
        return sa.table(self._table.table, schema=self._table.schema)

    def _found(
        self, connection: sa.Connection, described: Sequence[tuple[Any, ...]]
    ) -> tuple[sa.FromClause, Sequence[sa.ColumnClause[Any]]]:
        with owners.in_catalog(connection):
            table = sa.Table(
                self._table.table, sa.MetaData(), schema=self._table.schema, autoload_with=connection, resolve_fks=False
            )
        unseen = [name for name, *_ in described if name not in table.columns]
        if unseen:
            # It was changed in between, or the server describes it in a way that SQLAlchemy can't read.
            raise DataError(
                f"{self.shown} has columns that could not be found out: {', '.join(unseen)}. Start the connector again; if "
                "that does not help, read the table by a query"
            )
        if connection.dialect.name in ("mysql", "mariadb"):
            for column, (_, code, *_rest) in zip(table.columns, described):
                if code == _MYSQL_GEOMETRY:
                    column.type = Geometry()
        return table, list(table.columns)


class QueryRelation(Relation):
    def __init__(self, query: str, topic: str) -> None:
        super().__init__(positions.QUERY, topic, "The query")
        self._text = query.strip().rstrip(";")

    def _all(self) -> sa.FromClause:
        return self._clause().columns().subquery("q")

    def _clause(self) -> sa.TextClause:
        # A colon of the query is none of SQLAlchemy's parameters.
        return sa.text(self._text.replace(":", "\\:"))

    def _described(self, connection: sa.Connection) -> list[tuple[Any, ...]]:
        described = super()._described(connection)
        if connection.dialect.name != "sqlite":
            return described
        # Its values have types, the columns of its results have none.
        return [(name, self._sample(connection, name), *more) for name, _, *more in described]

    def _sample(self, connection: sa.Connection, name: str) -> str | None:
        column: sa.ColumnClause[Any] = sa.column(name)
        query = sa.select(sa.func.typeof(column)).select_from(self._all()).where(column.is_not(None)).limit(1)
        return connection.execute(query).scalar()

    def _found(
        self, connection: sa.Connection, described: Sequence[tuple[Any, ...]]
    ) -> tuple[sa.FromClause, Sequence[sa.ColumnClause[Any]]]:
        columns = [sa.column(row[0], _type(connection.dialect.name, row)) for row in described]
        source = self._clause().columns(*columns).subquery("q")
        # They are bound to the query, and keep their types.
        bound: Any = list(source.columns)
        return source, bound


# What the drivers say of a result's columns, each in its way.

_MYSQL_TYPES: Mapping[int, sa.types.TypeEngine[Any]] = {
    4: mysql.FLOAT(),
    5: mysql.DOUBLE(),
    7: mysql.TIMESTAMP(),
    10: sa.Date(),
    11: sa.Time(),
    12: mysql.DATETIME(),
    13: mysql.YEAR(),
    **dict.fromkeys((15, 247, 248, 249, 250, 251, 252, 253, 254), sa.String()),
}
_MYSQL_INTEGERS = {1: mysql.TINYINT, 2: mysql.SMALLINT, 9: mysql.MEDIUMINT, 3: mysql.INTEGER, 8: mysql.BIGINT}
_MYSQL_GEOMETRY = 255
_MYSQL_UNSIGNED, _MYSQL_BINARY, _MYSQL_BIT, _MYSQL_DECIMALS = 32, 63, 16, (0, 246)
_SQLITE_TYPES: Mapping[str, sa.types.TypeEngine[Any]] = {
    "integer": sa.Integer(),
    "real": sa.Float(),
    "text": sa.String(),
    "blob": sa.LargeBinary(),
}


def _described(cursor: Any) -> list[tuple[Any, ...]]:
    """Name, type, precision, scale, and what else the driver of MySQL knows: the character set, and flags."""
    more = [(field.charsetnr, field.flags) for field in getattr(getattr(cursor, "_result", None), "fields", None) or ()]
    rows = [(name, code, precision, scale) for name, code, _, _, precision, scale, _ in map(tuple, cursor.description)]
    return [row + (more[place] if more else (0, 0)) for place, row in enumerate(rows)]


def _type(backend: str, described: tuple[Any, ...]) -> sa.types.TypeEngine[Any]:
    _, code, precision, scale, charset, flags = described
    if backend == "postgresql":
        return _of_postgresql(code, precision, scale)
    if backend == "sqlite":
        return _SQLITE_TYPES.get(code, sa.String())
    if backend not in ("mysql", "mariadb"):
        raise DataError(f"The columns of a query are known for PostgreSQL, MySQL, MariaDB and SQLite, but this is {backend}")
    if code in _MYSQL_INTEGERS:
        integer: Any = _MYSQL_INTEGERS[code]
        integer_type: sa.types.TypeEngine[Any] = integer(unsigned=bool(flags & _MYSQL_UNSIGNED))
        return integer_type
    if code in _MYSQL_DECIMALS:
        # Its length has a place for the point, and one for the sign.
        signs = (scale > 0) + (not flags & _MYSQL_UNSIGNED)
        return sa.Numeric(precision - signs, scale)
    if code == _MYSQL_GEOMETRY:
        return Geometry()
    if code == _MYSQL_BIT:
        return mysql.BIT(precision)
    plain_type = _MYSQL_TYPES.get(code, NullType())
    return sa.LargeBinary() if isinstance(plain_type, sa.String) and charset == _MYSQL_BINARY else plain_type


def _of_postgresql(code: int, precision: int | None, scale: int | None) -> sa.types.TypeEngine[Any]:
    from psycopg import adapters
    from sqlalchemy.dialects.postgresql import ARRAY
    from sqlalchemy.dialects.postgresql.base import ischema_names

    info = adapters.types.get(code)
    if info is None:
        return NullType()
    named: Any = ischema_names.get(info.regtype, NullType)
    element_type: sa.types.TypeEngine[Any]
    if named is ischema_names["numeric"]:
        element_type = sa.Numeric(precision, scale)
    elif info.regtype in ("time with time zone", "timestamp with time zone"):
        element_type = named(timezone=True)
    else:
        element_type = named()
    return ARRAY(element_type) if code == info.array_oid else element_type
