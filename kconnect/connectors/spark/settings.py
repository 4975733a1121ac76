"""
The settings of the Spark sink: the tables' format, where they are, and those that it shares with other lakes.

Read by `connector.py`, which checks them against each other, and by `lake.py`. Read next: `lake/settings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, OneOf, Width
from kconnect.connectors.lake import partitions
from kconnect.connectors.lake.partitions import Partition
from kconnect.connectors.lake.settings import Names, commit_keys, of_tables, table_keys
from kconnect.connectors.setting_rows import STRING, section

FORMAT, STORE = "lake.format", "lake.store.url"
DELTA, ICEBERG = "delta", "iceberg"
NAMES = Names("lake", "lake.commit.interval-ms")

CONFIG = ConfigDef(
    *section(
        "Store",
        STRING.high(FORMAT, doc="The format of the tables.", validator=OneOf((DELTA, ICEBERG))),
        STRING.high(
            STORE,
            doc="Where the tables are, as a URL that Spark knows: file:///folder, s3a://bucket/lake, hdfs://…. The table "
            "shop.orders is the folder shop/orders in it. With iceberg, it is the warehouse of a Hadoop catalog.",
            width=Width.LONG,
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
    ),
    *section(
        "Commits and retries",
        *commit_keys(NAMES, "How often rows are committed, in ms. They are in memory until then."),
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
