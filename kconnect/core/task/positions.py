"""
Offsets that a sink task hands over, checked where they come in: where to go back to, and what to commit.

To the client's library a negative offset is a place of its own (-1 the end, -2 the beginning): one which got there would pass
over records in silence. Called by `sink_context.py` and `sink_pump.py`, for tasks in Python and in Java. Read next:
`sink_offsets.py`, which says what of it may be committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.answers import AnswerError, kind_of, refusal

_LARGEST = 2**63 - 1
_OFFSETS = "a map of TopicPartition to OffsetAndMetadata, or None if nothing is to be committed"


def partition_of(call: str, value: Any) -> TopicPartition:
    """A partition that was given to the context. AnswerError, naming the call, for what is none."""
    if isinstance(value, tuple | list) and len(value) == 2:
        topic, number = value
        if isinstance(topic, str) and topic and _is_whole(number) and 0 <= number < 2**31:
            return TopicPartition(topic, number)
    raise AnswerError(f"{call} was given {value!r} as a partition: it must be a topic's name and a number from 0 on")


def offsets_of(call: str, value: Any) -> dict[TopicPartition, int]:
    """Offsets that were given to the context by their partitions. AnswerError, naming the call, for what is none."""
    if not isinstance(value, Mapping):
        raise AnswerError(f"{call} was given {kind_of(value)}: it must be a map of partitions to offsets")
    places = {partition_of(call, partition): offset for partition, offset in value.items()}
    return {place: offset_of(call, place, offset) for place, offset in places.items()}


def offset_of(call: str, partition: TopicPartition, value: Any) -> int:
    """An offset that was given to the context. AnswerError, naming the call, for what is none."""
    if _is_whole(value) and 0 <= value <= _LARGEST:
        return value
    place = f"{partition.topic}-{partition.partition}"
    raise AnswerError(f"{call} was given {value!r} as the offset of {place}: it must be a whole number from 0 on")


def milliseconds(call: str, value: Any) -> float:
    """A time that was given to the context, below 0 for none, as in Connect. AnswerError, naming the call, for what is none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value < _LARGEST:
        return value
    raise AnswerError(f"{call} was given {value!r}: it must be a number of milliseconds")


def count(call: str, value: Any) -> int:
    """A number of records that was given to the context. AnswerError, naming the call, for what is none."""
    if _is_whole(value) and 0 <= value <= _LARGEST:
        return value
    raise AnswerError(f"{call} was given {value!r}: it must be a number of records")


def to_commit(plugin: str, answer: Any) -> Mapping[TopicPartition, OffsetAndMetadata]:
    """
    Return the offsets that a task's `pre_commit` returned; None counts as an empty map. Raise AnswerError if it is no map of
    offsets.
    """
    if answer is None:
        return {}
    if not isinstance(answer, Mapping):
        raise refusal(plugin, "pre_commit", kind_of(answer), _OFFSETS)
    for place, position in answer.items():
        if not _is_place(place):
            what = f"({kind_of(place[0])}, {kind_of(place[1])})" if _is_pair(place) else kind_of(place)
            raise refusal(plugin, "pre_commit", f"{what} as a partition", _OFFSETS)
        where = f"{place[0]}-{place[1]}"
        if not isinstance(position, OffsetAndMetadata):
            raise refusal(plugin, "pre_commit", f"{kind_of(position)} as the offset of {where}", _OFFSETS)
        if not _is_whole(position.offset):
            raise refusal(plugin, "pre_commit", f"{kind_of(position.offset)} as the offset of {where}", "whole numbers")
        if not 0 <= position.offset <= _LARGEST:
            raise refusal(plugin, "pre_commit", f"the offset {position.offset} of {where}", "offsets from 0 on")
        if not _can_be_kept(position.metadata):
            what = kind_of(position.metadata) if not isinstance(position.metadata, str) else "a text that Kafka can't keep"
            raise refusal(plugin, "pre_commit", f"{what} as the metadata of {where}", "texts in UTF-8 without U+0000")
    return answer


def _is_pair(place: Any) -> bool:
    return isinstance(place, tuple) and len(place) == 2


def _is_place(place: Any) -> bool:
    return _is_pair(place) and isinstance(place[0], str) and _is_whole(place[1]) and 0 <= place[1] < 2**31


def _can_be_kept(metadata: Any) -> bool:
    """Whether an offset's metadata is a text that the client takes, and as a whole."""
    try:
        return isinstance(metadata, str) and b"\0" not in metadata.encode()
    except UnicodeEncodeError:
        return False


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
