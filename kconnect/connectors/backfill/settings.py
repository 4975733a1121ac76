"""
The settings of a backfill: those of Debezium's connector that say what is read, and its own.

`kconnect backfill` takes them from Debezium's connector. Whatever else that one has and would change what it writes is refused
by its name. Read by `source.py` and `task.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kconnect.api import ConfigDef, ConfigError, NonEmptyString, OneOf, Range
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, SECRET, STRING, section
from kconnect.connectors.sql.source_settings import are_patterns

HOST, PORT, USER, PASSWORD = "database.hostname", "database.port", "database.user", "database.password"
DATABASE, SSL, ROOT = "database.dbname", "database.sslmode", "database.sslrootcert"
PREFIX, DELIMITER = "topic.prefix", "topic.delimiter"
PLUGIN, SLOT, PUBLICATION, PUBLISHING = "plugin.name", "slot.name", "publication.name", "publication.autocreate.mode"
SCHEMAS_IN, SCHEMAS_OUT = "schema.include.list", "schema.exclude.list"
TABLES_IN, TABLES_OUT = "table.include.list", "table.exclude.list"
DECIMALS = "decimal.handling.mode"
COLUMNS_IN, COLUMNS_OUT = "column.include.list", "column.exclude.list"
HEADERS = "extended.headers.enabled"
VERSION, RANGE_PAGES, ROWS, BYTES, RATE = (
    "backfill.debezium.version",
    "backfill.range.pages",
    "backfill.batch.rows",
    "backfill.batch.bytes",
    "backfill.rows.per.second",
)
UNFIT, LEAVE_OUT = "backfill.unfit.tables", "leave.out"
INTO, STAGING = "backfill.into", "backfill.staging.url"
SINK = "into."
"""What the settings of the sink whose tables are written to begin with."""
GIVEN_UP = "backfill.given.up"
"""Set by whoever cancels it: with its own slot goes the one that it has made for Debezium, which never began."""
RANGES, SNAPSHOT, DONE = "backfill.ranges", "backfill.snapshot", "backfill.done"
"""In the configs of tasks only."""
DEBEZIUM = "debezium"
"""In the offset that says that all is read: that which Debezium's connector is to have, as JSON, for offsets are flat."""

LEFT_OUT = "left_out"
"""In the same offset: sentences about tables that are not copied, as JSON."""

KNOWN = "3.6"
"""The version of Debezium whose records are known."""
_FIXED = {
    "time.precision.mode": ("adaptive",),
    "binary.handling.mode": ("bytes",),
    "hstore.handling.mode": ("json",),
    "interval.handling.mode": ("numeric",),
    "schema.name.adjustment.mode": ("none",),
    "field.name.adjustment.mode": ("none",),
    "include.unknown.datatypes": ("false",),
    "money.fraction.digits": ("2",),
    "provide.transaction.metadata": ("false",),
    "topic.naming.strategy": ("io.debezium.schema.SchemaTopicNamingStrategy",),
    "snapshot.mode": ("initial", "no_data", "never", "when_needed"),
}
"""What must be as it is by default, for it would change what is written."""
REFUSED = (
    *("message.key.columns", "snapshot.select.statement.overrides", "snapshot.include.collection.list", "database.sslcert"),
    *("database.sslkey", "database.sslpassword", "database.sslfactory", "database.initial.statements", "post.processors"),
    *("converters", "sourceinfo.struct.maker", "column.propagate.source.type", "datatype.propagate.source.type"),
    *("publish.via.partition.root", "sanitize.field.names", "slot.failover"),
)
"""What a backfill does not do, and Debezium's records or its slot would be others by."""
ANSWER_BYTES = 512 << 20
"""The most memory that one answer of the database may take."""
REMEDY = "let Debezium take its snapshot itself, or leave it out"
_REFUSED_BEGINNINGS = ("column.mask.", "column.truncate.", "snapshot.select.statement.overrides.", "driver.")


