"""`kconnect dlq` on the queue of a real sink, of kconnect and of Apache Kafka Connect: the letters of both are read alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.dlq.letters import LETTER, REPLAYS, moment
from kconnect.rest.client import ConnectClient
from tests.cli.calls import call
from tests.integration import units
from tests.integration.dead_sink import JSON, LIMIT_S, TEXT, Sink
from tests.support import wait_until


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
    assert f"to {sink.topic}-" in too_large.err and "leave the letter out" in too_large.err
    assert not any(each["replayed"] for each in sink.json("show", sink.queue))
    sink.limit_messages(None)

    # The second one in the queue goes first: what is beyond the first gap is remembered, too.
    one = sink.kconnect("replay", sink.queue, "--offset", "1", "--yes")
    assert (one.status, one.err.splitlines()[1]) == (0, "Replayed 1 letter")

    def replayed() -> list[bool]:
        return [each["replayed"] for each in sink.json("show", sink.queue)]

    # Brokers end a transaction a moment after they have said that it is committed.
    wait_until(lambda: any(replayed()), LIMIT_S)
    assert replayed() == [False, True, False]
    rest = sink.kconnect("replay", sink.queue, "--through-chain", "--yes")
    assert (rest.status, rest.err.splitlines()[1]) == (0, "Replayed 2 letters")
    wait_until(lambda: all(replayed()), LIMIT_S)
    again = sink.kconnect("replay", sink.queue, "--yes")
    assert (again.status, "3 replayed before" in again.err, again.out) == (0, True, "")

    wait_until(lambda: len(sink.lines()) >= 5, LIMIT_S)
    wait_until(lambda: len(units.read_all(sink.bootstrap, sink.topic)) >= 8, LIMIT_S)
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
            assert (left.status, left.out.count("do not name the topic that it came from: name one")) == (0, 3)
            # Only one connector writes there, and it reads one topic: its chain can be tried.
            sink.mend()
            done = sink.kconnect("replay", sink.queue, "--through-chain", "--to-topic", sink.topic, "--yes")
            assert (done.status, done.err.splitlines()[1]) == (0, "Replayed 3 letters"), done.err
            wait_until(lambda: len(sink.lines()) >= 5, LIMIT_S)
            assert sink.kconnect("drop", sink.queue, "--all", "--yes").status == 0
        finally:
            sink.delete()
