"""
What SQLAlchemy finds out of SQLite's tables, which others may have made: of columns and indexes as SQLite itself tells them.

SQLAlchemy looks through the text of `CREATE TABLE`, too, for the names of constraints and the like, with patterns that take
minutes for a name or a default of twenty thousand characters, and all else that the process does waits. Nothing here needs what
it finds there. A type's arguments are left out if they are longer than any that mean something. Called by `database.py`.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

_NO_TEXT = "CREATE TABLE t ()"
"""A table without constraints, as far as SQLAlchemy can tell."""
_MANY_DIGITS = re.compile(r"\d{7}")
_LONGEST_TYPE = 256


def guard(engine: sa.Engine) -> None:
    """Have an engine for SQLite look at no text of a statement that has made a table."""
    dialect: Any = engine.dialect
    looked_up, resolved = dialect._get_table_sql, dialect._resolve_type_affinity

    def text_of_table(connection: Any, table_name: str, schema: Any = None, **more: Any) -> str | None:
        # An error for one that is not there, and nothing of a table of SQLite's own, as before.
        return None if looked_up(connection, table_name, schema, **more) is None else _NO_TEXT

    def type_of(text: str) -> Any:
        if len(text) > _LONGEST_TYPE or _MANY_DIGITS.search(text):
            text = text[:_LONGEST_TYPE].partition("(")[0]
        return resolved(text)

    dialect._get_table_sql, dialect._resolve_type_affinity = text_of_table, type_of
