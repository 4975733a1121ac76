"""
What a Kafka error means: to whoever runs a command, an error of ours with the remedy (called by `cluster.py`, `reader.py` and
others that read a topic for somebody); to a task, whether brokers are away (called by `units/reports.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import confluent_kafka as ck

from kconnect.errors import ConnectError, ForbiddenError, NotFoundError, UnavailableError
from kconnect.kafka.codes import AWAY

_PAUSE_S = 0.2
_T = TypeVar("_T")

_FORBIDDEN = (
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    ck.KafkaError.GROUP_AUTHORIZATION_FAILED,
    ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


def failure(error: ck.KafkaError, what: str, client: Mapping[str, Any]) -> ConnectError:
    """`what` could not be read or changed, such as "the topic orders", by a client with these settings."""
    if error.code() in _FORBIDDEN:
        return ForbiddenError(
            f"Kafka denies access to {what} ({error.str()}). Grant it to this user, or log in as one who has it."
        )
    if error.code() in (*AWAY, ck.KafkaError._RESOLVE):
        return UnavailableError(
            f"No broker answered at bootstrap.servers={client.get('bootstrap.servers')} for {what} ({error.str()}). Start one, "
            "or correct the address and the login."
        )
    if error.code() in (ck.KafkaError.UNKNOWN_TOPIC_OR_PART, ck.KafkaError._UNKNOWN_TOPIC):
        return NotFoundError(f"Kafka does not know {what} (any more)")
    return ConnectError(f"Kafka refused the request for {what}: {error.str()}")


def brokers_away(error: BaseException | None) -> bool:
    """Whether this is confluent-kafka's error for a request that no broker answered."""
    return isinstance(error, ck.KafkaException) and error.args[0].code() in AWAY


def persistently(ask: Callable[[], _T], passing: Collection[int], what: str, client: Mapping[str, Any], limit_s: float) -> _T:
    """Call `ask` until it succeeds, for at most `limit_s` seconds. Retry only errors with the codes `passing`."""
    end = time.monotonic() + limit_s
    while True:
        try:
            return ask()
        except ck.KafkaException as error:
            if error.args[0].code() not in passing or time.monotonic() > end:
                raise failure(error.args[0], what, client) from error
        time.sleep(_PAUSE_S)
