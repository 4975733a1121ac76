"""
Connectors in Java on kconnect and on Apache Kafka Connect 4.3.1: CPU a record, records a second, and the memory of idle ones.

The same jars and the same configs on both: Kafka's file connectors, Debezium's snapshot of a table of PostgreSQL, and
MirrorMaker 2 from a broker to itself. The first copy of a table is Debezium's on Connect, a backfill's here. Rows of PostgreSQL
are written by Debezium's JDBC sink on Connect, by SqlSink here. `tests/rig/systems/rounds.py` says how it is measured. An idle
connector in Java keeps the JVM of kconnect's host between the runs, so that it is as warm as Connect's. Memory is that of two
workers of their own, on which nothing moves; pages that processes share are counted once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import orjson

from kconnect.errors import ConnectError
from kconnect.jvm import jars
from kconnect.jvm.maven import Coordinates
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.benches.workloads import ENRICH, OBJECTS, TEXTS, Files, converter, texts
from tests.rig.cdc import pipeline
from tests.rig.systems import java_plugins
from tests.rig.systems.postgres import Postgres
from tests.rig.systems.rounds import JSON, STRING, Rounds, Topics, Workload

PLUGINS = (
    Coordinates("org.apache.kafka", "connect-file", "4.3.1"),
    Coordinates("org.apache.kafka", "connect-mirror", "4.3.1"),
    Coordinates("io.debezium", "debezium-connector-postgres", "3.6.1.Final"),
    Coordinates("io.debezium", "debezium-connector-jdbc", "3.6.0.Final"),
)
SOURCE, SINK = (f"org.apache.kafka.connect.file.FileStream{kind}Connector" for kind in ("Source", "Sink"))
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
FILES, DEBEZIUM, COPY, TABLES, MIRROR, MEMORY = "files", "debezium", "copy", "tables", "mirror", "memory"
ALL = (FILES, DEBEZIUM, COPY, TABLES, MIRROR, MEMORY)
_UP_S, _SETTLED_S = 300.0, 10.0


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connectors", type=int, default=50, help="idle ones, for the memory")
    parser.add_argument("--only", choices=ALL, action="append", help="by default all")
    options = parser.parse_args()
    wanted = options.only or ALL
    found = results.Results("java", options.json)
    path = jars.cache_dir() / "plugins" / "bench"
    java_plugins.keep(PLUGINS, path)
    plugins = {"plugin.path": str(path), "plugin.discovery": "service_load"}
    with stage.opened("java") as on, ExitStack() as stack:
        if moved := list(workloads(stack, on.directory, on.servers, options.records, wanted)):
            both = on.both(properties=plugins)
            for worker in both.values():
                idle(worker, on.directory, 1)
            rounds = Rounds(both, options.rounds, found)
            for workload in moved:
                rounds.compare(workload)
            for worker in both.values():
                worker.stop()
        if MEMORY in wanted:
            memory(on.both("-memory", plugins), on.directory, options.connectors, found)


def workloads(stack: ExitStack, directory: Path, servers: str, records: int, wanted: Sequence[str]) -> Iterator[Workload]:
    topics = Topics(servers)
    if FILES in wanted:
        files = Files(directory, topics, records)
        yield files.source("file source, String", converter(STRING), SOURCE)
        yield files.sink("file sink, String", converter(STRING), TEXTS, SINK)
        yield files.source("file source, Hoist + 2 Insert + predicate, JSON", {**converter(JSON, False), **ENRICH}, SOURCE)
        yield files.sink("the same before a file sink", {**converter(JSON, False), **ENRICH}, OBJECTS, SINK)
    elif MIRROR in wanted:
        topics.fill(TEXTS, texts(records, 145))
    if DEBEZIUM in wanted:
        yield snapshot(stack.enter_context(postgres()), topics, records)
    if COPY in wanted:
        yield first_copy(stack.enter_context(postgres()), topics, records)
    if TABLES in wanted:
        yield from tables(stack.enter_context(postgres()), topics, records)
    if MIRROR in wanted:
        yield mirror(servers, topics, records)


@contextmanager
def postgres() -> Iterator[Postgres]:
    server = Postgres().start()
    try:
        yield server
    finally:
        server.stop()


def snapshot(server: Postgres, topics: Topics, records: int) -> Workload:
    server.execute(
        f"""
        create table orders as select number::bigint as id, 'city ' || number % 1000 as city, 'paid' as state,
            (number % 100000 / 100.0)::numeric(12, 2) as price, number % 2 = 0 as express,
            timestamptz '2026-01-01' + number * interval '1 second' as placed
            from generate_series(1, {records}) as number;
        alter table orders add primary key (id);
        analyze orders;
        """
    )

    def topic(run: str) -> str:
        return f"{run}.public.orders"

    def begin(run: str) -> dict[str, str]:
        topics.create(topic(run))
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": server.password,
            "database.dbname": "postgres",
            "topic.prefix": run,
            "table.include.list": "public.orders",
            "plugin.name": "pgoutput",
            "slot.name": pipeline.slot(run),
            "slot.drop.on.stop": "true",
            "publication.autocreate.mode": "filtered",
            **json_converters(),
        }

    return Workload(
        "Debezium, a snapshot of PostgreSQL, JSON", records, begin, lambda run: topics.end(topic(run)), end(topics, topic)
    )


def first_copy(server: Postgres, topics: Topics, records: int) -> Workload:
    """The same table, by one task of each. What the database's own processes take is not counted, which is more here."""
    theirs = snapshot(server, topics, records)

    def end(run: str) -> None:
        theirs.end(run)
        server.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active;")

    ours = {"connector.class": "Backfill", "backfill.debezium.version": "3.6.1.Final"}
    return replace(
        theirs,
        name="a first copy of PostgreSQL, JSON: Backfill beside Debezium's snapshot",
        end=end,
        own={results.CONNECT: {}, results.KCONNECT: ours},
    )


