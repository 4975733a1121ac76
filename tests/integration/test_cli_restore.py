"""
Workers on topics that `kconnect topics restore` made: connectors are there as they were, and sources go on where they stood.

A snapshot of what kconnect's worker wrote is for one of Apache Kafka Connect, and a snapshot of what that one added is for
kconnect's again. Lines flow through each of the three, and every line is compared in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.conftest import QUICK
from tests.integration import units
from tests.rig.systems.connect import ConnectProcess
from tests.support import wait_until

# Two workers start for it.
pytestmark = pytest.mark.timeout(1200)

_LIMIT_S = 240
_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
_TEXT = {f"{part}.converter": "org.apache.kafka.connect.storage.StringConverter" for part in ("key", "value")}


class Cluster:
    """The topics of a group of workers."""

    def __init__(self, broker: Broker, group: str) -> None:
        self.broker, self.group = broker, group
        self._topics = {"config": f"{group}-configs", "offset": f"{group}-offsets", "status": f"{group}-status"}

    def export(self, file: Path) -> None:
        where = [f"--{role}-topic={name}" for role, name in self._topics.items()]
        self._call("export", str(file), *where)

    def restore(self, file: Path) -> None:
        where = [f"--to-{role}-topic={name}" for role, name in self._topics.items()]
        self._call("restore", str(file), *where, "--create", "--yes")

    def _call(self, command: str, *arguments: str) -> None:
        done = call("topics", command, *arguments, "--bootstrap-server", self.broker.bootstrap_servers, "--group", self.group)
        assert done.status == 0, done.err


class Flow:
    """A source and a sink between two files, and two sources that do not run any more; looked at through any worker."""

    def __init__(self, directory: Path, unique: Callable[[str], str]) -> None:
        self.read, self.written, self.still = directory / "in.txt", directory / "out.txt", directory / "still.txt"
        self.topic = unique("restored-lines")
        self.source, self.sink, self.paused, self.stopped = map(unique, ("r-source", "r-sink", "r-paused", "r-stopped"))
        self.lines: list[str] = []
        self.still.write_text("read only once\n" * 3)

    def configs(self) -> dict[str, dict[str, str]]:
        still = {"connector.class": _SOURCE, "file": str(self.still), "topic": f"{self.topic}-still", "tasks.max": "1", **_TEXT}
        source = {**still, "file": str(self.read), "topic": self.topic}
        sink = {"connector.class": _SINK, "file": str(self.written), "topics": self.topic, "tasks.max": "1", **_TEXT}
        made = {self.source: source, self.sink: sink, self.paused: still, self.stopped: still}
        return {name: {**config, "name": name} for name, config in made.items()}

    def create(self, client: ConnectClient) -> None:
        for name, config in self.configs().items():
            client.create(name, config, "STOPPED" if name == self.stopped else None)
        client.wait_for(self.stopped, "STOPPED", tasks=0, timeout=_LIMIT_S)
        client.alter_offsets(self.stopped, self._at(15))
        wait_until(lambda: client.offsets(self.paused) == self._at(45), _LIMIT_S, "what is to be paused did not read its file")
        client.pause(self.paused)

    def _at(self, position: int) -> list[dict[str, Any]]:
        return [{"partition": {"filename": str(self.still)}, "offset": {"position": position}}]

    def is_as_it_was(self, client: ConnectClient) -> None:
        configs = self.configs()
        assert configs.keys() <= set(client.connectors())
        assert {name: client.get_config(name) for name in configs} == configs
        for name, state, tasks in (
            *((self.source, "RUNNING", 1), (self.sink, "RUNNING", 1)),
            *((self.paused, "PAUSED", 1), (self.stopped, "STOPPED", 0)),
        ):
            client.wait_for(name, state, tasks, timeout=_LIMIT_S)
        assert (client.offsets(self.stopped), client.offsets(self.paused)) == (self._at(15), self._at(45))

    def goes_on(self, client: ConnectClient) -> None:
        """Lines that are written now arrive, after all that came before, and where that ends has been committed."""
        more = [f"line {len(self.lines) + number}" for number in range(50)]
        with self.read.open("a") as file:
            file.write("".join(f"{line}\n" for line in more))
        self.lines += more
        wait_until(lambda: len(self.arrived()) >= len(self.lines), _LIMIT_S, "not all lines arrived")
        wait_until(lambda: self.places(client) == (self.read.stat().st_size, len(self.lines)), _LIMIT_S, "not all is committed")

    def arrived(self) -> list[str]:
        return self.written.read_text().splitlines() if self.written.exists() else []

    def places(self, client: ConnectClient) -> tuple[Any, Any]:
        """How far the source has read, and the sink."""
        source, sink = client.offsets(self.source), client.offsets(self.sink)
        return source and source[0]["offset"]["position"], sink and sink[0]["offset"]["kafka_offset"]


@pytest.fixture
def flow(broker: Broker, worker: WorkerProcess, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Flow]:
    """It runs on kconnect's shared worker."""
    made = Flow(tmp_path, unique)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(made.topic, 1, 1), NewTopic(f"{made.topic}-still", 1, 1)]).values():
        future.result(_LIMIT_S)
    with ConnectClient(worker.url, patience=_LIMIT_S) as client:
        try:
            made.create(client)
            yield made
        finally:
            for name in made.configs().keys() & set(client.connectors()):
                client.delete(name)


@contextmanager
def started(process: WorkerProcess) -> Iterator[ConnectClient]:
    try:
        process.start(wait=False)
        process.wait_healthy(_LIMIT_S)
        with ConnectClient(process.url, patience=_LIMIT_S) as client:
            yield client
    finally:
        process.stop()


@pytest.mark.long
def test_workers_on_restored_topics_go_on(
    flow: Flow, worker: WorkerProcess, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    shared, second, third = Cluster(broker, "shared"), Cluster(broker, unique("second")), Cluster(broker, unique("third"))
    with ConnectClient(worker.url, patience=_LIMIT_S) as client:
        # The control: what is looked for below is so before anything is saved.
        flow.goes_on(client)
        flow.is_as_it_was(client)
        shared.export(tmp_path / "first.jsonl.gz")
        for name in flow.configs():
            client.delete(name)
        wait_until(lambda: not flow.configs().keys() & set(client.connectors()), _LIMIT_S, "they were not deleted")

    second.restore(tmp_path / "first.jsonl.gz")
    with started(ConnectProcess(tmp_path / "connect", broker.bootstrap_servers, second.group)) as client:
        flow.is_as_it_was(client)
        flow.goes_on(client)
    second.export(tmp_path / "second.jsonl.gz")

    third.restore(tmp_path / "second.jsonl.gz")
    with started(WorkerProcess(tmp_path / "kconnect", broker.bootstrap_servers, third.group, properties=QUICK)) as client:
        flow.is_as_it_was(client)
        flow.goes_on(client)
    assert flow.arrived() == flow.lines
    assert len(units.values(broker.bootstrap_servers, f"{flow.topic}-still")) == 3
