"""
Reads the topics of a run while it goes on, writes to them, and has them compacted.

What is read counts once and in order, committed records only. Called by `flows.py`, `rows/` and `run.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from kconnect.core.state.records import Entry
from tests.rig.systems import recorder

_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
    "delete.retention.ms": "100",
}

_CLEANER = "log.cleaner.backoff.ms"


class Topics:
    """A context. `config` and `status` are the names of the group's topics."""

    def __init__(self, bootstrap_servers: str, group: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.config, self.status, self.offsets = f"{group}-configs", f"{group}-status", f"{group}-offsets"
        # Silent: the broker may end before they do.
        common: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._admin = AdminClient(common)
        self._producer = Producer({**common, "partitioner": "murmur2_random", "linger.ms": 0})
        settings = {
            **common,
            "group.id": f"{group}-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
        }
        self._consumer = Consumer(settings)
        self._lines: dict[str, list[str]] = {}

    def __enter__(self) -> Topics:
        """The cleaner looks more often than every 15 s, and the config topic is made so that it has something to do."""
        self._alter_broker({_CLEANER: "200"})
        self.make(self.config, _COMPACTED)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._consumer.close()
        self._alter_broker({_CLEANER: None})

    def make(self, name: str, settings: dict[str, str] | None = None) -> None:
        # A client that has asked for a topic that is not there goes on saying so for a while: so it is made first.
        self._admin.create_topics([NewTopic(name, 1, 1, config=settings or {})])[name].result(120)

    # --- data ---

    def follow(self, name: str) -> None:
        """Make a topic whose lines `lines` gives."""
        self.make(name)
        self._lines[name] = []
        self._consumer.incremental_assign([TopicPartition(name, 0, 0)])

    def lines(self, name: str) -> list[str]:
        return self._lines[name]

    def poll(self) -> None:
        """Take what has come."""
        if not self._lines:
            return
        while messages := self._consumer.consume(1000, 0.05):
            for message in messages:
                if message.error() is None:
                    self._lines[str(message.topic())].append((message.value() or b"").decode())

    def send(self, name: str, lines: Iterable[str]) -> None:
        for line in lines:
            self._producer.produce(name, line.encode())
        self._producer.flush(30)

    # --- internal topics ---

    def records(self, name: str) -> list[Message]:
        return list(recorder.read(self.bootstrap_servers, name))

    def last(self, name: str) -> dict[str, bytes | None]:
        """The last value of each key."""
        return {(message.key() or b"").decode(): message.value() for message in self.records(name)}

    def write(self, name: str, *entries: Entry) -> None:
        for entry in entries:
            self._producer.produce(name, key=entry.key, value=entry.value)
        self._producer.flush(30)

    # --- the broker ---

    def _alter_broker(self, settings: dict[str, str | None]) -> None:
        entries = [
            ConfigEntry(
                name,
                value or "",
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=entries)
        self._admin.incremental_alter_configs([resource])[resource].result(120)
