"""
Change data capture by connectors in Java: Debezium's PostgreSQL source, a topic, and its JDBC sink into another database.

Whatever happens on the way, both tables are the same in the end. The pipeline is that of `scripts/demo --cdc`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kconnect.kafka.positions import Place, Positions
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rig.cdc import pipeline
from tests.rig.systems.postgres import NULL, Postgres
from tests.support import starts, wait_until

from .test_java_connectors import java_hosts

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

WAIT_S = 240.0
PASSWORD = "canary-database-7f31"
PROVIDED = "canary-provided-08bd"


@pytest.fixture(scope="module")
@starts("integration")
def server(postgres_programs: Path) -> Iterator[Postgres]:
    started = Postgres(postgres_programs, PASSWORD)
    yield started.start()
    started.stop()


@pytest.fixture(scope="module")
@starts("integration")
def cdc_worker(server: Postgres, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    directory = tmp_path_factory.mktemp("cdc")
    (directory / "secrets").write_text(f"password={PROVIDED}\n")
    properties = {
        **QUICK,
        "session.timeout.ms": "20000",
        "plugin.path": str(pipeline.plugin_path()),
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(directory),
    }
    started = WorkerProcess(directory, broker.bootstrap_servers, "cdc", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.mark.long
def test_both_tables_are_the_same_after_all_that_can_happen(
    server: Postgres, cdc_worker: WorkerProcess, broker: Broker, unique: Callable[[str], str]
) -> None:
    client, prefix = cdc_worker.client, unique("cdc")
    source, sink, topic = f"{prefix}-source", f"{prefix}-sink", pipeline.topic(prefix)
    pipeline.make_databases(server)
    # One connector has the password in its config, the other by reference.
    server.execute(f"create role copier superuser login password '{PROVIDED}'")
    provided = f"${{file:{cdc_worker.directory / 'secrets'}:password}}"

    changes = pipeline.Changes(server)
    changes.fill(500)
    client.put_config(sink, {**pipeline.sink(server, prefix, provided), "connection.username": "copier"})
    client.put_config(source, pipeline.source(server, prefix, PASSWORD))
    wait_equal(server, "the snapshot did not arrive")
    snapshot = end(broker, topic)
    assert snapshot == 500

    beans = {"connector": source, "task": "0", "plugin": "postgres", "name": prefix}
    scanned = ({**beans, "context": "snapshot", "table": f"public.{pipeline.TABLE}"}, 500.0)
    wait_until(lambda: scanned in samples(client.metrics(), "debezium_metrics_RowsScanned"), WAIT_S)
    connected = ({**beans, "context": "streaming"}, 1.0)
    wait_until(lambda: connected in samples(client.metrics(), "debezium_metrics_Connected"), WAIT_S)

    changes.some(150)
    killed = java_hosts(cdc_worker)
    assert killed
    for host in killed:
        os.kill(host.pid, signal.SIGKILL)
    changes.some(150)
    changes.add_column("note")
    changes.some(100)
    assert all(changes.made[kind] > 50 for kind in ("inserts", "updates", "deletes"))
    wait_equal(server, "the changes around a kill did not arrive")
    wait_until(lambda: client.offsets(sink)[0]["offset"] == {"kafka_offset": end(broker, topic)}, WAIT_S)
    assert end(broker, topic) >= snapshot + 400, "each change is a record, and some may be there twice"
    assert not {host.pid for host in java_hosts(cdc_worker)} & {host.pid for host in killed}

    marks = server.rows(f"select distinct {pipeline.ADDED} from {pipeline.TABLE}", pipeline.TO)
    assert marks == [("kconnect",)], "the chain adds a column of its own"
    notes = {note for (note,) in server.rows(f"select note from {pipeline.TABLE}", pipeline.TO)}
    assert NULL in notes and any(note.startswith("note ") for note in notes)
    assert [entry["partition"] for entry in client.offsets(source)] == [{"server": prefix}]
    assert [client.status(name)["tasks"][0]["state"] for name in (source, sink)] == ["RUNNING"] * 2

    client.delete(source)
    client.delete(sink)
    slots = f"select active from pg_replication_slots where slot_name = '{pipeline.slot(prefix)}'"
    wait_until(lambda: server.rows(slots) == [("f",)], WAIT_S, "the source that was deleted still reads")
    server.execute(f"select pg_drop_replication_slot('{pipeline.slot(prefix)}')")
    assert server.rows(slots) == []
    log = cdc_worker.log.read_text("utf-8", "replace")
    assert "io.debezium" in log
    assert PASSWORD not in log and PROVIDED not in log


def samples(metrics: str, name: str) -> list[tuple[dict[str, str], float]]:
    found = text_string_to_metric_families(metrics)
    return [(each.labels, each.value) for family in found if family.name == name for each in family.samples]


def wait_equal(server: Postgres, message: str) -> None:
    try:
        wait_until(lambda: not pipeline.differences(server), WAIT_S)
    except AssertionError:
        raise AssertionError(f"{message} within {WAIT_S:.0f} s: {pipeline.differences(server)[:5]}") from None


def end(broker: Broker, topic: str) -> int:
    place = Place(topic, 0)
    return Positions({"bootstrap.servers": broker.bootstrap_servers}).spans([place])[place].end
