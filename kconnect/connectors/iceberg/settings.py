"""
The settings of the Iceberg sink: those of Apache Iceberg's own sink that people know, and how many rows are kept in memory.

Read by `connector.py`, which checks them against each other, and by the modules that do what they say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api import ConfigDef, ConfigError, OneOf, Range, Width
from kconnect.connectors import passthrough
from kconnect.connectors.passthrough import CheckedBy, Passthrough
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, SECRET, STRING, retry_keys, section

CATALOG = "iceberg.catalog."
"""What begins with it is the catalog's."""
PASSTHROUGH = Passthrough(CATALOG, "pyiceberg", CheckedBy.RULES)
NAME, KIND, URI, WAREHOUSE = "iceberg.catalog", f"{CATALOG}type", f"{CATALOG}uri", f"{CATALOG}warehouse"
CREDENTIAL, TOKEN, SECRET_KEY = f"{CATALOG}credential", f"{CATALOG}token", f"{CATALOG}s3.secret-access-key"
TABLES, ROUTE_FIELD, DYNAMIC = "iceberg.tables", "iceberg.tables.route-field", "iceberg.tables.dynamic-enabled"
CREATE, EVOLVE = "iceberg.tables.auto-create-enabled", "iceberg.tables.evolve-schema-enabled"
MOST_COLUMNS = "iceberg.tables.max.columns"
OPTIONAL, PARTITIONS = "iceberg.tables.schema-force-optional", "iceberg.tables.default-partition-by"
UPSERT, IDS = "iceberg.tables.upsert-mode-enabled", "iceberg.tables.default-id-columns"
LOCATIONS = "iceberg.tables.upsert.locations"
INTERVAL, ROWS, BYTES = "iceberg.control.commit.interval-ms", "commit.max.rows", "commit.max.bytes"
RETRIES, BACKOFF = "max.retries", "retry.backoff.ms"

KINDS = ("rest", "sql", "jdbc", "hive", "glue", "dynamodb", "in-memory")
_WHERE, _TABLES, _COMMITS = "Catalog", "Tables", "Commits and retries"
_OF_TABLE = re.compile(r"iceberg\.table\.(?P<table>.+)\.(?P<what>route-regex|partition-by|id-columns|commit-branch)$")
_PARTITION = re.compile(
    r"(?P<alone>[\w.]+)$|(?P<name>year|month|day|hour|void|identity)s?\((?P<field>[^,()]+)\)$"
    r"|(?P<sized>bucket|truncate)\((?P<column>[^,()]+),\s*(?P<size>\d+)\)$"
)

INSTEAD = {
    f"{CATALOG}catalog-impl": f"{KIND} says which kind of catalog it is: {', '.join(KINDS)}",
    "iceberg.tables.cdc-field": "records are rows here: Debezium's ExtractNewRecordState makes such of changes",
    "iceberg.tables.default-commit-branch": "rows go to the branch main",
}
"""Settings of the other sink that would change what is written, and what does so here."""


class Partition(NamedTuple):
    """A field of a partition spec: `transform` as Iceberg writes it, such as day or bucket[16]."""

    column: str
    transform: str


def partitions(name: str, texts: Sequence[str]) -> list[Partition]:
    """ConfigError at the setting `name` for what is none."""
    result = []
    # A list is split at commas, and bucket(id, 16) has one.
    for text in re.split(r",\s*(?![^()]*\))", ",".join(texts)):
        match = _PARTITION.match(text.strip())
        if text.strip() and match is None:
            raise ConfigError(
                name, text, "Fields of a partition are such as city, day(at), bucket(id, 16) or truncate(name, 4)"
            )
        if match is not None and match["alone"]:
            result.append(Partition(match["alone"], "identity"))
        elif match is not None and match["sized"]:
            result.append(Partition(match["column"].strip(), f"{match['sized']}[{match['size']}]"))
        elif match is not None:
            result.append(Partition(match["field"].strip(), match["name"]))
    return result


