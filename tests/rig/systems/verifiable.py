"""
Connectors whose data can be checked: each source task counts, each sink task writes down what it got, and when.

Loaded by workers as a plugin that `write_plugin` makes, so that no user's worker shows them. Every life of a task also keeps a
journal of what it does, from which `history.py` tells whether two lives of one task ever worked at a time: what runs counts,
not what a status says. Its classes use the public API only, as any plugin's. Read next: `history.py`.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type
from kconnect.api.connector import ExactlyOnceSupport, SinkConnector, SourceConnector
from kconnect.api.record import RecordMetadata, SinkRecord, SourceRecord, TopicPartition
from kconnect.api.task import SinkTask, SourceTask
from kconnect.data.schema import STRING_SCHEMA
from tests.rig.java_plugin import pack
from tests.rig.systems.plugin_packages import PluginPackage

VERSION = "1.0"
SOURCE_CLASS = "VerifiableSourceConnector"
SINK_CLASS = "VerifiableSinkConnector"
JAVA_SOURCE_CLASS, JAVA_SINK_CLASS = "rig.CheckedSource", "rig.CheckedSink"
"""The same in Java: same settings, records, offsets and journal."""
JOURNAL = "journal.jsonl"
DELIVERED = "delivered-*.jsonl"

_IDLE_S = 0.5

_DIRECTORY = ConfigKey(
    "directory", Type.STRING, importance=Importance.HIGH, doc="Where journal and deliveries go, as executors name it."
)
SOURCE = ConfigDef(
    _DIRECTORY,
    ConfigKey("topic", Type.STRING, importance=Importance.HIGH, doc="The topic; task N writes to its partition N."),
    ConfigKey("rate", Type.INT, 50, Importance.LOW, "Records a second of each task."),
    ConfigKey("poll.ms", Type.INT, 100, Importance.LOW, "How long a poll takes: it gives what is due by then."),
    ConfigKey("revision", Type.INT, 0, Importance.LOW, "Means nothing: another number is another config."),
)
SINK = ConfigDef(_DIRECTORY)


def write_plugin(directory: Path) -> Path:
    """Make a directory for `plugin.path` that holds nothing but these connectors; gives it back."""
    entries = {name: f"{__name__}:{name}" for name in (SOURCE_CLASS, SINK_CLASS)}
    PluginPackage("kconnect-verifiable", VERSION, {}, {"kconnect.connectors": entries}).unpack(directory / "verifiable")
    return directory


def write_java_plugin(directory: Path) -> Path:
    """As `write_plugin`, for those in Java, which workers of Kafka Connect can have, too."""
    listed = {
        "org.apache.kafka.connect.source.SourceConnector": [JAVA_SOURCE_CLASS],
        "org.apache.kafka.connect.sink.SinkConnector": [JAVA_SINK_CLASS],
    }
    pack(directory / f"verifiable-java-{VERSION}", Path(__file__).with_name("verifiable_java"), listed)
    return directory


class VerifiableSourceConnector(SourceConnector):
    def version(self) -> str:
        return VERSION

    def start(self, props: dict[str, str]) -> None:
        SOURCE.parse(props)
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SourceTask]:
        return VerifiableSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._props, "task": str(task)} for task in range(max_tasks)]

    def config(self) -> ConfigDef:
        return SOURCE

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


class VerifiableSinkConnector(SinkConnector):
    def version(self) -> str:
        return VERSION

    def start(self, props: dict[str, str]) -> None:
        SINK.parse(props)
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SinkTask]:
        return VerifiableSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._props, "task": str(task)} for task in range(max_tasks)]

    def config(self) -> ConfigDef:
        return SINK


class VerifiableSourceTask(SourceTask):
    """Emits `{"unit", "seqno", "life"}`, with numbers from the one after the stored offset on."""

    def version(self) -> str:
        return VERSION

    def start(self, props: dict[str, str]) -> None:
        settings = SOURCE.parse(props)
        self._topic: str = settings["topic"]
        self._task = int(props["task"])
        self._count = max(1, settings["rate"] * settings["poll.ms"] // 1000)
        self._pause = self._count / settings["rate"]
        self._partition = {"task": self._task}
        self._stopped = threading.Event()
        self._acked = 0
        stored = self.context.offsets.offset(self._partition)
        self._seqno: int = stored["seqno"] if stored else 0
        self._unit = f"{props['name']}-{self._task}"
        self._life = _Life(settings["directory"], self._unit)
        self._life.tell("started", stored=self._seqno)

    def poll(self) -> list[SourceRecord] | None:
        # Told at the entry: a process that was suspended in the wait below has not been asked for anything since.
        self._life.tell("work", acked=self._acked)
        if self._stopped.wait(self._pause):
            return None
        first, self._seqno = self._seqno + 1, self._seqno + self._count
        self._life.tell("gave", first=first, last=self._seqno)
        return [self._record(number) for number in range(first, self._seqno + 1)]

    def _record(self, number: int) -> SourceRecord:
        value = json.dumps({"unit": self._unit, "seqno": number, "life": self._life.id})
        offset = {"seqno": number}
        return SourceRecord(self._partition, offset, self._topic, self._task, None, None, STRING_SCHEMA, value)

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        assert record.source_offset is not None
        self._acked = record.source_offset["seqno"]

    def stop(self) -> None:
        self._stopped.set()
        self._life.tell("stopped", acked=self._acked)


class VerifiableSinkTask(SinkTask):
    """Appends each record to a file of this life; what a `put` has returned from survives the process."""

    def version(self) -> str:
        return VERSION

    def start(self, props: dict[str, str]) -> None:
        directory: str = SINK.parse(props)["directory"]
        unit = f"{props['name']}-{props['task']}"
        self._life = _Life(directory, unit)
        self._file = _append_to(os.path.join(directory, DELIVERED.replace("*", f"{unit}-{self._life.id}")))
        self._told_at = 0.0
        self._life.tell("started")

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self._life.tell("open", partitions=[list(partition) for partition in partitions])

    def put(self, records: list[SinkRecord]) -> None:
        now = time.monotonic()
        if records or now - self._told_at >= _IDLE_S:
            self._told_at = now
            self._life.tell("work", records=len(records))
        if records:
            lines = [
                json.dumps([record.original_topic, record.original_partition, record.original_offset, record.value, now])
                for record in records
            ]
            os.write(self._file, ("\n".join(lines) + "\n").encode())

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self._life.tell("close", partitions=[list(partition) for partition in partitions])

    def stop(self) -> None:
        self._life.tell("stopped")
        os.close(self._file)


class _Life:
    """One life of a task, in the journal that all lives on this machine share."""

    def __init__(self, directory: str, unit: str) -> None:
        self.id = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._unit = unit
        self._file = _append_to(os.path.join(directory, JOURNAL))

    def tell(self, event: str, **facts: Any) -> None:
        # The monotonic clock is the machine's, so that events of different processes can be compared.
        line = {"unit": self._unit, "life": self.id, "event": event, "at": time.monotonic(), "time": time.time(), **facts}
        os.write(self._file, json.dumps(line).encode() + b"\n")


def _append_to(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
