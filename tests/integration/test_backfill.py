"""
A table is copied while it changes, what copies it is killed, and Debezium goes on: nothing is lost, and all is in order.

The short form of `scripts/chaos --backfill`, with both targets. And what Debezium itself writes of each type, which other tests
compare with.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import psycopg
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.herder import backfills
from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.connectors.backfill import test_types as types
from tests.integration import test_backfill_mariadb as of_mariadb
from tests.rig.cdc import pipeline
from tests.rig.chaos import backfill, copied
from tests.rig.chaos.databases import CopiedMariaDB, CopiedPostgres
from tests.rig.systems.postgres import Postgres
from tests.support import seed, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

_JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.long
@pytest.mark.parametrize(
    ("database", "kills"),
    [
        ("postgresql", 1),
        pytest.param("postgresql", 10, marks=pytest.mark.long),
        pytest.param("mariadb", 1, marks=pytest.mark.long),
        pytest.param("mariadb", 10, marks=pytest.mark.long),
    ],
)
def test_a_table_is_copied_while_it_changes_whoever_is_killed(
    postgres_programs: Path, tmp_path: Path, database: str, kills: int
) -> None:
    options = argparse.Namespace(
        database=database, rows=20_000 * kills, kills=kills, rate=5000, seed=seed("KCONNECT_CHAOS_SEED")
    )
    told: list[str] = []
    run = backfill.Run(options, told.append)
    found = run.go(tmp_path, postgres_programs)
    assert not found, "\n".join([f"seed {options.seed}", *told])
    # The kills did hit it.
    assert run.kills.total() == kills, "\n".join(told)


@pytest.mark.parametrize(
    ("database", "form", "append", "kills"),
    [
        pytest.param("mariadb", "delta", False, 0, marks=pytest.mark.long),
        pytest.param("postgresql", "iceberg", False, 0, marks=pytest.mark.long),
        pytest.param("postgresql", "delta", False, 6, marks=pytest.mark.long),
        pytest.param("postgresql", "iceberg", True, 6, marks=pytest.mark.long),
        pytest.param("mariadb", "delta", False, 4, marks=pytest.mark.long),
        pytest.param("mariadb", "iceberg", True, 4, marks=pytest.mark.long),
    ],
)
def test_a_table_is_copied_straight_into_a_lake_while_it_changes_and_the_sink_goes_on(
    postgres_programs: Path, tmp_path: Path, database: str, form: str, append: bool, kills: int
) -> None:
    # Without kills nothing has to be read for so long that one can hit it.
    rate, rows = (2000, 50_000) if kills else (0, 3000)
    draw = seed("KCONNECT_CHAOS_SEED")
    options = argparse.Namespace(rows=rows, kills=kills, rate=rate, seed=draw, database=database, into=form, append=append)
    told: list[str] = []
    run = copied.LakeRun(options, told.append)
    found = run.go(tmp_path, postgres_programs)
    assert not found, "\n".join([f"seed {options.seed}", *told])
    assert run.kills.total() == kills, "\n".join(told)


@pytest.mark.long
def test_rows_are_read_again_beside_the_stream(postgres_programs: Path, broker: Broker, tmp_path: Path) -> None:
    """By Debezium itself, told by a signal; a row that changes meanwhile never comes as it was before."""
    server = Postgres(postgres_programs).start()
    properties = {**QUICK, "plugin.path": str(pipeline.plugin_path()), "task.hosts": "1"}
    worker = WorkerProcess(tmp_path / "worker", broker.bootstrap_servers, "again", properties=properties)
    over = threading.Event()

    def write() -> None:
        number = 0
        with psycopg.connect(
            f"host={server.host} port={server.port} user={server.user} password={server.password} dbname=shop", autocommit=True
        ) as connection:
            while not over.wait(0.002):
                number = number % 900 + 1
                connection.execute("update t set n = n + 1 where id between %s and %s", [2000 + number, 2003 + number])

    try:
        server.execute("create database shop")
        server.execute(
            "create table t (id int primary key, n int); insert into t select n, 0 from generate_series(1, 3000) n;"
            "create table marks (id varchar(100) primary key, type varchar(100) not null, data varchar(4000))",
            "shop",
        )
        worker.start()
        client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        client.create_topics([NewTopic("again-signals", 1, 1)])["again-signals"].result(60)
        reading = {
            **{"connector.class": backfills.DEBEZIUM, "tasks.max": "1", "snapshot.mode": "no_data"},
            **{"database.hostname": server.host, "database.port": str(server.port), "database.dbname": "shop"},
            **{"database.user": server.user, "database.password": server.password, "plugin.name": "pgoutput"},
            **dict.fromkeys(("topic.prefix", "slot.name", "publication.name"), "again"),
            **{"publication.autocreate.mode": "filtered", "table.include.list": "public.t,public.marks"},
            **{f"{part}.converter": _JSON for part in ("key", "value")},
            **{f"{part}.converter.schemas.enable": "false" for part in ("key", "value")},
        }
        told = {
            "signal.enabled.channels": "source,kafka",
            "signal.kafka.topic": "again-signals",
            "signal.kafka.bootstrap.servers": "elsewhere:9092",
            "signal.data.collection": "public.marks",
            "incremental.snapshot.chunk.size": "200",
        }
        worker.client.create("again", reading)
        worker.client.wait_for("again", "RUNNING", tasks=1, timeout=240)
        with pytest.raises(RestError, match=r"set signal.enabled.channels=source,kafka; signal.kafka.topic=again-signals"):
            worker.client.begin_reread("again", ["public.t"], None)
        worker.client.patch_config("again", told)
        worker.client.wait_for("again", "RUNNING", tasks=1, timeout=240)
        with pytest.raises(RestError, match="takes its signals from elsewhere:9092"):
            worker.client.begin_reread("again", ["public.t"], None)
        worker.client.patch_config("again", {"signal.kafka.bootstrap.servers": broker.bootstrap_servers})

        writer = threading.Thread(target=write, name="writer")
        writer.start()
        # Debezium hears only what it is told while it reads.
        wait_until(lambda: worker.client.offsets("again"), 240, "Debezium does not begin")
        worker.client.wait_for("again", "RUNNING", tasks=1, timeout=240)
        seen: dict[int, list[tuple[str, int]]] = {}
        consumer = ck.Consumer(
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "x", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["again.public.t"])

        def copies() -> int:
            return sum(any(kind == "r" for kind, _ in events) for events in seen.values())

        def all_are_there() -> bool:
            if not copies():
                worker.client.begin_reread("again", ["public.t"], "id > 1000")
            for message in consumer.consume(5000, 1.0):
                value = message.value()
                if value is not None and message.error() is None:
                    event = json.loads(value)
                    seen.setdefault(event["after"]["id"], []).append((event["op"], event["after"]["n"]))
            # A copy is left out where a change is newer.
            return seen.keys() >= set(range(1001, 3001)) and copies() > 1000 and not worker.client.reread("again")

        wait_until(all_are_there, 300, "not all is read again")
        consumer.close()
        assert min(row for row, events in seen.items() if any(kind == "r" for kind, _ in events)) == 1001
        changed = [[number for _, number in events] for events in seen.values() if len(events) > 1]
        assert len(changed) > 500
        # A number only grows: no copy came before an older change, or behind a newer one.
        assert all(numbers == sorted(numbers) for numbers in changed)
        worker.client.stop_reread("again")
    finally:
        over.set()
        worker.stop()
        server.stop()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_debezium_writes_what_is_compared_with(
    postgres_programs: Path, broker: Broker, tmp_path: Path, unique: Callable[[str], str], kind: str
) -> None:
    """If it does not, `debezium.json` is of another version: the backfill must learn what has changed."""
    database = CopiedPostgres(postgres_programs) if kind == "postgresql" else CopiedMariaDB(broker.bootstrap_servers)
    server = database.server
    properties = {**QUICK, "plugin.path": str(database.plugin_path())}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, unique("types"), properties=properties)
    prefix = unique("cdc").replace("-", "")
    if kind == "postgresql":
        golden, left_out = types.golden(), frozenset(("ta2",))
        more = {"database.dbname": "types", "plugin.name": "pgoutput"}
    else:
        golden, left_out = of_mariadb.golden(), frozenset(of_mariadb.MADE_ANEW)
        more = {**database.own, "table.include.list": "types.*"}
    try:
        server.execute("create database types")
        if kind == "postgresql":
            server.execute((types.HERE / "types.sql").read_text(), "types")
        else:
            server.execute(f"use types; {(of_mariadb.TYPES / 'types.sql').read_text('utf-8')}")
        worker.start()
        worker.client.put_config(
            "types",
            {
                "connector.class": database.connector,
                "database.hostname": server.host,
                "database.port": str(server.port),
                "database.user": server.user,
                "database.password": server.password,
                "topic.prefix": prefix,
                **more,
                "key.converter": _JSON,
                "value.converter": _JSON,
                "topic.creation.default.partitions": "1",
                "topic.creation.default.replication.factor": "1",
            },
        )
        for name, table in golden.items():
            for (key, value), row in zip(_records(broker, f"{prefix}.{name}", len(table["rows"])), table["rows"]):
                fields = {field["field"]: field for field in value["schema"]["fields"]}
                assert fields["after"]["fields"] == table["columns"], name
                assert (key and key["payload"]) == row["key"]
                for column, wanted in row["after"].items():
                    if column not in left_out:
                        found = value["payload"]["after"][column]
                        assert json.dumps(found) == json.dumps(wanted), (name, column)
    finally:
        worker.stop()
        server.stop()


def _records(broker: Broker, topic: str, count: int) -> list[tuple[Any, Any]]:
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "enable.auto.commit": False})
    try:
        found: list[ck.Message] = []
        wait_until(lambda: topic in consumer.list_topics(timeout=30).topics, 300, f"there is no {topic}")
        consumer.assign([ck.TopicPartition(topic, 0, 0)])

        def more() -> bool:
            found.extend(message for message in consumer.consume(100, 1) if message.error() is None)
            return len(found) >= count

        wait_until(more, 300, f"{topic} has not {count} records")
        return [(json.loads(message.key() or "null"), json.loads(message.value() or "null")) for message in found]
    finally:
        consumer.close()
