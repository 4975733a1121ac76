"""
Rows: messages of one partition as Arrow batches of a frame's columns.

Made by `frame.py` in an executor, for each range. A whole list of messages is converted at once. If one of them does not fit,
the list is tried by halves until that one is alone: it is a bad record, and `mode` says what becomes of it. Read next:
`values.py`, which fits values without a schema, and `connectors/lake/casts.py`, which fits the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kconnect.api.converter import Converter
from kconnect.connectors import arrow
from kconnect.connectors.common import MISFITS
from kconnect.data import schema as schemas
from kconnect.data.column import Column
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import ConnectError, DataError
from kconnect.pyspark import columns, values
from kconnect.pyspark.options import DROP, FAIL

log = logging.getLogger(__name__)

_NO_ROW: tuple[type[Exception], ...] = (*MISFITS, pa.ArrowException)
_ABOUT = columns.ABOUT
_NO_TIME, _MOST_MS = 0, (2**63 - 1) // 1000
_LONGEST_ERROR = 500


class BadRecordError(ConnectError):
    """A record that makes no row, in a frame whose `mode` is `fail`."""


class Part(NamedTuple):
    """Messages that follow each other and are alike, as columns: `table` has as many rows, of the frame's own types."""

    messages: Sequence[Any]
    table: pa.Table
    deleted: bool = False
    error: str | None = None


