"""A Java sink task, given batches: `kconnect/jvm/sink_task.py`, and the shim's classes below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jpype
import pytest

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.answers import AnswerError
from kconnect.core.task.topic_use import TopicUse
from kconnect.errors import ConnectError, RetriableError
from kconnect.jvm import classes
from kconnect.jvm.chain import Chain
from kconnect.jvm.sink_task import JavaSinkTask, SinkIntake, packed
from tests.jvm.java import JSON, STRING, Judged, Part, chain
from tests.rig.java_plugin import write_plugin

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

TO_INT: Part = ("org.apache.kafka.connect.transforms.Cast$Value", {"spec": "int8"})
FILTER: Part = ("org.apache.kafka.connect.transforms.Filter", {})
TOMBSTONE: Part = ("org.apache.kafka.connect.transforms.predicates.RecordIsTombstone", {})


class Message(NamedTuple):
    """As confluent-kafka gives them."""

    raw: bytes | None
    at: int
    raw_key: bytes | None = None
    place: tuple[str, int] = ("in", 0)
    time: tuple[int, int] = (1, 1000)
    packed: list[tuple[str, bytes | None]] | None = None

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return self.raw_key

    def __len__(self) -> int:
        return len(self.value() or b"")

    def value(self) -> bytes | None:
        return self.raw

    def timestamp(self) -> tuple[int, int]:
        return self.time

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.packed


class Reported:
    """A context that takes reports."""

    def __init__(self) -> None:
        self.records: list[tuple[TopicPartition, int, str]] = []
        self.timeouts: list[int] = []

    def errant_record_reporter(self) -> Reported:
        return self

    def timeout(self, milliseconds: int) -> None:
        self.timeouts.append(milliseconds)

    def report(self, record: Any, error: Exception) -> None:
        place = TopicPartition(record.original_topic, record.original_partition)
        self.records.append((place, record.original_offset, str(error)))


class Sink:
    def __init__(self, plugin: Path, tmp_path: Path, made_of: Chain, judged: Judged | None = None, **config: str) -> None:
        self.file, self.context, self.used = tmp_path / "written", Reported(), set[str]()
        self.task: JavaSinkTask = classes.load("connector", "rig.RecordingSink", str(plugin))().task_class()()
        self.task.begin(made_of, "connect-sink")
        self.task.initialize(self.context)
        self.task.start({"file": str(self.file), **config})
        self.assigned: set[TopicPartition] = set()
        use = TopicUse(lambda: self.used, self.used.add)
        self.take = SinkIntake(self.task, (judged or Judged()).errors, use, lambda: self.assigned)

    def written(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []


def test_messages_become_records_in_java(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING))
    batch = [
        Message("é".encode(), 5, b"k"),
        Message(None, 6, None, ("other", 3), (2, 77)),
        Message(b"", 7, b"", time=(0, -1), packed=[("a", b"1"), ("b", None)]),
    ]
    records = sink.take(batch)
    assert records == batch
    sink.task.put(records)
    lines = sink.written()
    assert lines[:2] == ["in 0 5 k é 1000 ConnectHeaders(headers=)", "other 3 6 null null 77 ConnectHeaders(headers=)"]
    assert lines[2].startswith("in 0 7   null ConnectHeaders(headers=")
    assert "key=a, value=1, schema=Schema{INT8}" in lines[2] and "key=b, value=null" in lines[2]
    assert sink.used == {"in", "other"}
    assert sink.take.place(batch[1]) == TopicPartition("other", 3)


def test_messages_of_the_only_partition_need_not_be_asked_for_it(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING))
    sink.assigned.add(TopicPartition("in", 4))
    batch = [Message(b"v", 5, b"k", ("in", 4)), Message(b"w", 6, None, ("in", 4), packed=[("a", b"1")])]
    assert packed(batch, TopicPartition("in", 4)) == packed(batch)
    sink.task.put(sink.take(batch))
    assert [line.split(" ")[:5] for line in sink.written()] == [["in", "4", "5", "k", "v"], ["in", "4", "6", "null", "w"]]
    assert sink.used == {"in"}


def test_a_task_may_ask_for_the_message_that_a_record_was_made_of(java_plugin: Path, tmp_path: Path) -> None:
    """As tasks do that are built for Connect before 3.6, or know its own class of records."""
    renamed: Part = ("org.apache.kafka.connect.transforms.RegexRouter", {"regex": ".*", "replacement": "new"})
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING, ("route", renamed, None, False)), how="original")
    sink.task.put(sink.take([Message(b"v", 5, b"key", ("in", 2), packed=[("h", b"1")])]))
    assert sink.written()[0].startswith("new 2 5 key v 1000 ")
    told = sink.written()[1]
    assert told.startswith("of ConsumerRecord(topic = in, partition = 2, ")
    for part in ("offset = 5", "CreateTime = 1000", "serialized key size = 3", "RecordHeader(key = h, value = [49])"):
        assert part in told


def test_each_plugin_s_database_drivers_are_loaded(tmp_path: Path) -> None:
    """DriverManager alone would find the first plugin's only: the second connector to a database would have no driver."""
    for count in (1, 2):
        classes.load("connector", "rig.RecordingSink", str(write_plugin(tmp_path, f"9.{count}")))
    loaded = int(str(jpype.JClass("java.lang.System").getProperty("rig.drivers")))
    assert loaded >= 2


