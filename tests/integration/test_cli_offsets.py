"""`kconnect offsets` against real workers, kconnect's and Kafka Connect's: a sink reads what it should, no more and no less."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.cli.offsets.entries import sink_entry, sink_offsets
from kconnect.kafka.positions import Place
from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, RestError
from tests.cli.calls import Called, call
from tests.support import wait_until

Names = Callable[[str], str]

BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
STRINGS = {f"{part}.converter": "org.apache.kafka.connect.storage.StringConverter" for part in ("key", "value")}


def filled(servers: str, topic: str) -> None:
    """Records `0` to `9`, one a second from `BEGIN` on, the even ones in partition 0 and the odd ones in partition 1."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "-1"})])[topic].result()
    for number in range(10):
        sent(servers, topic, number)


def sent(servers: str, topic: str, number: int) -> None:
    producer = ck.Producer({"bootstrap.servers": servers})
    at = int(BEGIN.timestamp() * 1000) + number * 1000
    producer.produce(topic, str(number).encode(), partition=number % 2, timestamp=at)
    assert producer.flush(60) == 0


@pytest.mark.timeout(600)
def test_a_sink_is_moved_compared_saved_and_restored(cluster_url: str, broker: Broker, unique: Names, tmp_path: Path) -> None:
    servers, topic, name = broker.bootstrap_servers, unique("topic"), unique("offsets")
    out, saved = tmp_path / "out", tmp_path / "offsets.yaml"
    filled(servers, topic)

    def offsets(*arguments: str) -> Called:
        env = {"KCONNECT_URL": cluster_url}
        return call("offsets", *arguments, env=env)

    def rewind(*arguments: str) -> Called:
        return offsets("rewind", name, *arguments, "--bootstrap-server", servers, "--yes")

    def table(called: Called) -> list[list[str]]:
        assert called.status == 0, called
        return [line.split() for line in called.out.splitlines()[1:]]

    def written() -> list[int]:
        return sorted(map(int, out.read_text().split())) if out.exists() else []

    with ConnectClient(cluster_url, patience=60) as client:
        kind = "org.apache.kafka.connect.file.FileStreamSinkConnector"
        client.create(name, {"connector.class": kind, "file": str(out), "topics": topic, **STRINGS})
        try:
            # The worker may just have begun to start.
            client.wait_for(name, tasks=1, timeout=300)

            def committed(*ends: int) -> bool:
                try:
                    return sink_offsets(client.offsets(name)) == {Place(topic, n): end for n, end in enumerate(ends)}
                except RestError:
                    return False

            wait_until(lambda: committed(5, 5))
            assert written() == list(range(10))
            shown = offsets("get", name, "--bootstrap-server", servers)
            assert table(shown) == [[name, topic, "0", "5", "5", "0"], [name, topic, "1", "5", "5", "0"]]
            saved.write_text(offsets("export", name).out)

            # Half a second after record 4: 6 and 8 of partition 0, and 5, 7 and 9 of partition 1 come again.
            assert rewind("--to-time", "2026-01-01T00:00:04.5Z").status == 6
            moved = rewind("--to-time", "2026-01-01T00:00:04.5Z", "--stop")
            assert table(moved) == [[topic, "0", "5", "3", "2", "0"], [topic, "1", "5", "2", "3", "0"]]
            assert "At most 5 record(s) are read again" in moved.err
            wait_until(lambda: committed(5, 5) and len(written()) == 15)
            assert written() == sorted([*range(10), *range(5, 10)])
            assert client.status(name)["connector"]["state"] == "RUNNING"

            # None of these would move it: behind the last record is the end, and there is nothing else.
            for where in (("--to-time", "-1s"), ("--to-latest",)):
                still = [[topic, number, "5", "5", "0", "0"] for number in ("0", "1")]
                assert table(rewind(*where, "--dry-run")) == still
            assert table(rewind("--by", "99", "--topic", f"{topic}/1", "--dry-run")) == [[topic, "1", "5", "0", "5", "0"]]
            assert rewind("--to-earliest", "--topic", f"{topic}/2", "--dry-run").status == 4

            client.stop(name)
            client.wait_for(name, "STOPPED", tasks=0, timeout=120)
            assert offsets("set", name, f"{topic}/0=1", f"{topic}/1=null").status == 0
            assert client.offsets(name) == [sink_entry(Place(topic, 0), 1)]
            differs = offsets("diff", name, str(saved))
            assert (differs.status, len(differs.out.splitlines())) == (2, 3)
            assert offsets("set", name, f"{topic}/7=1").status == 1
            assert offsets("reset", name, "--yes").status == 0
            assert client.offsets(name) == []
            assert offsets("import", str(saved), "--yes").status == 0
            assert offsets("diff", name, str(saved)).status == 0
            client.resume(name)
            for number in (10, 11):
                sent(servers, topic, number)
            wait_until(lambda: committed(6, 6))
            assert written() == sorted([*range(12), *range(5, 10)])
        finally:
            client.delete(name)


@pytest.mark.timeout(600)
def test_a_source_is_saved_and_restored(cluster_url: str, broker: Broker, unique: Names, tmp_path: Path) -> None:
    name, path, saved = unique("offsets"), tmp_path / "in", tmp_path / "offsets.json"
    path.write_text("one\ntwo\n")

    def offsets(*arguments: str) -> Called:
        return call("offsets", *arguments, env={"KCONNECT_URL": cluster_url})

    at = {"partition": {"filename": str(path)}, "offset": {"position": 8}}
    with ConnectClient(cluster_url, patience=60) as client:
        kind = "org.apache.kafka.connect.file.FileStreamSourceConnector"
        client.create(name, {"connector.class": kind, "file": str(path), "topic": name, **STRINGS})
        try:
            client.wait_for(name, tasks=1, timeout=300)

            def restored() -> bool:
                try:
                    return client.offsets(name) == [at]
                except RestError:
                    return False

            wait_until(restored)
            saved.write_text(offsets("export", name, "-o", "json").out)
            assert offsets("reset", name, "--stop", "--yes").status == 0
            wait_until(restored)
            client.stop(name)
            client.wait_for(name, "STOPPED", tasks=0, timeout=120)
            refused = offsets("set", name, "--partition", f'{{"filename": "{path}"}}', "--offset", '{"position": "x"}')
            assert (refused.status, "is expected to be a Long value" in refused.err) == (1, True)
            assert offsets("set", name, "--partition", f'{{"filename": "{path}"}}', "--offset", "null").status == 0
            assert offsets("diff", name, str(saved)).status == 2
            assert offsets("import", str(saved), "--yes").status == 0
            assert client.offsets(name) == [at]
        finally:
            client.delete(name)
