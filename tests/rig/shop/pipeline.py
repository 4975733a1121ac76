"""
The shop's connectors, and what of their orders is where: in the topic, in the table, in the files, in the index.

An order is told by what all these places have of it (`Order`), so that they can be compared. Called by `demo.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from deltalake import DeltaTable
from pyarrow import parquet

from kconnect.errors import ConnectError
from tests.rig.systems import recorder
from tests.rig.systems.opensearch import OpenSearch
from tests.rig.systems.postgres import Postgres

SOURCE, TABLE_SINK, FILE_SINK, INDEX_SINK = "shop-orders", "shop-table", "shop-files", "shop-index"
LAKE_SINK = "shop-lake"
CONNECTORS = (SOURCE, TABLE_SINK, FILE_SINK, INDEX_SINK, LAKE_SINK)
TOPIC = TABLE = INDEX = "orders"
_JSON = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
_COLUMNS = ("orderid", "customerid", "status", "address_city", "shop")


class Order(NamedTuple):
    number: int
    customer: str
    status: str
    city: str
    shop: str


def source(count: int) -> dict[str, str]:
    """So many orders as fast as they can be made; without end, and slowly, if it is 0."""
    more = {"iterations": str(count), "records.per.second": "0"} if count else {"records.per.second": "20"}
    return {
        "connector.class": "Datagen",
        "kafka.topic": TOPIC,
        "quickstart": "orders",
        "transforms": "returned,shop",
        # What came back is no order.
        "transforms.returned.type": "kconnect.transforms.expression.Expression",
        "transforms.returned.drop": "value.status == 'RETURNED'",
        "transforms.shop.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.shop.static.field": "shop",
        "transforms.shop.static.value": "Köln",
        **_JSON,
        **more,
    }


def table_sink(server: Postgres, password: str) -> dict[str, str]:
    return {
        "connector.class": "SqlSink",
        "topics": TOPIC,
        "connection.url": server.jdbc_url("postgres"),
        "connection.user": server.user,
        "connection.password": password,
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "orderid",
        "auto.create": "true",
        "offsets.table": "kconnect_offsets",
        "transforms": "flat",
        "transforms.flat.type": "org.apache.kafka.connect.transforms.Flatten$Value",
        "transforms.flat.delimiter": "_",
        "consumer.override.metadata.max.age.ms": "1000",
        **_JSON,
    }


def file_sink(folder: Path) -> dict[str, str]:
    return {
        "connector.class": "ObjectStoreSink",
        "topics": TOPIC,
        "store": f"file://{folder}",
        "format.class": "ParquetFormat",
        "flush.size": "1000",
        # So that the last ones are there soon; were a task killed, some could be there twice.
        "rotate.schedule.interval.ms": "2000",
        "partitioner.class": "FieldPartitioner",
        "partition.field.name": "status",
        "transforms": "flat",
        "transforms.flat.type": "org.apache.kafka.connect.transforms.Flatten$Value",
        "transforms.flat.delimiter": "_",
        "consumer.override.metadata.max.age.ms": "1000",
        **_JSON,
    }


def index_sink(search: OpenSearch) -> dict[str, str]:
    return {
        "connector.class": "OpenSearchSink",
        "topics": TOPIC,
        "connection.url": search.url,
        "index.name.format": INDEX,
        "key.ignore": "true",
        "consumer.override.metadata.max.age.ms": "1000",
        **_JSON,
    }


def lake_sink(folder: Path) -> dict[str, str]:
    return {
        "connector.class": "SparkSink",
        "topics": TOPIC,
        "lake.format": "delta",
        "lake.store.url": f"file://{folder}",
        "lake.tables": "shop.orders",
        "lake.tables.auto-create-enabled": "true",
        "lake.tables.upsert-mode-enabled": "true",
        "lake.tables.default-id-columns": "orderid",
        "lake.commit.interval-ms": "2000",
        "transforms": "flat",
        "transforms.flat.type": "org.apache.kafka.connect.transforms.Flatten$Value",
        "transforms.flat.delimiter": "_",
        "consumer.override.metadata.max.age.ms": "1000",
        **_JSON,
    }


def in_topic(servers: str) -> list[Order]:
    try:
        values = [orjson.loads(message.value() or b"")["payload"] for message in recorder.read(servers, TOPIC)]
    except KeyError:
        return []  # It is not there yet.
    return [_order(value) for value in values]


def in_index(search: OpenSearch) -> list[Order]:
    return [_order(value) for value in search.documents(INDEX).values()]


def _order(value: dict[str, Any]) -> Order:
    return Order(value["orderid"], value["customerid"], value["status"], value["address"]["city"], value["shop"])


def in_table(server: Postgres) -> list[Order]:
    try:
        rows = server.rows(f"select {', '.join(_COLUMNS)} from {TABLE}")
    except ConnectError as error:
        if "does not exist" in str(error):
            return []
        raise
    return [Order(int(number), customer, status, city, shop) for number, customer, status, city, shop in rows]


def in_files(folder: Path) -> list[Order]:
    found = []
    for file in sorted(folder.rglob("*.parquet")):
        for row in parquet.read_table(file, columns=list(_COLUMNS), partitioning=None).to_pylist():
            found.append(Order(*(row[name] for name in _COLUMNS)))
    return found


def in_lake(folder: Path) -> list[Order]:
    table = folder / "shop" / "orders"
    if not DeltaTable.is_deltatable(str(table)):
        return []
    rows = DeltaTable(str(table)).to_pyarrow_table(columns=list(_COLUMNS)).to_pylist()
    return [Order(*(row[name] for name in _COLUMNS)) for row in rows]


def differences(sent: Sequence[Order], there: Sequence[Order], where: str) -> list[str]:
    """In words, the first ones at most."""
    missing, extra = sorted({*sent} - {*there}), sorted({*there} - {*sent})
    twice = len(there) - len({*there})
    found = [f"{where} lacks the order {order.number}" for order in missing]
    found += [f"{where} has another order {order.number}" for order in extra]
    return found + ([f"{where} has {twice:,} orders more than once"] if twice else [])
