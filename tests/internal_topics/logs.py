"""Builds what internal topics hold, record by record, as Connect's workers write it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kconnect.core.state.records import Entry, Topic
from kconnect.internal_topics.contents import Contents, Stored, TopicFacts
from kconnect.kafka.partitioner import partition_of

NOW_MS = 1_800_000_000_000
SETTINGS = {
    **{"cleanup.policy": "compact", "min.insync.replicas": "1", "max.message.bytes": "1048588"},
    **{"delete.retention.ms": "86400000", "unclean.leader.election.enable": "false"},
}


class Log:
    """
    Appends to a cluster's topics: `config` has one partition, `offset` and `status` have three, as Java would place the keys.
    Each record is a millisecond younger than the one before.
    """

    def __init__(self, partitions: Mapping[Topic, int] | None = None) -> None:
        self.partitions = {**dict.fromkeys(Topic, 1), Topic.OFFSET: 3, Topic.STATUS: 3, **(partitions or {})}
        self.records: list[Stored] = []
        self.settings = {role: dict(SETTINGS) for role in Topic}
        self.replicas = dict.fromkeys(Topic, 1)
        self.members: tuple[str, ...] | None = None
        self.brokers = 1

    def put(self, topic: Topic, key: str | bytes | None, value: Any, partition: int | None = None) -> Log:
        """`value`: bytes as they are, None for a tombstone, else as JSON."""
        raw = key.encode() if isinstance(key, str) else key
        at = partition if partition is not None else partition_of(raw, self.partitions[topic]) or 0
        offset = sum(record.role is topic and record.partition == at for record in self.records)
        data = value if value is None or isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
        self.records.append(Stored(topic, at, offset, raw, data, NOW_MS + len(self.records), 1))
        return self

    def config(self, key: str, value: Any) -> Log:
        return self.put(Topic.CONFIG, key, value)

    def status(self, key: str, value: Any) -> Log:
        return self.put(Topic.STATUS, key, value)

    def offset(self, connector: str, partition: Any, value: Any) -> Log:
        return self.put(Topic.OFFSET, json.dumps([connector, partition], separators=(",", ":")), value)

    def inferred(self, connector: str, topic: str, shape: Any, task: int = 0) -> Log:
        """The values' schema, as a task of a sink says it."""
        key = json.dumps([connector, "value", topic, task], separators=(",", ":"))
        return self.put(Topic.SCHEMAS, key, {"version": 2, "at": NOW_MS, "shape": shape})

    def entry(self, entry: Entry) -> Log:
        return self.put(entry.topic, entry.key, entry.value)

    def connector(self, name: str, tasks: int = 1, /, **properties: str) -> Log:
        """One that was created, and whose tasks were made."""
        given = {"name": name, "connector.class": "FileStreamSource", **properties}
        self.config(f"connector-{name}", {"properties": given})
        for task in range(tasks):
            self.config(f"task-{name}-{task}", {"properties": {"task": str(task)}})
        return self.config(f"commit-{name}", {"tasks": tasks})

    def running(self, name: str, *tasks: int, worker: str = "n1:8083", state: str = "RUNNING") -> Log:
        body = {"state": state, "trace": None, "worker_id": worker, "generation": 4, "version": None}
        self.status(f"status-connector-{name}", body)
        for task in tasks:
            self.status(f"status-task-{name}-{task}", body)
        return self

    def contents(self, roles: Sequence[Topic] = (Topic.CONFIG, Topic.OFFSET, Topic.STATUS)) -> Contents:
        records = sorted(self.records, key=lambda record: (record.role.value, record.partition, record.offset))
        topics = {role: self._facts(role) for role in roles}
        return Contents(topics, records, brokers=self.brokers, group="connect", members=self.members)

    def _facts(self, role: Topic) -> TopicFacts:
        count, copies = self.partitions[role], self.replicas[role]
        own_records = [record for record in self.records if record.role is role]
        ends = {number: sum(record.partition == number for record in own_records) for number in range(count)}
        own = frozenset(("cleanup.policy",))
        return TopicFacts(f"connect-{role.value}", (copies,) * count, (copies,) * count, self.settings[role], own, ends)
