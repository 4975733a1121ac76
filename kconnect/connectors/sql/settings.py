"""
The settings of the SQL sink: those of the JDBC sink that people know, and `offsets.table`. `CONNECTION` is the source's, too.

Read by `connector.py`, which checks them against each other, and by the modules that do what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, NonEmptyString, OneOf, Range, Width
from kconnect.connectors.common import is_zone
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, SECRET, STRING, retry_keys, section
from kconnect.connectors.sql import answers

URL, USER, PASSWORD = "connection.url", "connection.user", "connection.password"
ATTEMPTS, CONNECT_BACKOFF, DIALECT = "connection.attempts", "connection.backoff.ms", "dialect.name"
ANSWER_SIZE, ANSWER_TIME = answers.SIZE, answers.TIME
MODE, BATCH, DELETE, TABLE = "insert.mode", "batch.size", "delete.enabled", "table.name.format"
PK_MODE, PK_FIELDS, FIELDS = "pk.mode", "pk.fields", "fields.whitelist"
CREATE, EVOLVE, QUOTE, ZONE = "auto.create", "auto.evolve", "quote.sql.identifiers", "db.timezone"
ROUNDING = "rounding.allowed"
RETRIES, BACKOFF, OFFSETS = "max.retries", "retry.backoff.ms", "offsets.table"

_WHERE, _WRITES, _MAPPING, _TABLES, _RETRIES = "Connection", "Writes", "Rows and columns", "Tables", "Retries and offsets"


def _needs_key(name: str, values: Mapping[str, Any]) -> bool:
    return (values.get(PK_MODE) or "none").lower() != "none"


CONNECTION: tuple[ConfigKey, ...] = (
    *section(
        _WHERE,
        STRING.high(
            URL,
            doc="The database: a URL as JDBC has it, for PostgreSQL, MySQL, MariaDB or SQLite (jdbc:postgresql://host/shop), "
            "or as SQLAlchemy has it, for these and others whose driver is installed (postgresql+psycopg://host/shop).",
            validator=NonEmptyString(),
            width=Width.LONG,
        ),
        STRING.high(USER, "", "The user.", width=Width.MEDIUM),
        SECRET.high(PASSWORD, "", "The user's password.", width=Width.MEDIUM),
        STRING.low(
            DIALECT,
            "",
            "Not needed: the URL says what database it is. Taken as configs of JDBC connectors have it, and not looked at.",
        ),
        INT.low(ATTEMPTS, 3, "How often a task tries to connect when it starts, before it fails.", Range.at_least(1)),
        LONG.low(CONNECT_BACKOFF, 10_000, "The pause between these, in ms.", Range.at_least(0)),
        LONG.low(
            ANSWER_SIZE,
            512 * 1024 * 1024,
            "How many bytes of memory an answer of the database may take: to a statement, or to a fetch of some rows. Drivers "
            "read it whole. For PostgreSQL by psycopg, and MySQL and MariaDB by PyMySQL; others have their driver's own "
            "limits.",
            Range.at_least(1024 * 1024),
        ),
        LONG.low(
            ANSWER_TIME,
            0,
            "How long to wait for an answer, in ms, by the same drivers; then the connection is closed, and it is tried again. "
            "0: until it comes, for a query may take hours. A task that is to stop waits no longer in any case.",
            Range.at_least(0),
        ),
    ),
)

CONFIG = ConfigDef(
    *CONNECTION,
    *section(
        _WRITES,
        STRING.high(
            MODE,
            "insert",
            "insert: each record is a new row. upsert: a record replaces the row with its key, or is a new one. update: it "
            "replaces that row, if there is one.",
            OneOf(("insert", "upsert", "update"), ignore_case=True),
        ),
        INT.medium(
            BATCH,
            3000,
            "How many rows one statement writes at most. All records of a put are one transaction.",
            Range.at_least(1),
        ),
        BOOLEAN.medium(
            DELETE,
            False,
            "Whether a record without a value deletes the row with its key; that needs pk.mode=record_key. Otherwise such a "
            "record is a bad one.",
            dependents=(PK_MODE,),
        ),
    ),
    *section(
        _MAPPING,
        STRING.high(
            PK_MODE,
            "none",
            "Where the primary key comes from. none: there is none. kafka: topic, partition and offset. record_key: the "
            "record's key, a struct's fields or one value. record_value: fields of the value.",
            OneOf(("none", "kafka", "record_key", "record_value"), ignore_case=True),
            dependents=(PK_FIELDS,),
        ),
        LIST.medium(
            PK_FIELDS,
            "",
            "The columns of the primary key. With pk.mode=kafka three names, by default __connect_topic, __connect_partition "
            "and __connect_offset; with record_key and a key that is one value, the name of its column; with structs the "
            "fields to take, by default all.",
            width=Width.LONG,
            visible=_needs_key,
        ),
        LIST.medium(FIELDS, "", "The fields of the value that are written, beside the key; by default all.", width=Width.LONG),
        STRING.medium(
            ZONE,
            "UTC",
            "The zone of timestamps in columns that have none.",
            is_zone,
            recommender=lambda name, values: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"],
        ),
        BOOLEAN.low(
            ROUNDING,
            False,
            "Whether values may lose what their column has no room for: digits behind the point, fractions of seconds, the "
            "time beside a date, digits of floating point numbers. Otherwise such a record is a bad one.",
        ),
    ),
    *section(
        _TABLES,
        STRING.medium(
            TABLE,
            "${topic}",
            "The table of a topic's records; ${topic} stands for its name. A dot separates a schema, such as shop.${topic}.",
            NonEmptyString(),
            width=Width.LONG,
        ),
        BOOLEAN.medium(CREATE, False, "Whether a table that is missing is made, by the schema of the records."),
        BOOLEAN.medium(
            EVOLVE,
            False,
            "Whether columns that are missing are added. Their fields must be optional or have a default, for the rows there "
            "are.",
        ),
        STRING.medium(
            QUOTE,
            "always",
            "always: names of tables and columns are as they are written. never: the database folds them as it likes.",
            OneOf(("always", "never"), ignore_case=True),
        ),
    ),
    *section(
        _RETRIES,
        *retry_keys("a put is tried again, after what may pass,"),
        STRING.medium(
            OFFSETS,
            "",
            "A table in which the sink keeps its offsets, in the transactions of the rows: then each record is written exactly "
            "once. It is made if it is missing. Empty: at least once.",
            width=Width.MEDIUM,
        ),
    ),
)
