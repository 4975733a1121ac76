"""
Checks that each key is on the partition where Java's clients put it, and there alone. A part of `checking.py`.

Workers read all partitions, so a key that is elsewhere is found. But the next record of that key goes to its proper partition,
compaction then keeps both, and nobody can tell which one is newer.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconnect.core.state.offsets import identity
from kconnect.core.state.records import Broken, SourceOffset, Topic
from kconnect.internal_topics.contents import Contents, Stored, compacted, decode
from kconnect.internal_topics.findings import Finding, Severity
from kconnect.kafka.partitioner import partition_of


def check(contents: Contents) -> Iterator[Finding]:
    for role, facts in contents.topics.items():
        remaining = compacted(contents.of(role))
        if facts.partitions > 1:
            yield from _partitions(role, facts.name, facts.partitions, remaining)
        if role is Topic.OFFSET:
            yield from _same_partition(remaining)


def _partitions(role: Topic, name: str, partitions: int, remaining: list[Stored]) -> Iterator[Finding]:
    at: dict[bytes, set[int]] = {}
    for record in remaining:
        if record.key is not None:
            at.setdefault(record.key, set()).add(record.partition)
    remedy = "Stop the workers, `kconnect topics export` all, and `kconnect topics restore --repartition` it into new topics."
    twice = [key for key, where in at.items() if len(where) > 1]
    yield from Severity.ERROR.about(
        "key-on-several-partitions",
        role,
        map(_text, twice),
        f"{name} has records with the same key in several partitions, so workers can't tell which one is newer: {{names}}.",
        remedy,
    )
    astray = [key for key, where in at.items() if len(where) == 1 and where != {partition_of(key, partitions)}]
    yield from Severity.WARNING.about(
        "key-on-other-partition",
        role,
        map(_text, astray),
        f"{name} has {len(astray)} key<|s> in another partition than Java's clients would choose: {{names}}. The next write "
        "goes to the other partition, and then workers can't tell which record is newer. Either the number of partitions was "
        "raised, or somebody writes with another partitioner.",
        remedy,
    )


def _same_partition(remaining: list[Stored]) -> Iterator[Finding]:
    keys: dict[tuple[str, bytes], set[bytes]] = {}
    for record in remaining:
        decoded = decode(record.log)
        if not isinstance(decoded, Broken) and isinstance(decoded, SourceOffset):
            keys.setdefault((decoded.connector, identity(decoded.partition)), set()).add(decoded.key)
    for (connector, partition), variants in keys.items():
        if len(variants) > 1:
            yield Severity.WARNING.finding(
                "offset-keys-differ",
                Topic.OFFSET,
                f"An offset of {connector} is stored under {len(variants)} keys that differ only in the order of their fields: "
                f"{partition.decode('utf-8', 'replace')}. Kafka Connect's workers treat them as different partitions, so one "
                "of the offsets is old.",
                "Find the newer one with `kconnect topics dump`, and write a tombstone for the other key.",
                (connector,),
            )


def _text(key: bytes) -> str:
    return key[:100].decode("utf-8", "backslashreplace")
