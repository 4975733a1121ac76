"""
Where the dead letter queues are: who names which, by REST, and what is in one, by Kafka. Read next: `letters.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import click

from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq.choice import Choice
from kconnect.cli.dlq.letters import CONTEXT, Letter
from kconnect.cli.dlq.memory import Done, group_of
from kconnect.core.settings.errors import CONTEXT_HEADERS, DEAD_LETTERS_TOPIC
from kconnect.errors import BadRequestError, ConfigError, ConnectError, NotFoundError
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import Reader

_ANSWER_S = 30.0


@dataclass(frozen=True)
class Owner:
    """A connector that names a queue. `told`: it has its context headers written."""

    connector: str
    queue: str
    told: bool


def owners(target: Target) -> list[Owner]:
    """Of all queues of the cluster, in order of their names. RestError if no worker answers."""
    return owners_in(_configs(target))


def _configs(target: Target, timeout: float | None = None) -> dict[str, Any]:
    with target.connect(timeout) as client:
        return {name: each["info"]["config"] for name, each in client.connectors("info").items()}


def owners_in(configs: Mapping[str, Mapping[str, str | None]]) -> list[Owner]:
    made = [
        Owner(name, topic, _has_headers(config))
        for name, config in configs.items()
        if (topic := DEAD_LETTERS_TOPIC.read(config))
    ]
    return sorted(made, key=lambda owner: (owner.queue, owner.connector))


def _has_headers(config: Mapping[str, str | None]) -> bool:
    with suppress(ConfigError):
        return CONTEXT_HEADERS.read(config)
    return False


class Queue:
    """One queue's topic, read outside of any group; nothing is committed. Use it in a `with`."""

    def __init__(self, brokers: Brokers, name: str) -> None:
        self.name = name
        # Letters that a transaction has taken back never were.
        self._reader = Reader(brokers.client_config("consumer"), group_of(name))
        self.unnamed = ""
        """Why no connector is known to name it; empty if one does, or nobody has looked."""

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.__exit__()

    @property
    def metadata(self) -> Any:
        """The consumer group's, for a transaction."""
        return self._reader.metadata

    def placed(self, offsets: Mapping[int, int]) -> dict[Place, int]:
        """Offsets of its partitions, with its name."""
        return {Place(self.name, number): offset for number, offset in offsets.items()}

    def partitions(self, topic: str | None = None) -> list[int]:
        """Of this topic, or of another one; none if there is no such topic. UnavailableError if no broker answers."""
        return self._reader.partitions(topic or self.name)

    def bounds(self, choice: Choice | None = None) -> dict[int, tuple[int, int]]:
        """Of each partition the first offset and that behind the last, as far as the choice asks for them."""
        asked = choice or Choice()
        places = [place for place in self.partitions() if asked.queue_partition in (None, place)]
        return {place: asked.bounds(*self._span(place)) for place in places}

    def letters(self, bounds: Mapping[int, tuple[int, int]]) -> Iterator[Letter]:
        """What is between the bounds, each partition in its order. UnavailableError if brokers are silent for a minute."""
        starts, ends = ({place: bound[which] for place, bound in bounds.items()} for which in (0, 1))
        for messages in self._reader.until(self.placed(ends), self.placed(starts)):
            for message in messages:
                place, offset = message.partition() or 0, message.offset() or 0
                yield Letter.of(message, max(offset - starts[place], 0))
                starts[place] = offset + 1

    def replayed(self, settled: bool = False) -> dict[int, Done]:
        """
        What has been replayed of each partition. ConflictError for notes of somebody else.

        A replay that was killed may have left a note whose transaction brokers end a minute later. It does not count yet, or,
        if it is to be `settled`, is waited for: whoever has taken over the replays has ended it already.
        """
        found = self._reader.committed(self.placed(dict.fromkeys(self.partitions(), 0)), settled)
        return {place.partition: Done.read(at, note, self._span(place.partition)[1]) for place, at, note in found}

    def _span(self, number: int) -> tuple[int, int]:
        span = self._reader.span(Place(self.name, number))
        return span.start, span.end


def find(brokers: Brokers, target: Target, name: str) -> Queue:
    """
    The queue of that name, or of the connector of that name. NotFoundError if there is none.

    A sink may be called like the topic that it reads, so a topic which nobody names as a queue gives way to the connector's
    queue. Where no worker can be asked, the topic is meant.
    """
    asked, why = _asked(target)
    named = meant(name, asked)
    queue = Queue(brokers, named)
    if not any(owner.queue == named for owner in owners_in(asked or {})):
        queue.unnamed = f"no worker could be asked ({why})" if asked is None else f"no connector at {target.url} names it"
    if queue.partitions():
        return queue
    queue.__exit__()
    if named != name:
        raise NotFoundError(f"The connector {name} names the queue {named}, but no task has made that topic yet")
    if asked is not None and name in asked:
        raise NotFoundError(f"The connector {name} has no dead letter queue: it sets no {DEAD_LETTERS_TOPIC.key.name}")
    known = f"and no worker could be asked ({why})" if asked is None else "and no connector of that name"
    raise NotFoundError(f"There is no topic {name}, {known}. `kconnect dlq list` shows the queues")


def _asked(target: Target) -> tuple[dict[str, Any] | None, str]:
    """The configs by connector, or why no worker tells them."""
    try:
        return _configs(target, _ANSWER_S), ""
    except (ConnectError, click.UsageError) as error:
        return None, " ".join(str(error).split())


def meant(name: str, configs: Mapping[str, Mapping[str, str | None]] | None) -> str:
    """The topic that `name` stands for. `configs` by connector, None if nobody told them."""
    found = owners_in(configs or {})
    if any(owner.queue == name for owner in found):
        return name
    return next((owner.queue for owner in found if owner.connector == name), name)


def require_queue(queue: Queue) -> None:
    """BadRequestError unless a connector names the topic, or its first letters have Connect's headers."""
    if not queue.unnamed:
        return
    bounds = {place: (low, min(high, low + 1)) for place, (low, high) in queue.bounds().items()}
    if any(name.startswith(CONTEXT) for letter in queue.letters(bounds) for name, _ in letter.headers):
        return
    raise BadRequestError(
        f"Nothing says that {queue.name} is a dead letter queue: {queue.unnamed}, and its first letters have no headers of "
        "Connect. Give the --url of a worker of its connector"
    )