def of_tables(props: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return a config's settings of single tables, by their names."""
    settings_by_table: dict[str, dict[str, str]] = {}
    for name, value in props.items():
        match = _OF_TABLE.match(name)
        if match is not None and value:
            settings_by_table.setdefault(match["table"], {})[match["what"]] = value
    return settings_by_table


def catalog_properties(config: Mapping[str, Any], props: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that pyiceberg gets, with secrets."""
    properties = {name: value for name, value in passthrough.given(props, PASSTHROUGH).items() if value}
    kind = config[KIND].lower()
    properties["type"] = "sql" if kind == "jdbc" else kind
    # Java's names of classes say nothing here.
    for name in ("io-impl", "catalog-impl"):
        properties.pop(name, None)
    if properties["type"] == "sql" and properties.get("uri", "").startswith("jdbc:"):
        user, password = properties.pop("jdbc.user", ""), properties.pop("jdbc.password", "")
        properties["uri"] = _sqlalchemy(properties["uri"].removeprefix("jdbc:"), user, password)
    return properties


def _sqlalchemy(text: str, user: str, password: str) -> str:
    from urllib.parse import quote

    kind, _, place = text.partition(":")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    drivers = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
    return f"sqlite:///{place}" if kind == "sqlite" else f"{drivers.get(kind, kind)}://{login}{place.removeprefix('//')}"


def _upserts(name: str, values: Mapping[str, Any]) -> bool:
    return bool(values.get(UPSERT))


def _creates(name: str, values: Mapping[str, Any]) -> bool:
    return bool(values.get(CREATE))


CONFIG = ConfigDef(
    *section(
        _WHERE,
        STRING.low(NAME, "iceberg", "The catalog's name."),
        STRING.high(
            KIND,
            "rest",
            "The kind of catalog. sql and jdbc are one in a database. All of iceberg.catalog.* is the catalog's: what "
            "pyiceberg knows for its kind, and for the files, such as iceberg.catalog.s3.endpoint. Classes only as the worker "
            "allows.",
            OneOf(KINDS, ignore_case=True),
        ),
        STRING.high(URI, "", "The catalog's address.", width=Width.LONG),
        STRING.high(
            WAREHOUSE,
            "",
            "Where new tables are, such as s3://lake/warehouse, or the name that a REST catalog has for it.",
            width=Width.LONG,
        ),
        SECRET.medium(CREDENTIAL, "", "Of a REST catalog: id:secret for OAuth 2."),
        SECRET.medium(TOKEN, "", "Of a REST catalog: a token."),
        SECRET.medium(SECRET_KEY, "", "For files in S3: the secret of the access key."),
    ),
    *section(
        _TABLES,
        LIST.high(
            TABLES,
            "",
            "The tables, each with its namespace, such as shop.orders. Each gets all records, or those that its "
            "iceberg.table.*.route-regex is for. ${topic} stands for the topic's name.",
            width=Width.LONG,
        ),
        STRING.medium(
            ROUTE_FIELD,
            "",
            "The field of the value that iceberg.table.*.route-regex looks at, or that has the table's name.",
            width=Width.MEDIUM,
        ),
        BOOLEAN.medium(DYNAMIC, False, "Whether iceberg.tables.route-field has the table's name.", dependents=(ROUTE_FIELD,)),
        BOOLEAN.medium(CREATE, False, "Whether a table that is missing is made."),
        LIST.medium(
            PARTITIONS,
            "",
            "How a new table is partitioned, such as day(at), bucket(id, 16), city. For one table: "
            "iceberg.table.*.partition-by.",
            width=Width.LONG,
            visible=_creates,
        ),
        BOOLEAN.low(
            OPTIONAL,
            False,
            "Whether all columns of a new table may be null. Otherwise those of fields that are optional.",
            visible=_creates,
        ),
        BOOLEAN.medium(EVOLVE, False, "Whether columns that are missing are added, and those that are too narrow made wider."),
        BOOLEAN.medium(
            UPSERT, False, "Whether a record replaces the row with its id. Otherwise each is a new row.", dependents=(IDS,)
        ),
        LIST.medium(
            IDS,
            "",
            "The columns of the id. For one table: iceberg.table.*.id-columns. By default those that the table names itself.",
            visible=_upserts,
        ),
        LIST.low(
            LOCATIONS,
            "",
            "Folders beside a table's own where files may be whose rows an upsert replaces, such as s3://lake/old/orders. A "
            "manifest that names a file elsewhere may have been written by somebody who wants its rows copied.",
            visible=_upserts,
        ),
        INT.low(
            MOST_COLUMNS,
            1000,
            "How many columns a table may come to have by records, those within structs counted. A record with more is a bad "
            "one. A table's metadata keeps all its columns for each change of them.",
            Range.at_least(1),
        ),
    ),
    *section(
        _COMMITS,
        INT.medium(
            INTERVAL,
            300_000,
            "How often rows are committed, in ms: those of all tasks together. They are in memory until then.",
            Range.at_least(0),
        ),
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
    ),
)
