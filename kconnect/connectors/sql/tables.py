"""
Tables: that of a topic, as the database has it, made or widened if the config allows that.

What the database says of a table is kept until something goes wrong with it. Used by `task.py` through `rows.py`.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, NoSuchTableError

from kconnect.api import ConnectError, DataError, Schema
from kconnect.connectors import names
from kconnect.connectors.sql import database, faults, offsets, owners, pg_texts, settings, types
from kconnect.connectors.targets import Targets

log = logging.getLogger(__name__)

_MOST_COLUMNS, _FEWEST_COLUMNS = {"postgresql": 1600, "sqlite": 2000, "mysql": 1017, "mariadb": 1017}, 1000
_LONGEST_IN_SQLITE = 256
_KEPT = 5000
"""Tables of which is known what columns they have."""
_LOOK_S = 1.0
"""How often to ask, at most, whether tables have other columns by now."""
_BY_BYTES = ("utf8mb4_nopad_bin", "utf8mb4_0900_bin", "utf8mb4_bin")
"""Collations of MariaDB and MySQL, the best first: by the last one blanks at the end do not count."""
_OCTETS = {18: 1, 19: 63}
"""PostgreSQL's numbers of the types `"char"` and `name`, and how many bytes they have."""
_PLAIN = re.compile(r"[^\W\d][\w$]*")
"""A name that needs no quotes. Of one that has none each character would be a part of the statement."""


@dataclass(frozen=True)
class Wanted:
    """A column that rows have; `schema` is that of its values, None if they have none."""

    name: str
    schema: Schema | None
    key: bool = False


