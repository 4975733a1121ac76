"""
Debezium's source and its JDBC sink move from Apache Kafka Connect to kconnect and back, while PostgreSQL changes all the time:
on the same internal topics, and by `kconnect migrate`.

No change is lost or out of order, and exactly-once none comes again; in the end the sink's table is the source's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.conftest import QUICK
from tests.rig.cdc import pipeline
from tests.rig.systems import captured, recorder
from tests.rig.systems.captured import Ledger, Reader
from tests.rig.systems.connect import ConnectProcess
from tests.rig.systems.postgres import Postgres
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]
WAIT_S = 240.0


class Flow:
    """The two connectors, between a table that changes and its copy; `create` them before `ledger` starts."""

    def __init__(self, server: Postgres, bootstrap: str, name: str, once: bool) -> None:
        self.server, self._bootstrap, self._once = server, bootstrap, once
        self.prefix, self.source, self.sink = name, f"{name}-source", f"{name}-sink"
        server.execute(f"create database {pipeline.FROM};\ncreate database {pipeline.TO};\n")
        # The sink, which has to catch up after each start, is slower than the source.
        self.ledger = Ledger(server, pipeline.FROM, pipeline.TABLE, seed=1, pause_s=1.0)
        self.ledger.fill(20)

    def create(self, worker: WorkerProcess) -> None:
        once = {"exactly.once.support": "required"} if self._once else {}
        worker.client.create(self.source, captured.source(self.server, self.prefix, pipeline.TABLE, **once))
        worker.client.create(self.sink, pipeline.sink(self.server, self.prefix, self.server.password))
        # The changes begin after the snapshot, which has only the last one of each row.
        wait_until(lambda: not pipeline.differences(self.server), WAIT_S, "the snapshot did not arrive")

    def goes_on(self) -> None:
        """What is changed from now on arrives."""
        wanted = str(self.ledger.number + 1)
        query = f"select 1 from {pipeline.TABLE} where number >= {wanted} limit 1"
        wait_until(lambda: self.server.rows(query, pipeline.TO), WAIT_S, f"no change from {wanted} on arrived")

    def check(self) -> Counter[str]:
        """All of it, at rest. Gives what there was to check."""
        self.ledger.end()
        wait_until(lambda: not pipeline.differences(self.server), WAIT_S, "the copy did not become what the table is")
        counts: Counter[str] = Counter()
        reader = Reader()
        messages = recorder.read(self._bootstrap, pipeline.topic(self.prefix))
        found = [reader.read(message.key(), message.value()) for message in messages]
        violations = captured.check("orders", self.ledger.changes, found, counts, self._once, at_rest=True)
        assert list(violations) == []
        assert counts["records"] > 200
        return counts

    def offset_keys(self, topic: str) -> set[bytes | None]:
        """Under which keys the source's offsets are stored; each worker must find what another one has written."""
        return {message.key() for message in recorder.read(self._bootstrap, topic)}


@contextmanager
def flowing(broker: Broker, programs: Path, name: str, once: bool) -> Iterator[Flow]:
    server = Postgres(programs).start()
    try:
        flow = Flow(server, broker.bootstrap_servers, name, once)
        yield flow
        flow.ledger.end()
    finally:
        server.stop()


def properties(once: bool = False) -> dict[str, str]:
    return {
        **QUICK,
        "session.timeout.ms": "20000",
        "plugin.path": str(pipeline.plugin_path()),
        "plugin.discovery": "service_load",
        "offset.flush.timeout.ms": "60000",
        "task.shutdown.graceful.timeout.ms": "60000",
        **({"exactly.once.source.support": "enabled"} if once else {}),
    }


@pytest.mark.parametrize("once", [True, False])
def test_workers_take_turns_on_the_same_topics(
    broker: Broker, postgres_programs: Path, tmp_path: Path, unique: Callable[[str], str], once: bool
) -> None:
    group = unique("cdc-turns")
    theirs = ConnectProcess(tmp_path / "connect", broker.bootstrap_servers, group, properties=properties(once))
    ours = WorkerProcess(tmp_path / "kconnect", broker.bootstrap_servers, group, properties=properties(once))
    with flowing(broker, postgres_programs, group, once) as flow:
        for turn, worker in enumerate((theirs, ours, theirs)):
            try:
                worker.start()
                if turn == 0:
                    flow.create(worker)
                    flow.ledger.start()
                flow.goes_on()
                if turn == 0:
                    file = worker.directory / f"worker-{worker.port}.properties"
                    checked = call("migrate", "--same-topics", "--worker-file", str(file))
                    assert checked.status == 0, checked.out + checked.err
                    assert "2 connectors in the config topic; workers of Kafka Connect in the group" in checked.out
                if turn == 2:
                    print(flow.check())  # noqa: T201 - what was checked, for who asks pytest for it
                    assert [entry["partition"] for entry in worker.client.offsets(flow.source)] == [{"server": group}]
            finally:
                worker.stop(120)
        key = f'["{flow.source}",{{"server":"{group}"}}]'.encode()
        assert flow.offset_keys(f"{group}-offsets") == {key}


def test_migrate_takes_it_there_and_back(
    broker: Broker, postgres_programs: Path, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    name = unique("cdc-moves")
    theirs = ConnectProcess(tmp_path / "connect", broker.bootstrap_servers, f"{name}-old", properties=properties())
    ours = WorkerProcess(tmp_path / "kconnect", broker.bootstrap_servers, f"{name}-new", properties=properties())
    with flowing(broker, postgres_programs, name, once=False) as flow, ExitStack() as stack:
        for worker in (theirs, ours):
            stack.callback(worker.stop, 120)
            worker.start(wait=False)
        for worker in (theirs, ours):
            worker.wait_healthy()
        flow.create(theirs)
        flow.ledger.start()
        flow.goes_on()
        for back, (stopped, runs) in (((), (theirs, ours)), (("--back",), (ours, theirs))):
            between = ("--from", theirs.url, "--to", ours.url, "--state", str(tmp_path / "journal.json"), "--yes")
            moved = call("migrate", *between, *back, flow.source, flow.sink)
            assert moved.status == 0, moved.out + moved.err
            flow.goes_on()
            for each in (flow.source, flow.sink):
                assert stopped.client.status(each)["connector"]["state"] == "STOPPED"
                assert runs.client.status(each)["tasks"][0]["state"] == "RUNNING"
        print(flow.check())  # noqa: T201 - what was checked, for who asks pytest for it
        key = f'["{flow.source}",{{"server":"{name}"}}]'.encode()
        for group in ("old", "new"):
            assert flow.offset_keys(f"{name}-{group}-offsets") == {key}
