"""
Listing: which tables there are that a config asks for.

Called by `source.py`, for the tasks' configs, and when a config is validated.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from kconnect.api import ConnectError
from kconnect.connectors.patterns import Pattern
from kconnect.connectors.sql import owners
from kconnect.connectors.sql import source_settings as settings

_OWN = {
    "postgresql": re.compile(r"information_schema|pg_.*"),
    "mysql": re.compile(r"information_schema|performance_schema|mysql|sys"),
    "mariadb": re.compile(r"information_schema|performance_schema|mysql|sys"),
}
"""The schemas of the databases themselves."""
_PARTITIONED = "PARTITIONED TABLE"
_TABLES, _VIEWS = ("TABLE", "BASE TABLE", _PARTITIONED), ("VIEW", "MATERIALIZED VIEW")
KINDS = (*_TABLES, *_VIEWS)


class TableName(NamedTuple):
    schema: str | None
    table: str

    @property
    def full(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table


def tables(engine: sa.Engine, config: Mapping[str, Any]) -> list[TableName]:
    """Return the tables in the order of their names. Raise ConnectError if two of them have one name in offsets."""
    names = all_tables(engine, config)
    check_distinct(names)
    return names


def all_tables(engine: sa.Engine, config: Mapping[str, Any]) -> list[TableName]:
    """Return the tables as `tables` does, whatever their names."""
    kinds = {kind.upper() for kind in config[settings.KINDS]}
    with owners.inspected(engine) as (inspector, _):
        return sorted(name for name in _of_kinds(inspector, config, kinds) if _is_wanted(name, config))


def _of_kinds(inspector: sa.Inspector, config: Mapping[str, Any], kinds: set[str]) -> list[TableName]:
    backend = inspector.dialect.name
    table_names: list[TableName] = []
    for schema in _schemas(inspector, config):
        names: list[str] = []
        if kinds.intersection(_TABLES):
            names += _tables(inspector, schema, kinds)
        if "VIEW" in kinds:
            names += inspector.get_view_names(schema)
        if "MATERIALIZED VIEW" in kinds and backend == "postgresql":
            names += inspector.get_materialized_view_names(schema)
        table_names += [TableName(schema, name) for name in names]
    return table_names


def check_distinct(tables: Sequence[TableName]) -> None:
    """Names have dots, too: where a was read to must not be where b goes on."""
    before: dict[str, TableName] = {}
    for table in tables:
        first = before.setdefault(table.full, table)
        if first is not table:
            raise ConnectError(
                f"The table {table.table} in the schema {table.schema} and {first.table} in {first.schema} have one name in "
                f"offsets, {table.full}: leave one of them out by {settings.SCHEMAS}, or read it by a {settings.QUERY}"
            )


def shared_topics(tables: Iterable[TableName]) -> dict[str, list[str]]:
    """Return the names of tables that have one topic, as tables of one name in several schemas do, by that name."""
    names: dict[str, list[str]] = {}
    for table in tables:
        names.setdefault(table.table, []).append(table.full)
    return {topic: sorted(of_topic) for topic, of_topic in names.items() if len(of_topic) > 1}


def _schemas(inspector: sa.Inspector, config: Mapping[str, Any]) -> Sequence[str | None]:
    backend = inspector.dialect.name
    if backend == "sqlite":
        return [None]
    pattern = config[settings.SCHEMAS]
    if backend in ("mysql", "mariadb"):
        # What is a schema elsewhere is a database here, and a catalog for JDBC.
        pattern = config[settings.CATALOGS] or pattern
        if not pattern and inspector.default_schema_name:
            return [inspector.default_schema_name]
    # Who may make schemas names them.
    like = _compiled(f"(?is){_of_like(pattern or '%')}")
    system_schemas = _OWN.get(backend)
    return [
        name
        for name in inspector.get_schema_names()
        if like.fullmatch(name) and not (system_schemas and system_schemas.fullmatch(name))
    ]


def _tables(inspector: sa.Inspector, schema: str | None, kinds: set[str]) -> list[str]:
    """
    Return the names of tables as drivers of JDBC do: PostgreSQL's partitions are tables, and what is partitioned is of its own
    kind.
    """
    names = inspector.get_table_names(schema)
    if inspector.dialect.name != "postgresql":
        return names
    query = "select relname from pg_class join pg_namespace n on n.oid = relnamespace where relkind = 'p' and nspname = :schema"
    assert isinstance(inspector.bind, sa.Connection)
    partitioned = set(inspector.bind.execute(sa.text(query), {"schema": schema}).scalars())
    plain = kinds.intersection(_TABLES[:2])
    return [name for name in names if (_PARTITIONED in kinds if name in partitioned else plain)]


def _of_like(pattern: str) -> str:
    return "".join({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in pattern)


def _is_wanted(name: TableName, config: Mapping[str, Any]) -> bool:
    whitelist, include = config[settings.WHITELIST], config[settings.INCLUDE]
    if (whitelist and not named(name, whitelist)) or (include and not _matches(name, include)):
        return False
    return not named(name, config[settings.BLACKLIST]) and not _matches(name, config[settings.EXCLUDE])


def named(name: TableName, names: Iterable[str]) -> bool:
    """Whether a list has it, with or without its schema, or with the catalog before that; quotes do not matter."""
    plain = [entry.strip().replace('"', "").replace("`", "") for entry in names]
    return any(entry in (name.table, name.full) or entry.endswith(f".{name.full}") for entry in plain)


def _matches(name: TableName, patterns: Iterable[str]) -> bool:
    # Who may make tables names them.
    return any(_compiled(pattern.strip()).fullmatch(name.full) for pattern in patterns)


@functools.cache
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)
