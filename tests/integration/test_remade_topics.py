"""A worker whose internal topics are deleted while it runs, one after another. What follows is in `tests/scenarios`, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kconnect.core.herder import effects
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import State, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.kafka import clients
from kconnect.kafka.admin import Admin
from kconnect.kafka.log import LogReader
from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from kconnect.worker import main
from kconnect.worker.driver import Driver
from kconnect.worker.main import Worker
from kconnect.worker.topic_watch import TopicWatch
from kconnect.worker.world import World
from tests.conftest import QUICK
from tests.support import wait_until

UNITS = {UnitId("x"), UnitId("x", 0)}


class Topics:
    def __init__(self, servers: str, group: str) -> None:
        self._client = {"bootstrap.servers": servers}
        self._admin = AdminClient({**self._client})
        self._names = {
            Topic.CONFIG: f"{group}-configs",
            Topic.OFFSET: f"{group}-offsets",
            Topic.STATUS: f"{group}-status",
            Topic.ASSIGNMENT: f"{group}-configs-assignments",
        }

    def delete(self, role: Topic) -> None:
        self._admin.delete_topics([self._names[role]])[self._names[role]].result(60)

    def id(self, role: Topic) -> str:
        return Admin(self._client).topic_ids([self._names[role]])[self._names[role]]

    def fold(self, role: Topic, state: StatusState | OffsetState | AssignmentState) -> None:
        """What somebody reads who comes now."""
        reader = LogReader(self._client, {role: self._names[role]})
        wait_until(lambda: ([state.apply(record) for record in reader.read(0.1)], reader.at_end)[1], 60)
        reader.close()

    def running(self) -> set[UnitId]:
        state = StatusState()
        self.fold(Topic.STATUS, state)
        return {unit for unit, status in state.units.items() if status.state is State.RUNNING}

    def position(self) -> int:
        state = OffsetState()
        self.fold(Topic.OFFSET, state)
        return max((known.offset["position"] for known in state.of("x") if known.offset is not None), default=0)


@pytest.mark.long
def test_a_worker_whose_topics_are_deleted(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    group = unique("remade")
    patient = {"session.timeout.ms": "8000", "task.hosts": "1"}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, group, properties={**QUICK, **patient})
    topics, client, source = Topics(broker.bootstrap_servers, group), worker.client, tmp_path / "lines"
    written = 0

    def append() -> int:
        """Where the source is to be once it has read one more line."""
        nonlocal written
        with open(source, "a") as file:
            written += file.write("a line\n")
        return written

    try:
        worker.start()
        config = {"connector.class": "FileStreamSource", "file": str(source), "topic": group, "tasks.max": "1"}
        expected = append()
        client.create("x", config)
        wait_until(lambda: topics.running() == UNITS and topics.position() == expected, 240)

        topics.delete(Topic.STATUS)
        topics.delete(Topic.OFFSET)
        # Nothing more is read: the task itself stores no offset.
        wait_until(lambda: "The offset topic" in worker.log.read_text() and "The status topic" in worker.log.read_text(), 120)
        wait_until(lambda: topics.running() == UNITS and topics.position() == expected, 240)
        expected = append()
        wait_until(lambda: topics.position() == expected, 240)

        topics.delete(Topic.ASSIGNMENT)
        wait_until(lambda: "The assignment topic" in worker.log.read_text(), 120)
        expected = append()
        wait_until(lambda: topics.running() == UNITS and topics.position() == expected, 240)

        topics.delete(Topic.CONFIG)
        wait_until(lambda: f"The config topic {group}-configs was deleted and recreated" in worker.log.read_text(), 120)
        with pytest.raises(RestError, match="kconnect topics restore") as refused:
            client.create("y", config)
        assert refused.value.status == 503
        assert client.health()["status"] == "unhealthy"
        assert client.get_config("x")["file"] == str(source)
        expected = append()
        wait_until(lambda: topics.position() == expected, 240)
        # By this a worker that starts now knows that it is another one.
        led = AssignmentState()
        topics.fold(Topic.ASSIGNMENT, led)
        assert led.leader is not None
        assert led.leader.topics["offset"] == topics.id(Topic.OFFSET)
        assert led.leader.topics["config"] != topics.id(Topic.CONFIG)
    finally:
        worker.stop()


def test_who_begins_to_lead_looks_at_cleanup_policies(
    broker: Broker, unique: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    group = unique("policies")
    names = {f"{name}.storage.topic": f"{group}-{name}" for name in ("config", "offset", "status", "assignment")}
    copies = {f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status", "assignment")}
    converters = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
    given = {"bootstrap.servers": broker.bootstrap_servers, "group.id": group, **names, **copies, **converters}
    settings = WorkerSettings.from_properties(given, {})
    admin, topics, worker = Admin(clients.internal(settings, "admin")), main._internal_topics(settings), Worker(settings, {})
    admin.ensure(list(topics.values()))
    watch = TopicWatch(admin, topics)
    driver = Driver({}, lambda _: None, lambda *_: None)
    world = World(settings, admin, worker._registry, worker._sandbox, worker._feed, watch, driver)
    watch.start()
    try:
        changing = AdminClient(clients.internal(settings, "test"))
        entry = ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, f"{group}-offset", incremental_configs=[entry])
        changing.incremental_alter_configs([resource])[resource].result(60)
        # A broker answers what it knows, which may be a little late.
        wait_until(lambda: list(admin.uncompacted(topics.values())), 240)
        wait_until(lambda: world.take_lead(effects.TakeLead()), 240)
        wait_until(lambda: f"Topic '{group}-offset'" in caplog.text, 240)
        assert "'cleanup.policy=compact,delete'" in caplog.text
        assert f"Topic '{group}-config'" not in caplog.text
    finally:
        watch.close()
        worker.stop()
