"""
The settings of the Delta sink: where its tables are, and those that it shares with other lakes (`lake/settings.py`).

Read by `connector.py`, which checks them against each other, and by the modules that do what they say.
"""

from __future__ import annotations

from kconnect.api import ConfigDef, NonEmptyString, Range, Width
from kconnect.connectors.lake.settings import Names, commit_keys, table_keys
from kconnect.connectors.objects import settings as objects
from kconnect.connectors.setting_rows import LONG, STRING, section

PASSTHROUGH = objects.PASSTHROUGH
STORE = objects.STORE
NAMES = Names("delta", "delta.commit.interval-ms")

CONFIG = ConfigDef(
    *section(
        "Store",
        STRING.high(
            STORE,
            doc="Where the tables are, as a URL: s3://bucket/lake, gs://…, az://…, abfss://… or file:///folder. The table "
            "shop.orders is the folder shop/orders in it. Settings that begin with store.options. are the store's own.",
            validator=NonEmptyString(),
            width=Width.LONG,
        ),
        *objects.S3_KEYS,
        LONG.low(objects.TIMEOUT, 60_000, "How long a request to the store may take, in ms.", Range.at_least(1)),
    ),
    *section(
        "Tables",
        *table_keys(
            NAMES,
            "The tables, each with its namespace, such as shop.orders.",
            "The columns by which a new table is partitioned, such as city.",
            "Whether columns that are missing are added.",
            "They have no default.",
        ),
    ),
    *section(
        "Commits and retries",
        *commit_keys(NAMES, "How often each task commits its rows, in ms. They are in memory until then."),
    ),
)
