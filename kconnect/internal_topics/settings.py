"""
Checks how Kafka keeps the internal topics: their policies, partitions, copies and limits, and whether all of each can be read.

A part of `checking.py`, which checks what stands in them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconnect.core.state.records import OWN, Topic
from kconnect.internal_topics.contents import Contents, TopicFacts
from kconnect.internal_topics.findings import Finding, Severity

_SHORT_MS = 60_000
_COPIES = 3


def check(contents: Contents) -> Iterator[Finding]:
    for role, name in contents.missing.items():
        if role in OWN:
            continue  # Connect has none.
        yield Severity.WARNING.finding(
            "topic-missing",
            role,
            f"The topic {name} does not exist; a worker creates it when it starts.",
            "If it existed before, its records are lost: first restore a snapshot with `kconnect topics restore`.",
        )
    for role, facts in contents.topics.items():
        yield from _layout(role, facts, contents.brokers)
        if facts.settings is None:
            yield Severity.WARNING.finding(
                "settings-unknown",
                role,
                f"You may not see the settings of {facts.name}, so they were not checked.",
                "Use the login of a user who may DESCRIBE_CONFIGS the topic.",
            )
        else:
            yield from _policy(role, facts)
            yield from _safety(role, facts)
            yield from _sizes(contents, role, facts)
        if facts.open_at:
            yield Severity.WARNING.finding(
                "open-transaction",
                role,
                f"A transaction is open on {facts.name}, partition {', '.join(map(str, facts.open_at))}: readers of committed "
                "records can't see what comes after its beginning, and neither can this check.",
                "The producer ends it, or the broker after the transaction's timeout. If it stays open, find it with Kafka's "
                "own tool: kafka-transactions.sh --bootstrap-server … find-hanging --topic " + facts.name,
            )


def _layout(role: Topic, facts: TopicFacts, brokers: int) -> Iterator[Finding]:
    if role in (Topic.CONFIG, Topic.ASSIGNMENT) and facts.partitions != 1:
        yield Severity.ERROR.finding(
            "partitions",
            role,
            f"{facts.name} has {facts.partitions} partitions, but must have one, to keep the order of its records: workers "
            "refuse to start.",
            "Stop the workers, `kconnect topics export` it, and restore it into a new topic with one partition."
            if role is Topic.CONFIG
            else "Stop the workers and delete the topic: a worker creates it again.",
        )
    copies = min(facts.replicas, default=0)
    if copies < min(_COPIES, brokers):
        yield Severity.WARNING.finding(
            "copies",
            role,
            f"{facts.name} has {copies} cop{'y' if copies == 1 else 'ies'} of each record on a cluster of {brokers} brokers: "
            f"without {'its broker' if copies == 1 else 'these brokers'} it is lost, or can't be written.",
            f"Raise it to {min(_COPIES, brokers)} with kafka-reassign-partitions.sh, or restore a snapshot into new topics "
            "with "
            f"--replication-factor {min(_COPIES, brokers)}.",
        )
    behind = [n for n, (all_of_them, now) in enumerate(zip(facts.replicas, facts.in_sync)) if now < all_of_them]
    if behind:
        yield Severity.WARNING.finding(
            "under-replicated",
            role,
            f"Partition {', '.join(map(str, behind))} of {facts.name} has copies that are not in sync.",
            "Check the brokers: kafka-topics.sh --bootstrap-server … --describe --under-replicated-partitions",
        )


def _alter(facts: TopicFacts, setting: str) -> str:
    return (
        f"kafka-configs.sh --bootstrap-server … --alter --entity-type topics --entity-name {facts.name} --add-config {setting}"
    )


def _policy(role: Topic, facts: TopicFacts) -> Iterator[Finding]:
    policy = facts.setting("cleanup.policy", "compact")
    if {part.strip() for part in policy.split(",")} != {"compact"}:
        lost = ""
        if "delete" in policy:
            lost = f" Records older than retention.ms={facts.setting('retention.ms', '?')} are lost."
        yield Severity.ERROR.finding(
            "cleanup-policy",
            role,
            f"{facts.name} has cleanup.policy={policy}, not compact: workers refuse to start.{lost}",
            _alter(facts, "cleanup.policy=compact"),
        )
    retention_ms = facts.setting("delete.retention.ms")
    if retention_ms.isdigit() and int(retention_ms) < _SHORT_MS:
        yield Severity.WARNING.finding(
            "delete-retention",
            role,
            f"{facts.name} keeps tombstones for {retention_ms} ms only: a worker that reads the topic meanwhile may miss a "
            "deletion.",
            _alter(facts, "delete.retention.ms=86400000"),
        )


def _safety(role: Topic, facts: TopicFacts) -> Iterator[Finding]:
    copies, minimum = min(facts.replicas, default=0), facts.setting("min.insync.replicas", "1")
    least = int(minimum) if minimum.isdigit() else 1
    if least > copies:
        yield Severity.ERROR.finding(
            "min-insync",
            role,
            f"{facts.name} has min.insync.replicas={least}, but only {copies}: brokers refuse every write of a worker.",
            _alter(facts, f"min.insync.replicas={max(1, copies - 1)}"),
        )
    elif least == copies > 1:
        yield Severity.WARNING.finding(
            "min-insync",
            role,
            f"{facts.name} needs all {copies} copies in sync (min.insync.replicas): it can't be written while one broker is "
            "down.",
            _alter(facts, f"min.insync.replicas={copies - 1}"),
        )
    elif least == 1 and copies >= _COPIES:
        yield Severity.NOTE.finding(
            "min-insync",
            role,
            f"{facts.name} has min.insync.replicas=1: a record that was acknowledged may be lost with one broker.",
            _alter(facts, "min.insync.replicas=2"),
        )
    if facts.setting("unclean.leader.election.enable") == "true":
        yield Severity.WARNING.finding(
            "unclean-election",
            role,
            f"{facts.name} allows unclean leader elections, which may lose acknowledged records.",
            _alter(facts, "unclean.leader.election.enable=false"),
        )


def _sizes(contents: Contents, role: Topic, facts: TopicFacts) -> Iterator[Finding]:
    limit = facts.setting("max.message.bytes")
    largest = max(contents.of(role), key=lambda record: record.size, default=None)
    if not limit.isdigit() or largest is None:
        return
    key = "(no key)" if largest.key is None else largest.key[:100].decode("utf-8", "backslashreplace")
    what = f"The record {key} of {facts.name} takes about {largest.size} bytes, and max.message.bytes is {limit}"
    if largest.size > int(limit):
        yield Severity.ERROR.finding(
            "max-message-bytes",
            role,
            f"{what}: it was written under another limit, and can't be written again.",
            _alter(facts, f"max.message.bytes={2 * largest.size}"),
            (key,),
        )
    elif largest.size > 0.8 * int(limit):
        yield Severity.WARNING.finding(
            "max-message-bytes",
            role,
            f"{what}: if it grows a little, it can't be written.",
            _alter(facts, f"max.message.bytes={2 * largest.size}"),
            (key,),
        )
