"""Which partition a key is on. Called by `internal_topics/placing.py` and `cli/topics/restoring.py`."""

from __future__ import annotations

from confluent_kafka import murmur2


def partition_of(key: bytes | None, partitions: int) -> int | None:
    """Return the partition where Java's default partitioner puts a key; None if that may be any."""
    return None if key is None else int(murmur2(key, partitions))
