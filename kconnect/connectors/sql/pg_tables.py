"""
What SQLAlchemy finds out of PostgreSQL's tables, which others may have made, without standing still for it.

It looks for the columns of foreign keys and constraints in the texts that PostgreSQL has of them, by patterns that try as many
ways as there are to split a name: a column whose name has fifty letters behind a parenthesis took years, and all else that the
process does waits for Python's patterns. Nothing here needs keys to other tables, nor constraints, so they are not asked for.
Of a default it counts that there is one, and whether it numbers rows. Called by `database.py`. Read next: `mysql_tables.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa

_LONGEST = 1000
"""Of a default, or of a type with its arguments, in characters."""
_SHOWN = {"default": "'…'::text", "format_type": None}
"""What stands for longer ones: a default that is no number, and a type that is not known."""


def guard(engine: sa.Engine) -> None:
    """Have an engine for PostgreSQL look at no text that others can make long, and ask for no keys to other tables."""
    dialect: Any = engine.dialect
    looked_at = dialect._get_columns_info

    def short(rows: Iterable[Any], *more: Any, **named: Any) -> Any:
        return looked_at(_shortened(rows), *more, **named)

    dialect._get_columns_info = short
    for name in ("get_multi_foreign_keys", "get_multi_check_constraints"):
        setattr(dialect, name, lambda *arguments, **more: ())


def _shortened(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for row in rows:
        of_column = dict(row)
        for name, shown in _SHOWN.items():
            if len(of_column.get(name) or "") > _LONGEST:
                of_column[name] = shown
        yield of_column
