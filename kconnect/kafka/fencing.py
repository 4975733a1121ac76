"""
Fences the transactional producers of tasks that must not write any more (KIP-618). Called by `worker/brokers.py`.

`init_transactions` of a transactional id ends its open transaction and gives it a new epoch, so that whoever used the id
before can write no more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import confluent_kafka as ck

from kconnect.errors import ConnectError, RetriableError
from kconnect.kafka import servers
from kconnect.kafka.codes import FORBIDDEN

_UNFIT = frozenset(
    (
        "message.timeout.ms",
        "delivery.timeout.ms",
        "linger.ms",
        "queue.buffering.max.ms",
        "socket.timeout.ms",
        "retries",
        "message.send.max.retries",
        "max.in.flight.requests.per.connection",
        "max.in.flight",
        "transaction.timeout.ms",
    )
)
"""
Settings of a task's producer, under all their names, that a transactional one may refuse. Nothing is sent, so none matters.
"""
_AT_ONCE = 8
_HOPELESS = (
    *FORBIDDEN,
    ck.KafkaError._INVALID_ARG,
    ck.KafkaError._AUTHENTICATION,
    ck.KafkaError._SSL,
    ck.KafkaError._UNSUPPORTED_FEATURE,
    ck.KafkaError.SASL_AUTHENTICATION_FAILED,
    ck.KafkaError.UNSUPPORTED_SASL_MECHANISM,
)


def fence(client: Mapping[str, Any], transactional_ids: Sequence[str], timeout: float) -> None:
    """
    `client` is that of a task's producer. Unless all are fenced within `timeout` seconds an error that names the first that
    was not: RetriableError if it may be later, else ConnectError.
    """
    servers.require(client)
    end = time.monotonic() + timeout
    settings = {name: value for name, value in client.items() if name not in _UNFIT}
    # Each needs a client of its own, which waits for its brokers most of the time.
    with ThreadPoolExecutor(_AT_ONCE, "fence") as pool:
        for future in [pool.submit(_fence, settings, own_id, end) for own_id in transactional_ids]:
            future.result()


def _fence(settings: Mapping[str, Any], transactional_id: str, end: float) -> None:
    # Brokers refuse a longer time than their transaction.max.timeout.ms, also of who begins no transaction.
    fencing = {
        "acks": "all",
        "enable.idempotence": True,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": 10_000,
    }
    try:
        producer = ck.Producer({**settings, **fencing})
        try:
            producer.init_transactions(max(0.1, end - time.monotonic()))
        finally:
            # The client's threads end now, not when the garbage collector comes by, nor whoever looks at a traceback: they
            # would go on asking, and fence the task that has the id by then.
            del producer
    except ck.KafkaException as error:
        reason: ck.KafkaError = error.args[0]
        text = f"The transactional id {transactional_id} was not fenced: {reason.str()}"
        if reason.code() not in _HOPELESS:
            raise RetriableError(text) from error
        remedy = " Allow its producer's user the operations Describe and Write on it." if reason.code() in FORBIDDEN else ""
        raise ConnectError(f"{text}.{remedy}") from error
