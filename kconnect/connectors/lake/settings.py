"""
The settings that the sinks for lakes share: those that people know from Apache Iceberg's own sink, under each lake's name.

Used by the `settings.py` of each lake, and by `task.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConfigKey, Range, Width
from kconnect.connectors import patterns
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, STRING, retry_keys

ROWS, BYTES = "commit.max.rows", "commit.max.bytes"
RETRIES, BACKOFF = "max.retries", "retry.backoff.ms"

_OF_TABLE = re.compile(r"(?P<table>.+)\.(?P<what>route-regex|partition-by|id-columns|commit-branch)$")


@dataclass(frozen=True)
class Names:
    """The names of a lake's settings. `lake` begins them; `interval` says how often rows are committed."""

    lake: str
    interval: str

    @property
    def tables(self) -> str:
        return f"{self.lake}.tables"

    @property
    def route_field(self) -> str:
        return f"{self.lake}.tables.route-field"

    @property
    def dynamic(self) -> str:
        return f"{self.lake}.tables.dynamic-enabled"

    @property
    def create(self) -> str:
        return f"{self.lake}.tables.auto-create-enabled"

    @property
    def evolve(self) -> str:
        return f"{self.lake}.tables.evolve-schema-enabled"

    @property
    def most_columns(self) -> str:
        return f"{self.lake}.tables.max.columns"

    @property
    def optional(self) -> str:
        return f"{self.lake}.tables.schema-force-optional"

    @property
    def partitions(self) -> str:
        return f"{self.lake}.tables.default-partition-by"

    @property
    def upsert(self) -> str:
        return f"{self.lake}.tables.upsert-mode-enabled"

    @property
    def delete(self) -> str:
        return f"{self.lake}.tables.delete-enabled"

    @property
    def envelopes(self) -> str:
        return f"{self.lake}.tables.debezium-envelopes-enabled"

    @property
    def delete_field(self) -> str:
        return f"{self.lake}.tables.delete-field"

    @property
    def truncate(self) -> str:
        return f"{self.lake}.tables.truncate-enabled"

    @property
    def order(self) -> str:
        return f"{self.lake}.tables.order-by"

    @property
    def ids(self) -> str:
        return f"{self.lake}.tables.default-id-columns"

    def of_table(self, table: str, what: str) -> str:
        """Return the name of a setting of one table, such as its `route-regex`."""
        return f"{self.lake}.table.{table}.{what}"


