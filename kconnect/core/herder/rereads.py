"""
Tables that one of Debezium's connectors reads again beside its change stream: the signals for that, and what its offsets say.

Debezium reads in chunks, each between two marks in its stream, and leaves out rows that have changed between these (as in
DBLog): so no row of the copy ever comes behind a newer change. Used by `requests/backfill.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.core.settings import references
from kconnect.core.state.config import Properties
from kconnect.errors import BadRequestError

_CHANNELS, _TOPIC, _SERVERS = "signal.enabled.channels", "signal.kafka.topic", "signal.kafka.bootstrap.servers"
_MARKS, _READ_ONLY, _PREFIX = "signal.data.collection", "read.only", "topic.prefix"
_READING = "incremental_snapshot_collections"


class Signals(NamedTuple):
    """Where a connector takes its signals from, and the key of its own."""

    topic: str
    servers: str
    key: str


def signals(config: Properties, connector: str) -> Signals:
    """Return where the connector's signals go. BadRequestError, with the settings that it lacks, if it takes none by Kafka."""
    texts = {name: (config.get(name) or "").strip() for name in (_CHANNELS, _TOPIC, _SERVERS, _MARKS, _READ_ONLY, _PREFIX)}
    missing = []
    if "kafka" not in [channel.strip() for channel in texts[_CHANNELS].split(",")]:
        missing.append(f"{_CHANNELS}=source,kafka")
    if not texts[_TOPIC]:
        missing.append(f"{_TOPIC}={texts[_PREFIX]}-signals")
    if not texts[_SERVERS]:
        missing.append(f"{_SERVERS} to the brokers of this cluster")
    if not texts[_MARKS]:
        missing.append(f"{_MARKS} to a table for Debezium's marks, which it captures, with the columns id, type and data")
    if texts[_READ_ONLY].lower() == "true":
        # Debezium 3.6 on PostgreSQL: of 2,000 rows that were read again while others wrote, 294 came before older changes.
        missing.append(f"{_READ_ONLY}=false: without marks Debezium writes rows before changes that are older")
    if missing:
        raise BadRequestError(
            f"{connector} takes no signals by Kafka, which reading again is asked for by: set {'; '.join(missing)}"
        )
    for name in (_TOPIC, _SERVERS, _PREFIX):
        if references.find(texts[name]):
            raise BadRequestError(
                f"{name} of {connector} is {texts[name]}: to send it a signal the worker must know the value itself"
            )
    return Signals(texts[_TOPIC], texts[_SERVERS], texts[_PREFIX])


def begin(identity: str, tables: Sequence[str], where: str | None) -> bytes:
    """Return the signal to read tables again, or those rows of one that fulfil an SQL condition."""
    # Debezium takes them for patterns.
    names = [re.escape(table) for table in tables]
    data: dict[str, Any] = {"data-collections": names, "type": "INCREMENTAL"}
    if where is not None:
        data["additional-conditions"] = [{"data-collection": name, "filter": where} for name in names]
    return _signal(identity, "execute-snapshot", data)


def end(identity: str) -> bytes:
    """Return the signal to stop reading again."""
    return _signal(identity, "stop-snapshot", {"type": "INCREMENTAL"})


def _signal(identity: str, kind: str, data: Mapping[str, Any]) -> bytes:
    return json.dumps({"id": identity, "type": kind, "data": data}).encode()


def tables_of(offsets: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the tables that are still to be read again, the one that is being read first, by Debezium's offsets."""
    found: list[str] = []
    for row in offsets:
        text = (row["offset"] or {}).get(_READING)
        try:
            tables = json.loads(text) if isinstance(text, str) else []
        except (ValueError, RecursionError):
            continue
        if isinstance(tables, list):
            found += [str(table.get(f"{_READING}_id")) for table in tables if isinstance(table, dict)]
    return found
