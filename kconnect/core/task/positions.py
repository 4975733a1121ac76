"""
Offsets that a sink task hands over, checked where they come in: where to go back to, and what to commit.

To the client's library a negative offset is a place of its own (-1 the end, -2 the beginning): one which got there would pass
over records in silence. Called by `sink_context.py` and `sink_pump.py`, for tasks in Python and in Java. Read next:
`sink_offsets.py`, which says what of it may be committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.answers import AnswerError, kind_of, refusal

_LARGEST = 2**63 - 1
_OFFSETS = "a map of TopicPartition to OffsetAndMetadata, or None if nothing is to be committed"


def partition_of(call: str, given: Any) -> TopicPartition:
    """A partition that was given to the context. AnswerError, naming the call, for what is none."""
    if isinstance(given, tuple | list) and len(given) == 2:
        topic, number = given
        if isinstance(topic, str) and topic and _is_whole(number) and 0 <= number < 2**31:
            return TopicPartition(topic, number)
    raise AnswerError(f"{call} was given {given!r} as a partition: it must be a topic's name and a number from 0 on")


def offset_of(call: str, partition: TopicPartition, given: Any) -> int:
    """An offset that was given to the context. AnswerError, naming the call, for what is none."""
    if _is_whole(given) and 0 <= given <= _LARGEST:
        return given  # type: ignore[no-any-return]
    place = f"{partition.topic}-{partition.partition}"
    raise AnswerError(f"{call} was given {given!r} as the offset of {place}: it must be a whole number from 0 on")


def milliseconds(call: str, given: Any) -> float:
    """A time that was given to the context, below 0 for none, as in Connect. AnswerError, naming the call, for what is none."""
    if isinstance(given, int | float) and not isinstance(given, bool) and given < _LARGEST:
        return given
    raise AnswerError(f"{call} was given {given!r}: it must be a number of milliseconds")


def count(call: str, given: Any) -> int:
    """A number of records that was given to the context. AnswerError, naming the call, for what is none."""
    if _is_whole(given) and 0 <= given <= _LARGEST:
        return given  # type: ignore[no-any-return]
    raise AnswerError(f"{call} was given {given!r}: it must be a number of records")


def to_commit(plugin: str, answer: Any) -> Mapping[TopicPartition, OffsetAndMetadata]:
    """What a task's `pre_commit` returned. AnswerError if that is no map of offsets; None counts as an empty one."""
    if answer is None:
        return {}
    if not isinstance(answer, Mapping):
        raise refusal(plugin, "pre_commit", kind_of(answer), _OFFSETS)
    for place, position in answer.items():
        if not isinstance(place, tuple) or len(place) != 2 or not isinstance(place[0], str):
            raise refusal(plugin, "pre_commit", f"{kind_of(place)} as a partition", _OFFSETS)
        if (
            not isinstance(position, OffsetAndMetadata)
            or not _is_whole(position.offset)
            or not isinstance(position.metadata, str)
        ):
            raise refusal(plugin, "pre_commit", f"{kind_of(position)} as the offset of {place[0]}-{place[1]}", _OFFSETS)
        if not 0 <= position.offset <= _LARGEST:
            raise refusal(plugin, "pre_commit", f"the offset {position.offset} of {place[0]}-{place[1]}", "offsets from 0 on")
    return answer


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
