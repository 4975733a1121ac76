"""
What SQLAlchemy finds out of MySQL's and MariaDB's tables, which others may have made: from rows, as the server has them.

SQLAlchemy looks through the text of `SHOW CREATE TABLE` with patterns that take hours for a column whose name looks like the
beginning of an enum, and all else that the process does waits; and a name with a new line in it is none to them. Here a table's
columns, indexes and engine come as rows, and of these only a column's type is a text, which is read from its beginning to its
end. Called by `database.py`. Read next: `sqlite_tables.py`.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import DATETIME, ENUM, SET, TIME, TIMESTAMP
from sqlalchemy.dialects.mysql.reflection import ReflectedState
from sqlalchemy.engine import reflection

_WITHOUT_INDEXES = (1347, 1146)
"""Errors of `SHOW INDEX` for what is no table with indexes."""
_WORD = re.compile(r"\w+")
_INTEGERS = re.compile(r"\((\d{1,9})(?:,(\d{1,9}))?\)")
_TEXT = re.compile(r"'(?:[^']|'')*'")
_MOST_VALUES = 65_535
"""Of an ENUM: no server has more."""


def guard(engine: sa.Engine) -> None:
    """Have an engine for MySQL or MariaDB look at no text of a statement that would make a table."""
    dialect: Any = engine.dialect
    # For as long as one looks at a table, what was found is kept, as SQLAlchemy's own is.
    dialect._setup_parser = types.MethodType(reflection.cache(_state), dialect)


def _state(dialect: Any, connection: sa.Connection, table_name: str, schema: str | None = None, **_: Any) -> ReflectedState:
    """
    Return what SQLAlchemy is to know of a table or view.

    Raises:
        NoSuchTableError: there is none
        UnreflectableTableError: it is a view of what is not there any more
    """
    full_name = ".".join(dialect.identifier_preparer._quote_free_identifiers(schema, table_name))
    state = ReflectedState()
    state.table_name = table_name
    described = dialect._describe_table(connection, None, dialect._connection_charset, full_name=full_name)
    # Each value is decoded where a row is asked for it by its number.
    columns: Any = [_column(dialect, *(row[place] for place in range(6))) for row in described]
    state.columns = columns
    state.keys = _keys(connection, full_name)
    engine = _engine(connection, table_name, schema)
    if engine is not None:
        state.table_options = {f"{dialect.name}_engine": engine}
    else:
        # To SQLAlchemy each column of a view may be null, and topics have been written so.
        for column in columns:
            column["nullable"] = True
    return state


def _column(dialect: Any, name: str, shown: Any, nullable: str, _key: str, default: Any, extra: str | None) -> dict[str, Any]:
    """Return a column from a row of `DESCRIBE`."""
    flags = (extra or "").lower()
    kind = type_of(dialect.ischema_names, shown.decode("utf-8", "replace") if isinstance(shown, bytes) else str(shown))
    column: dict[str, Any] = {
        "name": name,
        "type": kind,
        "nullable": nullable == "YES",
        "default": None if default is None else f"'{_escaped(default)}'",
        "comment": None,
    }
    if "auto_increment" in flags or isinstance(kind, sa.Integer):
        column["autoincrement"] = "auto_increment" in flags
    if "virtual" in flags or "stored" in flags or "persistent" in flags:
        # What it is made of is nothing to anybody here.
        column["computed"] = {"sqltext": "", "persisted": "virtual" not in flags}
    return column


def _escaped(default: Any) -> str:
    text = default.decode("utf-8", "replace") if isinstance(default, bytes) else str(default)
    return text.replace("'", "''")


def type_of(known: Mapping[str, Any], shown: str) -> sa.types.TypeEngine[Any]:
    """Return the type that a server shows so, such as `decimal(10,2) unsigned`; NullType for what SQLAlchemy does not know."""
    word = _WORD.match(shown)
    type_class = None if word is None else known.get(word[0].lower())
    if word is None or type_class is None:
        return sa.types.NullType()
    arguments: list[Any] = []
    more: dict[str, Any] = {}
    place = word.end()
    if issubclass(type_class, (ENUM, SET)):
        arguments = _values(shown, place)
        if issubclass(type_class, SET) and "" in arguments:
            more["retrieve_as_bitwise"] = True
    else:
        if numbers := _INTEGERS.match(shown, place):
            arguments = [int(number) for number in numbers.groups() if number is not None]
            place = numbers.end()
        if issubclass(type_class, (DATETIME, TIME, TIMESTAMP)) and arguments:
            more["fsp"] = arguments.pop(0)
        more.update((flag, True) for flag in ("unsigned", "zerofill") if flag in shown[place : place + 40].lower().split())
    try:
        kind: sa.types.TypeEngine[Any] = type_class(*arguments, **more)
    except (TypeError, ValueError, sa.exc.ArgumentError):
        # It has what no type of this name has.
        return sa.types.NullType()
    return kind


def _values(shown: str, place: int) -> list[str]:
    """Return the values of an ENUM or a SET, which stand in quotes from a place on."""
    values: list[str] = []
    while len(values) < _MOST_VALUES and (text := _TEXT.match(shown, place + 1)):
        values.append(text[0][1:-1].replace("''", "'"))
        place = text.end()
    return values


def _keys(connection: sa.Connection, full_name: str) -> list[dict[str, Any]]:
    """Return a table's indexes, as SQLAlchemy has them: each column with the length of its prefix, and its order."""
    try:
        rows = connection.exec_driver_sql(f"SHOW INDEX FROM {full_name}").mappings().all()
    except sa.exc.DBAPIError as error:
        if error.orig is not None and error.orig.args[:1] and error.orig.args[0] in _WITHOUT_INDEXES:
            return []
        raise
    keys: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (str(row["Key_name"]), int(row["Seq_in_index"]))):
        name, kind = str(row["Key_name"]), str(row["Index_type"])
        unique = "UNIQUE" if not int(row["Non_unique"]) else kind if kind in ("FULLTEXT", "SPATIAL") else None
        key = keys.setdefault(
            name,
            {
                "type": "PRIMARY" if name == "PRIMARY" else unique,
                "name": None if name == "PRIMARY" else name,
                "columns": [],
                "parser": None,
                "using_pre": None,
                "using_post": None,
                "keyblock": None,
                "comment": None,
                "version_sql": None,
            },
        )
        key["columns"].append((row["Column_name"], row["Sub_part"], "DESC" if row["Collation"] == "D" else ""))
    for key in keys.values():
        if any(column is None for column, *_ in key["columns"]):
            # On an expression: it has no columns, and must not be taken for one on those beside it.
            key["columns"] = []
    return list(keys.values())


def _engine(connection: sa.Connection, table_name: str, schema: str | None) -> str | None:
    query = sa.text(
        "SELECT ENGINE FROM information_schema.TABLES "
        "WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) AND TABLE_NAME = :name "
        # Where names differ by case alone, both may be found.
        "ORDER BY BINARY TABLE_NAME = BINARY :name DESC LIMIT 1"
    )
    engine: str | None = connection.execute(query, {"schema": schema, "name": table_name}).scalar()
    return engine
