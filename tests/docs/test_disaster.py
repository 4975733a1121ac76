"""
Somebody loses what docs/disaster.md is about, and types what stands there, on a broker and a worker of his own.

Afterwards all connectors are in their states, offsets are where they are to be, no line is lost, and as many have come again as
the page says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.docs.readings import DISASTERS, steps_of
from tests.docs.scene import FILE_SINK, FILE_SOURCE, Scene
from tests.rig.systems import kafkas_tools
from tests.support import stop, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1500)]

_LIMIT_S = 240.0
_CONFIG, _OFFSET, _STATUS = "connect-configs", "connect-offsets", "connect-status"
_SETTINGS = {
    **QUICK,
    # Nobody dies here, and a starving worker must not seem to.
    "session.timeout.ms": "10000",
    "task.hosts": "1",
    "config.storage.topic": _CONFIG,
    "offset.storage.topic": _OFFSET,
    "status.storage.topic": _STATUS,
}
_STATES = {"audit": "STOPPED", "notes": "PAUSED", "orders": "RUNNING", "orders-copy": "RUNNING"}


class Cluster:
    """A broker, a worker, a reader with the page's files, and lines that go from a file to a file."""

    def __init__(self, directory: Path, processing: str) -> None:
        self.broker, self.other = Broker(directory / "kafka"), Broker(directory / "kafka-b")
        self.lines: list[str] = []
        self._directory, self._more = directory, {**_SETTINGS, "exactly.once.source.support": processing}
        self.worker = self._worker("worker", self.broker.start())
        self.next: WorkerProcess | None = None
        self.worker.start()
        self.scene = Scene(self.worker, self.broker.bootstrap_servers, directory / "home")
        for name in ("connect-cluster", _CONFIG):
            del self.scene.addresses[name]
        kafkas_tools.write(self.scene.home / "bin")
        self.source, self.target = self.scene.file("in.txt"), self.scene.home / "out.txt"
        self._topic(self.broker)
        self._create()

    def _worker(self, name: str, broker: Broker) -> WorkerProcess:
        return WorkerProcess(self._directory / name, broker.bootstrap_servers, "connect-cluster", properties=self._more)

    def _topic(self, broker: Broker) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(_LIMIT_S)

    def _create(self) -> None:
        still = str(self.scene.file("still.txt", "read only once\n" * 3))
        self.scene.create("audit", FILE_SOURCE, "STOPPED", file=still, topic="audit")
        self.client.wait_for("audit", "STOPPED", tasks=0, timeout=_LIMIT_S)
        self.client.alter_offsets("audit", [{"partition": {"filename": still}, "offset": {"position": 15}}])
        self.scene.create("notes", FILE_SOURCE, "PAUSED", file=still, topic="notes")
        self.scene.create("orders", FILE_SOURCE, file=str(self.source), topic="orders")
        self.scene.create("orders-copy", FILE_SINK, file=str(self.target), topics="orders")

    def start_other(self) -> None:
        """Start workers on the other Kafka cluster, as the page's reader does once the topics are there."""
        assert self.next is not None
        self.next.start()

    def prepare_other(self) -> None:
        self.next = self._worker("worker-b", self.other.start())
        self._topic(self.other)
        self.scene.file("worker-b.properties", Scene.settings_of(self.next).read_text("utf-8"))
        self.scene.addresses["http://kconnect-b:8083"] = self.next.url.rstrip("/")

    @property
    def client(self) -> ConnectClient:
        return self.worker.client

    def close(self) -> None:
        for worker in (self.worker, self.next):
            if worker is not None:
                worker.stop()
        for broker in (self.broker, self.other):
            if broker is self.broker or self.next is not None:
                broker.stop()

    # --- what flows ---

    def write(self, count: int) -> None:
        more = [f"line {len(self.lines) + number}" for number in range(count)]
        with self.source.open("a") as file:
            file.write("".join(f"{line}\n" for line in more))
        self.lines += more

    def arrived(self) -> list[str]:
        return self.target.read_text("utf-8").splitlines() if self.target.exists() else []

    def doubled(self) -> int:
        arrived = self.arrived()
        return len(arrived) - len(set(arrived))

    def settle(self, worker: WorkerProcess | None = None, broker: Broker | None = None) -> None:
        """Wait until all lines have arrived, and offsets say so, and all connectors are in their states."""
        client = (worker or self.worker).client
        self.scene.bootstrap = (broker or self.broker).bootstrap_servers
        expected = {name: {state} for name, state in _STATES.items()}
        wait_until(lambda: self._states(client) == expected, _LIMIT_S, "not all connectors are in their states")
        wait_until(lambda: set(self.arrived()) == set(self.lines), _LIMIT_S, "not all lines arrived")
        size = self.source.stat().st_size
        wait_until(lambda: self._offset(client, "orders") == {"position": size}, _LIMIT_S, "the source has not committed")
        wait_until(lambda: self._offset(client, "orders-copy") in self._ends(), _LIMIT_S, "the sink has not committed")
        assert self._offset(client, "audit") == {"position": 15}

    def _ends(self) -> list[dict[str, int]]:
        """Return the offsets of a sink that has read all: behind the last record may be markers of transactions."""
        end = self.scene.count("orders")
        is_transactional = self._more["exactly.once.source.support"] == "enabled"
        return [{"kafka_offset": offset} for offset in range(end - 3 * is_transactional, end + 1)]

    def _states(self, client: ConnectClient) -> dict[str, set[str]]:
        """Return the states of each connector and its tasks together."""
        try:
            statuses = {name: client.status(name) for name in client.connectors()}
        except RestError:
            return {}
        return {
            name: {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
            for name, status in statuses.items()
        }

    def _offset(self, client: ConnectClient, name: str) -> Any:
        try:
            offsets = client.offsets(name)
        except RestError:
            return None
        return offsets[0]["offset"] if offsets else None

    # --- what the reader does ---

    def save(self) -> None:
        """The backup of the night before is gone, and the reader makes another one."""
        (self.scene.home / "backup.jsonl.gz").unlink(missing_ok=True)
        self.type("beforehand")

    def type(self, reading: str) -> str:
        """Type a section of the page. Return what its commands print."""
        said = ""
        for step in steps_of(DISASTERS[reading]):
            services: dict[str, Callable[[], object]] = {
                "systemctl stop kconnect": self.worker.stop,
                "systemctl start kconnect": self.worker.start,
                "systemctl start kconnect-b": self.start_other,
            }
            if step.command in services:
                services[step.command]()
            else:
                said += self.scene.type(step)
        return said

    def lose(self, *topics: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        for deleted in admin.delete_topics(list(topics)).values():
            deleted.result(_LIMIT_S)

    def wait_logged(self, *texts: str) -> None:
        wait_until(lambda: all(text in self._log() for text in texts), _LIMIT_S, f"the worker did not log {texts}")

    def _log(self) -> str:
        return self.worker.log.read_text("utf-8")


@pytest.fixture(scope="module", params=["disabled", "enabled"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With and without exactly-once sources. The last test of it takes it to another Kafka."""
    made = Cluster(tmp_path_factory.mktemp("disaster"), request.param)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def saved(cluster: Cluster) -> Cluster:
    """All is saved, as the page says, when 20 lines have arrived."""
    cluster.write(20)
    cluster.settle()
    cluster.save()
    return cluster


def test_connectors_that_were_deleted(saved: Cluster) -> None:
    before = saved.doubled()
    saved.write(50)
    saved.settle()
    for name in ("orders", "orders-copy"):
        saved.client.delete(name)
    saved.write(5)
    said = saved.type("deleted")
    saved.write(5)
    saved.settle()
    assert saved.doubled() == before
    assert str(saved.source) in said, "the config topic still has what was deleted"


def test_connectors_that_were_deleted_with_their_offsets(saved: Cluster) -> None:
    before = saved.doubled()
    saved.write(50)
    saved.settle()
    for name in ("orders", "orders-copy"):
        stop(saved.client, name)
        saved.client.reset_offsets(name)
        saved.client.delete(name)
    saved.write(5)
    saved.type("reset")
    saved.settle()
    # 50 more in the topic, of which the sink reads all that it had read since, too.
    assert saved.doubled() == before + 100


def test_the_config_topic_while_workers_run(saved: Cluster) -> None:
    before = saved.doubled()
    saved.lose(_CONFIG)
    saved.wait_logged(f"The config topic {_CONFIG} was deleted and recreated")
    saved.write(50)
    wait_until(lambda: len(set(saved.arrived())) == len(saved.lines), _LIMIT_S, "running connectors did not go on")
    saved.type("config-alive")
    saved.write(5)
    saved.settle()
    assert saved.doubled() == before


def test_the_config_topic_while_no_worker_runs(saved: Cluster) -> None:
    before = saved.doubled()
    saved.write(50)
    saved.settle()
    saved.worker.stop()
    saved.lose(_CONFIG)
    saved.write(5)
    saved.type("config-dead")
    saved.settle()
    assert saved.doubled() == before


def test_the_offset_topic_while_no_worker_runs(saved: Cluster) -> None:
    before = saved.doubled()
    saved.write(50)
    saved.settle()
    saved.worker.stop()
    saved.lose(_OFFSET)
    saved.write(5)
    saved.type("offset-dead")
    saved.settle()
    assert saved.doubled() == before + 50


def test_the_other_topics_while_workers_run(saved: Cluster) -> None:
    before = Counter(saved.arrived())
    saved.lose(_OFFSET, _STATUS, f"{_CONFIG}-metrics", f"{_CONFIG}-logs")
    saved.wait_logged(f"The offset topic {_OFFSET} was", f"The status topic {_STATUS} was")
    saved.lose(f"{_CONFIG}-assignments")
    saved.wait_logged(f"The assignment topic {_CONFIG}-assignments was")
    saved.write(5)
    saved.settle()
    said = saved.type("others")
    assert "cleanup.policy=delete" not in said, said
    saved.settle()
    # Hosts end without the topic of assignments, and may not have committed what was under way.
    again = {line for line, count in (Counter(saved.arrived()) - before).items() if before[line] or count > 1}
    assert again <= set(saved.lines[-5:])
    doubled = saved.doubled()
    # With a topic of another policy it would not start.
    saved.worker.stop()
    saved.worker.start()
    saved.write(5)
    saved.settle()
    assert saved.doubled() == doubled, "offsets were written into the new topic"


def test_the_offsets_of_a_sink(saved: Cluster) -> None:
    before = saved.doubled()
    saved.write(50)
    saved.settle()
    stop(saved.client, "orders-copy")
    saved.client.reset_offsets("orders-copy")
    saved.type("sink")
    saved.write(5)
    saved.settle()
    assert saved.doubled() == before + 50


def test_the_whole_kafka_cluster(saved: Cluster) -> None:
    before = saved.doubled()
    saved.write(50)
    saved.settle()
    saved.worker.stop()
    saved.broker.kill()
    saved.prepare_other()
    saved.type("cluster")
    saved.write(5)
    assert saved.next is not None
    saved.settle(saved.next, saved.other)
    assert saved.doubled() == before + 50


class TestMove:
    @pytest.fixture(params=["disabled", "enabled"])
    def fresh(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
        made = Cluster(tmp_path, request.param)
        try:
            yield made
        finally:
            made.close()

    def test_a_move_that_was_planned(self, fresh: Cluster) -> None:
        fresh.write(50)
        fresh.settle()
        fresh.prepare_other()
        fresh.type("planned")
        fresh.write(5)
        assert fresh.next is not None
        fresh.settle(fresh.next, fresh.other)
        assert fresh.doubled() == 0
