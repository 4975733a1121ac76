"""
MirrorMaker 2's three connectors, from a second cluster: topics with their settings, offsets of groups, heartbeats.

The other cluster's topics are made anew for each side. There are markers of transactions in them, so that offsets differ
between the clusters, and a translated offset that is right was translated. Read next: `../side.py`.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.rig.java_parity import normal
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side, delete_topics
from tests.rig.systems import recorder

MIRROR = "org.apache.kafka:connect-mirror:4.3.1"
_PACKAGE = "org.apache.kafka.connect.mirror"
Headers = list[tuple[str, str | bytes | None]] | None

_FIRST_MS = 1_700_000_000_000
_GROUPS = ("reads-all", "stays-behind")
_COPY = "src.orders"
_CHECKPOINTS = "src.checkpoints.internal"


def _config(side: Side, kind: str, **more: str) -> dict[str, str]:
    bytes_converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
    return {
        "connector.class": f"{_PACKAGE}.Mirror{kind}Connector",
        "tasks.max": "1",
        "source.cluster.alias": "src",
        "target.cluster.alias": "dst",
        "source.cluster.bootstrap.servers": side.place.origin.bootstrap_servers,
        "target.cluster.bootstrap.servers": side.bootstrap_servers,
        "topics": "orders.*",
        "groups": ".*",
        "groups.exclude": "java-parity.*",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "key.converter": bytes_converter,
        "value.converter": bytes_converter,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def _connectors(side: Side) -> dict[str, dict[str, str]]:
    seconds = {"refresh_topics_interval_seconds": "2", "sync_topic_configs_interval_seconds": "2"}
    groups = {
        "refresh_groups_interval_seconds": "1",
        "emit_checkpoints_interval_seconds": "1",
        "sync_group_offsets_enabled": "true",
        "sync_group_offsets_interval_seconds": "1",
    }
    return {
        # Each record's offset is told, so that any can be translated.
        "copies": {**_config(side, "Source", **seconds), "offset.lag.max": "0"},
        "checkpoints": _config(side, "Checkpoint", **groups),
        "heartbeats": _config(side, "Heartbeat", emit_heartbeats_interval_seconds="1"),
    }


def _make(origin: str) -> None:
    delete_topics(origin, lambda topic: not topic.startswith("__"))
    settings = {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000", "max.message.bytes": "2000000"}
    topics = [NewTopic("orders", 2, 1, config=settings), NewTopic("orders-empty", 3, 1), NewTopic("others", 1, 1)]
    # Whoever drops the client destroys the futures.
    admin = AdminClient({"bootstrap.servers": origin})
    for made in admin.create_topics(topics).values():
        made.result()


def _fill(origin: str, first: int, count: int) -> None:
    """A transaction for each ten records, with a marker at its end; some have headers, some no value."""
    producer = Producer({"bootstrap.servers": origin, "transactional.id": f"parity-{first}"})
    producer.init_transactions(60)
    for begin in range(first, first + count, 10):
        producer.begin_transaction()
        for number in range(begin, begin + 10):
            value = None if number % 7 == 3 else f"value {number} \u00e9".encode() + bytes([number % 256])
            headers: Headers = [("n", str(number).encode()), ("empty", None), ("n", b"\xff\x00")] if number % 3 == 0 else None
            producer.produce(
                "orders", value, f"key-{number % 13}".encode(), number % 2, timestamp=_FIRST_MS + number, headers=headers
            )
        producer.commit_transaction(60)


def _commit(bootstrap_servers: str, group: str, back: int = 0) -> None:
    """The group has read all of the topic, but for the last `back` offsets of each partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group})
    try:
        places = [TopicPartition("orders", number) for number in (0, 1)]
        ends = [consumer.get_watermark_offsets(place, 20)[1] for place in places]
        offsets = [TopicPartition("orders", place.partition, end - back, metadata="so far") for place, end in zip(places, ends)]
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


def _committed(bootstrap_servers: str, group: str) -> dict[str, int]:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    return {f"{each.topic}-{each.partition}": each.offset for each in asked[group].result().topic_partitions}


def _next_record(bootstrap_servers: str, group: str) -> dict[str, Any]:
    """What a reader that goes on from the group's offset gets first, of each partition; None at the end."""
    found: dict[str, Any] = {}
    for place, offset in _committed(bootstrap_servers, group).items():
        topic, _, partition = place.rpartition("-")
        records = [message for message in recorder.read(bootstrap_servers, topic) if message.partition() == int(partition)]
        after = [message for message in records if (message.offset() or 0) >= offset]
        found[partition] = repr(after[0].value()) if after else None
    return found


