"""
Clients of librdkafka that find their broker no more, and what takes their place.

After a lone broker had been suspended, some clients polled for ever without a record or an error, and others that were made
meanwhile never found it, while new clients did (librdkafka 2.16, its issue 5301). And a client remembers for 15 minutes which
broker coordinates a group, also when that one says that it does not. So whoever has a client for long keeps a `Patience` with
it, asks by `is_lost` what an error says of the client, and puts a `successor` in its place; `retire` ends the old one. Used by
`log.py`, `end_asker.py`, `consumer.py`, `watch.py`, `producer.py`, `transactions.py` and
`admin.py`. With that issue mended, this goes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

import confluent_kafka as ck

from kconnect.kafka.codes import AWAY, STARTING

log = logging.getLogger(__name__)


class Client(Protocol):
    def close(self) -> object: ...


C = TypeVar("C", bound=Client)


class Patience:
    """The time for which a client may stay silent. Times are seconds of the monotonic clock."""

    def __init__(self, seconds: float, now: float) -> None:
        self._seconds = seconds
        self._since = now

    def renew(self, now: float) -> None:
        """Start the time anew: the client was heard, or was looked after."""
        self._since = now

    def is_over(self, now: float) -> bool:
        return now - self._since > self._seconds


def is_lost(error: ck.KafkaError) -> bool:
    """
    Whether a client may go on to get this error for ever: no broker answers it, or the one that does is not responsible (any
    more). A new one asks the brokers of today.
    """
    return error.code() in AWAY or error.code() in STARTING or error.code() == ck.KafkaError.NOT_CONTROLLER


def successor(make: Callable[[], C], ask: Callable[[C], object]) -> C | None:
    """
    Return a new client if brokers answer what `ask` asks by it.

    None: nobody reaches them, so all there is to do is to wait, and a new client would not do it better.
    """
    fresh = make()
    try:
        ask(fresh)
    except ck.KafkaException as error:
        log.debug("No broker answers a new client: %s", error.args[0].str())
        retire(fresh)
        return None
    return fresh


def retire(client: Client) -> None:
    """End a client of which nobody wants anything any more, in the background: it may wait for brokers for long."""
    threading.Thread(target=client.close, name="old client", daemon=True).start()