class Tables:
    def __init__(self, engine: sa.Engine, config: Mapping[str, Any]) -> None:
        self._engine = engine
        self._backend = engine.dialect.name
        self._format: str = config[settings.TABLE]
        self._create: bool = config[settings.CREATE]
        self._evolve: bool = config[settings.EVOLVE]
        self._quote = config[settings.QUOTE].lower() == "always"
        self._offsets: str = (config[settings.OFFSETS] or "").rpartition(".")[2].casefold()
        self._targets = Targets("table", f"Name them apart with {settings.TABLE} or a transform such as RegexRouter")
        self._known: dict[str, sa.Table] = {}
        self._described: dict[str, Any] = {}
        """What the database said of the columns of tables, a moment before they were looked at."""
        self._look_at = 0.0

    def forget(self) -> None:
        """Look at all tables anew when they are needed next."""
        self._known.clear()
        self._described.clear()

    def have_changed(self, connection: sa.Connection, topics: Iterable[str], now: float) -> bool:
        """
        Return whether a table has other columns than when it was looked at: somebody may have made one narrower, and the
        database would round what goes there. It is asked at most once a second.
        """
        if now < self._look_at or self._backend == "sqlite":
            return False
        self._look_at = now + _LOOK_S
        try:
            return any(
                _description(connection, self._known[topic]) != self._described.get(topic)
                for topic in topics
                if topic in self._known
            )
        except DBAPIError as error:
            if database.passes(error):
                raise
            return True
        finally:
            connection.rollback()

    def _check_names(self, topic: str, columns: Sequence[Wanted]) -> None:
        """Raise DataError for names that the database has no columns for, or one column for two of them."""
        folds = not self._quote or self._backend in ("sqlite", "mysql", "mariadb")
        # SQLite has no limit, and what is looked at again and again is the statement that made a table.
        longest = _LONGEST_IN_SQLITE if self._backend == "sqlite" else self._engine.dialect.max_identifier_length
        unit = "bytes" if self._backend == "postgresql" else "characters"
        schema, table = self.name_of(topic)
        if self._offsets and table.casefold() == self._offsets:
            raise _refusal(table)
        for name in (table, *filter(None, (schema,)), *(column.name for column in columns)):
            names.check_column(name, longest, unit)
            if not self._quote and not _PLAIN.fullmatch(name):
                raise DataError(f"{names.shown(name)} needs quotes, and {settings.QUOTE} is never")
        spellings: dict[str, str] = {}
        for column in columns:
            before = spellings.setdefault(column.name.casefold() if folds else column.name, column.name)
            if before != column.name:
                raise DataError(
                    f"Its fields {names.shown(before)} and {names.shown(column.name)} are one column for the database"
                )

    def name_of(self, topic: str) -> tuple[str | None, str]:
        """The schema, if the format has one, and the name."""
        schema, _, name = self._format.rpartition(".")
        return self._written(schema.replace("${topic}", topic)) or None, self._written(name.replace("${topic}", topic))

    @property
    def _folds_tables(self) -> bool:
        """Whether names of tables that differ by case only are one: a server of MySQL or MariaDB says so itself."""
        return not self._quote or self._backend == "sqlite" or bool(getattr(self._engine.dialect, "_casing", 0))

    def column(self, table: sa.Table, name: str) -> sa.Column[Any] | None:
        """Return a column by its name as it is written, or without quotes in whatever case the database has it."""
        column = table.columns.get(name)
        if column is None and not self._quote:
            column = next((candidate for candidate in table.columns if candidate.name.lower() == name.lower()), None)
        return column

    def existing(self, topic: str) -> sa.Table | None:
        """Return the topic's table, None if there is none. Raise DataError if it has the offsets of any connector."""
        table = self._known.get(topic)
        if table is None:
            schema, name = self.name_of(topic)
            if "${topic}" in self._format:
                self._targets.note(_full(schema, name).casefold() if self._folds_tables else _full(schema, name), topic)
            if self._backend != "sqlite":
                self._describe(topic, sa.table(name, schema=schema))
            try:
                with owners.inspected(self._engine, name, schema) as (inspector, where):
                    # Tables that it refers to are none of ours, and may be any number.
                    table = sa.Table(name, sa.MetaData(), schema=where, autoload_with=inspector.bind, resolve_fks=False)
                if where != schema:
                    # Statements find it by the path, as before: it has a schema only while it is looked at.
                    table = table.to_metadata(sa.MetaData(), schema=None)  # type: ignore[arg-type]
            except NoSuchTableError:
                return None
            for column, described in zip(table.columns, self._described.get(topic, ())):
                column.type = _without_domain(column.type, described)
            for column in table.columns if self._backend != "postgresql" else ():
                if isinstance(column.type, sa.JSON):
                    column.type = types.JsonText()
            # It may be another connector's.
            _check_columns(name, (column.name for column in table.columns))
            if self._offsets and not database.has_transactions(table):
                log.warning(
                    "The table %s has an engine without transactions: its rows are written at least once, whatever %s is",
                    names.shown(name),
                    settings.OFFSETS,
                )
            if len(self._known) >= _KEPT:
                # Records may have any topics, by a transform, and each of them a table.
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._described.pop(oldest, None)
            self._known[topic] = table
        return table

    def _describe(self, topic: str, table: sa.TableClause) -> None:
        with self._engine.connect() as connection:
            try:
                self._described[topic] = _description(connection, table)
            except DBAPIError as error:
                if database.passes(error):
                    raise
                # There is no such table.
                self._described.pop(topic, None)

    def ensure(self, topic: str, wanted: Sequence[Wanted]) -> sa.Table:
        """
        Return the table with all these columns. ConnectError if there is none, and the config does not allow to make it.
        DataError if these are columns that it has not, and can't get.
        """
        self._check_names(topic, wanted)
        try:
            return self._ensured(topic, wanted)
        except DataError:
            raise
        except Exception as error:
            if not faults.is_of_names(error):
                raise
            full = _full(*self.name_of(topic))
            raise DataError(f"The table {full} can't have its fields: {database.reason(error)}") from error

    def _ensured(self, topic: str, columns: Sequence[Wanted]) -> sa.Table:
        existing = self.existing(topic)
        table = self._created(topic, columns) if existing is None else existing
        missing = [column for column in columns if self.column(table, column.name) is None]
        most = _MOST_COLUMNS.get(self._backend, _FEWEST_COLUMNS)
        if len(table.columns) + len(missing) > most:
            # Before any is added: a record that is refused is not to leave a thousand columns behind.
            raise DataError(f"The table {table.fullname} would have more than {most} columns")
        if missing:
            # Another task may have added them.
            self._known.pop(topic, None)
            existing = self.existing(topic)
            table = table if existing is None else existing
            missing = [column for column in missing if self.column(table, column.name) is None]
        return self._widened(topic, table, missing) if missing else table

    def _created(self, topic: str, wanted: Sequence[Wanted]) -> sa.Table:
        schema, name = self.name_of(topic)
        most = _MOST_COLUMNS.get(self._backend, _FEWEST_COLUMNS)
        if len(wanted) > most:
            raise DataError(f"The table {_full(schema, name)} would have more than {most} columns")
        if not self._create:
            raise ConnectError(
                f"There is no table {_full(schema, name)} in the {database.shown(self._engine)}: create it, or set "
                f"{settings.CREATE}=true"
            )
        # A connector that began later would take the table for its own.
        _check_columns(name, (column.name for column in wanted))
        collation = self._collation() if any(column.key for column in wanted) else None
        columns = [self._made(column, column.key, collation) for column in wanted]
        new_table = sa.Table(name, sa.MetaData(), *columns, schema=schema, quote=self._quote)
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.schema.CreateTable(new_table, if_not_exists=True))
        except DBAPIError as error:
            # Two tasks that do so at once: one is refused, though the table is there then.
            if database.passes(error) or self.existing(topic) is None:
                raise
        table = self.existing(topic)
        if table is None:
            raise ConnectError(f"The table {_full(schema, name)} was made, but is not there: check the rights of the user")
        return table

    def _widened(self, topic: str, table: sa.Table, missing: Sequence[Wanted]) -> sa.Table:
        missing_names = ", ".join(field.name for field in missing)
        if not self._evolve:
            raise DataError(
                f"The table {table.fullname} has no column {missing_names}, which records of {topic} have: add it, set "
                f"{settings.EVOLVE}=true, or leave it out by {settings.FIELDS}"
            )
        for field in missing:
            if field.key or field.schema is None or not (field.schema.optional or field.schema.default is not None):
                raise DataError(
                    f"The column {field.name} can't be added to the table {table.fullname}: its field is neither optional nor "
                    "has a default, and the rows there are have no value for it. Add it by hand."
                )
        _check_columns(table.name, (field.name for field in (*table.columns, *missing)))
        place = self._engine.dialect.identifier_preparer.format_table(table)
        for field in missing:
            column = self._made(field, False)
            sa.Table(table.name, sa.MetaData(), column, schema=table.schema)
            statement = f"ALTER TABLE {place} ADD COLUMN {sa.schema.CreateColumn(column).compile(dialect=self._engine.dialect)}"
            try:
                with self._engine.begin() as connection:
                    connection.exec_driver_sql(statement)
            except DBAPIError as error:
                self._known.pop(topic, None)
                existing = self.existing(topic)
                if database.passes(error) or existing is None or self.column(existing, field.name) is None:
                    raise
        self._known.pop(topic, None)
        changed = self.existing(topic)
        return table if changed is None else changed

    def _collation(self) -> str | None:
        """Return the collation by which keys of texts differ as their bytes do, as in Kafka; None where they do so anyway."""
        if self._backend not in ("mysql", "mariadb"):
            return None
        with self._engine.connect() as connection:
            collations = connection.exec_driver_sql("SHOW COLLATION").scalars().all()
        return next((name for name in _BY_BYTES if name in collations), None)

    def _made(self, column: Wanted, key: bool, collation: str | None = None) -> sa.Column[Any]:
        if column.schema is None:
            raise DataError(
                f"The column {column.name} can't be made, since the record has no schema that says what it holds: create the "
                "table by hand, or use a converter with schemas"
            )
        try:
            kind = types.column_type(column.schema, self._backend, key)
        except DataError as error:
            raise DataError(f"The column {column.name}: {error}") from None
        if isinstance(kind, sa.String) and key and collation is not None:
            kind = sa.String(kind.length, collation=collation)
        default = None if key else types.default_of(column.schema)
        # A text of MySQL can't have a default.
        default = None if isinstance(kind, sa.Text) and self._backend in ("mysql", "mariadb") else default
        nullable = not key and (column.schema.optional or column.schema.default is not None)
        return sa.Column(
            column.name,
            kind,
            primary_key=key,
            nullable=nullable,
            server_default=default,
            autoincrement=False,
            quote=self._quote,
        )

    def _written(self, name: str) -> str:
        # PostgreSQL takes names without quotes for small letters; SQLAlchemy looks for a name as it is.
        return name if self._quote or self._backend != "postgresql" else name.lower()