class Rows:
    """
    Makes rows of messages. `target` are the frame's columns. `key` makes keys typed where there is a converter for them;
    otherwise `_key` is binary, and the keys of tombstones are read if they are JSON.
    """

    def __init__(self, target: pa.Schema, value: Converter, key: Converter | None, any_json: Converter, mode: str) -> None:
        self._target, self._value, self._key, self._any_json, self._mode = target, value, key, any_json, mode
        self._own = pa.schema([field for field in target if field.name not in _ABOUT])
        self._has_key = columns.KEY in target.names
        self._keys: dict[int, pa.Array | None] = {}
        """The typed keys of the messages under way, by offset."""
        self.dropped = 0
        """How many bad records were dropped so far."""
        self.first_error = ""

    def batches(self, messages: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        """
        Yield the rows of messages, in their order.

        Raises:
            BadRecordError: one of them makes no row, and `mode` is `fail`
        """
        tables = [self._whole(part) for part in self._all_parts(messages)]
        if tables:
            yield from pa.concat_tables(tables).combine_chunks().to_batches()

    def _all_parts(self, messages: Sequence[Any]) -> Iterator[Part]:
        """Yield the parts of messages whose keys can be read, and those whose keys can't."""
        kind = self._target.field(columns.KEY).type if self._has_key else pa.binary()
        self._keys = {}
        if self._key is None or pa.types.is_binary(kind):
            yield from self._parts(messages)
            return
        own, begin = pa.schema([pa.field(columns.VALUE, kind)]), 0
        for at, message in enumerate(messages):
            try:
                self._keys[message.offset()] = self._key_value(message, own)
            except _NO_ROW as error:
                yield from self._parts(messages[begin:at])
                yield from self._bad(message, error)
                begin = at + 1
        yield from self._parts(messages[begin:])

    def _parts(self, messages: Sequence[Any]) -> Iterator[Part]:
        if not messages:
            return
        topic = messages[0].topic()
        data = [message.value() for message in messages]
        column = self._at_once(topic, data)
        if column is not None:
            yield from self._fitted(messages, column.schema, column, False)
            return
        run: list[tuple[Any, Any]] = []
        run_kind: Any = None
        for message, text in zip(messages, data):
            try:
                converted = self._value.to_connect_data(topic, text, ())
            except _NO_ROW as error:
                yield from self._run(run, run_kind)
                run = []
                yield from self._bad(message, error)
                continue
            # Equal schemas of one converter are one object.
            kind = (converted.value is None, id(converted.schema))
            if run and kind != run_kind[0]:
                yield from self._run(run, run_kind)
                run = []
            run_kind = (kind, converted.schema)
            run.append((message, converted.value))
        yield from self._run(run, run_kind)

    def _at_once(self, topic: str, data: list[Any]) -> Column | None:
        if None in data:
            return None
        try:
            column = self._value.to_connect_all(topic, data)
        except Exception:  # noqa: BLE001 - each is converted by itself then, as in a task
            return None
        return None if column is None or len(column) != len(data) or column.has_nulls else column

    def _run(self, run: Sequence[tuple[Any, Any]], kind: Any) -> Iterator[Part]:
        if not run:
            return
        messages, contents = [message for message, _ in run], [value for _, value in run]
        (is_null, _), schema = kind
        if is_null:
            yield from self._tombstones(messages)
        else:
            yield from self._fitted(messages, schema, Column(schema, contents), False)

    def _tombstones(self, messages: Sequence[Any]) -> Iterator[Part]:
        """Yield rows that have what their keys have, and else nothing."""
        converter = self._key or self._any_json
        for message in messages:
            empty = pa.Table.from_arrays([pa.nulls(1, field.type) for field in self._own], schema=self._own)
            part = Part([message], empty, True)
            if message.key() is not None:
                try:
                    key = converter.to_connect_data(message.topic(), message.key(), ())
                    if isinstance(key.value, dict) or (key.schema is not None and key.schema.type is SchemaType.STRUCT):
                        part = Part([message], self._table(key.schema, Column(key.schema, [key.value])), True)
                except _NO_ROW as error:
                    if self._key is not None:
                        yield from self._bad(message, error)
                        continue
            yield part

    def _fitted(self, messages: Sequence[Any], schema: Schema | None, column: Column, deleted: bool) -> Iterator[Part]:
        try:
            table = self._table(schema, column)
        except _NO_ROW as error:
            if len(messages) == 1:
                yield from self._bad(messages[0], error)
                return
            half = len(messages) // 2
            contents = column.values
            for part in (slice(0, half), slice(half, None)):
                yield from self._fitted(messages[part], schema, Column(schema, contents[part]), deleted)
            return
        yield Part(messages, table, deleted)

    def _table(self, schema: Schema | None, column: Column) -> pa.Table:
        """Return values as the frame's own columns. DataError, or one of Arrow's errors, if one does not fit."""
        if schema is None:
            return values.table(column.values, self._own)
        if schema.type is SchemaType.STRUCT:
            arrays = _arrays(schema, column.fields()[1])
        else:
            arrays = _arrays(columns.struct_of(schema), [column.values])
        return pa.Table.from_arrays(
            [values.fitted(arrays.get(field.name), field.type, len(column), field.name) for field in self._own],
            schema=self._own,
        )

    def _bad(self, message: Any, error: Exception) -> Iterator[Part]:
        reason = reason_of(error)
        if self._mode == FAIL:
            raise BadRecordError(
                f"The record at offset {message.offset()} of {message.topic()}-{message.partition()} makes no row: {reason}. "
                "With the option mode=drop it is left out, with mode=keep it is a row with its bytes in _bad"
            ) from error
        if self._mode == DROP:
            self.dropped += 1
            self.first_error = self.first_error or f"at offset {message.offset()}: {reason}"
            return
        empty = pa.Table.from_arrays([pa.nulls(1, field.type) for field in self._own], schema=self._own)
        yield Part([message], empty, message.value() is None, reason)

    def _whole(self, part: Part) -> pa.Table:
        """Return a part with the columns about its records."""
        arrays = {field.name: part.table.column(field.name) for field in self._own}
        for name in self._target.names:
            if name in _ABOUT:
                kind = self._target.field(name).type
                arrays[name] = self._key_column(part, kind) if name == columns.KEY else _about(name, part, kind)
        return pa.Table.from_arrays([arrays[name] for name in self._target.names], schema=self._target)

    def _key_column(self, part: Part, kind: pa.DataType) -> pa.Array:
        if self._key is None or pa.types.is_binary(kind):
            return pa.array([message.key() for message in part.messages], kind)
        arrays = [self._keys.get(message.offset()) for message in part.messages]
        return pa.concat_arrays([pa.nulls(1, kind) if array is None else array for array in arrays])

    def _key_value(self, message: Any, own: pa.Schema) -> pa.Array | None:
        """Return a key as an array of one value, None for none."""
        assert self._key is not None
        if message.key() is None:
            return None
        converted = self._key.to_connect_data(message.topic(), message.key(), ())
        if converted.value is None:
            return None
        kind = own.field(0).type
        if converted.schema is None:
            return values.array([converted.value], kind, columns.KEY)
        wrapped = columns.struct_of(converted.schema)
        (array,) = arrow.arrays(wrapped, [[converted.value]], arrow.arrow_schema(wrapped))
        fitted = values.fitted(array, kind, 1, columns.KEY)
        return fitted.combine_chunks() if isinstance(fitted, pa.ChunkedArray) else fitted


def reason_of(error: Exception) -> str:
    """Return in one line why a record is bad. What others raise may quote the record, and is not part of it."""
    text = str(error) if isinstance(error, DataError) else f"it does not fit the columns ({type(error).__name__})"
    return text.strip().partition("\n")[0].rstrip(".: ")[:_LONGEST_ERROR]


def _arrays(schema: Schema, lists: Sequence[Sequence[Any]]) -> dict[str, pa.Array]:
    """Return the fields of a struct as arrays. DataError, which names the field, if one record has a value that is none."""
    arrow_schema = arrow.arrow_schema(schema)
    try:
        return dict(zip(arrow_schema.names, arrow.arrays(schema, lists, arrow_schema)))
    except _NO_ROW as error:
        if isinstance(error, DataError) or not lists or len(lists[0]) > 1:
            raise
        for field, content in zip(schema.fields, lists):
            of_field = schemas.struct({field.name: field.schema})
            try:
                arrow.arrays(of_field, [content], arrow.arrow_schema(of_field))
            except _NO_ROW:
                kind = arrow_schema.field(field.name).type
                raise DataError(f"the field {field.name} has a value that the type {kind} has not") from error
        raise


def _about(name: str, part: Part, kind: pa.DataType) -> pa.Array:
    make: Callable[[Any], Any] = {
        columns.TOPIC: lambda message: message.topic(),
        columns.PARTITION: lambda message: message.partition(),
        columns.OFFSET: lambda message: message.offset(),
        columns.TIMESTAMP: _time,
        columns.HEADERS: lambda message: [{"key": key, "value": value} for key, value in message.headers() or ()],
        columns.DELETED: lambda message: part.deleted,
        columns.BAD: lambda message: (
            None if part.error is None else {"error": part.error, "key": message.key(), "value": message.value()}
        ),
    }[name]
    return pa.array([make(message) for message in part.messages], kind)


def _time(message: Any) -> int | None:
    kind, at_ms = message.timestamp()
    # Whoever writes a record gives it any time, also one of which there are no microseconds.
    return None if kind == _NO_TIME or not -_MOST_MS <= at_ms <= _MOST_MS else at_ms * 1000