def unfit(props: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each other setting of Debezium's that would change what it writes, with a sentence."""
    return others(props, _FIXED, _REFUSED_BEGINNINGS)


def others(
    props: Mapping[str, str], fixed: Mapping[str, Sequence[str]], refused_beginnings: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield each setting that is not as `fixed` says, or whose name begins so, with a sentence."""
    for name, values in fixed.items():
        value = props.get(name, "").strip()
        if value and value.lower() not in {each.lower() for each in values}:
            yield name, f"{name} must be {' or '.join(values)} for a backfill, but is {value}: its records would be others."
    for name, value in props.items():
        if value.strip() and name.startswith(refused_beginnings):
            yield name, f"{name} is not understood: {REMEDY}."


def _is_known(name: str, value: Any) -> None:
    if value is not None and not str(value).startswith(f"{KNOWN}."):
        remedy = f"install Debezium {KNOWN}, or let yours take its snapshot itself"
        raise ConfigError(
            name, value, f"A backfill writes what Debezium {KNOWN} writes, and other versions write otherwise: {remedy}"
        )


def _is_slot(name: str, value: Any) -> None:
    if not re.fullmatch("[a-z0-9_]{1,63}", value or ""):
        raise ConfigError(name, value, "The name of a slot has at most 63 of small letters, digits and _")


LAKE = section(
    "Straight into a lake",
    STRING.medium(
        INTO,
        "",
        "The SparkSink whose tables are written to; empty: topics are. Its settings stand here, too, behind into.",
    ),
    STRING.medium(
        STAGING,
        "",
        "The folder for rows until they are committed, as in file:///data/staging, which all tasks and Spark reach at the "
        "same place. Empty: _kconnect_staging in the lake.store.url, if that is a folder.",
    ),
)
"""What the backfills of both databases have."""

UNFIT_TABLES = STRING.medium(
    UNFIT,
    "fail",
    "What becomes of a table that can't be copied, such as one with a type that is not understood: fail, or leave.out. By "
    "that all others are copied, and kconnect backfill status and the log name it. The change stream may have it all the same.",
    OneOf(("fail", LEAVE_OUT)),
)

CONFIG = ConfigDef(
    *section(
        "Database",
        STRING.high(HOST, doc="The host of PostgreSQL's server.", validator=NonEmptyString()),
        INT.high(PORT, 5432, "Its port.", Range.between(1, 65535)),
        STRING.high(USER, doc="The user, who needs REPLICATION and SELECT.", validator=NonEmptyString()),
        SECRET.high(PASSWORD, "", "The user's password."),
        STRING.high(DATABASE, doc="The database.", validator=NonEmptyString()),
        STRING.medium(
            SSL,
            "prefer",
            "How the connection is encrypted, as by Debezium.",
            OneOf(("disable", "allow", "prefer", "require", "verify-ca", "verify-full"), ignore_case=True),
        ),
        STRING.low(ROOT, "", "A file with the certificates of authorities that may vouch for the server."),
    ),
    *section(
        "Tables",
        LIST.high(
            TABLES_IN,
            "",
            "Patterns of the names of tables to read, schema.table; empty: all but those of the next.",
            are_patterns,
        ),
        LIST.medium(TABLES_OUT, "", "Patterns of those not to read.", are_patterns),
        LIST.medium(
            SCHEMAS_IN, "", "Patterns of the names of schemas to read from; empty: all but those of the next.", are_patterns
        ),
        LIST.medium(SCHEMAS_OUT, "", "Patterns of those not to read from.", are_patterns),
        LIST.medium(
            COLUMNS_IN, "", "Patterns of columns to read, schema.table.column; empty: all but those of the next.", are_patterns
        ),
        LIST.medium(COLUMNS_OUT, "", "Patterns of those not to read.", are_patterns),
        UNFIT_TABLES,
    ),
    *section(
        "Change stream",
        STRING.high(PREFIX, doc="What the names of topics begin with.", validator=NonEmptyString()),
        STRING.low(DELIMITER, ".", "What is between the parts of a topic's name.", NonEmptyString()),
        STRING.high(
            PLUGIN, doc="The decoder that Debezium uses: pgoutput, of which the slot is made.", validator=OneOf(("pgoutput",))
        ),
        STRING.medium(
            SLOT, "debezium", "The replication slot that Debezium is to go on from; it is made at the end.", _is_slot
        ),
        STRING.medium(PUBLICATION, "dbz_publication", "The publication, which is made if it is missing."),
        STRING.medium(
            PUBLISHING,
            "all_tables",
            "How a missing publication is made. disabled: it is not, and that is an error.",
            OneOf(("all_tables", "filtered", "disabled"), ignore_case=True),
        ),
        STRING.medium(
            DECIMALS,
            "precise",
            "What decimals and amounts of money are written as, as by Debezium.",
            OneOf(("precise", "double", "string"), ignore_case=True),
        ),
        STRING.low(HEADERS, "true", "Whether records have Debezium's headers.", OneOf(("true", "false"), ignore_case=True)),
    ),
    *section(
        "Reading",
        BOOLEAN.low(GIVEN_UP, False, "Set by kconnect backfill cancel: the slot for Debezium goes with that of the backfill."),
        STRING.high(VERSION, doc="The version of Debezium that is to go on, which stands in each record.", validator=_is_known),
        INT.low(
            RANGE_PAGES, 1024, "So many pages of 8 KiB are a range, which is read from its beginning again.", Range.at_least(1)
        ),
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
