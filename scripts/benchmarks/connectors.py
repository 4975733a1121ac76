"""
What the connectors in the box cost beside a bare bulk loop of their library: records a second, and CPU of this process.

In one process, with the real system beside it, without Kafka: tasks get batches of 2,000 records of five fields, as a worker
gives them. A round is the bare loop, then the connector's ways. CPU is that of this process, in which the HTTP service is, too.
Garbage is collected as in a task host.
"""

from __future__ import annotations

import datetime
import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import orjson
import psycopg
import pyarrow as pa
from deltalake import write_deltalake
from opensearchpy import OpenSearch as Client
from opensearchpy import helpers
from pyarrow import parquet
from pyiceberg.catalog import load_catalog

from kconnect.api import (
    BOOLEAN_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    TIMESTAMP_SCHEMA,
    Column,
    SinkRecord,
    TopicPartition,
    schema,
)
from kconnect.connectors.datagen.connector import DatagenSourceConnector
from kconnect.connectors.delta.connector import DeltaSinkConnector
from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.testing import SinkRunner, SourceRunner
from tests.rig.benches import results
from tests.rig.systems import postgres_programs
from tests.rig.systems.http_service import HttpService
from tests.rig.systems.opensearch import OpenSearch
from tests.rig.systems.postgres import Postgres

BATCH = 2000
ROW = schema.struct(
    {"id": INT64_SCHEMA, "name": STRING_SCHEMA, "price": FLOAT64_SCHEMA, "at": TIMESTAMP_SCHEMA, "sold": BOOLEAN_SCHEMA}
)
NAMES = [field.name for field in ROW.fields]
NOW = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)
PLACE = TopicPartition("rows", 0)
Way = Callable[[], None]


def columns(first: int) -> list[list[Any]]:
    every = range(first, first + BATCH)
    return [list(every), [f"name {n}" for n in every], [n * 1.5 for n in every], [NOW] * BATCH, [n % 2 == 0 for n in every]]


class Batch:
    """As a worker gives it to `put_batch`; nobody has asked for a record of it before."""

    def __init__(self, first: int) -> None:
        self.topic, self._first = PLACE.topic, first
        self.key = Column(None, [None] * BATCH)
        self.value = Column.by_field(ROW, NAMES, columns(first), BATCH)

    def __len__(self) -> int:
        return BATCH

    def every(self, name: str) -> Sequence[Any]:
        if name.endswith("topic"):
            return [self.topic] * BATCH
        return range(self._first, self._first + BATCH) if name.endswith("offset") else [0] * BATCH

    def records(self) -> list[SinkRecord]:
        places = enumerate(self.value.values, self._first)
        return [SinkRecord(self.topic, 0, None, None, ROW, value, offset) for offset, value in places]


def batches(count: int) -> Iterator[Batch]:
    return (Batch(first) for first in range(0, count, BATCH))


def putting(connector: Any, config: dict[str, str], made: Sequence[Batch]) -> Way:
    def run() -> None:
        with SinkRunner(connector, {"name": "bench", "topics": PLACE.topic, **config}) as sink:
            sink.open(PLACE)
            task: Any = sink.task
            for batch in made:
                task.put_batch(batch)

    return run


def sql(stack: ExitStack, count: int) -> dict[str, Way]:
    server = Postgres(postgres_programs.find_or_install()).start()
    stack.callback(server.stop)
    place = f"host={server.host} port={server.port} user={server.user} password={server.password} dbname=postgres"
    tables = iter(range(1_000_000))

    def bare() -> None:
        table = f"bare_{next(tables)}"
        with psycopg.connect(place) as connection:
            connection.execute(
                f"create table {table} (id bigint, name text, price float8, at timestamp, sold boolean)".encode()
            )
            for batch in batches(count):
                rows = zip(*[list(column) for column in batch.value.fields()[1]])
                with connection.cursor().copy(f"copy {table} from stdin".encode()) as copy:
                    for row in rows:
                        copy.write_row(row)
                connection.commit()

    def ours(**settings: str) -> Way:
        more = {name.replace("_", "."): value for name, value in settings.items()}

        def run() -> None:
            config = {
                "connection.url": server.jdbc_url("postgres"),
                "connection.user": server.user,
                "connection.password": server.password,
                "auto.create": "true",
                "table.name.format": f"ours_{next(tables)}",
                **more,
            }
            putting(SqlSinkConnector, config, list(batches(count)))()

        return run

    return {
        "PostgreSQL: COPY by psycopg, bare": bare,
        "PostgreSQL: SqlSink, insert": ours(),
        "PostgreSQL: SqlSink, insert, exactly once": ours(offsets_table="bench_offsets", name=f"n{time.time_ns()}"),
        "PostgreSQL: SqlSink, upsert": ours(insert_mode="upsert", pk_mode="record_value", pk_fields="id"),
    }


