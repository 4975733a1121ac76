"""
Where a source's record goes, checked before a message is made of it: topic, partition and timestamp, as ProducerRecord does.

What the client's library means by such values is something else: -1 is the partitioner's choice, 0 the present time. Called by
`chain.py` for every record; `jvm/shim/Out.java` does the same for Java's. Read next: `chain.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from kconnect.core.task.batch import Batch
from kconnect.errors import DataError

log = logging.getLogger(__name__)

LATEST_MS = 2**63 - 1
"""What a timestamp in Kafka has room for."""
_LAST_PARTITION = 2**31 - 1
_NONE = -1
"""Kafka's own sign for "no timestamp", which Connect takes for none."""
_told = False


def named(topic: Any) -> str:
    """The topic. DataError if it is none; whether its name may be one, the producer says."""
    if not isinstance(topic, str) or not topic:
        raise DataError(
            f"The topic of a source record is {topic!r}: it must be a text that is not empty (Topic cannot be null)"
        )
    return topic


def at_place(partition: Any) -> int:
    """The partition. DataError for what is none."""
    if partition.__class__ is int and 0 <= partition <= _LAST_PARTITION:
        return partition
    raise DataError(
        f"The partition of a source record is {partition!r}: it must be a whole number from 0 to {_LAST_PARTITION}, or None"
    )


def at_time(timestamp: Any) -> int:
    """
    The timestamp, in milliseconds since 1970, as the client takes it: 0 for none. DataError for what is none.

    The first millisecond of 1970 becomes the second: the client has no other way to say it (librdkafka 2.16), and the present
    time would be wrong by decades. It is said once in the log.
    """
    if timestamp is None:
        return 0
    if timestamp.__class__ is int:
        if 0 < timestamp <= LATEST_MS:
            return timestamp
        if timestamp == 0:
            return _first_millisecond()
        if timestamp == _NONE:
            return 0
    raise DataError(
        f"Invalid record timestamp {timestamp!r}: it must be a whole number of milliseconds since 1970, or None for the time "
        "at which the record is sent"
    )


def of_record(timestamp: int | None) -> int:
    """
    Return the timestamp of a record that was read from Kafka, as the client takes it: 0 for none, and for one before 1970.
    Brokers take such a time from whoever writes a batch, and no client sends it.
    """
    return at_time(None if timestamp is not None and timestamp < 0 else timestamp)


def columns(batch: Batch) -> tuple[Sequence[int], Sequence[int]]:
    """The partitions and the timestamps of a batch, as the client takes them. Mostly all are alike, which is quickly seen."""
    partitions, timestamps = batch.every("partition"), batch.every("timestamp")
    if partitions.count(None) == len(partitions):
        partitions = [-1] * len(partitions)
    else:
        partitions = [-1 if partition is None else at_place(partition) for partition in partitions]
    if timestamps.count(None) == len(timestamps):
        timestamps = [0] * len(timestamps)
    elif set(map(type, timestamps)) != {int} or min(timestamps) < 1 or max(timestamps) > LATEST_MS:
        timestamps = [at_time(timestamp) for timestamp in timestamps]
    return partitions, timestamps


def _first_millisecond() -> int:
    global _told
    if not _told:
        _told = True
        log.warning(
            "A source record has the timestamp 0 (1970-01-01T00:00:00.000Z). It is sent as 1, which is a millisecond later: "
            "Kafka's client takes 0 for none. The same goes for others like it (logged once)"
        )
    return 1
