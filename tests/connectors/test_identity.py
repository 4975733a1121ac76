"""A sink that keeps offsets in its target does not believe those of a topic that is another one by now."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import pytest

from kconnect.api import ConnectError, SinkTaskContext, TopicPartition
from kconnect.connectors.identity import Mark, TopicIds

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
WHERE = "The table o"


class Kafka:
    """What brokers tell, and how often they were asked."""

    def __init__(self, ids: dict[str, str], ends: dict[TopicPartition, int]) -> None:
        self.ids, self.ends, self.asked, self.now = ids, ends, 0, 0.0
        context = cast(SinkTaskContext, self)
        self.topics = TopicIds(context, "c", self.wait, lambda: self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        self.asked += 1
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.ends[place] for place in partitions if place in self.ends}


@pytest.mark.parametrize(
    ("ids", "ends", "mark", "refused"),
    [
        ({"t": "a"}, {PLACE: 9}, Mark(5, "a"), None),
        ({"t": "a"}, {PLACE: 9}, Mark(9, "a"), None),
        ({"t": "b"}, {PLACE: 9}, Mark(5, "a"), "it has another id"),
        ({"t": "a"}, {PLACE: 4}, Mark(5, "a"), "the partition ends at 4"),
        # Nothing would be passed over.
        ({"t": "b"}, {PLACE: 0}, Mark(0, "a"), None),
        ({"t": "b"}, {PLACE: 0}, Mark(-1, "a"), None),
        # Brokers without ids, an older version's offsets, and nobody who tells anything.
        ({}, {PLACE: 9}, Mark(5, "a"), None),
        ({"t": "a"}, {PLACE: 9}, Mark(5, None), None),
        ({}, {PLACE: 4}, Mark(5, None), "the partition ends at 4"),
        ({}, {}, Mark(5, None), None),
    ],
    ids=lambda value: str(value).replace(" ", ""),
)
def test_what_is_believed(ids: dict[str, str], ends: dict[TopicPartition, int], mark: Mark, refused: str | None) -> None:
    kafka = Kafka(ids, ends)
    if refused is None:
        kafka.topics.check({PLACE: mark}, WHERE)
    else:
        command = "kconnect offsets set c t/0=0 --stop"
        with pytest.raises(ConnectError, match=rf"The table o has the offset 5 of t-0 .*{refused}.*{command}"):
            kafka.topics.check({PLACE: mark}, WHERE)


def test_a_new_leader_may_know_less_for_a_moment() -> None:
    kafka = Kafka({"t": "a"}, {PLACE: 4, OTHER: 9})

    def wait(seconds: float) -> None:
        kafka.ends[PLACE] += 1

    kafka.topics._wait = wait
    kafka.topics.check({PLACE: Mark(7, "a"), OTHER: Mark(9, "a")}, WHERE)
    assert kafka.ends[PLACE] == 7


def test_a_topic_that_is_made_again_while_it_is_read_is_noticed() -> None:
    kafka = Kafka({"t": "a"}, {})
    assert kafka.topics.of({"t", "unknown"}) == {"t": "a"}
    kafka.ids["t"] = "b"
    kafka.topics.look(WHERE)
    kafka.now += 61
    with pytest.raises(ConnectError, match="deleted and made again while it was read"):
        kafka.topics.look(WHERE)
    kafka.now += 2
    with pytest.raises(ConnectError, match="deleted and made again while it was read"):
        kafka.topics.look(WHERE, at_once=True)


def test_looks_at_once_do_not_ask_for_each_batch() -> None:
    kafka = Kafka({"t": "a"}, {})
    kafka.topics.of({"t"})
    kafka.now = 10
    for _ in range(5):
        kafka.topics.look(WHERE, at_once=True)
    assert kafka.asked == 2


def test_opened_again_topics_are_asked_for_again() -> None:
    kafka = Kafka({"t": "a"}, {})
    marks: Any = {PLACE: Mark(5, "a")}
    kafka.topics.check(marks, WHERE)
    kafka.ids["t"] = "b"
    kafka.topics.forget()
    with pytest.raises(ConnectError, match="another id"):
        kafka.topics.check(marks, WHERE)


def test_the_remedy_is_one_command_for_a_shell() -> None:
    """Who creates connectors names them, and an operator copies the command."""
    kafka = Kafka({"t": "b"}, {PLACE: 9})
    topics = TopicIds(cast(SinkTaskContext, kafka), "c; reboot", lambda seconds: None)
    with pytest.raises(ConnectError, match=r"kconnect offsets set 'c; reboot' t/0=0 --stop"):
        topics.check({PLACE: Mark(5, "a")}, WHERE)