def of_tables(names: Names, props: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return a config's settings of single tables, by their names."""
    prefix = f"{names.lake}.table."
    settings_by_table: dict[str, dict[str, str]] = {}
    for name, value in props.items():
        match = _OF_TABLE.match(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if match is not None and value:
            settings_by_table.setdefault(match["table"], {})[match["what"]] = value
    return settings_by_table


def mismatches(names: Names, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what contradicts itself in the settings of tables: settings, each with a sentence."""
    problems = []
    if config[names.dynamic] and not config[names.route_field]:
        problems.append((names.route_field, f"It is missing: {names.dynamic} is true, and it names the table."))
    if not config[names.dynamic] and not config[names.tables]:
        problems.append((names.tables, f"It is missing: without {names.dynamic} it names the tables."))
    if config[names.delete] and not config[names.upsert]:
        problems.append((names.delete, f"It needs {names.upsert}=true: rows are deleted by their id."))
    for setting in (names.envelopes, names.delete_field, names.order):
        if config.get(setting) and not config[names.upsert]:
            problems.append((setting, f"It needs {names.upsert}=true: rows are replaced and deleted by their id."))
    ids = {column for each in (config[names.ids], *_own_ids(names, props)) for column in each}
    if config.get(names.order) in ids:
        problems.append((names.order, "It is of the id, so all rows of an id have the same there."))
    if config[names.envelopes] and config[names.delete_field]:
        problems.append((names.delete_field, f"It can't be beside {names.envelopes}=true, whose records say that themselves."))
    problems += [
        (names.tables, f"{name} has no namespace: write it as in shop.orders.")
        for name in config[names.tables]
        if "." not in name
    ]
    by_table = of_tables(names, props)
    if config[names.route_field] and not config[names.dynamic]:
        without = [name for name in config[names.tables] if "route-regex" not in by_table.get(name, {})]
        if without:
            setting = names.of_table(without[0], "route-regex")
            problems.append((names.route_field, f"{setting} is missing: it says which values of that field are for the table."))
    for name, table_settings in by_table.items():
        try:
            patterns.Pattern(table_settings.get("route-regex", ""))
        except patterns.error as error:
            text = f"{names.of_table(name, 'route-regex')} is no regular expression: {error}."
            problems.append((names.route_field, text))
        if "commit-branch" in table_settings:
            problems.append((names.tables, f"{names.of_table(name, 'commit-branch')} is not supported: rows go to main."))
    return problems


def _own_ids(names: Names, props: Mapping[str, str]) -> list[list[str]]:
    found = (table_settings.get("id-columns", "") for table_settings in of_tables(names, props).values())
    return [[column.strip() for column in text.split(",")] for text in found]


def missing_ids(names: Names, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is wrong if ids are needed, of a lake whose tables have none of their own."""
    by_table = of_tables(names, props)
    if not config[names.upsert] or config[names.ids] or all("id-columns" in by_table.get(t, {}) for t in config[names.tables]):
        return []
    return [(names.ids, f"It is missing: {names.upsert} is true, and it names the columns of the id.")]


def table_keys(names: Names, name_doc: str, partition_doc: str, evolve_doc: str, ids_doc: str) -> tuple[ConfigKey, ...]:
    """Return the rows about tables. The texts say what differs between lakes."""
    lake = names.lake
    return (
        LIST.high(
            names.tables,
            "",
            f"{name_doc} Each gets all records, or those that its {lake}.table.*.route-regex is for. "
            "${topic} stands for the topic's name.",
            width=Width.LONG,
        ),
        STRING.medium(
            names.route_field,
            "",
            f"The field of the value that {lake}.table.*.route-regex looks at, or that has the table's name.",
            width=Width.MEDIUM,
        ),
        BOOLEAN.medium(
            names.dynamic, False, f"Whether {names.route_field} has the table's name.", dependents=(names.route_field,)
        ),
        BOOLEAN.medium(names.create, False, "Whether a table that is missing is made."),
        LIST.medium(
            names.partitions,
            "",
            f"{partition_doc} For one table: {lake}.table.*.partition-by.",
            width=Width.LONG,
            visible=_given(names.create),
        ),
        BOOLEAN.low(
            names.optional,
            False,
            "Whether all columns of a new table may be null. Otherwise those of fields that are optional.",
            visible=_given(names.create),
        ),
        BOOLEAN.medium(names.evolve, False, evolve_doc),
        BOOLEAN.medium(
            names.upsert,
            False,
            "Whether a record replaces the row with its id. Otherwise each is a new row.",
            dependents=(names.ids,),
        ),
        BOOLEAN.medium(
            names.delete,
            False,
            "Whether a record without a value deletes the row with the id that its key has. Otherwise it is passed over.",
            visible=_given(names.upsert),
        ),
        STRING.medium(
            names.delete_field,
            "",
            "The field of a value that says, by true or d, that the row with its id was deleted, such as __deleted or __op. "
            "It is no column.",
            width=Width.MEDIUM,
            visible=_given(names.upsert),
        ),
        BOOLEAN.medium(
            names.envelopes,
            False,
            "Whether values are envelopes as Debezium's connectors write them, with op, before and after. Rows are made of "
            "after, and deleted by before, or by the key.",
            visible=_given(names.upsert),
        ),
        LIST.medium(
            names.ids,
            "",
            f"The columns of the id. For one table: {lake}.table.*.id-columns. {ids_doc}",
            visible=_given(names.upsert),
        ),
        INT.low(
            names.most_columns,
            1000,
            "How many columns a table may come to have by records, those within structs counted. A record with more is a bad "
            "one. A table's metadata keeps all its columns for each change of them.",
            Range.at_least(1),
        ),
    )


def commit_keys(names: Names, interval_doc: str) -> tuple[ConfigKey, ...]:
    """Return the rows about commits and retries."""
    return (
        INT.medium(names.interval, 300_000, interval_doc, Range.at_least(0)),
        INT.medium(
            ROWS,
            500_000,
            "How many rows a task keeps in memory at most; then it commits sooner, as it does with rows of 1,000 partitions.",
            Range.at_least(1),
        ),
        LONG.medium(
            BYTES,
            256 * 1024**2,
            "How many bytes of rows a task keeps in memory, more or less; then it commits sooner. A commit takes as much "
            "again.",
            Range.at_least(1),
        ),
        *retry_keys("a commit is tried again, after what may pass,"),
    )


def _given(setting: str) -> Callable[[str, Mapping[str, Any]], bool]:
    return lambda name, values: bool(values.get(setting))
