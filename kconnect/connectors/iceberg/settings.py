"""
The settings of the Iceberg sink: where its catalog is, and those that it shares with other lakes (`lake/settings.py`).

Read by `connector.py`, which checks them against each other, and by the modules that do what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, OneOf, Width
from kconnect.connectors import passthrough
from kconnect.connectors.lake.settings import Names, commit_keys, table_keys
from kconnect.connectors.passthrough import CheckedBy, Passthrough
from kconnect.connectors.setting_rows import LIST, SECRET, STRING, section

CATALOG = "iceberg.catalog."
"""What begins with it is the catalog's."""
PASSTHROUGH = Passthrough(CATALOG, "pyiceberg", CheckedBy.RULES)
NAME, KIND, URI, WAREHOUSE = "iceberg.catalog", f"{CATALOG}type", f"{CATALOG}uri", f"{CATALOG}warehouse"
CREDENTIAL, TOKEN, SECRET_KEY = f"{CATALOG}credential", f"{CATALOG}token", f"{CATALOG}s3.secret-access-key"
NAMES = Names("iceberg", "iceberg.control.commit.interval-ms")
LOCATIONS = "iceberg.tables.upsert.locations"

KINDS = ("rest", "sql", "jdbc", "hive", "glue", "dynamodb", "in-memory")
_WHERE, _TABLES, _COMMITS = "Catalog", "Tables", "Commits and retries"
INSTEAD = {
    f"{CATALOG}catalog-impl": f"{KIND} says which kind of catalog it is: {', '.join(KINDS)}",
    "iceberg.tables.cdc-field": "records are rows here: Debezium's ExtractNewRecordState makes such of changes",
    "iceberg.tables.default-commit-branch": "rows go to the branch main",
}
"""Settings of the other sink that would change what is written, and what does so here."""


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
    return bool(values.get(NAMES.upsert))


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
        *table_keys(
            NAMES,
            "The tables, each with its namespace, such as shop.orders.",
            "How a new table is partitioned, such as day(at), bucket(id, 16), city.",
            "Whether columns that are missing are added, and those that are too narrow made wider.",
            "By default those that the table names itself.",
        ),
        LIST.low(
            LOCATIONS,
            "",
            "Folders beside a table's own where files may be whose rows an upsert replaces, such as s3://lake/old/orders. A "
            "manifest that names a file elsewhere may have been written by somebody who wants its rows copied. Also folders of "
            "this machine where tables are that are not below iceberg.catalog.warehouse (file:///…).",
            visible=_upserts,
        ),
    ),
    *section(
        _COMMITS,
        *commit_keys(NAMES, "How often rows are committed, in ms: those of all tasks together. They are in memory until then."),
    ),
)
