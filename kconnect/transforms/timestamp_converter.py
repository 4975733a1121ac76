"""
The transform TimestampConverter: a time, of a field or the whole key or value, from one of Connect's forms to another.

The forms are a text, a number since 1970, and the logical types Date, Time and Timestamp; between any two of them stand
milliseconds since 1970. Read next: `kconnect/java/dates.py`, the texts.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kconnect.api import (
    DATE_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConnectError,
    DataError,
    Importance,
    OneOf,
    Schema,
    SchemaType,
    Struct,
    Type,
)
from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Int8, Int16, Int32, Int64
from kconnect.data.values import FarDate, date_of, java_class, milliseconds_of
from kconnect.java import dates
from kconnect.java.moments import DAY_MS
from kconnect.transforms import common

PURPOSE = "converting timestamp formats"

STRING, UNIX, DATE, TIME, TIMESTAMP = FORMS = ("string", "unix", "Date", "Time", "Timestamp")
PRECISIONS = ("nanoseconds", "microseconds", "milliseconds", "seconds")

_SCHEMAS = {
    STRING: (STRING_SCHEMA, OPTIONAL_STRING_SCHEMA),
    UNIX: (INT64_SCHEMA, OPTIONAL_INT64_SCHEMA),
    DATE: (DATE_SCHEMA, DATE_SCHEMA.optional_copy()),
    TIME: (TIME_SCHEMA, TIME_SCHEMA.optional_copy()),
    TIMESTAMP: (TIMESTAMP_SCHEMA, TIMESTAMP_SCHEMA.optional_copy()),
}
"""Of each form, required and optional."""
_OF_NAME = {_SCHEMAS[form][0].name: form for form in (DATE, TIME, TIMESTAMP)}
_OF_TYPE = {SchemaType.STRING: STRING, SchemaType.INT64: UNIX}
_OF_CLASS = {str: STRING, int: UNIX, Int64: UNIX, datetime.datetime: TIMESTAMP, FarDate: TIMESTAMP}

_EXPECTED: Mapping[str, tuple[type, str]] = {
    STRING: (str, "string timestamp to be a String,"),
    UNIX: (int, "Unix timestamp to be a Long,"),
    **{form: (datetime.datetime, f"{form} to be a java.util.Date,") for form in (DATE, TIME, TIMESTAMP)},
}
_NO_LONGS = (bool, Int8, Int16, Int32)
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1


class _Plan(NamedTuple):
    """
    The plan for one struct schema: the schema after it, and the place and schema of the field to convert, if there is one.
    """

    after: Schema
    place: int | None
    before: Schema | None


class TimestampConverter(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("field", Type.STRING, "", Importance.HIGH, "The field to convert; the whole key or value, if empty."),
        ConfigKey(
            "target.type",
            Type.STRING,
            importance=Importance.HIGH,
            doc="What to convert to: string, unix, Date, Time or Timestamp.",
            validator=OneOf(FORMS),
        ),
        ConfigKey(
            "format",
            Type.STRING,
            "",
            Importance.MEDIUM,
            "The pattern, one of Java's SimpleDateFormat, by which texts are read and written. Required to write them.",
        ),
        ConfigKey(
            "unix.precision",
            Type.STRING,
            "milliseconds",
            Importance.LOW,
            "The unit of numbers. Texts and dates have milliseconds only: smaller units are cut off, and written as zeros.",
            OneOf(PRECISIONS),
        ),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._field: str = settings["field"]
        self._target: str = settings["target.type"]
        self._replace_null: bool = settings[common.REPLACE_NULL]
        texts = _format(settings["format"], self._target)
        precision = settings["unix.precision"]
        self._sources: dict[str, Callable[[Any], int]] = {
            STRING: _text_reader(texts),
            UNIX: _number_reader(precision),
            DATE: milliseconds_of,
            TIME: milliseconds_of,
            TIMESTAMP: milliseconds_of,
        }
        self._write = _writer(self._target, texts, precision)
        self._plans = common.PerSchema(self._plan)

    def apply(self, record: Any) -> Any:
        schema = self.schema_of(record)
        value = self.value_of(record)
        if schema is None:
            return self.changed(record, None, self._without_schema(value))
        if not self._field:
            form = _form_of(schema)
            converted = None if value is None else self._with_schema(value, schema, form)
            return self.changed(record, _SCHEMAS[self._target][schema.optional], converted)
        struct = None if value is None else common.require_struct(value, PURPOSE, schema)
        plan = self._plans(schema)
        return self.changed(record, plan.after, self._converted(struct, plan))

    def column(self, column: Column, batch: Any) -> Column:
        if not self._field:
            raise Unusual
        names, columns = column.fields()
        converted, after = list(columns), None
        if column.schema is None:
            place = names.index(self._field)
            converted[place] = list(map(self._inferred, columns[place]))
        else:
            plan = self._plans(column.schema)
            common.check_columns(column.schema, columns, self._replace_null)
            after = plan.after
            if plan.place is not None and plan.before is not None:
                before, form = plan.before, _form_of(plan.before)
                converted[plan.place] = [
                    None if value is None else self._with_schema(value, before, form) for value in columns[plan.place]
                ]
        return Column.by_field(after, names, converted, len(column))

    def _without_schema(self, value: Any) -> Any:
        if value is None:
            return None
        if not self._field:
            return self._inferred(value)
        changed = dict(common.require_map(value, PURPOSE))
        changed[self._field] = self._inferred(changed.get(self._field))
        return changed

    def _inferred(self, value: Any) -> Any:
        if value is None:
            return None
        form = _OF_CLASS.get(type(value))
        if form is None or (form == UNIX and not _LONG_MIN <= value <= _LONG_MAX):
            raise DataError(f"TimestampConverter does not support class {java_class(value)} objects as timestamps")
        return self._write(self._sources[form](value))

    def _with_schema(self, value: Any, schema: Schema, form: str) -> Any:
        python_type, expected = _EXPECTED[form]
        if type(value) is not python_type and (not isinstance(value, python_type) or isinstance(value, _NO_LONGS)):
            raise DataError(f"Expected {expected} but found class {java_class(value, schema)}")
        return self._write(self._sources[form](value))

    def _converted(self, struct: Struct | None, plan: _Plan) -> Struct | None:
        if struct is None:
            return None
        values = list(common.values_of(struct, self._replace_null))
        if plan.place is not None and plan.before is not None:
            try:
                form = _form_of(plan.before)
                if values[plan.place] is not None:
                    values[plan.place] = self._with_schema(values[plan.place], plan.before, form)
            except ConnectError:
                # What is wrong with an earlier field comes first.
                common.check_nulls(plan.after, values[: plan.place])
                raise
        return common.struct_of(plan.after, values)

    def _plan(self, schema: Schema) -> _Plan:
        if schema.type is not SchemaType.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        field = schema.field(self._field)
        fields = [(schema_field.name, schema_field.schema) for schema_field in schema.fields]
        if field is not None:
            # Whether it can be converted is found out with the first record that is not null.
            fields[field.index] = field.name, _SCHEMAS[self._target][field.schema.optional]
        after = Schema(SchemaType.STRUCT, optional=schema.optional, fields=fields, **common.basics(schema))
        plan = _Plan(after, None, None) if field is None else _Plan(after, field.index, field.schema)
        if schema.default is None:
            return plan
        return plan._replace(after=after.replace(default=self._converted(schema.default, plan)))


TimestampConverterKey, TimestampConverterValue = common.variants(TimestampConverter)


def _format(pattern: str, target: str) -> dates.SimpleDateFormat | None:
    if not pattern:
        if target == STRING:
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")
        return None
    try:
        return dates.SimpleDateFormat(pattern)
    except ValueError as error:
        raise ConfigError(
            "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps",
            f"java.lang.IllegalArgumentException: {error}",
            pattern,
        ) from error


def _form_of(schema: Schema) -> str:
    form = _OF_NAME.get(schema.name) or _OF_TYPE.get(schema.type)
    if form is None:
        raise ConnectError(f"Schema {schema!r} does not correspond to a known timestamp type format")
    return form


# --- to milliseconds, and from them ---


def _text_reader(texts: dates.SimpleDateFormat | None) -> Callable[[Any], int]:
    def read(text: Any) -> int:
        if texts is None:
            raise DataError("Text can't be read as a timestamp without the setting format")
        try:
            return texts.parse(text)
        except dates.ParseError as error:
            raise DataError(f"Could not parse timestamp: value ({text}) does not match pattern ({texts.pattern})") from error

    return read


def _number_reader(precision: str) -> Callable[[Any], int]:
    if precision == "seconds":
        return lambda number: _as_long(number * 1000)
    if precision == "milliseconds":
        return int
    unit = 1000 if precision == "microseconds" else 1_000_000
    return lambda number: _cut(number, unit)


def _writer(target: str, texts: dates.SimpleDateFormat | None, precision: str) -> Callable[[int], Any]:
    if target == STRING and texts is not None:
        return texts.format
    if target == UNIX:
        if precision == "seconds":
            return lambda millis: _cut(millis, 1000)
        if precision == "milliseconds":
            return int
        unit = 1000 if precision == "microseconds" else 1_000_000
        return lambda millis: _as_long(millis * unit)
    if target == DATE:
        return _day_of
    if target == TIME:
        return lambda millis: date_of(millis % DAY_MS)
    return date_of


def _day_of(millis: int) -> datetime.datetime:
    start = millis - millis % DAY_MS
    # Java's first day begins before its longs do.
    return date_of(start if start >= _LONG_MIN else start + (1 << 64))


def _cut(number: int, unit: int) -> int:
    """Divide as Java does: towards 1970."""
    return number // unit if number >= 0 else -(-number // unit)


def _as_long(number: int) -> int:
    return min(max(number, _LONG_MIN), _LONG_MAX)
