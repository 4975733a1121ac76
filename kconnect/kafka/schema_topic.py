"""
The topic of inferred schemas: compacted, of one partition, and made when the first task needs it.

Tasks write and read it (`units/inferring.py`), and workers read it for REST. Read next: `core/state/schema_records.py` for what
stands in it, `reader.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from kconnect.core.state.bodies import BadRecord
from kconnect.core.state.schema_records import Key, decode_key
from kconnect.kafka.admin import ensure_topic
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import Reader
from kconnect.kafka.sending import send


def ensure(client: Mapping[str, Any], topic: str, replication_factor: int, config: Mapping[str, str]) -> None:
    """Create the topic if it is missing. ConnectError if that is refused."""
    remedy = (
        "Check `schema.storage.replication.factor` and this worker's rights, or create the topic yourself, with one "
        "partition and cleanup.policy=compact."
    )
    ensure_topic(client, topic, 1, replication_factor, remedy, {"cleanup.policy": "compact", **config})


class Said(Mapping[Key, Any]):
    """The statements about a connector's schemas. A value is parsed when it is asked for: there may be a thousand of them."""

    def __init__(self, values: Mapping[Key, bytes]) -> None:
        self._values = values

    def __getitem__(self, key: Key) -> Any:
        """Return a value; None if it is no JSON."""
        try:
            return orjson.loads(self._values[key])
        except ValueError:
            return None

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def read(client: Mapping[str, Any], topic: str, connector: str) -> Said:
    """
    Return what is said of a connector's schemas, in the order in which it was said; nothing if there is no such topic.

    UnavailableError if no broker answers, and ConnectError if the topic may not be read.
    """
    values: dict[Key, bytes] = {}
    with Reader(client, "kconnect-schemas") as reader:
        places = [Place(topic, number) for number in reader.partitions(topic)]
        for messages in reader.until({place: reader.span(place).end for place in places}):
            for message in messages:
                key = _key(message.key())
                if key is None or key.connector != connector:
                    continue
                values.pop(key, None)
                value = message.value()
                if value:
                    values[key] = value
    return Said(values)


def write(client: Mapping[str, Any], topic: str, values: Mapping[Key, Any]) -> None:
    """Write what is said, None to take it back. ConnectError if Kafka has not taken it within half a minute."""
    records = ((orjson.dumps(list(key)), None if value is None else orjson.dumps(value)) for key, value in values.items())
    send(client, topic, "Inferred schemas", records)


def _key(data: Any) -> Key | None:
    try:
        return decode_key(data)
    except BadRecord:
        return None
