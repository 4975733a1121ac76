"""
The settings of the Datagen connector, and what they mean. Read by `connector.py` and `task.py`.

The first seven settings are those of the Datagen connector that people know, whose configs work here, as do its schemas.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from typing import Any

from kconnect.api import (
    ConfigDef,
    ConnectError,
    NonEmptyString,
    Range,
    Width,
)
from kconnect.connectors.common import point_in_time
from kconnect.connectors.datagen.generators import Generator
from kconnect.connectors.datagen.schemas import Reader
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.setting_rows import DOUBLE, LONG, STRING, section

TOPIC, QUICKSTART, SCHEMA, SCHEMA_FILE = "kafka.topic", "quickstart", "schema.string", "schema.filename"
KEY_FIELD, MAX_INTERVAL, ITERATIONS, SEED = "schema.keyfield", "max.interval", "iterations", "random.seed"
RATE, LOCALE, TIME_START, TIME_STEP = "records.per.second", "locale", "event.time.start", "event.time.step.ms"
TASK_ID, ITERATION = "task.id", "current.iteration"
"""Parts of source partitions and offsets; `random.seed` is one, too."""

QUICKSTARTS = {
    "clickstream": "userid",
    "orders": "orderid",
    "pageviews": "viewtime",
    "products": "productid",
    "ratings": "rating_id",
    "stock_trades": "symbol",
    "transactions": "transaction_id",
    "users": "userid",
}
"""The field that is the key of each."""

_WHAT, _HOW_MANY, _TIME = "Records", "Number and rate", "Repeatability and time"


def _has_start(name: str, values: Mapping[str, Any]) -> bool:
    return bool(values.get(TIME_START))


CONFIG = ConfigDef(
    *section(
        _WHAT,
        STRING.high(TOPIC, doc="The topic to write to.", validator=NonEmptyString(), width=Width.MEDIUM),
        STRING.high(
            QUICKSTART,
            "",
            "A kind of record that comes with the connector: one of the recommended values. Without it, a schema says what the "
            "records are.",
            width=Width.MEDIUM,
            dependents=(SCHEMA, SCHEMA_FILE),
            recommender=lambda name, values: list(QUICKSTARTS),
        ),
        STRING.high(
            SCHEMA,
            "",
            "The schema of the records, in place of a quickstart: an Avro record, whose types may have arg.properties, or a "
            "JSON Schema of an object.",
            width=Width.LONG,
            visible=lambda name, values: not values.get(QUICKSTART),
        ),
        STRING.high(
            SCHEMA_FILE,
            "",
            "The file with the schema, in place of schema.string, as all machines of the cluster name it.",
            width=Width.LONG,
            visible=lambda name, values: not values.get(QUICKSTART),
        ),
        STRING.medium(
            KEY_FIELD,
            "",
            "The field whose value is the key of a record, too. By default that of the quickstart; with a schema, none.",
            width=Width.MEDIUM,
        ),
        STRING.low(
            LOCALE,
            "en_US",
            "Whose names, addresses and so on there are: one of Faker's locales.",
            recommender=lambda name, values: ["en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "pt_BR", "ja_JP", "zh_CN"],
        ),
    ),
    *section(
        _HOW_MANY,
        LONG.high(
            MAX_INTERVAL,
            500,
            "The longest pause between two records of a task, in ms. Pauses are random, of half of this on average. 0: none. "
            "Not used where records.per.second is set.",
            Range.at_least(0),
        ),
        DOUBLE.high(
            RATE,
            None,
            "How many records a second each task makes, in place of max.interval. 0: as many as it can.",
            lambda name, value: None if value is None else Range.at_least(0)(name, value),
        ),
        LONG.high(ITERATIONS, -1, "How many records each task makes. After these it rests, and stays RUNNING. -1: no end."),
    ),
    *section(
        _TIME,
        LONG.low(
            SEED,
            None,
            "Connectors with the same seed and schema make the same values, task by task. By default each connector has its "
            "own, which its offsets keep.",
        ),
        STRING.low(
            TIME_START,
            "",
            "The time of the first record, in ISO 8601, such as 2026-01-31T12:00:00Z; the next ones follow by "
            "event.time.step.ms. By default the time of a record is when it was made, to a second. It is the record's "
            "timestamp, and the value of fields that are times.",
            dependents=(TIME_STEP,),
        ),
        LONG.low(
            TIME_STEP,
            1000,
            "With event.time.start: by how many ms each record is later than the one before.",
            Range.at_least(0),
            visible=_has_start,
        ),
    ),
)


def read(config: Mapping[str, Any], seed: str, worker: Mapping[str, str]) -> Generator:
    """
    The generator of the config's records; ConnectError if its schema can't be read, or none can be made by it. `worker` has the
    worker's limits.
    """
    if config[QUICKSTART]:
        if config[QUICKSTART] not in QUICKSTARTS:
            raise ConnectError(f"There is no quickstart {config[QUICKSTART]}, but {', '.join(QUICKSTARTS)}.")
        file = importlib.resources.files(__package__) / "templates" / f"{config[QUICKSTART]}.json"
        text = file.read_text("utf-8")
    elif config[SCHEMA_FILE]:
        try:
            opener = HostFiles(worker).opener(SCHEMA_FILE)
            with open(config[SCHEMA_FILE], encoding="utf-8", opener=opener) as schema:
                text = schema.read()
        except OSError as error:
            raise ConnectError(f"{config[SCHEMA_FILE]} can't be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise ConnectError(f"{config[SCHEMA_FILE]} is not a text in UTF-8.") from None
    else:
        text = config[SCHEMA]
    return Reader(seed, config[LOCALE]).read(text)


def key_field(config: Mapping[str, Any]) -> str:
    """Empty if records have no key."""
    return config[KEY_FIELD] or QUICKSTARTS.get(config[QUICKSTART], "")


def start_of_time(config: Mapping[str, Any]) -> int | None:
    """
    Return the start in milliseconds, without a zone in UTC; None where the clock says what time it is. Raise ValueError if it
    can't be read.
    """
    text = config[TIME_START]
    if not text:
        return None
    return round(point_in_time(text).timestamp() * 1000)
