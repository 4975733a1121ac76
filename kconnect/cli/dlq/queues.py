"""
Which queue is meant on the command line: who names which, as a worker tells. Read next: `kconnect/dlq/queue.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.core.settings.errors import DEAD_LETTERS_TOPIC
from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.queue import Owner, Queue, owners_in
from kconnect.errors import BadRequestError, ConnectError, NotFoundError

_ANSWER_S = 30.0


def owners(target: Target) -> list[Owner]:
    """Return the owners of all queues of the cluster, in order of their names. Raise RestError if no worker answers."""
    return owners_in(_configs(target))


def _configs(target: Target, timeout: float | None = None) -> dict[str, Any]:
    with target.connect(timeout) as client:
        return {name: entry["info"]["config"] for name, entry in client.connectors("info").items()}


def find(brokers: Brokers, target: Target, name: str) -> Queue:
    """
    The queue of that name, or of the connector of that name. NotFoundError if there is none.

    A sink may be called like the topic that it reads, so a topic which nobody names as a queue gives way to the connector's
    queue. Where no worker can be asked, the topic is meant.
    """
    asked, why = _asked(target)
    named = meant(name, asked)
    queue = Queue(brokers.client_config, named)
    if not any(owner.queue == named for owner in owners_in(asked or {})):
        queue.unnamed = f"no worker could be asked ({why})" if asked is None else f"no connector at {target.url} uses it"
    if queue.partitions():
        return queue
    queue.__exit__()
    if named != name:
        raise NotFoundError(f"The connector {name} has the queue {named}, but no task has created that topic yet")
    if asked is not None and name in asked:
        raise NotFoundError(f"The connector {name} has no dead letter queue: it does not set {DEAD_LETTERS_TOPIC.key.name}")
    what_is_known = f"and no worker could be asked ({why})" if asked is None else "and no connector has that name"
    raise NotFoundError(f"There is no topic {name}, {what_is_known}. `kconnect dlq list` shows the queues")


def _asked(target: Target) -> tuple[dict[str, Any] | None, str]:
    """The configs by connector, or why no worker tells them."""
    try:
        return _configs(target, _ANSWER_S), ""
    except (ConnectError, click.UsageError) as error:
        return None, " ".join(str(error).split())


def meant(name: str, configs: Mapping[str, Mapping[str, str | None]] | None) -> str:
    """The topic that `name` stands for. `configs` by connector, None if nobody told them."""
    owners = owners_in(configs or {})
    if any(owner.queue == name for owner in owners):
        return name
    return next((owner.queue for owner in owners if owner.connector == name), name)


def require_queue(queue: Queue) -> None:
    """BadRequestError unless a connector names the topic, or its first letters have Connect's headers."""
    if not queue.unnamed:
        return
    bounds = {place: (low, min(high, low + 1)) for place, (low, high) in queue.bounds().items()}
    if any(name.startswith(CONTEXT) for letter in queue.letters(bounds) for name, _ in letter.headers):
        return
    raise BadRequestError(
        f"{queue.name} may not be a dead letter queue: {queue.unnamed}, and its first records do not have Connect's headers. "
        "Give the --url of a worker of its connector"
    )
