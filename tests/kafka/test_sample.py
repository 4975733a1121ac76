"""Samples of topics: the newest records of one that is written to without a pause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import confluent_kafka as ck

from kconnect.kafka import sample


@dataclass
class Message:
    at: int

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at


class Endless:
    """A consumer of a partition whose end is never reached, as where records come as fast as they are read."""

    def __init__(self, begin: int, step: int) -> None:
        self.at, self._step = begin, step

    def poll(self, seconds: float) -> Any:
        self.at += self._step
        assert self.at < 1000, "it is read without an end"
        return Message(self.at)


def offsets(step: int, end: int | None, limit: int | None) -> list[int]:
    messages = sample._read(cast(ck.Consumer, Endless(0, step)), "t", {0: end}, limit)
    return [message.offset() for message in messages]


def test_the_newest_records_are_those_there_were_at_the_begin() -> None:
    assert offsets(1, 4, None) == [1, 2, 3]


def test_an_offset_that_no_record_has_ends_them_too() -> None:
    # Of transactions the last offset is a mark, which is never given.
    assert offsets(3, 5, None) == [3]


def test_the_first_records_are_as_many_as_wanted() -> None:
    assert offsets(1, None, 2) == [1, 2]
