"""A Java source task, asked for batches: `kconnect/jvm/source_task.py`, and the shim's classes below it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kconnect.api.record import RecordMetadata
from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import Stage
from kconnect.core.task.source_offsets import SourceOffsets
from kconnect.core.task.transactions import End, TaskBoundary
from kconnect.errors import ConnectError, DataError, RetriableError
from kconnect.jvm import acknowledgements, beans, classes, logs
from kconnect.jvm.chain import Chain
from kconnect.jvm.source_task import JavaSourceTask, SourceConversion
from tests.jvm.java import JSON, LONG, STRING, Judged, Part, chain
from tests.support import wait_until

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

HOIST: Part = ("org.apache.kafka.connect.transforms.HoistField$Value", {"field": "number"})
FILTER: Part = ("org.apache.kafka.connect.transforms.Filter", {})
ROUTE: Part = ("org.apache.kafka.connect.transforms.RegexRouter", {"regex": "n(.*)", "replacement": "m$1"})
TO_INT: Part = ("org.apache.kafka.connect.transforms.Cast$Value", {"spec": "int8"})
OF_M: Part = ("org.apache.kafka.connect.transforms.predicates.TopicNameMatches", {"pattern": "m.*"})


class Offsets:
    """A context in which one offset is stored."""

    def __init__(self, offset: dict[str, Any] | None) -> None:
        self._offset = offset
        self.offsets = self
        self.transaction_context: Any = None

    def configs(self) -> dict[str, str]:
        return {}

    def offset(self, partition: dict[str, Any]) -> dict[str, Any] | None:
        assert partition == {"task": "0"}
        return self._offset


def numbers(plugin: Path, made_of: Chain, stored: dict[str, Any] | None = None, **config: str) -> JavaSourceTask:
    # All tasks are of this thread, and so are the metrics that they make.
    beans.end()
    task: JavaSourceTask = classes.load("connector", "rig.NumbersSource", str(plugin))().task_class()()
    assert task.begin(made_of)
    task.initialize(Offsets(stored))  # type: ignore[arg-type]
    task.start({"topic": "numbers", "number": "0", "batch": "5", **config})
    return task


def polled(task: JavaSourceTask, judged: Judged | None = None, tracks: bool = False) -> Converted:
    return SourceConversion(task, (judged or Judged()).errors, tracks)(task.poll())


def test_a_batch_is_bytes_for_kafka_and_the_newest_offset(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING))
    found = polled(task)
    assert found.messages == [
        ("numbers", str(n).encode(), n.to_bytes(8, "big"), -1, None, None, 1000 + n, None) for n in range(5)
    ]
    assert found.topics == {"numbers"}
    assert [(each.source_partition, each.source_offset) for each in found.offsets] == [({"task": "0"}, {"last": 4})]
    assert [message[1] for message in polled(task).messages] == [b"5", b"6", b"7", b"8", b"9"]


def test_a_task_goes_on_from_a_stored_offset_until_it_has_nothing(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), {"last": 41}, limit="43")
    assert [message[1] for message in polled(task).messages] == [b"42"]
    assert list(task.poll()) == []


def test_headers_cross(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), header="hé")
    assert [message[7] for message in polled(task).messages] == [[("hé", f"h{n}".encode())] for n in range(5)]


def test_transforms_run_in_java_with_their_predicates(java_plugin: Path) -> None:
    route, hoist = ("route", ROUTE, None, False), ("hoist", HOIST, OF_M, False)
    task = numbers(java_plugin, chain(LONG, JSON, route, ("never", FILTER, OF_M, True), hoist))
    found = polled(task)
    assert [(message[0], message[1]) for message in found.messages] == [("mumbers", b'{"number":"%d"}' % n) for n in range(5)]
    assert found.topics == {"mumbers"}


def test_what_is_dropped_leaves_its_offset(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING, ("drop", FILTER, None, False)))
    found = polled(task, tracks=True)
    assert found.messages == []
    assert [each.source_offset for each in found.offsets] == [{"last": 4}]
    assert found.dropped() == [0, 1, 2, 3, 4]


def test_a_record_that_fails_ends_the_batch_and_names_stage_and_class(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING, ("cast", TO_INT, None, False)), {"last": 125})
    judged = Judged()
    found = polled(task, judged)
    assert [message[1] for message in found.messages] == [b"126", b"127"]
    assert [each.source_offset for each in found.offsets] == [{"last": 127}]
    assert isinstance(found.failure, ConnectError)
    assert "the transform cast failed at a record for the topic numbers" in str(found.failure)
    before = found.until(1, hears=False)
    assert before is not None
    assert [each.source_offset for each in before.offsets] == [{"last": 126}]
    assert [each[:2] for each in judged.told()] == [("TRANSFORMATION", "org.apache.kafka.connect.transforms.Cast$Value")]
    cause: Any = found.failure.__cause__
    assert cause.shown_as == "org.apache.kafka.connect.errors.DataException"
    assert "at org.apache.kafka.connect.transforms.Cast" in cause.java_trace


def test_records_that_fail_are_left_out_where_that_is_tolerated(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING, ("cast", TO_INT, None, False)), {"last": 124}, limit="129")
    judged = Judged(tolerant=True)
    found = polled(task, judged, tracks=True)
    assert [message[1] for message in found.messages] == [b"125", b"126", b"127"]
    assert [each.number for each in found.dropped()] == [3]
    (failure,) = judged.failures
    assert (failure.origin.source_offset, failure.origin.key, failure.origin.value) == ({"last": 128}, 128, "128")
    assert [each.source_offset for each in found.offsets] == [{"last": 127}, {"last": 128}]


def test_a_task_hears_of_its_records_whatever_their_order(java_plugin: Path, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    task = numbers(java_plugin, chain(LONG, STRING), heard=str(heard))
    found = polled(task, tracks=True)
    assert (found.given, found.origins) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    task.commit_record(3, None)
    for number in (0, 1, 2, 4):
        task.commit_record(number, RecordMetadata("numbers", 7, 100 + number, 5))
    task.commit()
    task.stop()
    assert heard.read_text().splitlines() == [
        "3 dropped",
        *(f"{number} numbers-7@{100 + number}" for number in (0, 1, 2, 4)),
        *("commit", "stop"),
    ]


def test_one_that_fails_to_hear_of_a_record_hears_of_the_others(
    java_plugin: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard = tmp_path / "heard"
    task = numbers(java_plugin, chain(LONG, STRING), heard=str(heard), fails="commitRecord")
    polled(task, tracks=True)
    for number in range(5):
        task.commit_record(number, RecordMetadata("numbers", 0, number, 5))
    task.commit()
    assert heard.read_text().splitlines() == [*(f"{number} numbers-0@{number}" for number in (0, 2, 3, 4)), "commit"]
    logs.flush(60)
    (told,) = [line for line in caplog.records if "commitRecord() failed" in line.getMessage()]
    assert told.levelname == "ERROR"


class Hearing:
    """A thread in which a task hears of its records, and a producer that has acknowledged what `sent` has."""

    def __init__(self, task: JavaSourceTask) -> None:
        assert task.acknowledgements is not None
        self.task, self.acknowledgements = task, task.acknowledgements
        self.sent: list[int] = []
        self.failures: list[BaseException] = []
        self.served_in: set[str] = set()
        self.hurried: list[bool] = []
        self.refuses: Exception | None = None
        self.acknowledgements.begin(self._serve, self._fail)
        self._thread = threading.Thread(target=self.acknowledgements.run, name="hearing", daemon=True)
        self._thread.start()

    def _serve(self, hurries: bool) -> int:
        self.served_in.add(threading.current_thread().name)
        self.hurried.append(hurries)
        if self.refuses is not None:
            raise self.refuses
        if self.sent:
            number = self.sent.pop(0)
            self.task.commit_record(number, RecordMetadata("numbers", 0, number, 5))
        return len(self.sent)

    def _fail(self, error: BaseException) -> None:
        # A unit that has failed has its task stopped.
        self.failures.append(error)
        self.task.stop()

    def end(self) -> None:
        self.acknowledgements.end()
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_a_task_hears_of_its_records_while_its_poll_waits_for_that(java_plugin: Path, tmp_path: Path) -> None:
    """As IBM MQ's source, which gives the next messages once all of the last batch are acknowledged."""
    heard = tmp_path / "heard"
    task = numbers(java_plugin, chain(LONG, STRING), heard=str(heard), waits="yes")
    hearing = Hearing(task)
    for batch in range(3):
        hearing.sent += task.poll()
        assert hearing.sent == list(range(5 * batch, 5 * batch + 5)), "nothing is served but within poll"
    assert heard.read_text().splitlines() == [f"{number} numbers-0@{number}" for number in range(10)]
    assert hearing.served_in == {"hearing"}
    # A task that has waited for a moment gives nothing more before it hears: then the producer is not to linger.
    assert hearing.hurried[0] is False and True in hearing.hurried
    task.stop()
    hearing.end()


