"""
Whose functions run when PostgreSQL is asked: all are called with the rights of whoever asks.

Where a schema of the path has a function, or an operator, for exactly the types of a call, that one is called before one of
PostgreSQL's own whose types need a conversion; and for two texts of limited length there is no `=` of its own. So statements of
ours name the schema, and those of SQLAlchemy see no other one. Views and policies of row-level security call functions of the
table's owner, who may put a view in its place, or enable policies, at any moment: a table is locked, as a reader locks it
anyway, before it is looked at, until its rows are read. Used by all that asks a database.
"""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, DOMAIN
from sqlalchemy.dialects.postgresql.base import ischema_names

from kconnect.api import DataError
from kconnect.connectors.sql import source_settings as settings

log = logging.getLogger(__name__)

_SIGNS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">": operator.gt}
_BUILT_IN = frozenset(ischema_names.values())
_SCHEMA = """
SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%(name)s)
"""
_OPEN = """
SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_namespace n
WHERE n.nspname OPERATOR(pg_catalog.=) ANY (pg_catalog.current_schemas(false))
  AND pg_catalog.has_schema_privilege('public', n.oid, 'CREATE')
"""
_TABLES = ("r", "p")
_VIEW = "v"
_KIND = """
SELECT c.relkind::pg_catalog.text, pg_catalog.row_security_active(c.oid),
       o.rolsuper OR pg_catalog.pg_has_role(c.relowner, 'MEMBER') OR EXISTS (
           SELECT FROM pg_catalog.pg_database d
           WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() AND d.datdba OPERATOR(pg_catalog.=) c.relowner),
       o.rolname::pg_catalog.text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) c.relowner
WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%(name)s)
"""


def check(connection: sa.Connection, table: sa.TableClause, shown: str) -> None:
    """
    Lock a table until the transaction ends. DataError for a view, and for a table whose rows policies choose for this login, if
    its owner is neither a superuser, nor the database's owner, nor a role that this login has. Nothing if it is not there.
    """
    name = connection.dialect.identifier_preparer.format_table(table)
    found = connection.exec_driver_sql(_KIND, _named(name)).one_or_none()
    if found is not None and found[0] in _TABLES:
        connection.exec_driver_sql(f"LOCK TABLE ONLY {name} IN ACCESS SHARE MODE")
        # What it is now stays so.
        found = connection.exec_driver_sql(_KIND, _named(name)).one_or_none()
    if found is None:
        return
    kind, has_policies, is_trusted, owner = found
    if is_trusted or not (has_policies or kind == _VIEW):
        return
    what = "is a view" if kind == _VIEW else "has row-level security"
    remedy = "have a superuser or the owner of the database own it" + ("" if kind == _VIEW else ", give this login BYPASSRLS,")
    raise DataError(
        f"{shown} {what}, and to read it runs functions that its owner, {owner}, chooses, with the rights of this connector's "
        f"login: grant the role {owner} to the login, {remedy} or read it by {settings.QUERY}"
    )


def _named(quoted: str) -> dict[str, str]:
    """A table's name as a parameter: for a statement its percent signs are doubled."""
    return {"name": quoted.replace("%%", "%")}


def is_built_in(kind: Any) -> bool:
    """Whether a type of PostgreSQL's is one of its own."""
    if isinstance(kind, ARRAY):
        return is_built_in(kind.item_type)
    if isinstance(kind, DOMAIN):
        return is_built_in(kind.data_type)
    return type(kind) in _BUILT_IN and not isinstance(kind, sa.Enum)


def compared(backend: str, value: sa.ColumnElement[Any], sign: str, other: Any) -> sa.ColumnElement[bool]:
    """Compare by the database's own operator."""
    if backend == "postgresql":
        return value.bool_op(f"OPERATOR(pg_catalog.{sign})")(other)
    found: sa.ColumnElement[bool] = _SIGNS[sign](value, other)
    return found


def equals(kind: Any) -> str:
    """Return PostgreSQL's sign between two values of a type. Those of extensions have operators of their own."""
    return "OPERATOR(pg_catalog.=)" if is_built_in(kind) or isinstance(kind, sa.Enum) else "="


@contextlib.contextmanager
def inspected(engine: sa.Engine, table: str = "", schema: str | None = None) -> Iterator[tuple[sa.Inspector, str | None]]:
    """
    An inspector whose statements see PostgreSQL's own functions only, and the schema of a table: a name without one is looked
    for in the path, and in PostgreSQL has one then, if it is there.
    """
    with engine.connect() as connection:
        if table and schema is None and engine.dialect.name == "postgresql":
            name = engine.dialect.identifier_preparer.quote_identifier(table)
            schema = connection.exec_driver_sql(_SCHEMA, _named(name)).scalar_one_or_none()
        with in_catalog(connection):
            yield sa.inspect(connection), schema


@contextlib.contextmanager
def in_catalog(connection: sa.Connection) -> Iterator[None]:
    """Have unqualified names in the transaction under way mean PostgreSQL's own, for statements that are not ours."""
    if connection.dialect.name != "postgresql":
        yield
        return
    path = connection.exec_driver_sql("SELECT pg_catalog.current_setting('search_path')").scalar_one()
    connection.exec_driver_sql("SET LOCAL search_path TO pg_catalog")
    yield
    # Not after an error: the transaction is over then, and with it the path.
    connection.exec_driver_sql("SELECT pg_catalog.set_config('search_path', %(path)s, true)", {"path": path})


def warn_of_open_schemas(connection: sa.Connection, shown: str) -> None:
    """Say in the log which schemas of the path anybody may make functions in."""
    if connection.dialect.name == "postgresql" and (names := list(connection.exec_driver_sql(_OPEN).scalars())):
        log.warning(
            "Anybody in %s may make functions in the schema %s, where this login looks for them: REVOKE CREATE ON SCHEMA %s "
            "FROM PUBLIC, as PostgreSQL 15 has it in new databases",
            *(shown, ", ".join(names), ", ".join(names)),
        )
