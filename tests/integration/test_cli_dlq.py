"""`kconnect dlq` on the queue of a real sink, of kconnect and of Apache Kafka Connect: the letters of both are read alike."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kconnect.cli.dlq.letters import LETTER, REPLAYS, moment
from kconnect.rest.client import ConnectClient, RestError
from tests.cli.calls import Called, call
from tests.integration import units

_LIMIT_S = 240.0
JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"


def until(done: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + _LIMIT_S
    while not done():
        assert time.monotonic() < end, f"{what}: not within {_LIMIT_S:.0f} s"
        time.sleep(0.1)


class Sink:
    """A file sink of a worker, with a queue, and a topic of two partitions with two good and three bad records."""

    def __init__(self, client: ConnectClient, bootstrap: str, topic: str, directory: Path, headers: str = "true") -> None:
        self.client, self.bootstrap, self.topic, self.queue = client, bootstrap, topic, f"{topic}-dead"
        self.name, self.file = f"sink-{topic}", directory / "out.txt"
        self._headers = headers
        # Long ago, but not so long that brokers delete it.
        self.at = int(time.time() * 1000) - 3_600_000

    def start(self) -> None:
        units.create(self.bootstrap, self.topic, partitions=2)
        # A topic of the connector's name must not be taken for its queue.
        units.create(self.bootstrap, self.name)
        producer = ck.Producer({"bootstrap.servers": self.bootstrap})
        for number, value in enumerate((b"1", b"bad-a", b"2", b"bad-b", b"\xff\x00")):
            headers = [("trace", f"t{number}")]
            producer.produce(self.topic, value, f"k{number}", number % 2, timestamp=self.at + number, headers=[*headers])
        assert producer.flush(_LIMIT_S) == 0
        config = {
            "connector.class": "FileStreamSink",
            "topics": self.topic,
            "file": str(self.file),
            "key.converter": TEXT,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
            "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": self.queue,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": self._headers,
        }
        self._persistently(lambda: self.client.put_config(self.name, config))
        until(lambda: sum(end for _, end in self.ends(self.queue)) == 3, "three letters")

    def mend(self) -> None:
        """It takes any text from now on, and no task is left that does not."""
        self._persistently(lambda: self.client.stop(self.name))
        self.client.wait_for(self.name, "STOPPED", tasks=0, timeout=_LIMIT_S)
        self._persistently(lambda: self.client.patch_config(self.name, {"value.converter": TEXT}))
        self._persistently(lambda: self.client.resume(self.name))
        self.client.wait_for(self.name, "RUNNING", tasks=1, timeout=_LIMIT_S)

    def delete(self) -> None:
        self._persistently(lambda: self.client.delete(self.name), gone=True)

    def ends(self, topic: str) -> list[tuple[int, int]]:
        consumer = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": "ends"})
        try:
            found = consumer.list_topics(timeout=_LIMIT_S).topics
            places = [] if topic not in found else sorted(found[topic].partitions)
            return [consumer.get_watermark_offsets(ck.TopicPartition(topic, place), timeout=_LIMIT_S) for place in places]
        except ck.KafkaException:
            return []  # While a topic is made, its partitions have no leaders.
        finally:
            consumer.close()

    def limit_messages(self, size: int | None) -> None:
        """How many bytes a record of the topic may have, from when this returns; None: as many as anywhere."""
        how, text = (AlterConfigOpType.DELETE, None) if size is None else (AlterConfigOpType.SET, str(size))
        changed = ConfigEntry("max.message.bytes", text, incremental_operation=how)
        resource = ConfigResource(ResourceType.TOPIC, self.topic, incremental_configs=[changed])
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.incremental_alter_configs([resource])[resource].result(_LIMIT_S)
        wanted = 1_048_588 if size is None else size
        until(
            lambda: admin.describe_configs([resource])[resource].result(_LIMIT_S)["max.message.bytes"].value == str(wanted),
            "the limit of a message",
        )

    def lines(self) -> list[bytes]:
        return self.file.read_bytes().splitlines() if self.file.exists() else []

    def kconnect(self, *arguments: str) -> Called:
        return call("dlq", *arguments, "--url", self.client.url, "--bootstrap-server", self.bootstrap)

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        done = self.kconnect(*arguments, "-o", "json")
        assert done.status == 0, done.err
        found: list[dict[str, Any]] = json.loads(done.out)
        return found

    @staticmethod
    def _persistently(ask: Callable[[], object], gone: bool = False) -> None:
        """Workers that are just rebalancing say 409. `gone`: what is not there any more has been deleted."""
        end = time.monotonic() + _LIMIT_S
        while True:
            try:
                ask()
                return
            except RestError as error:
                if error.status == 404 and gone:
                    return
                if error.status not in (None, 409, 500, 503) or time.monotonic() > end:
                    raise
                time.sleep(0.3)


@pytest.fixture
def sink(cluster_url: str, bootstrap: str, topic: str, tmp_path: Path) -> Iterator[Sink]:
    with ConnectClient(cluster_url) as client:
        made = Sink(client, bootstrap, topic, tmp_path)
        made.start()
        yield made
        made.delete()


def test_letters_are_listed_shown_replayed_once_and_dropped(sink: Sink) -> None:
    (queue,) = [each for each in sink.json("list") if each["queue"] == sink.queue]
    assert (queue["connectors"], queue["letters"], queue["headers"]) == ([sink.name], 3, True)
    assert queue["causes"] == {"VALUE_CONVERTER DataException": 3}
    assert (queue["first"], queue["last"]) == (moment(sink.at + 1), moment(sink.at + 4))

    letters = {each["key"]: each for each in sink.json("show", sink.queue)}
    bad = letters["k1"]
    assert (bad["topic"], bad["original_partition"], bad["original_offset"]) == (sink.topic, 1, 0)
    assert (bad["connector"], bad["task"], bad["stage"], bad["value"]) == (sink.name, 0, "VALUE_CONVERTER", "bad-a")
    assert (bad["class"], bad["exception"]) == (JSON, "org.apache.kafka.connect.errors.DataException")
    assert "serialization error" in bad["message"] and bad["cause"] and bad["stacktrace"]
    assert (bad["headers"], bad["replays"], bad["replayed"]) == ([{"name": "trace", "value": "t1"}], 0, False)
    assert (letters["k4"]["value"], letters["k4"]["value_bytes"]) == (None, "/wA=")
    chosen = sink.json("show", sink.name, "--partition", "1", "--contains", "bad", "--oldest")
    assert [each["key"] for each in chosen] == ["k1", "k3"]
    assert sink.json("show", sink.queue, "--stage", "TRANSFORMATION") == []
    shown = sink.kconnect("show", sink.name, "--contains", "bad-a")
    assert f"from         {sink.topic}-1@0" in shown.out and "value        bad-a  (5 bytes)" in shown.out

    still = sink.kconnect("replay", sink.queue, "--through-chain", "--yes")
    assert (still.status, still.out.count("still fails at VALUE_CONVERTER: DataException")) == (1, 3)
    assert sum(end for _, end in sink.ends(sink.topic)) == 5, "what would fail again is not written"

    sink.mend()
    dry = sink.json("replay", sink.queue, "--through-chain", "--dry-run")
    assert [(each["to"], each["left"]) for each in dry] == [(sink.topic, None)] * 3
    assert sum(end for _, end in sink.ends(sink.topic)) == 5
    refused = sink.kconnect("replay", sink.queue)
    assert (refused.status, "no terminal to ask" in refused.err) == (2, True)

    # More than the end of a transaction takes: brokers that could not write that would never be through with it.
    sink.limit_messages(100)
    too_large = sink.kconnect("replay", sink.queue, "--yes")
    assert (too_large.status, "so nothing of this batch of 3 was replayed: " in too_large.err) == (1, True), too_large.err
    assert f"to {sink.topic}-" in too_large.err and "leave the letter out with --offset" in too_large.err
    assert not any(each["replayed"] for each in sink.json("show", sink.queue))
    sink.limit_messages(None)

    # The second one in the queue goes first: what is beyond the first gap is remembered, too.
    one = sink.kconnect("replay", sink.queue, "--offset", "1", "--yes")
    assert (one.status, one.err.splitlines()[1]) == (0, "Replayed 1 letter")

    def replayed() -> list[bool]:
        return [each["replayed"] for each in sink.json("show", sink.queue)]

    # Brokers end a transaction a moment after they have said that it is committed.
    until(lambda: any(replayed()), "the note of what was replayed")
    assert replayed() == [False, True, False]
    rest = sink.kconnect("replay", sink.queue, "--through-chain", "--yes")
    assert (rest.status, rest.err.splitlines()[1]) == (0, "Replayed 2 letters")
    until(lambda: all(replayed()), "the note of all")
    again = sink.kconnect("replay", sink.queue, "--yes")
    assert (again.status, "3 replayed before" in again.err, again.out) == (0, True, "")

    until(lambda: len(sink.lines()) >= 5, "five lines in the file")
    until(lambda: len(units.read_all(sink.bootstrap, sink.topic)) >= 8, "all that was replayed")
    found = units.read_all(sink.bootstrap, sink.topic)
    again_there = {message.key(): message for message in found if dict(message.headers() or ()).get(REPLAYS)}
    assert (len(found), sorted(key or b"" for key in again_there)) == (8, [b"k1", b"k3", b"k4"])
    back = again_there[b"k1"]
    assert (back.partition(), back.value(), back.timestamp()[1]) == (1, b"bad-a", sink.at + 1)
    assert list(dict(back.headers() or ())) == ["trace", REPLAYS, LETTER]
    assert again_there[b"k4"].value() == b"\xff\x00"
    assert sorted(line for line in sink.lines() if line.startswith(b"bad")) == [b"bad-a", b"bad-b"]

    scattered = sink.kconnect("drop", sink.queue, "--contains", "no such", "--yes")
    assert (scattered.status, "nothing to delete" in scattered.err) == (0, True)
    middle = sink.kconnect("drop", sink.queue, "--offset", "1:", "--yes")
    assert (middle.status, "only from the beginning" in middle.err) == (6, True)
    topic = sink.kconnect("drop", sink.topic, "--all", "--yes")
    assert (topic.status, "dead letter queue" in topic.err) == (6, True)
    dropped = sink.kconnect("drop", sink.queue, "--replayed", "--yes")
    assert (dropped.status, dropped.out) == (0, f"Deleted 3 letters: {sink.queue}-0 up to offset 2\n")
    assert sink.json("show", sink.queue) == []


def test_what_a_change_makes_come_out_otherwise(sink: Sink, tmp_path: Path) -> None:
    changes = tmp_path / "changes.yaml"
    changes.write_text(f"value.converter: {TEXT}\nvalue.converter.schemas.enable: null\n")
    asked = ("--url", sink.client.url, "--against", sink.name)
    kafka = ("--topic", sink.topic, "--partition", "1", "--bootstrap-server", sink.bootstrap)
    now = call("preview", *asked, *kafka)
    assert (now.status, now.out.splitlines()[-1]) == (0, "2 records: 2 skipped")
    then = call("preview", *asked, *kafka, "-f", str(changes))
    assert (then.status, then.out.splitlines()[-1]) == (1, "2 records: 2 differ, 0 unchanged")
    assert then.out.count("~ record  skipped at VALUE_CONVERTER: DataException") == 2
    changes.write_text("tasks.max: 2\n")
    same = call("preview", *asked, *kafka, "-f", str(changes))
    assert (same.status, same.out) == (0, "2 records: all are unchanged\n")
    cases = tmp_path / "cases.yaml"
    cases.write_text(f"- {{name: good, in: {{topic: {sink.topic}, value_text: '7'}}, expect: {{out: {{value: 7}}}}}}\n")
    tried = call("test", str(cases), *asked)
    assert (tried.status, tried.out.splitlines()[-1]) == (0, "1 case: 1 passed, 0 failed"), tried.err


def test_letters_without_headers(worker: Any, bootstrap: str, topic: str, tmp_path: Path) -> None:
    with ConnectClient(worker.url) as client:
        sink = Sink(client, bootstrap, topic, tmp_path, headers="false")
        sink.start()
        try:
            assert "Letters of these connectors do not say why they failed" in sink.kconnect("list").err
            assert "unknown: it does not have" in sink.kconnect("show", sink.queue, "-n", "1").out
            assert sink.json("show", sink.queue, "--topic", "*") == []
            left = sink.kconnect("replay", sink.queue, "--yes")
            assert (left.status, left.out.count("do not name the topic that it came from: give --to-topic")) == (0, 3)
            # Only one connector writes there, and it reads one topic: its chain can be tried.
            sink.mend()
            done = sink.kconnect("replay", sink.queue, "--through-chain", "--to-topic", sink.topic, "--yes")
            assert (done.status, done.err.splitlines()[1]) == (0, "Replayed 3 letters"), done.err
            until(lambda: len(sink.lines()) >= 5, "five lines in the file")
            assert sink.kconnect("drop", sink.queue, "--all", "--yes").status == 0
        finally:
            sink.delete()
