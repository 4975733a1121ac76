"""
The settings of the Spark sink: the tables' format, where they are, and those that it shares with other lakes.

Read by `connector.py`, which checks them against each other, and by `lake.py`. Read next: `lake/settings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, OneOf, Range, Width
from kconnect.connectors.lake import partitions
from kconnect.connectors.lake.partitions import Partition
from kconnect.connectors.lake.settings import Names, commit_keys, of_tables, table_keys
from kconnect.connectors.setting_rows import BOOLEAN, LONG, STRING, section

FORMAT, STORE, CATALOG = "lake.format", "lake.store.url", "lake.catalog"
MAINTENANCE, KEPT = "lake.maintenance.interval-ms", "lake.maintenance.keep-ms"
PATIENCE = "lake.answer.timeout-ms"
DELTA, ICEBERG = "delta", "iceberg"
_HOUR_MS, _WEEK_MS = 3_600_000, 7 * 24 * 3_600_000
NAMES = Names("lake", "lake.commit.interval-ms")

CONFIG = ConfigDef(
    *section(
        "Store",
        STRING.high(FORMAT, doc="The format of the tables.", validator=OneOf((DELTA, ICEBERG))),
        STRING.high(
            STORE,
            "",
            "Where the tables are, as a URL that Spark knows: file:///folder, s3a://bucket/lake, hdfs://…. The table "
            "shop.orders is the folder shop/orders in it. With iceberg, it is the warehouse of a Hadoop catalog, unless there "
            "is a lake.catalog.",
            width=Width.LONG,
        ),
        STRING.high(
            CATALOG,
            "",
            "With iceberg, the catalog that has the tables: the NAME of lake.spark.sql.catalog.NAME in the worker's file, "
            "which says of what kind it is, where, and with which login.",
        ),
    ),
    *section(
        "Tables",
        *table_keys(
            NAMES,
            "The tables, each with its namespace, such as shop.orders.",
            "The columns by which a new table is partitioned, such as city; with iceberg also as in day(at), bucket(id, 16).",
            "Whether columns that are missing are added.",
            "They have no default.",
        ),
        BOOLEAN.medium(
            NAMES.truncate,
            False,
            "Whether an envelope of Debezium's with the op t empties the table. Otherwise it is a bad record.",
            visible=lambda name, values: bool(values.get(NAMES.envelopes)),
        ),
        STRING.medium(
            NAMES.order,
            "",
            "A column by which the newest row of an id is found, such as a number of the log or a time, where several topics "
            "feed a table: a row with a smaller value replaces and deletes none. By default, the last record counts.",
            width=Width.MEDIUM,
        ),
    ),
    *section(
        "Commits and retries",
        *commit_keys(NAMES, "How often rows are committed, in ms. They are in memory until then."),
        LONG.low(
            PATIENCE,
            _HOUR_MS // 2,
            "For how long, in ms, Spark may answer nothing that is asked of it. Then it is ended, and starts anew.",
            Range.at_least(10_000),
        ),
    ),
    *section(
        "Maintenance",
        LONG.medium(
            MAINTENANCE,
            0,
            "How often a table that gets rows is tidied up, in ms: small files become larger ones, and old ones go. 0: never.",
            Range.at_least(0),
        ),
        LONG.medium(
            KEPT,
            _WEEK_MS,
            "For how long, in ms, files and snapshots are kept that are not of the table any more. A query that takes longer, "
            "or asks for an older version, fails.",
            Range.at_least(_HOUR_MS),
        ),
    ),
)


def partitions_of(config: Mapping[str, Any], props: Mapping[str, str], name: str) -> list[Partition]:
    """Return by what a new table is partitioned. ConfigError for what its format has not."""
    own = of_tables(NAMES, props).get(name, {}).get("partition-by")
    setting = NAMES.of_table(name, "partition-by") if own else NAMES.partitions
    found = partitions.parsed(setting, [own] if own else config[NAMES.partitions])
    for part in found:
        if config[FORMAT] == DELTA and part.transform != "identity":
            raise ConfigError(setting, part.transform, "Tables of Delta are partitioned by columns alone")
        if part.transform == "void":
            raise ConfigError(setting, part.transform, "Spark makes no tables with it")
    return found
