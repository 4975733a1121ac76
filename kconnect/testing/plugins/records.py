"""
Records for tests of plugins, and what transforms, predicates and converters make of them.

Called by authors' tests by way of `kconnect.testing`, and by `checks.py`. Read next: `kconnect/api/record.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from kconnect.api.converter import Converter
from kconnect.api.predicate import Predicate
from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.api.transformation import Transformation
from kconnect.data.schema import Schema, SchemaAndValue
from kconnect.testing.plugins.configs import NAME, configured

R = TypeVar("R", SourceRecord, SinkRecord)


def source_record(
    value: Any = None,
    schema: Schema | None = None,
    key: Any = None,
    key_schema: Schema | None = None,
    topic: str = NAME,
    headers: Iterable[Header] = (),
    timestamp: int | None = None,
) -> SourceRecord:
    """A record as a source task gives it, with a source partition and offset that mean nothing."""
    place = {"source": "test"}, {"position": 1}
    return SourceRecord(*place, topic, None, key_schema, key, schema, value, timestamp, tuple(headers))


def sink_records(
    *values: Any,
    schema: Schema | None = None,
    key: Any = None,
    key_schema: Schema | None = None,
    topic: str = NAME,
    partition: int = 0,
    offset: int = 0,
    headers: Iterable[Header] = (),
    timestamp: int | None = None,
) -> list[SinkRecord]:
    """Records as a sink task is given them, one for each value, at consecutive offsets from `offset` on."""
    kind = TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
    return [
        SinkRecord(topic, partition, key_schema, key, schema, value, at, timestamp, kind, tuple(headers))
        for at, value in enumerate(values, offset)
    ]


def transform(plugin: type[Transformation[R]], config: Mapping[str, str], record: R) -> R | None:
    """
    What a transform of that class and config makes of a record; None if it drops it.

    AssertionError if it changes the record that it was given, gives what is no record, or if `apply_all` gives another result
    than `apply`. What it raises comes out as it is. The record may be given again.
    """
    made = configured(plugin, config)
    try:
        return applied(made, record)
    finally:
        made.close()


def applied(made: Transformation[R], record: R) -> R | None:
    """As `transform`, by one that is configured already."""
    before, kind = image(record), type(record)
    result = made.apply(record)
    where = f"{type(made).__name__}.apply()"
    if result is not None and not isinstance(result, kind):
        raise AssertionError(f"{where} gave a {type(result).__name__}, where a {kind.__name__} or None is due")
    _unchanged(where, before, record)
    if type(made).apply_all is not Transformation.apply_all:
        where = f"{type(made).__name__}.apply_all()"
        together = list(made.apply_all([record, record]))
        _unchanged(where, before, record)
        alone = None if result is None else image(result)
        if [None if each is None else image(each) for each in together] != [alone, alone]:
            raise AssertionError(f"{where} gave something else for two records than apply() for one of them")
    return result


def holds(plugin: type[Predicate], config: Mapping[str, str], record: SourceRecord | SinkRecord) -> bool:
    """Whether a predicate of that class and config is true of a record. AssertionError if it changes the record."""
    made = configured(plugin, config)
    try:
        before = image(record)
        result = made.test(record)
        _unchanged(f"{plugin.__name__}.test()", before, record)
        return bool(result)
    finally:
        made.close()


def round_trip(
    plugin: type[Converter],
    config: Mapping[str, str],
    value: Any,
    schema: Schema | None = None,
    topic: str = NAME,
    is_key: bool = False,
) -> SchemaAndValue:
    """What a converter reads from the bytes that it has made of a value. AssertionError if these are no bytes, nor None."""
    made = configured(plugin, config, is_key)
    data = made.from_connect_data(topic, schema, value)
    if data is not None and not isinstance(data, bytes):
        raise AssertionError(f"{plugin.__name__}.from_connect_data() gave a {type(data).__name__}, where bytes or None are due")
    # A reader need not be the writer: it may know nothing that this one has learnt.
    return configured(plugin, config, is_key).to_connect_data(topic, data)


def image(record: SourceRecord | SinkRecord) -> dict[str, Any]:
    """All parts of a record, copied: to tell later whether it was changed."""
    parts = {name: getattr(record, name) for name in type(record).__slots__}
    return {name: tuple(part) if name == "headers" else copy.deepcopy(part) for name, part in parts.items()}


def _unchanged(where: str, before: Mapping[str, Any], record: SourceRecord | SinkRecord) -> None:
    after = image(record)
    changed = [name for name in before if before[name] != after[name]]
    if changed:
        raise AssertionError(
            f"{where} changed the {', '.join(changed)} of the record that it was given: make a new one with "
            "record.new_record(), and copy values before they are changed"
        )
