"""
The settings of a backfill from MariaDB: those of Debezium's connector that say what is read, and its own.

`kconnect backfill` takes them from Debezium's connector. Whatever else that one has and would change what it writes is refused
by its name. Read by `source.py` and `task.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, NonEmptyString, OneOf, Range
from kconnect.connectors.backfill.settings import (
    BYTES,
    COLUMNS_IN,
    COLUMNS_OUT,
    DEBEZIUM,
    DECIMALS,
    DELIMITER,
    DONE,
    HEADERS,
    HOST,
    INTO,
    LAKE,
    PASSWORD,
    PORT,
    PREFIX,
    RANGES,
    RATE,
    REMEDY,
    ROWS,
    SNAPSHOT,
    TABLES_IN,
    TABLES_OUT,
    USER,
    VERSION,
    others,
)
from kconnect.connectors.passthrough import CheckedBy, Passthrough
from kconnect.connectors.setting_rows import INT, LIST, LONG, SECRET, STRING, section
from kconnect.connectors.sql.source_settings import are_patterns

__all__ = [
    "BYTES",
    "COLUMNS_IN",
    "COLUMNS_OUT",
    "DEBEZIUM",
    "DECIMALS",
    "DELIMITER",
    "DONE",
    "HEADERS",
    "HOST",
    "INTO",
    "PASSWORD",
    "PORT",
    "PREFIX",
    "RANGES",
    "RATE",
    "ROWS",
    "SNAPSHOT",
    "TABLES_IN",
    "TABLES_OUT",
    "USER",
    "VERSION",
]

SSL, CA = "database.ssl.mode", "backfill.ssl.ca"
DATABASES_IN, DATABASES_OUT = "database.include.list", "database.exclude.list"
UNSIGNED = "bigint.unsigned.handling.mode"
RANGE_ROWS = "backfill.range.rows"
HISTORY, HISTORY_BROKERS = "schema.history.internal.kafka.topic", "schema.history.internal.kafka.bootstrap.servers"
PASSTHROUGH = Passthrough("schema.history.internal.producer.", "librdkafka", CheckedBy.POLICY)
"""Debezium's producer of the history; `history_client.py` takes some of its settings, and no others."""
HISTORY_CLIENT = PASSTHROUGH.prefix
SERVER_ID = "database.server.id"
ONLY_TABLES = "schema.history.internal.store.only.captured.tables.ddl"
ONLY_DATABASES = "schema.history.internal.store.only.captured.databases.ddl"

KNOWN = "3.5"
"""The version of Debezium whose records are known: the newest with a connector for MariaDB that tests can have."""
_FIXED = {
    "time.precision.mode": ("adaptive_time_microseconds",),
    "enable.time.adjuster": ("true",),
    "binary.handling.mode": ("bytes",),
    "schema.name.adjustment.mode": ("none",),
    "field.name.adjustment.mode": ("none",),
    "provide.transaction.metadata": ("false",),
    "include.schema.comments": ("false",),
    "table.ignore.builtin": ("true",),
    "topic.naming.strategy": (
        "io.debezium.schema.SchemaTopicNamingStrategy",
        "io.debezium.schema.DefaultTopicNamingStrategy",
    ),
    "schema.history.internal": ("io.debezium.storage.kafka.history.KafkaSchemaHistory",),
    "snapshot.mode": ("initial", "no_data", "never", "when_needed"),
    "sourceinfo.struct.maker": ("io.debezium.connector.mariadb.MariaDbSourceInfoStructMaker",),
}
"""What must be as it is by default, for it would change what is written."""
REFUSED = (
    *("message.key.columns", "snapshot.select.statement.overrides", "snapshot.include.collection.list", "post.processors"),
    *("database.initial.statements", "database.ssl.keystore", "database.ssl.keystore.password", "converters"),
    *("column.propagate.source.type", "datatype.propagate.source.type", "sanitize.field.names"),
    *("snapshot.query.mode.custom.name", "snapshot.mode.custom.name"),
)
"""What a backfill does not do, and Debezium's records would be others by."""
_REFUSED_BEGINNINGS = ("column.mask.", "column.truncate.", "snapshot.select.statement.overrides.", "driver.")


