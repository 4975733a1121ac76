"""
A table is copied while it changes, what copies it is killed, and Debezium goes on: nothing is lost, and all is in order.

The short form of `scripts/chaos --backfill`. And what Debezium itself writes of each type, which other tests compare with.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.connectors.backfill import test_types as types
from tests.integration import test_backfill_mariadb as of_mariadb
from tests.rig.chaos import backfill
from tests.rig.chaos.databases import CopiedMariaDB, CopiedPostgres
from tests.support import seed, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

_JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.long)])
def test_a_table_is_copied_while_it_changes_whoever_is_killed(
    postgres_programs: Path, tmp_path: Path, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(
        database="postgresql", rows=20_000 * kills, kills=kills, rate=5000, seed=seed("KCONNECT_CHAOS_SEED")
    )
    told: list[str] = []
    run = backfill.Run(options, told.append)
    found = run.go(tmp_path, postgres_programs)
    assert not found, "\n".join([f"seed {options.seed}", *told])
    # The kills did hit it.
    assert run.kills.total() == kills, "\n".join(told)


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