def _is_synced(side: Side, group: str) -> bool:
    """Whether the group has offsets in the copies, and would go on where it would in the original."""
    there = _committed(side.bootstrap_servers, group)
    if set(there) != {f"{_COPY}-0", f"{_COPY}-1"}:
        return False
    return _next_record(side.bootstrap_servers, group) == _next_record(side.place.origin.bootstrap_servers, group)


def _run(side: Side) -> Observed:
    origin = side.place.origin.bootstrap_servers
    connectors = _connectors(side)
    _make(origin)
    _fill(origin, 0, 100)
    side.start({name: connectors[name] for name in ("copies", "heartbeats")})
    side.wait_for({_COPY: 100})
    for group in _GROUPS:
        _commit(origin, group)
    side.start({"checkpoints": connectors["checkpoints"]})
    for group in _GROUPS:
        side.wait(partial(_is_synced, side, group), f"offsets of {group} translated")
    _fill(origin, 100, 60)
    side.wait_for({_COPY: 160})
    _commit(origin, "reads-all")
    side.wait(lambda: _is_synced(side, "reads-all"), "the offsets at the end translated")
    side.wait_for({"heartbeats": 2})
    side.wait(lambda: len(side.topics(_COPY)[_COPY]) > 2, "the topic's settings copied")
    observed: Observed = {f"{name}, status": side.status(name) for name in connectors}
    side.stop(*connectors)
    for group in _GROUPS:
        observed[f"{group}, offsets in the copy"] = _committed(side.bootstrap_servers, group)
        observed[f"{group}, next record"] = _next_record(side.bootstrap_servers, group)
    observed["records"] = side.records(_COPY, timestamps=True)
    observed["topics"] = side.topics(_COPY, "src.orders-empty", _CHECKPOINTS, "heartbeats")
    last = {
        bytes(each.key() or b""): bytes(each.value() or b"") for each in recorder.read(side.bootstrap_servers, _CHECKPOINTS)
    }
    observed["checkpoints"] = {key.hex(): value.hex() for key, value in sorted(last.items())}
    rule = normal.time_since(side.began, "ms")
    beats = recorder.read(side.bootstrap_servers, "heartbeats")
    observed["heartbeats"] = sorted({repr((each.key(), _beat(rule, each.value() or b""))) for each in beats})
    for name in connectors:
        observed[f"{name}, offsets"] = side.offsets(name)
        observed[f"{name}, topics used"] = sorted(side.client.topics(name))
    observed |= _altered(side)
    for name, config in connectors.items():
        observed[f"validate, {name}"] = side.validated({**config, "name": name})
        observed[f"validate, {name}, nothing but the class"] = side.validated({"connector.class": config["connector.class"]})
        observed[f"config of the plugin, {name}"] = side.plugin_config(config["connector.class"])
    observed["plugins"] = [row for row in side.client.plugins() if row["class"].startswith(_PACKAGE)]
    side.delete(*connectors)
    return observed


def _beat(rule: normal.Rule, value: bytes) -> Any:
    version, ms = struct.unpack(">hq", value)
    return version, rule(ms)


def _altered(side: Side) -> Observed:
    """What the connector itself says of offsets that are to be altered: back to a tenth record, and some that can't be."""
    partition = {"cluster": "src", "partition": 0, "topic": "orders"}
    tried: dict[str, list[dict[str, Any]]] = {
        "works": [{"partition": partition, "offset": {"offset": 10}}],
        "no number": [{"partition": partition, "offset": {"offset": "ten"}}],
        "negative": [{"partition": partition, "offset": {"offset": -1}}],
        "no cluster": [{"partition": {"partition": 0, "topic": "orders"}, "offset": {"offset": 1}}],
        "no partition": [{"partition": {**partition, "partition": "zero"}, "offset": {"offset": 1}}],
        "forgotten": [{"partition": partition, "offset": None}],
    }
    observed: Observed = {}
    for title, offsets in tried.items():
        observed[f"alter, {title}"] = side.answered(partial(side.client.alter_offsets, "copies", offsets))
        observed[f"alter, {title}: offsets"] = side.offsets("copies")
    return observed


MIRRORS = Case("mirror", (MIRROR,), _run)