def unfit(props: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each other setting of Debezium's that would change what it writes, with a sentence."""
    yield from others(props, _FIXED, _REFUSED_BEGINNINGS)
    if "r" in [part.strip() for part in props.get("skipped.operations", "").split(",")]:
        yield "skipped.operations", f"skipped.operations has r, by which Debezium writes no copy: {REMEDY}."


def _is_known(name: str, value: Any) -> None:
    if value is not None and not str(value).startswith(f"{KNOWN}."):
        remedy = f"install Debezium {KNOWN}, or let yours take its snapshot itself"
        raise ConfigError(
            name, value, f"A backfill of MariaDB writes what Debezium {KNOWN} writes, and other versions may not: {remedy}"
        )


CONFIG = ConfigDef(
    *section(
        "Database",
        STRING.high(HOST, doc="The host of MariaDB's server.", validator=NonEmptyString()),
        INT.high(PORT, 3306, "Its port.", Range.between(1, 65535)),
        STRING.high(USER, doc="The user, who needs what Debezium's needs.", validator=NonEmptyString()),
        SECRET.high(PASSWORD, "", "The user's password."),
        STRING.medium(
            SSL,
            "disable",
            "How the connection is encrypted, as by Debezium. trust: whoever answers.",
            OneOf(("disable", "trust", "verify-ca", "verify-full"), ignore_case=True),
        ),
        STRING.low(
            CA,
            "",
            "A file in PEM with the certificates of authorities that may vouch for the server; empty: those of the machine. "
            "In place of Debezium's truststore.",
        ),
    ),
    *section(
        "Tables",
        LIST.high(
            TABLES_IN,
            "",
            "Patterns of the names of tables to read, database.table; empty: all but those of the next.",
            are_patterns,
        ),
        LIST.medium(TABLES_OUT, "", "Patterns of those not to read.", are_patterns),
        LIST.medium(
            DATABASES_IN,
            "",
            "Patterns of the names of databases to read from; empty: all but those of the next.",
            are_patterns,
        ),
        LIST.medium(DATABASES_OUT, "", "Patterns of those not to read from.", are_patterns),
        LIST.medium(
            COLUMNS_IN,
            "",
            "Patterns of columns to read, database.table.column; empty: all but those of the next.",
            are_patterns,
        ),
        LIST.medium(COLUMNS_OUT, "", "Patterns of those not to read.", are_patterns),
    ),
    *section(
        "Change stream",
        STRING.high(PREFIX, doc="What the names of topics begin with.", validator=NonEmptyString()),
        STRING.low(DELIMITER, ".", "What is between the parts of a topic's name.", NonEmptyString()),
        LONG.low(SERVER_ID, 0, "The number by which Debezium reads the log, as a replica; it changes nothing of a backfill."),
        STRING.high(HISTORY, doc="Debezium's topic with the history of the tables' schemas.", validator=NonEmptyString()),
        STRING.high(HISTORY_BROKERS, doc="The brokers that have this topic.", validator=NonEmptyString()),
        STRING.low(
            ONLY_TABLES,
            "false",
            "Whether the history has only the tables that are read.",
            OneOf(("true", "false"), ignore_case=True),
        ),
        STRING.low(
            ONLY_DATABASES,
            "false",
            "Whether the history has only the databases that are read.",
            OneOf(("true", "false"), ignore_case=True),
        ),
        STRING.medium(
            DECIMALS,
            "precise",
            "What decimals are written as, as by Debezium.",
            OneOf(("precise", "double", "string"), ignore_case=True),
        ),
        STRING.medium(
            UNSIGNED,
            "long",
            "What BIGINT UNSIGNED is written as, as by Debezium. long: numbers from 2^63 on become negative.",
            OneOf(("long", "precise"), ignore_case=True),
        ),
        STRING.low(HEADERS, "true", "Whether records have Debezium's headers.", OneOf(("true", "false"), ignore_case=True)),
    ),
    *section(
        "Reading",
        STRING.high(VERSION, doc="The version of Debezium that is to go on, which stands in each record.", validator=_is_known),
        INT.low(RANGE_ROWS, 50_000, "How many rows a range has, as far as the database can guess.", Range.at_least(1)),
        INT.low(ROWS, 5000, "How many rows are read at once at most.", Range.at_least(1)),
        INT.medium(
            RATE, 0, "How many rows a second are read at most, by all tasks together; 0: as many as can be.", Range.at_least(0)
        ),
        LONG.low(
            BYTES,
            16 * 1024 * 1024,
            "How many bytes of texts those have at most, as far as rows before tell.",
            Range.at_least(1),
        ),
    ),
    *LAKE,
)