def _without_domain(kind: Any, described: tuple[Any, ...]) -> Any:
    """
    Return the type of a domain of PostgreSQL with its digits or length, and of a text with a length in bytes, which SQLAlchemy
    leaves out; others as they are.
    """
    if isinstance(kind, sa.String) and described[1] in _OCTETS:
        return pg_texts.Octets(_OCTETS[described[1]])
    if not isinstance(kind, postgresql.DOMAIN):
        return kind
    while isinstance(kind, postgresql.DOMAIN):
        kind = kind.data_type
    length, precision, scale = described[2], described[4], described[5]
    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return sa.Numeric(precision, scale)
    if isinstance(kind, sa.DateTime):
        return postgresql.TIMESTAMP(kind.timezone, precision)
    if isinstance(kind, sa.Time):
        return postgresql.TIME(kind.timezone, precision)
    return sa.String(length) if isinstance(kind, sa.String) and length else kind


def _description(connection: sa.Connection, table: sa.FromClause) -> Any:
    """Return what the driver says of a table's columns: their names, types, lengths and digits."""
    query = sa.select(sa.text("*")).select_from(table).where(sa.false())
    with contextlib.closing(connection.execute(query)) as result:
        return [tuple(column) for column in result.cursor.description]


def _check_columns(table: str, columns: Iterable[str]) -> None:
    """Raise DataError for a table that has the columns of one with offsets, among others."""
    if {name.casefold() for name in columns} >= offsets.COLUMNS:
        raise _refusal(table)


def _refusal(table: str) -> DataError:
    # Where connectors go on is not for records to say, whatever their topic is called.
    return DataError(f"{names.shown(table)} has the offsets of connectors ({settings.OFFSETS}): it takes no records")


def _full(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name
