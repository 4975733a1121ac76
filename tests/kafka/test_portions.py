"""Records with so many headers that a batch of them would take a process's memory are handed over in portions."""

from __future__ import annotations

import confluent_kafka as ck

from kconnect.kafka import message_headers
from kconnect.kafka.portions import Portions


def _message(offset: int, headers: int, partition: int = 0) -> ck.Message:
    # mypy's view of confluent-kafka knows of no arguments.
    return ck.Message(topic="t", partition=partition, offset=offset, headers=[("name", b"")] * headers)


def _offsets(messages: list[ck.Message]) -> list[tuple[int, int]]:
    return [(message.partition() or 0, message.offset() or 0) for message in messages]


def test_a_portion_ends_before_its_headers_are_too_many() -> None:
    portions = Portions(most=10)
    messages = [_message(0, 4), _message(1, 0), _message(2, 6), _message(3, 1), _message(4, 50), _message(5, 1)]
    read = [_offsets(portions.portion(messages, 500))]
    while portions:
        assert portions.waits()
        read.append(_offsets(portions.portion([], 500)))
    assert read == [[(0, 0), (0, 1), (0, 2)], [(0, 3)], [(0, 4)], [(0, 5)]]
    assert not portions.waits()


def test_few_headers_are_one_portion() -> None:
    portions = Portions()
    messages = [_message(number, number % 3) for number in range(500)]
    assert portions.portion(messages, 500) == messages
    assert not portions


def test_what_is_left_keeps_its_order_and_the_limit() -> None:
    portions = Portions(most=1)
    assert _offsets(portions.portion([_message(0, 2), _message(1, 0), _message(2, 0)], 1)) == [(0, 0)]
    assert _offsets(portions.portion([_message(3, 0)], 2)) == [(0, 1), (0, 2)]
    assert _offsets(portions.portion([], 2)) == [(0, 3)]


def test_stopped_partitions_wait() -> None:
    portions = Portions(most=1)
    portions.portion([_message(0, 2), _message(1, 0), _message(0, 0, partition=1)], 500)
    assert _offsets(portions.portion([], 500, {("t", 0)})) == [(1, 0)]
    assert not portions.waits({("t", 0)})
    assert _offsets(portions.portion([], 500)) == [(0, 1)]


def test_partitions_that_are_taken_away_are_forgotten() -> None:
    portions = Portions(most=1)
    portions.portion([_message(0, 2), _message(1, 0), _message(0, 0, partition=1)], 500)
    portions.drop([("t", 0)])
    assert _offsets(portions.portion([], 500)) == [(1, 0)]


def test_the_quick_way_and_the_slow_one_count_alike() -> None:
    messages = [_message(0, 3), _message(1, 3), _message(2, 3)]
    for most in (None, 0, 3, 5, 6, 8, 9):
        slow = message_headers._mend_slowly(messages, most)
        assert message_headers.mend(messages, most) == slow, most