def test_a_commit_comes_once_the_task_has_heard_of_all(java_plugin: Path, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    task = numbers(java_plugin, chain(LONG, STRING), heard=str(heard), batch="500")
    hearing = Hearing(task)
    for number in task.poll():
        task.commit_record(number, None if number % 2 else RecordMetadata("numbers", 0, number, 5))
    task.commit()
    told = heard.read_text().splitlines()
    assert (len(told), told[1], told[2], told[-1]) == (501, "1 dropped", "2 numbers-0@2", "commit")
    hearing.end()


def test_one_that_hangs_while_it_hears_of_a_record_goes_on_with_all_else(
    java_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acknowledgements, "_SETTLE_S", 0.1)
    heard, go = tmp_path / "heard", tmp_path / "go"
    task = numbers(java_plugin, chain(LONG, STRING), heard=str(heard), hears_after=str(go))
    hearing = Hearing(task)
    for _ in range(3):
        task.commit_record(task.poll()[0], None)
        task.commit()
    assert not heard.exists()
    assert sum("commitRecord() has not returned" in line for line in caplog.messages) == 1
    go.touch()
    wait_until(lambda: task.commit() or (heard.exists() and heard.read_text().splitlines()[-1] == "commit"))
    assert heard.read_text().splitlines()[:3] == ["0 dropped", "5 dropped", "10 dropped"]
    hearing.end()


def test_a_task_that_has_stopped_hears_of_nothing_more(java_plugin: Path, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    task = numbers(java_plugin, chain(LONG, STRING), heard=str(heard))
    hearing = Hearing(task)
    first, *others = task.poll()
    task.commit_record(first, None)
    task.commit()
    task.stop()
    for number in others:
        task.commit_record(number, None)
    task.commit()
    hearing.end()
    assert heard.read_text().splitlines() == ["0 dropped", "commit", "stop", "commit"]


def test_what_the_producer_refuses_fails_a_task_that_waits_for_its_acknowledgement(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), waits="yes")
    hearing = Hearing(task)
    task.poll()
    hearing.refuses = ConnectError("too large")
    with pytest.raises(ConnectError, match="too large"):
        task.poll()
    assert hearing.failures == [hearing.refuses]
    hearing.end()


def test_what_is_no_record_is_refused_where_poll_returns_it(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), gives="a text")
    assert [message[1] for message in polled(task).messages] == [b"0"], "what comes before it goes to Kafka, as in Connect"
    with pytest.raises(ConnectError) as caught:
        task.poll()
    assert str(caught.value) == (
        "rig.NumbersTask.poll() returned a java.lang.String as record 2 of 5, but must return a list of SourceRecord, or null "
        "if there are none"
    )


