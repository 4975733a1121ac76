"""
Puts a snapshot's records into fresh topics: `kconnect topics restore`.

`plan` says what would be done and refuses what would go wrong; `carry_out` writes, and reads everything back. kconnect's
assignment topic is not restored: what it says of offsets in the config topic, of workers and of processes holds for the topics
that the snapshot was made of only, and a worker makes a new one. Read next: `snapshot.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.state.records import Topic
from kconnect.core.task.chain import Outgoing
from kconnect.errors import BadRequestError, ConflictError, ConnectError, ForbiddenError, NotFoundError
from kconnect.internal_topics import reading
from kconnect.internal_topics.contents import WRITERS_TIME, Contents, Stored, TopicFacts, in_time
from kconnect.kafka.cluster import Cluster, TopicShape
from kconnect.kafka.partitioner import partition_of
from kconnect.kafka.positions import Positions
from kconnect.kafka.producer import TaskProducer

Client = Mapping[str, Any]

ROLES = (Topic.OFFSET, Topic.STATUS, Topic.SCHEMAS, Topic.CONFIG)
"""What is restored, in this order: a worker that starts too early finds no connectors, rather than some without offsets."""
_WITH_ONE_PARTITION = (Topic.CONFIG, Topic.SCHEMAS)

_WRITE_S = 120.0
_STEP_S = 1.0
_NOT_COPIED = frozenset(("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"))


@dataclass(frozen=True)
class Step:
    """
    A step for one topic: `records` go to the `partitions` of `name`, each to where it was unless `moved`. `settings` None: the
    topic exists; else it is created with these and `copies`.
    """

    role: Topic
    name: str
    partitions: int
    records: list[Stored] = field(repr=False)
    moved: bool
    settings: Mapping[str, str] | None = None
    copies: int = 1

    def partition(self, record: Stored) -> int:
        if not self.moved:
            return record.partition
        # A record without a key means nothing to anybody, wherever it is.
        return partition_of(record.key, self.partitions) or 0

    def message(self, record: Stored) -> Outgoing:
        # 0 is now, for what has no time.
        at = max(record.timestamp_ms, 0)
        return (self.name, record.value, record.key, self.partition(record), None, None, at, list(record.headers))


def plan(
    snapshot: Contents,
    names: Mapping[Topic, str],
    client: Client,
    group: str,
    create: bool,
    repartition: bool,
    copies: int | None = None,
) -> list[Step]:
    """
    Return the steps for topics that are both in the snapshot and in `names`. `group` is that of the workers that are to use the
    new topics; `copies` are for topics that are created, else as many as there were.

    ConflictError if a topic has records or a worker lives, ForbiddenError without the right to see that, NotFoundError for a
    topic that is to be there already, BadRequestError if a topic is not fit for what it is to hold.
    """
    chosen = {role: names[role] for role in ROLES if role in snapshot.topics and role in names}
    if not chosen:
        raise BadRequestError("The snapshot holds none of the config, offset and status topics")
    if len(set(chosen.values())) < len(chosen):
        raise BadRequestError(f"Each topic needs a name of its own: {', '.join(chosen.values())}")
    existing = reading.describe(client, chosen, group)
    alive = existing.members
    if alive is None:
        raise ForbiddenError(
            f"You may not see whether the group {group} has live workers: give the login of a user who may describe it, with "
            "--command-config or --worker-file"
        )
    if alive:
        raise ConflictError(
            f"{len(alive)} worker{'s' if len(alive) > 1 else ''} of the group {group} live{'' if len(alive) > 1 else 's'} "
            f"({', '.join(alive)}): stop all workers, restore, and start them then"
        )
    if existing.missing and not create:
        raise NotFoundError(
            f"The topic {', '.join(existing.missing.values())} does not exist: add --create, which creates it with the "
            "settings that it had, or create it yourself, compacted"
        )
    if Topic.CONFIG in chosen:
        # What stands there holds for the config topic before: workers would wait for records that never come.
        _refuse_if_full(client, Topic.ASSIGNMENT, names.get(Topic.ASSIGNMENT) or f"{chosen[Topic.CONFIG]}-assignments")
    steps = []
    for role in chosen:
        facts = existing.topics.get(role)
        if facts is not None:
            _refuse_if_full(client, role, facts.name)
            steps.append(_into(facts, role, snapshot, repartition))
        else:
            steps.append(_new(chosen[role], role, snapshot, existing.brokers, repartition, copies))
    return steps


def _refuse_if_full(client: Client, role: Topic, name: str) -> None:
    positions = Positions(client)
    spans = positions.spans(positions.partitions([name]))
    offsets_in_use = sum(span.end - span.start for span in spans.values())
    if not offsets_in_use:
        return
    if role is Topic.ASSIGNMENT:
        raise ConflictError(
            f"The topic {name} holds what kconnect's workers agreed on while they had another config topic of that name: stop "
            "all workers and delete it; a worker creates it again"
        )
    raise ConflictError(
        f"The topic {name} holds records already ({offsets_in_use} offsets are in use), and only an empty topic can be "
        f"restored. Leave it as it is (--topic names those to restore), give another name (--to-{role.value}-topic), or "
        "delete it first"
    )


def _into(facts: TopicFacts, role: Topic, snapshot: Contents, repartition: bool) -> Step:
    records = snapshot.of(role)
    if role is Topic.CONFIG and facts.partitions != 1:
        raise BadRequestError(f"{facts.name} has {facts.partitions} partitions; a config topic must have one")
    policy = facts.setting("cleanup.policy", "compact")
    if {part.strip() for part in policy.split(",")} != {"compact"}:
        raise BadRequestError(f"{facts.name} has cleanup.policy={policy}, with which workers don't start: set it to compact")
    largest = max((record.size for record in records), default=0)
    limit = facts.setting("max.message.bytes")
    if limit.isdigit() and largest > int(limit):
        raise BadRequestError(
            f"{facts.name} accepts records of up to {limit} bytes, and the largest has about {largest}: raise its "
            "max.message.bytes"
        )
    moved = repartition or facts.partitions != snapshot.topics[role].partitions
    return Step(role, facts.name, facts.partitions, records, moved)


def _new(name: str, role: Topic, snapshot: Contents, brokers: int, repartition: bool, copies: int | None) -> Step:
    old = snapshot.topics[role]
    replicas = copies or max(old.replicas, default=1)
    if replicas > brokers:
        raise BadRequestError(
            f"{name} would need {replicas} replicas, but there {'is' if brokers == 1 else 'are'} {brokers} "
            f"broker{'' if brokers == 1 else 's'}: give --replication-factor {brokers}"
        )
    partitions = 1 if role in _WITH_ONE_PARTITION else old.partitions
    settings = {key: value for key, value in (old.settings or {}).items() if key in old.own and key not in _NOT_COPIED}
    settings["cleanup.policy"] = "compact"
    return Step(role, name, partitions, snapshot.of(role), repartition or partitions != old.partitions, settings, replicas)


def carry_out(steps: list[Step], client: Client, producer: Client) -> None:
    """ConnectError, saying what to do with what was begun, if anything goes wrong."""
    _create(steps, client)
    for step in steps:
        _write(step, producer)
    try:
        written = reading.read(client, {step.role: step.name for step in steps})
    except NotFoundError as error:
        raise ConnectError(f"{error}. {_again(steps)}") from error
    for step in steps:
        differs = difference(step, written.of(step.role))
        if differs:
            raise ConnectError(f"{step.name} differs from the snapshot: {differs}. {_again(steps)}")


def difference(step: Step, written: list[Stored]) -> str:
    """Return what is wrong with what was read back, in words; empty if it is what was to be written."""
    expected: dict[int, list[Stored]] = {}
    for record in _in_order(step):
        expected.setdefault(step.partition(record), []).append(record)
    read_back: dict[int, list[Stored]] = {}
    for record in written:
        read_back.setdefault(record.partition, []).append(record)
    for partition in range(step.partitions):
        ours, read_records = expected.get(partition, []), read_back.get(partition, [])
        if len(ours) != len(read_records):
            return f"partition {partition} has {len(read_records)} records instead of {len(ours)}"
        for ours_record, theirs_record in zip(ours, read_records):
            if (ours_record.key, ours_record.value, ours_record.headers) != (
                theirs_record.key,
                theirs_record.value,
                theirs_record.headers,
            ):
                return f"the record at offset {theirs_record.offset} of partition {partition} differs"
            # A topic may be set to have the brokers' times.
            has_writers_time = theirs_record.timestamp_type == WRITERS_TIME and ours_record.timestamp_ms > 0
            if has_writers_time and ours_record.timestamp_ms != theirs_record.timestamp_ms:
                return f"the time of the record at offset {theirs_record.offset} of partition {partition} differs"
    return ""


def _in_order(step: Step) -> Iterator[Stored]:
    """Records that come together on a partition stand there in the order of their times."""
    return in_time(step.records) if step.moved else iter(step.records)


def _create(steps: list[Step], client: Client) -> None:
    new = [TopicShape(step.name, step.partitions, step.copies, step.settings) for step in steps if step.settings is not None]
    try:
        Cluster(client).create(new)
    except ConnectError as error:
        raise ConnectError(
            f"{error}. No record was written. Create the topic yourself, or give the login of a user who may, with "
            "--command-config"
        ) from error


def _write(step: Step, client: Client) -> None:
    largest = max((record.size for record in step.records), default=0)
    settings = {"message.timeout.ms": int(_WRITE_S * 1000), "enable.idempotence": True, "acks": "all"}
    # What was in the topic may have been written by clients that take larger records than this one does by default.
    settings["message.max.bytes"] = max(1_048_576, 2 * largest)
    end = time.monotonic() + _WRITE_S + 10
    producer = TaskProducer({**client, **settings}, lambda: time.monotonic() > end)
    try:
        is_done = producer.send(map(step.message, _in_order(step)))
        # In steps: Python hears no Ctrl-C while the client waits.
        while is_done and not producer.flush(_STEP_S) and (is_done := time.monotonic() < end):
            pass
        why = "" if is_done else f"{producer.active} records were not acknowledged in time"
    except ConnectError as error:
        why = str(error)
    finally:
        producer.close(abandon=True)
    if why:
        raise ConnectError(f"{step.name} was written only in part: {why}. {_again([step])}")


def _again(steps: list[Step]) -> str:
    return f"Delete {', '.join(step.name for step in steps)}, and restore again"
