"""Offsets that sink tasks hand over: what is none is refused by name, before anything is read or committed by it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.answers import AnswerError

from .pumps import SinkWorld
from .records import Message

PLACE = TopicPartition("t", 0)
NO_OFFSETS: list[Any] = [-1, -2, -1001, 2**63, 1.0, "1", None, True, math.nan]


@pytest.mark.parametrize("offset", NO_OFFSETS, ids=repr)
def test_an_offset_to_go_back_to(offset: Any) -> None:
    world = SinkWorld()
    world.consumer.assign(PLACE)
    context = world.pump.context
    with pytest.raises(AnswerError, match=r"context\.offset\(\) was given .* as the offset of t-0: it must be a whole number"):
        context.offset(PLACE, offset)
    with pytest.raises(AnswerError, match=r"context\.offsets\(\)"):
        context.offsets({TopicPartition("t", 1): 5, PLACE: offset})
    assert not context.wants_to_go_elsewhere, "all of them, or none"


@pytest.mark.parametrize(
    "place", [None, "t", ("t",), ("t", -1), ("t", "0"), ("", 0), (None, 0), ("t", 0, 1), ("t", True), ("t", 2**31)], ids=repr
)
def test_a_partition_to_go_back_in(place: Any) -> None:
    context = SinkWorld().pump.context
    with pytest.raises(AnswerError, match="as a partition: it must be a topic's name and a number from 0 on"):
        context.offset(place, 0)


@pytest.mark.parametrize("answer", [
    *({PLACE: OffsetAndMetadata(offset)} for offset in NO_OFFSETS),
    [], "t", 7, {PLACE: 7}, {PLACE: None}, {"t": OffsetAndMetadata(1)}, {7: OffsetAndMetadata(1)},
    {PLACE: OffsetAndMetadata(1, None)},  # type: ignore[arg-type]
    {PLACE: OffsetAndMetadata(1, "a\0b")}, {PLACE: OffsetAndMetadata(1, "\ud800")},
    *({("t", number): OffsetAndMetadata(1)} for number in ("0", None, 0.0, True, -1)),
], ids=ascii)  # fmt: skip
def test_what_pre_commit_returns(answer: Any) -> None:
    world = SinkWorld()
    world.consumer.assign(PLACE)
    world.step(Message(("t", 0, 0), b"0"))
    world.allows = lambda offsets: answer
    with pytest.raises(AnswerError, match=r"pre_commit\(\) returned ") as refused:
        world.pump.commit()
    assert "OffsetAndMetadata as the offset" not in str(refused.value), "it says what of it is wrong"
    assert not world.consumer.committed


@pytest.mark.parametrize("given", [None, 7, [], [(PLACE, 1)], "t"], ids=repr)
def test_what_is_no_map_of_offsets_or_no_partition(given: Any) -> None:
    context = SinkWorld().pump.context
    with pytest.raises(AnswerError, match=r"^context\.offsets\(\) was given an? .*: it must be a map|was given None: it must"):
        context.offsets(given)
    for call in ("pause", "resume"):
        with pytest.raises(AnswerError, match=rf"^context\.{call}\(\) was given .* as a partition"):
            getattr(context, call)(given)


def test_what_is_reported() -> None:
    world = SinkWorld(tolerant=True)
    reporter: Any = world.pump.context.errant_record_reporter()
    with pytest.raises(AnswerError, match="The reporter of bad records was given None: it must be a record"):
        reporter.report(None, ValueError("no"))
    world.consumer.assign(PLACE)
    world.step(Message(("t", 0, 0), b"0"))
    reporter.report(world.taken[0], "a text")
    (failure,) = world.letters.reported
    assert str(failure.error) == "a text"


def test_a_task_closes_its_partitions_whatever_comes_of_their_last_commit() -> None:
    world = SinkWorld()
    world.consumer.assign(PLACE)
    world.step(Message(("t", 0, 0), b"0"))
    world.consumer.commit = lambda offsets: 1 / 0  # type: ignore[method-assign, assignment]
    world.pump.revoked([PLACE])
    assert world.calls[-1] == "close [0]"


@pytest.mark.parametrize("answer", [None, {}])
def test_nothing_to_commit(answer: Any) -> None:
    world = SinkWorld()
    world.consumer.assign(PLACE)
    world.step(Message(("t", 0, 0), b"0"))
    world.allows = lambda offsets: answer
    world.pump.commit()
    assert not world.consumer.committed