def sql_source(stack: ExitStack, count: int) -> dict[str, Way]:
    server = Postgres(postgres_programs.find_or_install()).start()
    stack.callback(server.stop)
    place = f"host={server.host} port={server.port} user={server.user} password={server.password} dbname=postgres"
    server.execute(
        "create table rows (id bigint primary key, name text not null, price float8 not null, at timestamp not null, "
        "sold boolean not null); insert into rows select n, 'name ' || n, n * 1.5, '2026-01-31 12:00:00', n % 2 = 0 "
        f"from generate_series(1, {count}) n; analyze rows;"
    )

    def bare() -> None:
        with psycopg.connect(place) as connection, connection.cursor("bare") as cursor:
            cursor.execute("select * from rows order by id")
            while cursor.fetchmany(BATCH):
                pass

    def ours(mode: str) -> Way:
        def run() -> None:
            config = {
                "connection.url": server.jdbc_url("postgres"),
                "connection.user": server.user,
                "connection.password": server.password,
                "table.whitelist": "rows",
                "topic.prefix": "",
                "mode": mode,
                "incrementing.column.name": "id",
                "timestamp.column.name": "at",
                "batch.max.rows": str(BATCH),
            }
            with SourceRunner(SqlSourceConnector, config) as source:
                task: Any = source.task
                made = 0
                while made < count:
                    made += len(task.poll())

        return run

    return {
        "PostgreSQL: rows by psycopg's server-side cursor, bare": bare,
        "PostgreSQL: SqlSource, incrementing": ours("incrementing"),
        "PostgreSQL: SqlSource, timestamp+incrementing": ours("timestamp+incrementing"),
    }


def objects(stack: ExitStack, count: int) -> dict[str, Way]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kconnect-bench-")))
    kinds = [pa.int64(), pa.string(), pa.float64(), pa.timestamp("ms", "UTC"), pa.bool_()]
    arrow = pa.schema([pa.field(name, kind, nullable=False) for name, kind in zip(NAMES, kinds)])

    def bare_parquet() -> None:
        with parquet.ParquetWriter(folder / "bare.parquet", arrow) as writer:
            for batch in batches(count):
                arrays = [pa.array(column, kind) for column, kind in zip(batch.value.fields()[1], kinds)]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=arrow))

    def bare_lines() -> None:
        with open(folder / "bare.json", "wb") as file:
            for batch in batches(count):
                file.writelines(orjson.dumps(dict(zip(NAMES, row))) + b"\n" for row in zip(*batch.value.fields()[1]))

    def ours(format: str) -> Way:
        def run() -> None:
            shutil.rmtree(folder / "store", ignore_errors=True)
            config = {"store": f"file://{folder}/store", "flush.size": str(count), "format.class": format}
            putting(ObjectStoreSinkConnector, config, list(batches(count)))()

        return run

    return {
        "Parquet: pyarrow, bare": bare_parquet,
        "Parquet: ObjectStoreSink, a local folder": ours("ParquetFormat"),
        "JSON lines: orjson, bare": bare_lines,
        "JSON lines: ObjectStoreSink, a local folder": ours("JsonFormat"),
        "Avro: ObjectStoreSink, a local folder": ours("AvroFormat"),
    }


def http(stack: ExitStack, count: int) -> dict[str, Way]:
    service = HttpService()
    stack.callback(service.end)

    def bare() -> None:
        with httpx.Client() as client:
            for batch in batches(count):
                rows = [dict(zip(NAMES, row)) for row in zip(*batch.value.fields()[1])]
                for first in range(0, BATCH, 100):
                    client.post(service.url, content=orjson.dumps(rows[first : first + 100])).raise_for_status()
        service.taken.clear()

    def ours() -> None:
        putting(HttpSinkConnector, {"http.api.url": service.url, "batch.max.size": "100"}, list(batches(count)))()
        service.taken.clear()

    return {"HTTP: httpx, 100 records a request, bare": bare, "HTTP: HttpSink, 100 records a request": ours}