def test_nulls_among_the_records_are_left_out_as_in_connect(java_plugin: Path, caplog: pytest.LogCaptureFixture) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), gives="null")
    assert [message[1] for message in polled(task).messages] == [b"0", b"2", b"3", b"4"]
    assert [message[1] for message in polled(task).messages] == [b"5", b"7", b"8", b"9"]
    logs.flush(60)
    (told,) = [line.getMessage() for line in caplog.records if "left out" in line.getMessage()]
    assert told == "rig.NumbersTask.poll() returned null as 1 of 5 records, which are left out; this is logged once"


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        ("no topic", "Topic cannot be null. "),
        ("a partition", "Invalid partition: -1. Partition number should always be non-negative or null. "),
        ("a time", "Invalid record timestamp -5. It should be milliseconds since 1970, or null. "),
    ],
    ids=["topic", "partition", "timestamp"],
)
@pytest.mark.parametrize("tolerant", [False, True], ids=["strict", "tolerant"])
def test_what_kafka_s_client_refuses_of_a_record_is_that_record_s_failure(
    java_plugin: Path, gives: str, said: str, tolerant: bool
) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), gives=gives)
    judged = Judged(tolerant=tolerant)
    found = polled(task, judged)
    assert [message[1] for message in found.messages] == ([b"0", b"2", b"3", b"4"] if tolerant else [b"0"])
    ((stage, component, text),) = judged.told()
    assert (stage, component) == ("KAFKA_PRODUCE", "org.apache.kafka.clients.producer.KafkaProducer")
    assert text == f"{said}This is record 2 of the 5 that rig.NumbersTask.poll() returned, behind the transforms."
    assert (found.failure is None) is tolerant


