"""
Debezium's history of schemas: a topic with every table's definition at the place where the change stream begins.

Debezium reads it from the beginning whenever it starts, up to the place that its offset has. What is written here is what its
own snapshot writes, but for its own form of the definitions (`tableChanges`), in whose place it reads the statements. Called by
`source.py`, before a row is read: whoever tries again writes it again, and the last one counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.api import ConnectError
from kconnect.connectors.backfill.mariadb import settings
from kconnect.connectors.backfill.mariadb.history_client import client_settings
from kconnect.connectors.backfill.mariadb.keys import quoted
from kconnect.connectors.backfill.mariadb.sessions import Place
from kconnect.connectors.backfill.mariadb.tables import Name

_WAIT_S = 60.0
_KEPT_MS = str(2**63 - 1)


class Statement(NamedTuple):
    """A statement that the history is to have, of a database or of none (an empty name)."""

    database: str
    text: str


def statements(
    charset: str, collation: str, databases: Mapping[str, tuple[str, str]], tables: Mapping[Name, str]
) -> Iterator[Statement]:
    """
    Yield the statements of Debezium's snapshot: the server's character set, then all tables and databases anew. `databases` has
    the character set and collation of each, `tables` their definitions.
    """
    yield Statement("", f"SET character_set_server={charset}, collation_server={collation}")
    names = sorted(tables)
    for name in names:
        yield Statement(name.database, f"DROP TABLE IF EXISTS {name.quoted}")
    for database in sorted({name.database for name in names}):
        own_charset, own_collation = databases[database]
        yield Statement(database, f"DROP DATABASE IF EXISTS {quoted(database)}")
        yield Statement(database, f"CREATE DATABASE {quoted(database)} CHARSET {own_charset} COLLATE {own_collation}")
        yield Statement(database, f"USE {quoted(database)}")
        for name in names:
            if name.database == database:
                yield Statement(database, tables[name])


def offset_of(place: Place, taken_s: int) -> dict[str, Any]:
    """Return the offset that Debezium has once its snapshot is done at a place of the log."""
    gtids = {"gtids": place.gtids} if place.gtids else {}
    return {"ts_sec": taken_s, "file": place.file, "pos": place.position, **gtids}


class History:
    def __init__(self, config: Mapping[str, Any], props: Mapping[str, str]) -> None:
        """ConfigError for settings of the client that can't be carried over."""
        self._topic: str = config[settings.HISTORY]
        self._server: str = config[settings.PREFIX]
        self._client = client_settings(config[settings.HISTORY_BROKERS], props)

    def write(self, wanted: Iterable[Statement], place: Place, taken_s: int) -> None:
        """Write all statements, and return once they are in Kafka. ConnectError if that can't be."""
        position = {**offset_of(place, taken_s), "snapshot": "INITIAL"}
        try:
            self._make_topic()
            producer = Producer({**self._client, "enable.idempotence": True, "compression.type": "zstd"})
        except KafkaException as error:
            raise self._failed(error.args[0].str()) from None
        problems: list[str] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                problems.append(error.str())

        for statement in wanted:
            record = {
                "source": {"server": self._server},
                "position": position,
                "ts_ms": time.time_ns() // 1_000_000,
                "databaseName": statement.database,
                "ddl": statement.text,
                "tableChanges": [],
            }
            try:
                producer.produce(self._topic, orjson.dumps(record), partition=0, on_delivery=delivered)
            except (KafkaException, BufferError) as error:
                raise self._failed(str(error)) from None
            producer.poll(0)
        if producer.flush(_WAIT_S):
            raise self._failed(f"the brokers did not take all within {_WAIT_S:.0f} s")
        if problems:
            raise self._failed(problems[0])

    def _make_topic(self) -> None:
        """Make the topic as Debezium does, if it is missing: one partition, and nothing is ever forgotten."""
        admin = AdminClient(self._client)
        topics = admin.list_topics(timeout=_WAIT_S).topics
        if self._topic in topics:
            count = len(topics[self._topic].partitions)
            if count != 1:
                raise self._failed(f"it has {count} partitions, and Debezium needs one with one partition")
            return
        kept = {"cleanup.policy": "delete", "retention.ms": _KEPT_MS, "retention.bytes": "-1"}
        new = NewTopic(self._topic, 1, -1, config=kept)
        try:
            admin.create_topics([new], operation_timeout=_WAIT_S)[self._topic].result(_WAIT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _failed(self, reason: str) -> ConnectError:
        return ConnectError(f"The history of schemas, the topic {self._topic} ({settings.HISTORY}), can't be written: {reason}")
