"""
Collects a `history.History` from what a cluster left behind: topics, journals, delivered records. Read next: `history.py`.

What is checked against something is read before it: a stored offset before the records that it covers, for example, so that a
cluster may go on working while it is read.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka as ck

from kconnect.core.state import assignment_records, records
from kconnect.core.state.records import LogRecord, SourceOffset, Topic
from tests.rig.systems import verifiable
from tests.rig.systems.history import Delivered, Emitted, Event, History, Place, Stored


def collect(
    bootstrap_servers: str,
    directory: Path,
    internal: Mapping[Topic, str],
    topics: list[str],
    sunk: list[str],
    exactly_once: bool = False,
    login: Mapping[str, Any] | None = None,
) -> History:
    """
    What `verifiable.py` did in `topics`, of which `sunk` are read by sinks. Sightings and commits are for others to add.
    `login` is added to the settings of consumers.
    """
    history = History(sunk=frozenset(sunk))
    history.stored = list(_stored(bootstrap_servers, internal[Topic.OFFSET], login))
    for message in read(bootstrap_servers, internal[Topic.ASSIGNMENT], login):
        decoded = assignment_records.decode_assignment(_record(Topic.ASSIGNMENT, message))
        if not isinstance(decoded, (records.Broken, assignment_records.NewerFormat)):
            history.control.append(decoded)
    # In this order: a life says that it was given a partition before it says what it got from there.
    history.delivered = list(delivered(directory))
    history.events = list(Tail(directory / verifiable.JOURNAL).read())
    for topic in topics:
        for message in read(bootstrap_servers, topic, login):
            value = json.loads(message.value() or b"null")
            place = (topic, message.partition() or 0)
            made = (value["unit"], value["seqno"], value["life"])
            history.emitted.append(Emitted(place, message.offset() or 0, message.timestamp()[1], *made))
    if exactly_once:
        history.stored_after = list(_stored(bootstrap_servers, internal[Topic.OFFSET], login))
    return history


def _stored(bootstrap_servers: str, topic: str, login: Mapping[str, Any] | None) -> Iterator[Stored]:
    for message in read(bootstrap_servers, topic, login):
        stored = records.decode_offset(_record(Topic.OFFSET, message))
        # Others than `verifiable.py`'s may be there, too.
        if isinstance(stored, SourceOffset) and stored.offset is not None and "task" in stored.partition:
            unit = f"{stored.connector}-{stored.partition['task']}"
            yield Stored(unit, stored.offset["seqno"], message.timestamp()[1])


class Tail:
    """The events of a journal, each once, while lives go on writing to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def read(self) -> Iterator[Event]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                yield _event(json.loads(line))


def read(bootstrap_servers: str, topic: str, login: Mapping[str, Any] | None = None) -> Iterator[ck.Message]:
    """Every committed record of a topic, in the order of each partition."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "kconnect-recorder",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
            **(login or {}),
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=120).topics[topic].partitions
        consumer.assign([ck.TopicPartition(topic, number, ck.OFFSET_BEGINNING) for number in partitions])
        unread = set(partitions)
        while unread:
            message = consumer.poll(120)
            error = None if message is None else message.error()
            if message is None:
                raise TimeoutError(f"The topic {topic} could not be read to its end: {len(unread)} partitions gave nothing")
            if error is None:
                yield message
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
    finally:
        consumer.close()


def _record(topic: Topic, message: ck.Message) -> LogRecord:
    return LogRecord(topic, message.partition() or 0, message.offset() or 0, message.key(), message.value())


def _event(line: dict[str, Any]) -> Event:
    facts = {name: line[name] for name in ("stored", "acked", "first", "last", "records") if name in line}
    places: tuple[Place, ...] = tuple((topic, partition) for topic, partition in line.get("partitions", ()))
    return Event(line["unit"], line["life"], line["event"], line["at"], int(line["time"] * 1000), places=places, **facts)


def delivered(directory: Path) -> Iterator[Delivered]:
    """What all lives of all sink tasks wrote down, life by life."""
    before, _, after = verifiable.DELIVERED.partition("*")
    for path in sorted(glob.glob(str(directory / verifiable.DELIVERED))):
        name = os.path.basename(path)[len(before) : -len(after)]
        unit, _, life = name.rpartition("-")
        unit, _, pid = unit.rpartition("-")
        for line in Path(path).read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break  # Torn by kill -9, so that nobody was told of it.
            topic, partition, offset, text, at = json.loads(line)
            value = json.loads(text)
            made = (value["unit"], value["seqno"], value["life"])
            yield Delivered(unit, f"{pid}-{life}", (topic, partition), offset, at, made)
