"""
Which topics a source's records may not go to, and whether that is their own choice: a transform may name one by a value.

Such a record fails alone where failures are tolerated. Asked by `delivery.py` before a batch is sent, for topics that the task
has not written to yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import Errors
from kconnect.core.task.ports import Producer, Topics
from kconnect.core.task.topic_use import TopicUse
from kconnect.errors import ConnectError, NotAuthorizedError, NoTopicError

_ABSENT_S, _MOST_ABSENT = 60.0, 1000
"""For how long nobody looks again for a topic that records have chosen and that could not be had, and how many are known."""
_WAITED = 3
"""If there are so many of them, nobody waits for more to come: each record may choose another one."""


class Refusals(NamedTuple):
    """Why some topics of a batch can't be had: of those that records have `chosen`, and of `others`, which fail the task."""

    chosen: Mapping[str, Exception]
    others: Mapping[str, Exception]


class TopicChoices:
    def __init__(self, topics: Topics, use: TopicUse, errors: Errors, clock: Callable[[], float]) -> None:
        self._topics, self._use, self._errors, self._clock = topics, use, errors, clock
        self._absent: dict[str, tuple[float, Exception]] = {}
        """Topics that were not to be had, until when nobody looks again, and why."""

    def refused(self, topics: Iterable[str]) -> dict[str, Exception]:
        """Return why no record may go to some of these topics: they are no data, or were not to be had a moment ago."""
        now, refusals = self._clock(), dict[str, Exception]()
        for topic in topics:
            refusal = self._topics.refusal(topic)
            until, failure = self._absent.get(topic, (now, None))
            if refusal is not None:
                refusals[topic] = ConnectError(refusal)
            elif failure is not None and now < until:
                refusals[topic] = failure
        return refusals

    def require(self, batch: Converted, new: Collection[str], producer: Producer) -> Refusals | None:
        """
        Have the new topics of a batch there. Return why some can't be had; without tolerance that of the first alone. None if
        the task is to end first.
        """
        refusals: dict[str, ConnectError] = {}
        now = self._clock()
        absent = sum(now < until for until, _ in self._absent.values())
        try:
            return Refusals({}, {}) if self._topics.require(list(new), producer, absent < _WAITED) else None
        except ConnectError as failure:
            if len(batch.topics) == 1:
                refusals[batch.messages[0][0]] = failure
        for topic in () if refusals else dict.fromkeys(message[0] for message in batch.messages if message[0] in new):
            try:
                if not self._topics.require([topic], producer, absent + len(refusals) < _WAITED):
                    return None
            except ConnectError as failure:
                refusals[topic] = failure
                if not self._errors.settings.tolerant:
                    break
        chosen = {topic: failure for topic, failure in refusals.items() if self._is_choice(batch, topic, failure, refusals)}
        if len(self._absent) + len(chosen) > _MOST_ABSENT:
            self._absent.clear()
        self._absent.update({topic: (self._clock() + _ABSENT_S, failure) for topic, failure in chosen.items()})
        return Refusals(chosen, {topic: failure for topic, failure in refusals.items() if topic not in chosen})

    def _is_choice(self, batch: Converted, topic: str, failure: ConnectError, refusals: Collection[str]) -> bool:
        """
        Whether it is the fault of some records alone that a topic can't be had. What the task has written to is no choice of
        theirs; nor is a topic that is missing, unless they were given it on the way, and other topics are there.
        """
        if not self._errors.settings.tolerant or self._use.has_used(topic):
            return False
        if not isinstance(failure, NoTopicError):
            return isinstance(failure, NotAuthorizedError)
        origins = (origin for origin, message in zip(batch.origins, batch.messages) if message[0] == topic)
        is_given = any(getattr(origin, "topic", topic) != topic for origin in origins)
        return is_given and (self._use.has_used(None) or bool(set(batch.topics) - set(refusals)))
