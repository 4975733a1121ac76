"""
Some records that are sent at once, by a client that is made for them: what is said of schemas, a signal for a connector.

Used by `schema_topic.py` and the worker (`worker/world.py`). Tasks' records go another way: `producer.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.errors import ConnectError

_WRITE_S = 30.0


def send(client: Mapping[str, Any], topic: str, what: str, records: Iterable[tuple[bytes, bytes | None]]) -> None:
    """Send keys and values. ConnectError, of `what`, if Kafka has not taken all of them within half a minute."""
    failures: list[ck.KafkaError] = []

    def delivered(error: ck.KafkaError | None, _: ck.Message) -> None:
        if error is not None:
            failures.append(error)

    producer = ck.Producer({**client, "acks": "all", "linger.ms": 0, "message.timeout.ms": int(_WRITE_S * 1000)})
    for key, value in records:
        try:
            producer.produce(topic, value, key, on_delivery=delivered)
        except ck.KafkaException as error:
            raise ConnectError(f"{what} can't be written to the topic {topic}: {error.args[0].str()}") from None
    unsent_count = producer.flush(_WRITE_S)
    if failures or unsent_count:
        reason = failures[0].str() if failures else "no answer"
        raise ConnectError(f"{what} can't be written to the topic {topic}: {reason}")
