"""The transform InsertField: puts where a record comes from, or a fixed text, into its key or value. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api import ConfigDef, ConfigError, ConfigKey, DataError, Importance, Schema, SinkRecord, Struct, Type
from kconnect.data import schema as schemas
from kconnect.data import values
from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Int32
from kconnect.transforms import common

PURPOSE = "field insertion"


class _Insertion(NamedTuple):
    """A field to add. `read` gives its value or None if the record has none, `typed` makes it one of `schema`."""

    name: str
    schema: Schema
    read: Callable[[Any], Any]
    typed: Callable[[Any], Any]


def _topic(record: Any) -> Any:
    return record.topic


def _partition(record: Any) -> Any:
    # As wide as with a schema, also in a map.
    return None if record.partition is None else Int32(record.partition)


def _offset(record: Any) -> Any:
    if not isinstance(record, SinkRecord):
        raise DataError(f"Only SinkRecord supported for [{PURPOSE}], found: org.apache.kafka.connect.source.SourceRecord")
    return record.offset


def _timestamp(record: Any) -> Any:
    return record.timestamp


def _as_it_is(value: Any) -> Any:
    return value


def _as_int(value: Any) -> Any:
    return None if value is None else int(value)


def _as_time(value: Any) -> Any:
    # In a map it stays the number.
    return None if value is None else values.convert_to_timestamp(None, value)


_OF_RECORD: tuple[tuple[str, Schema, Callable[[Any], Any], Callable[[Any], Any], str], ...] = (
    ("topic.field", schemas.STRING_SCHEMA, _topic, _as_it_is, "topic"),
    ("partition.field", schemas.INT32_SCHEMA, _partition, _as_int, "partition in Kafka"),
    ("offset.field", schemas.INT64_SCHEMA, _offset, _as_it_is, "offset, which records of sinks only have"),
    ("timestamp.field", schemas.TIMESTAMP_SCHEMA, _timestamp, _as_time, "timestamp"),
)
"""Settings that name a field, what becomes of them (see `_Insertion`), and its name; in the order in which fields come."""
_READ: Mapping[Any, str] = {_topic: "topic", _partition: "partition", _offset: "offset", _timestamp: "timestamp"}
"""What each reads of a record."""

_SUFFIXES = "A `!` at its end makes the field a required one, a `?` or nothing an optional one."


class InsertField(common.OnPart):
    CONFIG = ConfigDef(
        *(
            ConfigKey(name, Type.STRING, None, Importance.MEDIUM, f"Name of a field for the record's {what}. {_SUFFIXES}")
            for name, _, _, _, what in _OF_RECORD
        ),
        ConfigKey("static.field", Type.STRING, None, Importance.MEDIUM, f"Name of a field for `static.value`. {_SUFFIXES}"),
        ConfigKey("static.value", Type.STRING, None, Importance.MEDIUM, "The value of `static.field`."),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._replace_null = settings[common.REPLACE_NULL]
        self._insertions = [
            _insertion(settings[name], schema, read, typed)
            for name, schema, read, typed, _ in _OF_RECORD
            if settings[name] is not None
        ]
        text = settings["static.value"]

        def static(record: Any) -> Any:
            return text

        self._static = static
        if settings["static.field"] is not None:
            self._insertions.append(_insertion(settings["static.field"], schemas.STRING_SCHEMA, static, _as_it_is))
        if not self._insertions:
            raise ConfigError("No field insertion configured")
        if settings["static.field"] is not None and text is None:
            # Java's text for the object that holds the name, an address.
            raise ConfigError(
                "static.value",
                None,
                "No value specified for static field: org.apache.kafka.connect.transforms.InsertField$InsertionSpec"
                f"@{id(self):x}",
            )
        self._longer = common.PerSchema(self._make_schema)
        # As loops want them: to look an attribute up costs as much as what is done with it.
        self._reads = [(insertion.name, insertion.read) for insertion in self._insertions]
        self._typed = [(insertion.read, insertion.typed) for insertion in self._insertions]

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        if value is None:
            return record
        schema = self.schema_of(record)
        if schema is None:
            inside = common.require_map(value, PURPOSE).copy()
            for name, read in self._reads:
                inserted = read(record)
                if inserted is not None:
                    inside[name] = inserted
            return self.changed(record, None, inside)
        value = common.require_struct(value, PURPOSE, schema)
        longer = self._longer(value.schema)
        items = common.values_of(value, self._replace_null)
        common.check_nulls(longer, items)
        # A required field stays unset where the record has no value for it, which is found out when it is written.
        longest = [*items]
        for read, typed in self._typed:
            longest.append(read(record) if typed is _as_it_is else typed(read(record)))
        return self.changed(record, longer, Struct.unchecked(longer, longest))

    def column(self, column: Column, batch: Any) -> Column:
        names, columns = column.fields()
        if column.schema is None:
            # In a map a timestamp stays the number, and what a record has not is not put.
            more, longer = [name for name, _ in self._reads], None
            added = [self._read_all(read, batch) for _, read in self._reads]
            if not set(more).isdisjoint(names) or len(set(more)) < len(more) or any(None in values for values in added):
                raise Unusual
        else:
            common.check_columns(column.schema, columns, self._replace_null)
            more, longer = [insertion.name for insertion in self._insertions], self._longer(column.schema)
            added = [
                self._read_all(read, batch) if typed is _as_it_is else list(map(typed, self._read_all(read, batch)))
                for read, typed in self._typed
            ]
        return Column.by_field(longer, (*names, *more), [*columns, *added], len(column))

    def _read_all(self, read: Callable[[Any], Any], batch: Any) -> Sequence[Any]:
        if read is self._static:
            return [read(None)] * len(batch)
        if read is _offset:
            read(batch.sample())
        values: Sequence[Any] = batch.every(_READ[read])
        return [None if value is None else Int32(value) for value in values] if read is _partition else values

    def _make_schema(self, schema: Schema) -> Schema:
        fields = [(field.name, field.schema) for field in schema.fields]
        fields += [(insertion.name, insertion.schema) for insertion in self._insertions]
        return common.struct_schema(fields, **common.basics(schema))


def _insertion(name: str, schema: Schema, read: Callable[[Any], Any], typed: Callable[[Any], Any]) -> _Insertion:
    schema = schema if name.endswith("!") else schema.optional_copy()
    return _Insertion(name[:-1] if name.endswith(("!", "?")) else name, schema, read, typed)


InsertFieldKey, InsertFieldValue = common.variants(InsertField)