def test_what_a_transform_drops_is_not_put(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING, ("drop", FILTER, TOMBSTONE, False)))
    batch = [Message(b"a", 0), Message(None, 1), Message(b"c", 2)]
    assert sink.take(batch) == [batch[0], batch[2]]
    sink.task.put([batch[0], batch[2]])
    assert [line.split()[4] for line in sink.written()] == ["a", "c"]


def test_only_those_that_are_still_wanted_are_put(java_plugin: Path, tmp_path: Path) -> None:
    """As after a partition was taken away, and after a second batch was read while the first one waits."""
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING))
    first = sink.take([Message(b"a", 0), Message(b"b", 0, place=("in", 1))])
    second = sink.take([Message(b"c", 1), Message(b"d", 1, place=("in", 1))])
    sink.task.put([first[0], second[0]])
    sink.task.put([])
    assert [line.split()[4] for line in sink.written()] == ["a", "c"]


def test_after_a_retriable_error_the_same_records_are_put_again(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING), fails="b", how="retry")
    records = sink.take([Message(b"a", 0), Message(b"b", 1)])
    with pytest.raises(RetriableError, match="at the second attempt"):
        sink.task.put(records)
    assert sink.context.timeouts == [50]
    sink.task.put(records)
    assert [line.split()[4] for line in sink.written()] == ["a", "b"]


def test_a_message_that_can_not_be_converted(java_plugin: Path, tmp_path: Path) -> None:
    batch = [Message(b"1", 0), Message(b"{", 1), Message(b"3", 2, place=("empty", 0)), Message(b"{", 3, place=("bad", 0))]
    with pytest.raises(ConnectError, match="the value converter failed at in-0@1"):
        Sink(java_plugin, tmp_path, chain(STRING, JSON)).take(batch)
    judged = Judged(tolerant=True)
    sink = Sink(java_plugin, tmp_path, chain(STRING, JSON), judged)
    assert sink.take(batch) == [batch[0], batch[2]]
    assert [(stage, name) for stage, name, _ in judged.told()] == [("VALUE_CONVERTER", JSON[0])] * 2
    assert [failure.origin for failure in judged.failures] == [batch[1], batch[3]]
    assert sink.used == {"in", "empty"}, "no record of the topic `bad` could be read"


def test_a_record_on_which_a_transform_fails_was_read(java_plugin: Path, tmp_path: Path) -> None:
    judged = Judged(tolerant=True)
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING, ("cast", TO_INT, None, False)), judged)
    assert sink.take([Message(b"x", 0)]) == []
    assert [each[:2] for each in judged.told()] == [("TRANSFORMATION", TO_INT[0])]
    assert sink.used == {"in"}


def test_a_task_reports_what_it_can_not_deliver(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING), fails="b", how="report")
    sink.task.put(sink.take([Message(b"a", 0), Message(b"b", 1)]))
    assert sink.context.records == [(TopicPartition("in", 0), 1, "it does not take b")]
    assert [line.split()[4] for line in sink.written()] == ["a"]


def test_offsets_go_through_the_task(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING))
    offsets = {TopicPartition("in", 0): OffsetAndMetadata(7, "x"), TopicPartition("in", 1): OffsetAndMetadata(9)}
    sink.task.open(list(offsets))
    assert sink.task.pre_commit(offsets) == offsets
    sink.task.close(list(offsets))
    sink.task.stop()


@pytest.mark.parametrize(
    ("how", "given"),
    [
        ("commits null", "null"),
        ("commits a null", "null as the offset of t-3"),
        ("commits a number", "a java.lang.Long as the offset of t-3"),
    ],
)
def test_an_answer_of_pre_commit_that_can_not_be_used_is_refused_in_a_sentence(
    java_plugin: Path, tmp_path: Path, how: str, given: str
) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING), how=how)
    with pytest.raises(AnswerError) as caught:
        sink.task.pre_commit({TopicPartition("t", 3): OffsetAndMetadata(5)})
    assert str(caught.value) == (
        f"rig.RecordingTask.preCommit() returned {given}, but must return a map of partitions to offsets, which is empty if "
        "nothing is to be committed"
    )


@pytest.mark.parametrize("how", ["commits nowhere", "commits a null elsewhere"])
def test_nulls_that_nobody_asked_for_are_left_out_as_in_connect(
    java_plugin: Path, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Sink(java_plugin, tmp_path, chain(STRING, STRING), how=how)
    assert sink.task.pre_commit({TopicPartition("t", 3): OffsetAndMetadata(5)}) == {}
    assert "rig.RecordingTask.preCommit() returned null" in caplog.text
