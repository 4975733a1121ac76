"""
The settings of the SQL source: those of the JDBC source that people know, and `incrementing.delay.interval.ms`.

Read by `source.py`, which checks them against each other, and by `listing.py`, `relations.py` and `reader.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, OneOf, Range, Width
from kconnect.connectors.common import is_zone
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, STRING, section
from kconnect.connectors.sql.settings import CONNECTION

MODE, INCREMENTING, TIMESTAMPS = "mode", "incrementing.column.name", "timestamp.column.name"
INITIAL, DELAY, ID_DELAY = "timestamp.initial", "timestamp.delay.interval.ms", "incrementing.delay.interval.ms"
NON_NULL, QUERY, SUFFIX = "validate.non.null", "query", "query.suffix"
WHITELIST, BLACKLIST, INCLUDE, EXCLUDE = "table.whitelist", "table.blacklist", "table.include.list", "table.exclude.list"
CATALOGS, SCHEMAS, KINDS, LOOK = "catalog.pattern", "schema.pattern", "table.types", "table.poll.interval.ms"
NUMBERS, PRECISIONS, GRANULARITY, ZONE = "numeric.mapping", "numeric.precision.mapping", "timestamp.granularity", "db.timezone"
PREFIX, ROWS, BYTES, INTERVAL = "topic.prefix", "batch.max.rows", "batch.max.bytes", "poll.interval.ms"
ISOLATION, RETRIES, ON_ERROR = "transaction.isolation.mode", "query.retry.attempts", "behavior.on.error"
TABLES = "tables"
"""In the configs of tasks only: what they read, in JSON."""

BULK, BY_ID, BY_TIME, BY_BOTH = "bulk", "incrementing", "timestamp", "timestamp+incrementing"
MODES = (BULK, BY_ID, BY_TIME, BY_BOTH)
GRANULARITIES = (
    "connect_logical",
    *(f"{unit}_{form}" for unit in ("micros", "nanos") for form in ("long", "string", "iso_datetime_string")),
)
_MAPPINGS = ("none", "precision_only", "best_fit", "best_fit_eager_double")
_ISOLATIONS = ("DEFAULT", "READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE")

_NEW, _TABLES, _VALUES, _TOPICS = "Which rows are new", "Tables", "Values", "Reading and writing"


def numbers_of(config: Mapping[str, Any]) -> str:
    """Return how numbers with a fixed point become values; the older setting says it in its own way."""
    mapping: str = config[NUMBERS].lower()
    return "precision_only" if mapping == "none" and config[PRECISIONS] else mapping


def by_id(config: Mapping[str, Any]) -> bool:
    return config[MODE].lower() in (BY_ID, BY_BOTH)


def by_time(config: Mapping[str, Any]) -> bool:
    return config[MODE].lower() in (BY_TIME, BY_BOTH)


def _if(condition: Callable[[Mapping[str, Any]], bool]) -> Callable[[str, Mapping[str, Any]], bool]:
    return lambda name, values: not values.get(MODE) or condition(values)


def _without_query(name: str, values: Mapping[str, Any]) -> bool:
    return not values.get(QUERY)


def are_patterns(name: str, value: Any) -> None:
    """Raise ConfigError for a list that has something else than regular expressions."""
    for pattern in value or ():
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(name, value, f"{pattern} is no regular expression: {error}") from None


def _is_absent(name: str, value: Any) -> None:
    if value:
        remedy = f"{ROWS} limits how much is taken at once, and {QUERY} may have limits of its own"
        raise ConfigError(name, value, f"It is not supported: leave it out. {remedy}")


CONFIG = ConfigDef(
    *CONNECTION,
    *section(
        _NEW,
        STRING.high(
            MODE,
            doc="bulk: all rows, again and again. incrementing: rows whose number is greater than the last one's, so new ones "
            "only. timestamp: rows whose time is later, so new and changed ones. timestamp+incrementing: the same, by both, "
            "which tells rows of the same time apart.",
            validator=OneOf(MODES, ignore_case=True),
            dependents=(INCREMENTING, TIMESTAMPS),
        ),
        STRING.medium(
            INCREMENTING,
            "",
            "The column whose number grows with each new row. Empty: the table's own column of that kind.",
            width=Width.MEDIUM,
            visible=_if(by_id),
        ),
        LIST.medium(
            TIMESTAMPS,
            "",
            "The columns with the time of a row's last change. Of several, the first one that is not null counts.",
            width=Width.MEDIUM,
            visible=_if(by_time),
        ),
        LONG.low(
            INITIAL,
            None,
            "Where a table without offsets begins, in ms since 1970; -1 is the present. By default with its first row.",
            visible=_if(by_time),
        ),
        LONG.high(
            DELAY,
            0,
            "How old a row's time must be, in ms, before the row is read: as long as the longest transaction takes. A row that "
            "gets an earlier time than one that was read already would be missed.",
            Range.at_least(0),
            visible=_if(by_time),
        ),
        LONG.high(
            ID_DELAY,
            0,
            "With mode=incrementing, for how long a number must have been there, in ms, before rows up to it are read: as long "
            "as the longest transaction takes. A row whose transaction took a number earlier and commits later would be "
            "missed.",
            Range.at_least(0),
            visible=_if(lambda values: str(values[MODE]).lower() == BY_ID),
        ),
        BOOLEAN.low(
            NON_NULL,
            True,
            "Whether the columns that say what is new must be declared as not null. A row that has null there is never read.",
        ),
    ),
    *section(
        _TABLES,
        STRING.medium(
            QUERY,
            "",
            "A SELECT to read from in place of tables. It may have a WHERE of its own: what is new is asked around it.",
            width=Width.LONG,
        ),
        STRING.low(SUFFIX, "", "Not supported.", _is_absent),
        *(
            LIST.medium(name, "", doc, validator, visible=_without_query)
            for name, doc, validator in (
                (WHITELIST, "The tables to read, with or without their schema. By default all.", None),
                (BLACKLIST, "The tables not to read, likewise.", None),
                (INCLUDE, "The tables to read: regular expressions of the whole name with its schema.", are_patterns),
                (EXCLUDE, "The tables not to read, likewise.", are_patterns),
            )
        ),
        STRING.medium(
            CATALOGS,
            "",
            "For MySQL and MariaDB: the databases to look in, a pattern of LIKE. By default that of the URL.",
            visible=_without_query,
        ),
        STRING.high(
            SCHEMAS,
            "",
            "The schemas to look in, a pattern of LIKE. By default all but the database's own.",
            visible=_without_query,
        ),
        LIST.low(
            KINDS,
            "TABLE",
            "What is read of TABLE, VIEW, and for PostgreSQL PARTITIONED TABLE and MATERIALIZED VIEW. Partitions are tables.",
            visible=_without_query,
            recommender=lambda name, values: ["TABLE", "VIEW", "PARTITIONED TABLE", "MATERIALIZED VIEW"],
        ),
        LONG.low(
            LOOK,
            60_000,
            "How often to look for tables that are new or gone, in ms; tasks are divided anew then.",
            Range.at_least(1),
            visible=_without_query,
        ),
    ),
    *section(
        _VALUES,
        STRING.low(
            NUMBERS,
            "none",
            "What NUMERIC columns become. none: Decimal. precision_only: integers, if there are no digits behind the point and "
            "at most 18 before it. best_fit: also FLOAT64, if there are digits behind the point and at most 18 in all. "
            "best_fit_eager_double: FLOAT64 whenever there are digits behind the point. A FLOAT64 has the nearest number: of "
            "more than 15 digits it may be another one.",
            OneOf(_MAPPINGS, ignore_case=True),
        ),
        BOOLEAN.low(PRECISIONS, False, "An older name of numeric.mapping=precision_only."),
        STRING.low(
            GRANULARITY,
            "connect_logical",
            "What columns with a date and a time become. connect_logical: Timestamp, in ms. The others keep microseconds: as a "
            "number since 1970, that number as a text, or a text in ISO 8601.",
            OneOf(GRANULARITIES, ignore_case=True),
        ),
        STRING.medium(ZONE, "UTC", "The zone of times in columns that have none.", is_zone),
    ),
    *section(
        _TOPICS,
        STRING.high(
            PREFIX,
            doc="What the topic of a table begins with; its name follows. With a query it is the whole name.",
            width=Width.MEDIUM,
        ),
        INT.high(
            INTERVAL, 5000, "The pause between two looks at a table, in ms, once it was read to its end.", Range.at_least(0)
        ),
        INT.low(
            ROWS,
            1000,
            "How many rows are taken at once. With mode=timestamp, rows of the same time stay together all the same.",
            Range.at_least(1),
        ),
        LONG.low(
            BYTES,
            256 * 1024 * 1024,
            "How many bytes the rows may have that are in memory at once: fewer are taken if they are long. With "
            "mode=timestamp, rows of the same time that have more can't be read.",
            Range.at_least(1),
            order=6,
        ),
        STRING.low(
            ISOLATION,
            "DEFAULT",
            "The isolation of the transactions that read; DEFAULT is the database's.",
            OneOf(_ISOLATIONS, ignore_case=True),
            order=4,
        ),
        INT.medium(
            RETRIES,
            -1,
            "How many times in a row a query is tried again, after what may pass, before the task fails; the pause is "
            "connection.backoff.ms. -1: without end.",
            Range.at_least(-1),
            order=5,
        ),
        STRING.medium(
            ON_ERROR,
            "fail",
            "What a row does that has a value of which there is no record. fail: the task fails, behind the rows before it. "
            "log: it is passed over, and the log says so, with its key, the column and the reason. So is a table that can't be "
            "read at all, as long as another one of the task can be.",
            OneOf(("fail", "log"), ignore_case=True),
            order=6,
        ),
    ),
)