@pytest.mark.parametrize("hears", [False, True])
def test_no_offset_is_counted_that_the_bad_record_has_too(java_plugin: Path, hears: bool) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), gives="a partition", page="2")
    found = polled(task, tracks=hears)
    assert [message[1] for message in found.messages] == ([b"0"] if hears else [])
    assert [stored.source_offset for stored in found.offsets] == ([{"last": 0}] if hears else [])
    assert len(found.topics) == len(found.messages)
    found = polled(numbers(java_plugin, chain(LONG, STRING), page="2"), tracks=hears)
    before = found.until(3, hears)
    assert before is not None
    assert [message[1] for message in before.messages] == [b"0", b"1", b"2"][: 3 if hears else 2]
    assert [stored.source_offset for stored in before.offsets] == [{"last": 1 if hears else 0}]


def test_what_comes_before_a_record_without_a_message_can_be_had(java_plugin: Path) -> None:
    """As before one whose dead letter is refused; also of a batch that has lost messages meanwhile."""
    found = polled(numbers(java_plugin, chain(LONG, STRING), gives="no topic"), Judged(tolerant=True))
    assert [message[1] for message in found.messages] == [b"0", b"2", b"3", b"4"]
    before = found.without(1)
    assert before is not None
    assert ([message[1] for message in before.messages], before.offsets) == ([b"0"], [({"task": "0"}, {"last": 0})])
    fewer = found.only([0, 2, 3])
    before, until = fewer.without(3), fewer.until(2, hears=False)
    assert before is not None and until is not None
    assert ([message[1] for message in before.messages], before.offsets) == ([b"0"], [({"task": "0"}, {"last": 2})])
    assert ([message[1] for message in until.messages], until.offsets) == ([b"0", b"3"], [({"task": "0"}, {"last": 3})])


def test_an_offset_that_can_not_be_stored_holds_up_no_record(java_plugin: Path) -> None:
    """As in Connect: the log says that it is not stored."""
    judged = Judged(tolerant=True)
    found = polled(numbers(java_plugin, chain(LONG, STRING), offset="an object", gives="no topic"), judged)
    assert [message[1] for message in found.messages] == [b"0", b"2", b"3", b"4"]
    (failure,) = judged.failures
    assert failure.origin.source_offset == {"last": ["java.lang.StringBuilder"]}
    offsets = SourceOffsets()
    offsets.add(found.offsets)
    with pytest.raises(DataError, match="may only contain primitive types as values, but field last contains list"):
        offsets.newest()


def test_a_record_that_is_no_data_has_failed_and_can_be_reported(java_plugin: Path) -> None:
    judged = Judged(tolerant=True)
    found = polled(numbers(java_plugin, chain(LONG, JSON), gives="an object"), judged)
    assert [message[1] for message in found.messages] == [b'"0"', b'"2"', b'"3"', b'"4"']
    (failure,) = judged.failures
    assert (failure.stage, failure.origin.value) == (Stage.VALUE_CONVERTER, "an object")


def test_a_task_says_where_transactions_end(java_plugin: Path) -> None:
    boundary = TaskBoundary()
    made_of = chain(LONG, STRING)
    beans.end()
    task: JavaSourceTask = classes.load("connector", "rig.NumbersSource", str(java_plugin))().task_class()()
    task.begin(made_of)
    context = Offsets(None)
    context.transaction_context = boundary.context
    task.initialize(context)  # type: ignore[arg-type]
    task.start({"topic": "numbers", "number": "0", "batch": "12"})
    for expected in ([(5, End.ABORT), (5, End.COMMIT), (2, None)], [(3, End.ABORT), (5, End.COMMIT), (4, None)]):
        assert [(len(part), end) for part, end in boundary.parts(task.poll())] == expected


def test_what_java_throws_is_an_error_of_ours(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), {"last": 3}, fails="poll once")
    with pytest.raises(RetriableError, match="not now"):
        task.poll()
    assert len(task.poll()) == 5
    task = numbers(java_plugin, chain(LONG, STRING), {"last": 3}, fails="stack")
    with pytest.raises(ConnectError) as caught:
        task.poll()
    assert caught.value.shown_as == "java.lang.StackOverflowError"  # type: ignore[attr-defined]


def test_large_batches_take_larger_buffers(java_plugin: Path) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), batch="100000")
    found = polled(task)
    assert [int(message[1] or b"") for message in found.messages] == list(range(100_000))
    assert len(polled(task).messages) == 100_000
