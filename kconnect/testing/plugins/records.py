"""
Makes records for tests of plugins, and runs transforms, predicates and converters on them.

Called by authors' tests through `kconnect.testing`, and by `checks.py`. Read next: `kconnect/api/record.py`.
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
    """A record as a source task returns it, with a meaningless source partition and offset."""
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
    """Records as a sink task gets them, one for each value, at consecutive offsets from `offset` on."""
    kind = TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
    return [
        SinkRecord(topic, partition, key_schema, key, schema, value, at, timestamp, kind, tuple(headers))
        for at, value in enumerate(values, offset)
    ]


def transform(plugin: type[Transformation[R]], config: Mapping[str, str], record: R) -> R | None:
    """
    The result of a transform of this class and config for a record; None if the transform drops the record.

    Raises AssertionError if the transform changes the record that it was given, returns something else than a record, or if
    `apply_all` returns another result than `apply`. Errors of the transform are raised unchanged. The same record may be passed
    again.
    """
    instance = configured(plugin, config)
    try:
        return applied(instance, record)
    finally:
        instance.close()


def applied(made: Transformation[R], record: R) -> R | None:
    """Like `transform`, for a transform that is already configured."""
    before, kind = image(record), type(record)
    result = made.apply(record)
    where = f"{type(made).__name__}.apply()"
    if result is not None and not isinstance(result, kind):
        raise AssertionError(f"{where} returned a {type(result).__name__}, but must return a {kind.__name__} or None")
    _unchanged(where, before, record)
    if type(made).apply_all is not Transformation.apply_all:
        where = f"{type(made).__name__}.apply_all()"
        together = list(made.apply_all([record, record]))
        _unchanged(where, before, record)
        alone = None if result is None else image(result)
        if [None if record_after is None else image(record_after) for record_after in together] != [alone, alone]:
            raise AssertionError(f"{where} returned something else for two records than apply() for one of them")
    return result


def holds(plugin: type[Predicate], config: Mapping[str, str], record: SourceRecord | SinkRecord) -> bool:
    """Whether a predicate of this class and config holds for a record. Raises AssertionError if it changes the record."""
    predicate = configured(plugin, config)
    try:
        before = image(record)
        result = predicate.test(record)
        _unchanged(f"{plugin.__name__}.test()", before, record)
        return bool(result)
    finally:
        predicate.close()


def round_trip(
    plugin: type[Converter],
    config: Mapping[str, str],
    value: Any,
    schema: Schema | None = None,
    topic: str = NAME,
    is_key: bool = False,
) -> SchemaAndValue:
    """
    Converts a value to bytes and back. Returns what the converter reads from its own bytes. Raises AssertionError if these are
    neither bytes nor None.
    """
    converter = configured(plugin, config, is_key)
    data = converter.from_connect_data(topic, schema, value)
    if data is not None and not isinstance(data, bytes):
        raise AssertionError(
            f"{plugin.__name__}.from_connect_data() returned a {type(data).__name__}, but must return bytes or None"
        )
    # The reader may be another instance, which does not know what this one has learnt.
    return configured(plugin, config, is_key).to_connect_data(topic, data)


def image(record: SourceRecord | SinkRecord) -> dict[str, Any]:
    """A copy of all parts of a record, to find out later whether the record was changed."""
    parts = {name: getattr(record, name) for name in type(record).__slots__}
    return {name: tuple(part) if name == "headers" else copy.deepcopy(part) for name, part in parts.items()}


def _unchanged(where: str, before: Mapping[str, Any], record: SourceRecord | SinkRecord) -> None:
    after = image(record)
    changed = [name for name in before if before[name] != after[name]]
    if changed:
        raise AssertionError(
            f"{where} changed the {', '.join(changed)} of the record that it was given: make a new record with "
            "record.new_record(), and copy values before you change them"
        )