def tables(server: Postgres, topics: Topics, records: int) -> Iterator[Workload]:
    fields = [("id", "int64"), ("name", "string"), ("price", "double"), ("sold", "boolean"), ("count", "int32")]
    own = {"type": "struct", "fields": [{"field": name, "type": kind} for name, kind in fields]}
    head = b'{"schema":' + orjson.dumps(own) + b',"payload":'
    topics.fill(
        "rows",
        (
            head + b'{"id":%d,"name":"name %d","price":%d.5,"sold":true,"count":%d}}' % (n, n, n, n % 100)
            for n in range(records)
        ),
    )

    def begin(run: str) -> dict[str, str]:
        login = {"connection.url": server.jdbc_url("postgres"), "connection.password": server.password}
        name = run.replace("-", "_")
        return {
            "topics": "rows",
            "collection.name.format": name,
            "table.name.format": name,
            "connection.user": server.user,
            "connection.username": server.user,
            "schema.evolution": "basic",
            "auto.create": "true",
            **login,
            **converter(JSON, True),
        }

    def moved(run: str) -> int:
        try:
            return int(server.rows(f"select count(*) from {run.replace('-', '_')}")[0][0])
        except ConnectError:
            return 0  # It is not there yet.

    def drop(run: str) -> None:
        server.execute(f"drop table {run.replace('-', '_')};")

    jdbc, ours = "io.debezium.connector.jdbc.JdbcSinkConnector", "SqlSink"
    for mode in ("insert", "upsert"):
        key = "record_value" if mode == "upsert" else "none"
        yield Workload(
            f"JSON with schemas to PostgreSQL, {mode}: SqlSink beside Debezium's JDBC sink",
            records,
            begin,
            moved,
            drop,
            own={
                results.CONNECT: {
                    "connector.class": jdbc,
                    "insert.mode": mode,
                    "primary.key.mode": key,
                    **({"primary.key.fields": "id"} if mode == "upsert" else {}),
                },
                results.KCONNECT: {"connector.class": ours, "insert.mode": mode, "pk.mode": key, "pk.fields": "id"},
            },
        )


def mirror(servers: str, topics: Topics, records: int) -> Workload:
    def topic(run: str) -> str:
        return f"{run}.{TEXTS}"

    def begin(run: str) -> dict[str, str]:
        topics.create(topic(run))
        return {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "source.cluster.alias": run,
            "target.cluster.alias": "here",
            "source.cluster.bootstrap.servers": servers,
            "target.cluster.bootstrap.servers": servers,
            "topics": TEXTS,
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "key.converter": BYTES,
            "value.converter": BYTES,
        }

    return Workload("MirrorMaker 2, source", records, begin, lambda run: topics.end(topic(run)), end(topics, topic))


def end(topics: Topics, topic: Callable[[str], str]) -> Callable[[str], None]:
    return lambda run: topics.delete(topic(run))


def json_converters() -> Mapping[str, str]:
    made = {f"{part}.converter": JSON for part in ("key", "value")}
    return {**made, **{f"{name}.schemas.enable": "false" for name in made}}


def idle(worker: WorkerProcess, directory: Path, count: int) -> None:
    """Half are sources whose file has no lines, half sinks on an empty topic."""
    empty = directory / "empty.txt"
    empty.touch()
    for number in range(count):
        source = {"connector.class": SOURCE, "file": str(empty), "topic": "idle"}
        sink = {"connector.class": SINK, "file": str(directory / "idle.txt"), "topics": "idle"}
        worker.client.create(f"idle-{number}", {**(sink if number % 2 else source), "tasks.max": "1"})
    for number in range(count):
        worker.client.wait_for(f"idle-{number}", "RUNNING", tasks=1, timeout=_UP_S)


def memory(both: Mapping[str, WorkerProcess], directory: Path, count: int, found: results.Results) -> None:
    for side, worker in both.items():
        before = worker.memory()
        idle(worker, directory, count)
        time.sleep(_SETTLED_S)
        used = worker.memory()
        found.add(f"{count} idle connectors", side, "memory", "MiB", used / 2**20)
        found.add(f"{count} idle connectors", side, "memory since there are connectors", "MiB", (used - before) / 2**20)
    found.show()


if __name__ == "__main__":
    main()
