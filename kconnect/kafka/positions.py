"""
Where partitions begin and end, and where in them a moment is: what a reader's offset is compared with.

Commands that show lag or move offsets ask this. Everything is asked for all partitions at once, outside of any group, and
again for a while if a broker has just begun to lead a partition.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, OffsetSpec

from kconnect.errors import ConnectError, UnavailableError
from kconnect.kafka import codes

_ANSWER_S = 15.0
_PERSIST_S = 30.0
_PAUSE_S = 0.2


class Place(NamedTuple):
    """A partition of a topic; its text is `topic/0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


@dataclass(frozen=True)
class Span:
    """The extent of a partition: the first offset that is still there, and the one that the next record gets."""

    start: int
    end: int


class Positions:
    """Asks one Kafka cluster. `client` are librdkafka's settings. ConnectErrors name the partition, or the brokers."""

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._servers = client.get("bootstrap.servers")
        self._client = AdminClient(dict(client))

    def cluster_id(self) -> str:
        try:
            return str(self._client.describe_cluster(request_timeout=_ANSWER_S).result().cluster_id)
        except ck.KafkaException as error:
            raise self._failed("The cluster's id is not known", error.args[0]) from error

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        """Return the partitions of those topics that exist."""
        try:
            metadata = self._client.list_topics(timeout=_ANSWER_S).topics
        except ck.KafkaException as error:
            raise self._failed("The topics can't be listed", error.args[0]) from error
        existing = sorted(set(topics) & set(metadata))
        return [Place(topic, number) for topic in existing for number in sorted(metadata[topic].partitions)]

    def spans(self, places: Iterable[Place]) -> dict[Place, Span]:
        asked = list(places)
        starts, ends = self._ask(asked, OffsetSpec.earliest()), self._ask(asked, OffsetSpec.latest())
        return {place: Span(starts[place], ends[place]) for place in asked}

    def at(self, places: Iterable[Place], time_ms: int) -> dict[Place, int | None]:
        """The first record that is not older, by its timestamp in milliseconds since 1970; None if all are."""
        offsets = self._ask(list(places), OffsetSpec.for_timestamp(max(time_ms, 0)))
        return {place: None if offset < 0 else offset for place, offset in offsets.items()}

    def _ask(self, places: list[Place], what: Any) -> dict[Place, int]:
        offsets: dict[Place, int] = {}
        missing, end = places, time.monotonic() + _PERSIST_S
        while missing:
            asked = {ck.TopicPartition(*place): what for place in missing}
            answers = self._client.list_offsets(asked, request_timeout=_ANSWER_S)
            missing, last = [], None
            for partition, answer in answers.items():
                place = Place(partition.topic, partition.partition)
                try:
                    offsets[place] = answer.result().offset
                except ck.KafkaException as error:
                    if error.args[0].code() not in codes.MOVING or time.monotonic() > end:
                        raise self._failed(f"The offsets of {place} can't be read", error.args[0]) from error
                    missing.append(place)
                    last = error
            if last is not None:
                time.sleep(_PAUSE_S)
        return offsets

    def _failed(self, what: str, error: Any) -> ConnectError:
        if error.code() in codes.AWAY:
            return UnavailableError(f"No broker answers at bootstrap.servers={self._servers}: {error.str()}")
        return ConnectError(f"{what}: {error.str()}")
