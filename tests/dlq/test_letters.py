"""What a dead letter tells, as Java's and Python's workers write it."""

from __future__ import annotations

import pytest

from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.letters import LETTER, REPLAYS, moment

from .letters import JAVA_TRACE, PYTHON_TRACE, bare, letter


def test_where_it_came_from_and_why() -> None:
    found = letter()
    assert (found.topic, found.original_partition, found.original_offset) == ("orders", 2, 17)
    assert found.origin == "orders-2@17"
    assert found.place == "orders-dead-0@0"
    assert (found.connector, found.stage) == ("sink", "VALUE_CONVERTER")
    assert found.why == "VALUE_CONVERTER DataException"
    assert not found.of_source


def test_java_and_python_name_what_happened_first() -> None:
    java = "JsonParseException: Unrecognized token 'poison': was expecting (JSON String, ...)"
    assert letter().cause == java
    python = "JSONDecodeError: Expecting value: line 1 column 1 (char 0) and a second line"
    assert letter(exception_stacktrace=PYTHON_TRACE).cause == python
    assert letter(exception_stacktrace="").cause is None


def test_an_exception_without_another_cause_is_not_told_twice() -> None:
    trace = "org.apache.kafka.connect.errors.DataException: Converting byte[] failed\n\tat x.Y.z(Y.java:1)"
    assert letter(exception_stacktrace=trace).cause is None


def test_without_headers_nothing_is_guessed() -> None:
    found = bare()
    assert (found.topic, found.origin, found.connector, found.stage, found.exception, found.cause) == (None,) * 6
    assert found.why == "not told"


def test_a_message_that_is_null_in_java_is_not_told() -> None:
    found = letter(exception_message=None, headers=((f"{CONTEXT}exception.message", None),))
    assert found.message is None


def test_of_headers_that_came_twice_the_last_count() -> None:
    older = ((f"{CONTEXT}topic", b"elsewhere"), (f"{CONTEXT}offset", b"1"))
    assert letter(headers=older).origin == "orders-2@17"


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "many"])
def test_a_place_that_is_no_number_is_not_used(text: str) -> None:
    made = bare(headers=((f"{CONTEXT}topic", b"orders"), (f"{CONTEXT}partition", text.encode())))
    assert made.original_partition is None
    assert made.origin == "orders"


def test_a_replay_has_the_records_own_headers_and_says_what_it_is() -> None:
    own = (("trace", b"1"), ("trace", None))
    found = letter(offset=5, headers=own)
    assert found.own_headers == own
    assert found.replays == 0
    assert found.replay_headers() == [*own, (REPLAYS, b"1"), (LETTER, b"orders-dead-0@5")]


def test_one_that_comes_back_is_counted_on() -> None:
    again = letter(headers=(("trace", b"1"), (REPLAYS, b"2"), (LETTER, b"orders-dead-0@5")), offset=9)
    assert again.replays == 2
    assert again.replay_headers() == [("trace", b"1"), (REPLAYS, b"3"), (LETTER, b"orders-dead-0@9")]
    assert letter(headers=((REPLAYS, b"often"),)).replays == 0


def test_json_has_all_of_it_and_bytes_that_are_no_text_too() -> None:
    body = letter(value=b"\xff\x00", key=None, headers=(("h", b"1"),)).as_json()
    assert (body["key"], body["value"], body["value_bytes"]) == (None, None, "/wA=")
    assert body["headers"] == [{"name": "h", "value": "1"}]
    assert (body["original_offset"], body["task"], body["time"]) == (17, 0, "1970-01-01T00:00:01.000Z")
    assert body["stacktrace"] == JAVA_TRACE


def test_a_letter_of_a_source() -> None:
    found = letter(partition=0, source_partition='{"file":"x"}', source_offset='{"position":7}')
    assert found.of_source


def test_times_beyond_the_calendar_are_numbers() -> None:
    assert moment(0) == "1970-01-01T00:00:00.000Z"
    assert moment(10**17) == "100000000000000000 ms"