def iceberg(stack: ExitStack, count: int) -> dict[str, Way]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kconnect-bench-")))
    place = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = load_catalog("iceberg", type="sql", **place)
    catalog.create_namespace("bench")
    kinds = [pa.int64(), pa.string(), pa.float64(), pa.timestamp("us", "UTC"), pa.bool_()]
    arrow = pa.schema([pa.field(name, kind, nullable=False) for name, kind in zip(NAMES, kinds)])
    numbers = iter(range(1_000_000))

    def bare() -> None:
        table = catalog.create_table(f"bench.bare_{next(numbers)}", arrow)
        made = [
            pa.RecordBatch.from_arrays([pa.array(*each) for each in zip(batch.value.fields()[1], kinds)], schema=arrow)
            for batch in batches(count)
        ]
        table.append(pa.Table.from_batches(made))

    def ours() -> None:
        config = {
            "iceberg.catalog.type": "sql",
            **{f"iceberg.catalog.{name}": value for name, value in place.items()},
            "iceberg.tables": f"bench.ours_{next(numbers)}",
            "iceberg.tables.auto-create-enabled": "true",
            "commit.max.rows": str(count),
        }
        with SinkRunner(IcebergSinkConnector, {"name": "bench", "topics": PLACE.topic, **config}) as sink:
            sink.open(PLACE)
            task: Any = sink.task
            for batch in batches(count):
                task.put_batch(batch)
            sink.put([])

    return {"Iceberg: append of pyiceberg, bare": bare, "Iceberg: IcebergSink": ours}


def delta(stack: ExitStack, count: int) -> dict[str, Way]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kconnect-bench-")))
    kinds = [pa.int64(), pa.string(), pa.float64(), pa.timestamp("us", "UTC"), pa.bool_()]
    arrow = pa.schema([pa.field(name, kind, nullable=False) for name, kind in zip(NAMES, kinds)])
    numbers = iter(range(1_000_000))

    def bare() -> None:
        made = [
            pa.RecordBatch.from_arrays([pa.array(*each) for each in zip(batch.value.fields()[1], kinds)], schema=arrow)
            for batch in batches(count)
        ]
        write_deltalake(f"{folder}/bare_{next(numbers)}", pa.Table.from_batches(made), mode="append")

    def ours() -> None:
        config = {
            "store": f"file://{folder}",
            "delta.tables": f"bench.ours_{next(numbers)}",
            "delta.tables.auto-create-enabled": "true",
            "commit.max.rows": str(count),
        }
        with SinkRunner(DeltaSinkConnector, {"name": "bench", "topics": PLACE.topic, **config}) as sink:
            sink.open(PLACE)
            task: Any = sink.task
            for batch in batches(count):
                task.put_batch(batch)
            sink.put([])

    return {"Delta: append of delta-rs, bare": bare, "Delta: DeltaSink": ours}


def search(stack: ExitStack, count: int) -> dict[str, Way]:
    server = OpenSearch("1g")
    stack.callback(server.stop)
    server.start()
    numbers = iter(range(1_000_000))

    def bare() -> None:
        server.call("DELETE", "/ours-*")
        client, index = Client(hosts=[server.url], timeout=60), f"bare-{next(numbers)}"
        for batch in batches(count):
            rows = (dict(zip(NAMES, row)) for row in zip(*batch.value.fields()[1]))
            helpers.bulk(client, ({"_index": index, **row} for row in rows), chunk_size=BATCH)

    def ours() -> None:
        server.call("DELETE", "/bare-*")
        config = {"connection.url": server.url, "key.ignore": "true", "index.name.format": f"ours-{next(numbers)}"}
        putting(OpenSearchSinkConnector, config, list(batches(count)))()

    return {"OpenSearch: helpers.bulk of opensearch-py, bare": bare, "OpenSearch: OpenSearchSink": ours}


def datagen(stack: ExitStack, count: int) -> dict[str, Way]:
    def ours() -> None:
        config = {"kafka.topic": "t", "quickstart": "orders", "records.per.second": "0", "random.seed": "1"}
        with SourceRunner(DatagenSourceConnector, config) as source:
            task: Any = source.task
            made = 0
            while made < count:
                made += len(task.poll())

    return {"Datagen: orders": ours}


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = results.Results("connectors", options.json)
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    with ExitStack() as stack:
        for systems in (sql, sql_source, objects, iceberg, delta, search, http, datagen):
            ways = systems(stack, options.records)
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
            for number in range(options.rounds + 1):
                for name, way in ways.items():
                    wall, cpu = time.perf_counter(), time.process_time()
                    way()
                    if number:  # The first is for warming up.
                        taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
            for name, times in taken.items():
                found.add(name, results.KCONNECT, "records a second", "", *(options.records / wall for wall, _ in times))
                found.add(name, results.KCONNECT, "CPU a record", "µs", *(cpu / options.records * 1e6 for _, cpu in times))
            found.show()


if __name__ == "__main__":
    main()
