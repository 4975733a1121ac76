"""Up to when a log is known to have been read, when brokers are slow or silent: `kconnect/kafka/freshness.py`."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping

import confluent_kafka as ck
import pytest

from kconnect.kafka.freshness import Freshness
from tests.support import wait_until


class Reader:
    """A log of two partitions whose ends are told when the test says so."""

    def __init__(self) -> None:
        self.read = 0
        self.answers: queue.SimpleQueue[int | Exception] = queue.SimpleQueue()
        self.asked = threading.Semaphore(0)

    def places(self) -> list[int]:
        return [0, 1]

    def end_of(self, place: int, timeout: float) -> int | None:
        if place == 1:
            return 0
        self.asked.release()
        answer = self.answers.get(timeout=60)
        if isinstance(answer, Exception):
            raise answer
        return None if answer < self.read else answer

    def has_read(self, ends: Mapping[int, int]) -> bool:
        return self.read >= ends[0]


@pytest.fixture
def reader() -> Reader:
    return Reader()


def look_until_seen(freshness: Freshness, at_least: float) -> None:
    def seen() -> bool:
        freshness.look()
        return freshness.seen_at >= at_least

    wait_until(seen)


def test_it_is_as_fresh_as_the_question_whose_answer_has_been_read(reader: Reader) -> None:
    freshness = Freshness(reader, 0.0, 5.0)
    began = freshness.seen_at
    freshness.look()
    asked_by = time.monotonic()
    reader.answers.put(7)
    wait_until(lambda: reader.answers.empty())
    freshness.look()
    assert freshness.seen_at == began, "told where it ends, and not there yet"
    reader.read = 7
    wait_until(lambda: freshness.look() or freshness.seen_at > began)
    assert freshness.seen_at <= asked_by, "not as fresh as the answer"


def test_nobody_waits_for_slow_answers_and_later_ones_count(reader: Reader) -> None:
    freshness = Freshness(reader, 0.0, 5.0)
    for _ in range(5):
        # Though none of the earlier ones is answered.
        wait_until(lambda: freshness.look() or reader.asked.acquire(blocking=False))
    for _ in range(6):
        reader.answers.put(0)
    look_until_seen(freshness, time.monotonic())


@pytest.mark.parametrize(
    "failure",
    [ck.KafkaException(ck.KafkaError(ck.KafkaError._TIMED_OUT)), RuntimeError("Consumer closed"), TypeError("None")],
    ids=["no answer", "closed", "anything"],
)
def test_what_fails_is_asked_again(reader: Reader, failure: Exception) -> None:
    freshness = Freshness(reader, 0.0, 5.0)
    began = freshness.seen_at
    for _ in range(30):
        reader.answers.put(failure)
        freshness.look()
    assert freshness.seen_at == began
    reader.answers.put(0)
    look_until_seen(freshness, began + 1e-9)


def test_an_end_before_what_has_been_read_says_nothing(reader: Reader) -> None:
    freshness = Freshness(reader, 0.0, 5.0)
    began, reader.read = freshness.seen_at, 9
    reader.answers.put(3)
    freshness.look()
    wait_until(lambda: reader.answers.empty())
    freshness.look()
    assert freshness.seen_at == began


def test_few_questions_are_open_however_long_nobody_answers(reader: Reader) -> None:
    freshness = Freshness(reader, 0.0, 0.01)
    for _ in range(8):
        wait_until(lambda: freshness.look() or reader.asked.acquire(blocking=False))
    wait_until(lambda: freshness.look() or not freshness._open)
    freshness.look()
    assert not reader.asked.acquire(blocking=False), "all are given up, but their threads run"
    now = time.monotonic()
    for _ in range(9):
        reader.answers.put(0)
    look_until_seen(freshness, now)


def test_questions_that_nobody_ever_answers_stand_in_nobody_s_way(reader: Reader) -> None:
    freshness = Freshness(reader, 0.0, 0.01)
    for _ in range(40):
        freshness.look()
        time.sleep(0.005)
    now = time.monotonic()
    for _ in range(200):
        reader.answers.put(0)
    look_until_seen(freshness, now)
