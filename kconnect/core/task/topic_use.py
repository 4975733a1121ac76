"""
Which topics a task has used, and when their use may be announced (KIP-558): once everybody can read a record of the topic in
Kafka, or, for a sink, once the task could read a record of the topic.

Each task has a `TopicUse`. `delivery.py` tells it what was sent, refused, stored or dropped, and `sink_pump.py` what was read.
A topic that has been announced only costs one look-up in a set for each batch. `Announced` remembers these topics for the life
of a host. It is held by `host/main.py`, which also writes the record (`core/state/records.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Set
from typing import Any

from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import UnitId
from kconnect.core.task.chain import Outgoing


class TopicUse:
    """`announced()` are the topics that need no further word; `announce` is told of each other one, once it is in use."""

    def __init__(self, announced: Callable[[], Set[str]], announce: Callable[[str], None]) -> None:
        self._announced, self._announce = announced, announce
        self._sent: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    def has_used(self, topic: str | None) -> bool:
        """Return whether the task has used the topic, under its present config and in this host; None: any topic."""
        announced = self._announced()
        return bool(announced) if topic is None else topic in announced

    @property
    def pending(self) -> bool:
        """Whether a topic waits to be announced until Kafka has what was sent."""
        return bool(self._sent)

    def sent(self, topics: Collection[str], messages: Iterable[Outgoing]) -> None:
        """These messages, for these topics, were handed to the producer."""
        announced = self._announced()
        if not announced >= set(topics):
            self._sent.update(message[0] for message in messages if message[0] not in announced)

    def refused(self, topic: str) -> None:
        """Kafka does not take a message for this topic, and the task goes on without it."""
        self._refused[topic] += 1

    def stored(self) -> None:
        """All that was sent and not refused can be read now. All of some topics may have been refused."""
        for topic, messages in self._sent.items():
            if messages > self._refused[topic]:
                self._announce(topic)
        self.forget()

    def forget(self) -> None:
        """Forget what was sent since the last commit: its transaction is aborted, and nobody will ever read it."""
        self._sent.clear()
        self._refused.clear()

    def read(self, topics: Collection[str], records: Iterable[Any]) -> None:
        """A sink's records from these topics, None for each that could not be read."""
        if not self._announced() >= set(topics):
            self.read_from({record.topic for record in records if record is not None})

    def read_from(self, topics: Set[str]) -> None:
        """Records of all these topics could be read."""
        for topic in topics - self._announced():
            self._announce(topic)


class Announced:
    """
    The topics that one host's tasks have announced. A reset of a connector's topics, or a new config, makes it forget
    (KIP-558).
    """

    def __init__(self, config: ConfigState, assignment: AssignmentState) -> None:
        self._config, self._assignment = config, assignment
        self._known: dict[UnitId, tuple[object, set[str]]] = {}
        """With what they were announced under."""

    def of(self, unit: UnitId) -> set[str]:
        """The topics that this task need not announce, to be added to. From any thread."""
        connector = self._config.connectors.get(unit.connector)
        under = (self._assignment.topic_resets.get(unit.connector), connector and connector.offset)
        announced = self._known.get(unit)
        if announced is None or announced[0] != under:
            announced = self._known[unit] = (under, set())
        return announced[1]

    def ended(self, unit: UnitId) -> None:
        """The task runs here no longer."""
        if unit.connector not in self._config.connectors:
            self._known.pop(unit, None)
