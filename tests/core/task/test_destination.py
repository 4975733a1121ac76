"""What a source task hands over: what is no record, and topics, partitions and times that the client takes for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.api.record import Header, SourceRecord
from kconnect.core.task import answers, destination
from kconnect.core.task.answers import AnswerError
from kconnect.errors import ConnectError, RetriableError

from .pumps import SourceWorld
from .records import source

RECORD = source({"file": "a"}, 1)


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (RECORD, "kconnect.api.record.SourceRecord"),
        ("records", "a str"),
        ({"a": RECORD}, "a dict"),
        (7, "an int"),
        ([[RECORD], RECORD], "a list as record 0 of 2"),
        ([{"value": "secret"}], "a dict as record 0 of 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_poll_may_not_return(answer: Any, given: str) -> None:
    with pytest.raises(AnswerError, match=r"^Task\.poll\(\) returned ") as raised:
        answers.polled("Task", answer)
    assert given in str(raised.value)
    assert "but must return a list of SourceRecords, or None" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "answer", [[RECORD], (RECORD,), iter([RECORD]), (each for each in [RECORD])], ids=["list", "tuple", "iterator", "generator"]
)
def test_what_poll_may_return(answer: Any) -> None:
    assert answers.polled("Task", answer) == ([RECORD], None)


class Bare(SourceRecord):
    def __init__(self) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("text", "a str as record 2 of 4"),
        ({"value": "secret"}, "a dict as record 2 of 4"),
        (Bare(), f"a {__name__}.Bare whose constructor has not called SourceRecord's as record 2 of 4"),
    ],
    ids=["text", "dict", "bare"],
)
def test_what_comes_before_something_else_is_given(wrong: Any, what: str) -> None:
    records, failure = answers.polled("Task", [RECORD, None, wrong, RECORD])
    assert records == [RECORD]
    assert what in str(failure)
    assert "secret" not in str(failure)


def test_what_an_iterator_gives_before_it_fails_is_given() -> None:
    """A `poll` with `yield` has gone on by then: what it has given does not come again at the next call."""

    def poll() -> Iterator[SourceRecord]:
        yield RECORD
        yield RECORD
        raise RetriableError("later")

    records, failure = answers.polled("Task", poll())
    assert records == [RECORD, RECORD]
    assert isinstance(failure, RetriableError)
    with pytest.raises(RetriableError):
        answers.polled("Task", (fail() for _ in range(1)))


def fail() -> SourceRecord:
    raise RetriableError("at once")


def test_a_list_that_the_task_fills_anew_is_not_kept() -> None:
    answer = [RECORD]
    polled = answers.polled("Task", answer)
    answer.clear()
    assert polled.records == [RECORD]


def test_nothing() -> None:
    assert answers.polled("Task", [None, RECORD, None]) == ([RECORD], None)
    assert answers.polled("Task", None) == (None, None)
    assert answers.polled("Task", []) == ([], None)


NO_NAMES: tuple[Any, ...] = (None, "a\0b", b"name", 7)
WRONG: list[tuple[str, Any, str]] = [
    *(("topic", topic, "Topic cannot be null") for topic in (None, "", 7, b"t")),
    *(("partition", number, "a whole number from 0 to 2147483647") for number in (-1, -2, "0", 0.0, True, 2**31, 2**70)),
    *(("timestamp", time, "Invalid record timestamp") for time in (-2, -(2**63), 1.5, "0", True, 2**63, 2**70)),
    *(("headers", (Header(name, "v"),), "The name of a header is ") for name in NO_NAMES),
]


@pytest.mark.parametrize("place", [0, 3, 11])
@pytest.mark.parametrize("size", [1, 12])
@pytest.mark.parametrize(("name", "value", "reason"), WRONG, ids=[f"{name} {value!r:.40}" for name, value, _ in WRONG])
def test_a_record_for_nowhere(name: str, value: Any, reason: str, size: int, place: int) -> None:
    records = [source({"file": "a"}, at, value=str(at)) for at in range(size)]
    bad = min(place, size - 1)
    setattr(records[bad], name, value)
    world = SourceWorld()
    with pytest.raises(ConnectError, match=reason):
        world.step(*records)
    world.pump.end(failed=True)
    assert world.readable == [str(at).encode() for at in range(bad)]
    tolerant = SourceWorld(tolerant=True)
    tolerant.step(*records)
    tolerant.step(after=3600)
    assert tolerant.readable == [str(at).encode() for at in range(size) if at != bad]
    assert len(tolerant.letters.reported) == 1


@pytest.mark.parametrize(("given", "sent"), [(None, 0), (-1, 0), (0, 1), (1, 1), (1700000000000, 1700000000000)])
@pytest.mark.parametrize("size", [1, 12])
def test_timestamps(given: int | None, sent: int, size: int) -> None:
    """None and -1 are the present time, as in Connect; 0 is a millisecond beside it, for the client can't say it."""
    world = SourceWorld()
    world.step(*(source({"file": "a"}, at, value="v", timestamp=given) for at in range(size)))
    world.step(after=3600)
    assert {message[6] for message in world.producer.taken} == {sent}


def test_a_timestamp_that_is_not_sent_as_it_is_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(destination, "_told", False)
    assert [destination.at_time(0), destination.at_time(0)] == [1, 1]
    assert len(caplog.messages) == 1
    assert "1970-01-01T00:00:00.000Z" in caplog.messages[0]


def test_the_records_stay_as_they_were() -> None:
    record = SourceRecord({"file": "a"}, {"position": 1}, "t", value="v", timestamp=0)
    SourceWorld().step(record)
    assert record.timestamp == 0
