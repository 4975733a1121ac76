"""
MirrorMaker 2 on the rig: what the sources write, copied into other topics of the same cluster, record by record.

In runs with connectors in Java, made by `workload.py` and checked by `play.py`. MirrorMaker's own clients read, the worker's
write, and whatever happens in between, each partition of the copy begins as its original does. Read next: `tables.py` for the
other connectors of users.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kconnect.jvm import jars
from kconnect.jvm.maven import Coordinates
from tests.rig.machines.brokers import SERVERS, WORKER, login
from tests.rig.systems import java_plugins, recorder
from tests.rig.systems.history import Violation

NAME = "mirror"
UNITS = (f"{NAME}-0",)

_PLUGIN = Coordinates("org.apache.kafka", "connect-mirror", "4.3.1")
_ALIAS = "original"
_CAUGHT_UP_S = 180.0


def plugin_path() -> Path:
    """Return the directory in kconnect's cache with the plugin, which is fetched first if it is not there."""
    path = jars.cache_dir() / "plugins" / "mirror"
    java_plugins.keep((_PLUGIN,), path)
    return path


def config(topics: Sequence[str], authority: str, exactly_once: bool) -> dict[str, str]:
    """Return the connector's config. `authority` is the text of the certificate that vouches for the brokers."""
    bytes_converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
    cluster = {
        "bootstrap.servers": SERVERS,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": login(WORKER),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority,
    }
    return {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": "1",
        "source.cluster.alias": _ALIAS,
        "target.cluster.alias": "copy",
        **{f"{side}.cluster.{key}": value for side in ("source", "target") for key, value in cluster.items()},
        "topics": ",".join(topics),
        "source.consumer.isolation.level": "read_committed",
        "exactly.once.support": "required" if exactly_once else "requested",
        # Made beforehand with the rights of the workers' user, which may make no topics.
        "replication.factor": "3",
        "refresh.topics.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        "emit.offset-syncs.enabled": "false",
        "key.converter": bytes_converter,
        "value.converter": bytes_converter,
    }


def copy(topic: str) -> str:
    """Return the name of a topic's copy."""
    return f"{_ALIAS}.{topic}"


def violations(topics: Sequence[str], client: Mapping[str, Any], exactly_once: bool) -> list[Violation]:
    """Wait until the copies have what the originals have now, and return where they differ. `client` logs in to the brokers."""
    originals = {topic: _values(topic, client) for topic in topics}
    until = time.monotonic() + _CAUGHT_UP_S
    while True:
        found = [
            violation
            for topic, original in originals.items()
            for violation in differences(original, _values(copy(topic), client), copy(topic), exactly_once)
        ]
        if not found or time.monotonic() > until:
            return found
        time.sleep(2.0)


def differences(
    original: dict[int, list[bytes]], copied: dict[int, list[bytes]], topic: str, exactly_once: bool
) -> list[Violation]:
    """Return how a copy differs. Without exactly once it may repeat records, and must have each."""
    found = []
    for partition, values in original.items():
        copies = copied.get(partition, [])
        place = f"{topic}-{partition}"
        if missing := set(values) - set(copies):
            found.append(Violation("not-mirrored", place, f"{len(missing)} of {len(values)}, such as {min(missing)!r}"))
        elif exactly_once and (doubled := len(copies) - len(set(copies))):
            found.append(Violation("mirrored-twice", place, f"{doubled} of {len(copies)}"))
        elif exactly_once and copies[: len(values)] != values:
            found.append(Violation("mirrored-out-of-order", place, f"{len(values)} records"))
    return found


def _values(topic: str, client: Mapping[str, Any]) -> dict[int, list[bytes]]:
    values: dict[int, list[bytes]] = defaultdict(list)
    for message in recorder.read(SERVERS, topic, client):
        values[message.partition() or 0].append(message.value() or b"")
    return values
