"""
Batches of Connect's records between Python and Java, each as one piece of bytes, so that a chain can have parts on both sides.

`Encoder` writes what `shim/RecordReader.java` reads, and `Decoder` reads what `shim/RecordWriter.java` writes, which describes
the bytes: columns, because many values of one kind are quick in Python, and single ones are not. Each pair serves one thread,
and both of its sides remember the schemas that have crossed. Read next: `record_schemas.py`, `column_writers.py`.

What a value of a schema is on each side:

    INT8 to INT64          int                 Byte to Long
    FLOAT32, FLOAT64       float               Float, Double
    BOOLEAN, STRING        bool, str           Boolean, String
    BYTES                  bytes, bytearray    byte[]
                           memoryview          ByteBuffer
    ARRAY, MAP             list, tuple; dict   ArrayList, LinkedHashMap
    STRUCT                 Struct              Struct; what is not set is not set, whatever the default
    Decimal                Decimal             BigDecimal, of the same scale
    Date, Time, Timestamp  datetime            java.util.Date

Without a schema an int is a Long and a float a Double; `Int8`, `Int16`, `Int32` and `Float32` are Byte, Short, Integer and
Float. So Python keeps the type of a Java number that it does not touch.

What is not kept:

- An object of a derived class, a tuple, a bytearray, an Int64 or a Float64 comes back as what stands first above.
- A float of FLOAT32 is rounded as Java does. A negative zero of Decimal loses its sign.
- Dates lose what is less than a millisecond, and their zone: they come back in UTC, as which one without a zone is taken.
- Two halves of a surrogate pair that stand side by side are one character. Lone ones stay.
- Keys of a map that Python takes for equal, such as 1L, 1 and true, are one there.
- A schema's parameters are null in Java if there are none. A header without a schema has that of its struct there.

Sets, arrays of objects, BigIntegers, lists as keys and all else is no data of Connect: a DataError has the record's number and
the way to the value.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat
from operator import attrgetter
from struct import pack, unpack_from
from typing import Any, NamedTuple

from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.data.schema import OPTIONAL_INT32_SCHEMA, OPTIONAL_INT64_SCHEMA, Schema
from kconnect.jvm import column_readers, column_writers, misfits
from kconnect.jvm.column_readers import Cursor, merged
from kconnect.jvm.column_writers import Parts
from kconnect.jvm.record_schemas import Described, Known

_HEAD = 32
_TIMESTAMP_TYPES = tuple(TimestampType)
_KINDS = {each: kind for kind, each in enumerate(_TIMESTAMP_TYPES)}
_KEPT = attrgetter("offset", "timestamp_type", "original_topic", "original_partition", "original_offset")
_PARTS = attrgetter("topic", "partition", "timestamp", "key_schema", "key", "value_schema", "value", "headers")


class Encoder:
    """The encoder of records that go from Python to Java."""

    def __init__(self) -> None:
        self._schemas = Described()
        writers = column_writers.Writers(self._schemas.number, self._schemas.column)
        self._partitions, self._timestamps = writers.of(OPTIONAL_INT32_SCHEMA), writers.of(OPTIONAL_INT64_SCHEMA)

    def encode(self, records: Sequence[SourceRecord] | Sequence[SinkRecord], numbers: Sequence[int] | None = None) -> bytearray:
        """
        The bytes of a batch. With `numbers`, records of Java's that go back, by the numbers of those that they were made of.

        Raises:
            DataError: for the first value that can't cross, naming it
        """
        try:
            return self._encoded(records, numbers)
        except Exception as error:
            self._schemas.reset()
            raise misfits.error(records, error) from error

    def reset(self) -> None:
        """Java could not read the last batch: its schemas are to be described again."""
        self._schemas.reset()

    def _encoded(self, records: Sequence[Any], numbers: Sequence[int] | None) -> bytearray:
        self._schemas.begin()
        count = len(records)
        whole = numbers is None and count > 0 and isinstance(records[0], SinkRecord)
        columns = tuple(zip(*map(_PARTS, records))) or ((),) * 8
        topics, partitions, timestamps, key_schemas, keys, value_schemas, values, headers = columns
        originals: Sequence[str] = [record.original_topic for record in records] if whole else ()
        names = dict.fromkeys((*topics, *originals))
        names.pop(None, None)
        which: dict[str | None, int] = {name: number for number, name in enumerate(names)} | {None: -1}
        parts: Parts = [b""]
        column_writers.texts(parts, list(names))
        parts.append(array("i", range(count) if numbers is None else numbers))
        parts.append(bytes(4 * count) if len(which) == 2 and None not in topics else _which(which, topics))
        self._partitions(parts, partitions)
        self._timestamps(parts, timestamps)
        if whole:
            parts += (
                array("q", [record.offset for record in records]),
                bytes([_KINDS[record.timestamp_type] for record in records]),
                _which(which, originals),
                array("i", [record.original_partition for record in records]),
                array("q", [record.original_offset for record in records]),
            )
        self._pairs(parts, key_schemas, keys)
        self._pairs(parts, value_schemas, values)
        has_headers = any(headers)
        if has_headers:
            header_rows = [tuple(row) for row in headers]
            flat = [header for row in header_rows for header in row]
            parts.append(array("i", map(len, header_rows)))
            column_writers.texts(parts, [header.key for header in flat])
            self._pairs(parts, [header.schema for header in flat], [header.value for header in flat])
        before, added, described = self._schemas.described()
        place = _HEAD + sum(memoryview(part).nbytes for part in parts)
        parts.append(described)
        parts[0] = pack("=8i", count, whole, has_headers, len(names), before, added, place, 0)
        return bytearray().join(parts)

    def _pairs(self, parts: Parts, schemas: Sequence[Schema | None], values: Sequence[Any]) -> None:
        if len(set(map(id, schemas))) == 1:
            schema = schemas[0]
            parts.append(pack("=2i", 1, self._number(schema)))
            self._column(schema)(parts, values)
            return
        numbers = list(map(self._number, schemas))
        groups: dict[int, tuple[Schema | None, list[Any]]] = {}
        for number, schema, value in zip(numbers, schemas, values):
            groups.setdefault(number, (schema, []))[1].append(value)
        parts.append(pack("=i", len(groups)))
        if len(groups) > 1:
            which = {number: group for group, number in enumerate(groups)}
            parts.append(array("i", map(which.__getitem__, numbers)))
        for number, (schema, group_values) in groups.items():
            parts.append(pack("=i", number) if len(groups) == 1 else pack("=2i", number, len(group_values)))
            self._column(schema)(parts, group_values)

    def _number(self, schema: Schema | None) -> int:
        return -1 if schema is None else self._schemas.number(schema)

    def _column(self, schema: Schema | None) -> column_writers.Write:
        return self._schemas.free if schema is None else self._schemas.column(schema)


def _which(numbers: dict[str | None, int], names: Iterable[str | None]) -> Any:
    return array("i", map(numbers.__getitem__, names))


class Batch(NamedTuple):
    """Records, and of each the number of the one that it was made of."""

    numbers: Sequence[int]
    records: list[Any]


class Decoder:
    """The decoder of records that come from Java. `of_source` is the class of a source's records, as they come first."""

    def __init__(self, of_source: type[SourceRecord] = SourceRecord) -> None:
        self._of_source = of_source
        self._schemas = Known()
        readers = column_readers.Readers(())
        self._partitions, self._timestamps = readers.of(OPTIONAL_INT32_SCHEMA, ()), readers.of(OPTIONAL_INT64_SCHEMA, ())

    def decode(self, data: bytes, origins: Sequence[Any] | None = None) -> Batch:
        """
        The records of a batch. With `origins`, the records that they were made of, they keep what does not cross; else they
        are a source's, which have no source partition and offset, or a sink's if they were written as a whole.
        """
        count, whole, has_headers, topic_count, before, added, place, _ = unpack_from("=8i", data)
        self._schemas.read(Cursor(data, place), before, added)
        cursor = Cursor(data, _HEAD)
        # With a None at its end, where the number -1 finds it.
        names: list[Any] = [*column_readers.texts(cursor, topic_count), None]
        numbers = cursor.ints(count)
        topics = [names[number] for number in cursor.ints(count)]
        partitions, timestamps = self._partitions(cursor, count), self._timestamps(cursor, count)
        offsets: Sequence[int] = ()
        if whole:
            offsets = column_readers.longs(cursor, count)
            kinds = [_TIMESTAMP_TYPES[kind] for kind in cursor.take(count)]
            original_topics = [names[number] for number in cursor.ints(count)]
            originals = (original_topics, cursor.ints(count), column_readers.longs(cursor, count))
        keys, values = self._pairs(cursor, count), self._pairs(cursor, count)
        headers: Iterable[Any] = self._headers(cursor, count) if has_headers else repeat(())
        sources = [origins[number] for number in numbers] if origins is not None else None
        if sources is None and not whole:
            none = repeat(None)
            records: Iterator[Any] = map(self._of_source, none, none, topics, partitions, *keys, *values, timestamps, headers)
        elif sources is None:
            records = map(SinkRecord, topics, partitions, *keys, *values, offsets, timestamps, kinds, headers, *originals)
        elif sources and isinstance(sources[0], SinkRecord):
            rest = zip(*map(_KEPT, sources))
            records = map(_again, topics, partitions, *keys, *values, timestamps, headers, *rest)
        else:
            places = ([source.source_partition for source in sources], [source.source_offset for source in sources])
            records = map(SourceRecord, *places, topics, partitions, *keys, *values, timestamps, headers)
        return Batch(numbers, list(records))

    def _pairs(self, cursor: Cursor, count: int) -> tuple[Iterable[Schema | None], Sequence[Any]]:
        groups = cursor.number()
        if groups == 0:
            return (), ()
        if groups == 1:
            schema, read = self._schemas.of(cursor.number())
            return repeat(schema), read(cursor, count)
        which = cursor.ints(count)
        schemas, columns = [], []
        for _ in range(groups):
            schema, read = self._schemas.of(cursor.number())
            schemas.append(schema)
            columns.append(read(cursor, cursor.number()))
        return [schemas[group] for group in which], merged(which, columns)

    def _headers(self, cursor: Cursor, count: int) -> list[tuple[Header, ...]]:
        counts = cursor.ints(count)
        total = sum(counts)
        names = column_readers.texts(cursor, total)
        schemas, values = self._pairs(cursor, total)
        flat = list(map(Header, names, values, schemas))
        return [tuple(flat[end - header_count : end]) for header_count, end in zip(counts, accumulate(counts))]


def _again(
    topic: str,
    partition: int,
    key_schema: Schema | None,
    key: Any,
    value_schema: Schema | None,
    value: Any,
    timestamp: int | None,
    headers: Iterable[Header],
    offset: int,
    *rest: Any,
) -> SinkRecord:
    kind, *original = rest
    return SinkRecord(topic, partition, key_schema, key, value_schema, value, offset, timestamp, kind, headers, *original)
