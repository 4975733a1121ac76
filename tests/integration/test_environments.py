"""Several versions of plugins at once, with what each needs, on a real worker (KIP-891)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until

Names = Callable[[str], str]


def source(version: str, topic: str, **more: str) -> dict[str, Any]:
    return {"connector.class": "StampSource", "connector.plugin.version": version, "topic": topic, **more}


def values(bootstrap: str, topic: str, count: int) -> list[str]:
    """The first records of a topic's only partition."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: list[str] = []

    def read() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append((message.value() or b"").decode())
        return len(found) >= count

    try:
        wait_until(read, 120, "the records did not come")
    finally:
        consumer.close()
    return found


def hosts(worker: WorkerProcess) -> dict[int, list[str]]:
    """The directories that the running hosts import from, by process."""
    (found,) = worker.client.cluster()["workers"]
    return {host["pid"]: host["directories"] for host in found["hosts"] if host["pid"]}


def test_two_versions_of_a_connector_run_at_once_and_two_of_a_transform_in_one_chain(
    worker: WorkerProcess, broker: Broker, unique: Names, topic: str
) -> None:
    client, old, new = worker.client, unique("old"), unique("new")
    both = {
        "transforms": "first,second",
        **{"transforms.first.type": "Stamped", "transforms.first.plugin.version": "1.0"},
        **{"transforms.second.type": "Stamped", "transforms.second.plugin.version": "[2.0,)"},
    }
    client.create(old, source("1.0", f"{topic}-old", **both))
    client.create(new, source("(,3)", f"{topic}-new"))
    for name, version in ((old, "1.0"), (new, "2.0")):
        status = client.wait_for(name, "RUNNING", tasks=1, timeout=240)
        assert (status["connector"]["version"], status["tasks"][0]["version"]) == (version, version)
    bootstrap = broker.bootstrap_servers
    assert values(bootstrap, f"{topic}-old", 1) == [
        "source 1.0 with red ink 1.0.7, stamped 1.0 with red ink, stamped 2.0 with blue ink"
    ]
    assert values(bootstrap, f"{topic}-new", 1) == ["source 2.0 with blue ink 2.0.7"]
    # The old one's directories are those of its whole chain, in their order.
    used = [[place.rsplit("/", 1)[-1] for place in places] for places in hosts(worker).values()]
    assert sorted(places for places in used if "stamp" in str(places)) == [
        ["stamp-source-1.0", "stamped-1.0", "stamped-2.0"],
        ["stamp-source-2.0"],
    ]
    # Another version is a change of the config, and nothing else.
    client.put_config(old, source("2.0", f"{topic}-old"))
    assert values(bootstrap, f"{topic}-old", 2)[1] == "source 2.0 with blue ink 2.0.7"
    with pytest.raises(RestError, match="not found that matches the version range"):
        client.put_config(old, source("3.0", f"{topic}-old"))
    for name in (old, new):
        client.delete(name)
