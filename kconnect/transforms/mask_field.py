"""The transform MaskField: fields keep their type but lose what they say. Read next: `common.py`."""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, NonEmptyString, Schema, Type
from kconnect.data import values
from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Float32, Float64, Int8, Int16, Int32, Int64
from kconnect.transforms import common
from kconnect.transforms.growth import Growth

PURPOSE = "mask fields"
_SHORT = 64
"""Of such replacements no record becomes large that has its fields already."""

_ZEROS: Mapping[type, Any] = {
    bool: False,
    **{number: number() for number in (int, Int8, Int16, Int32, Int64, float, Float32, Float64, decimal.Decimal)},
    datetime.datetime: values.date_of(0),
    values.FarDate: values.date_of(0),
    str: "",
}

_CONVERSIONS: Mapping[str, Callable[[Schema | None, Any], Any]] = {
    "java.lang.Byte": values.convert_to_byte,
    "java.lang.Short": values.convert_to_short,
    "java.lang.Integer": values.convert_to_integer,
    "java.lang.Long": values.convert_to_long,
    "java.lang.Float": values.convert_to_float,
    "java.lang.Double": values.convert_to_double,
}
"""What makes a number of the replacement's text, by the class of the number that it replaces."""


class MaskField(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("fields", Type.LIST, importance=Importance.HIGH, doc="Names of fields to mask.", validator=common.Items()),
        ConfigKey(
            "replacement",
            Type.STRING,
            None,
            Importance.LOW,
            "The replacement in masked fields that are numbers or text; default: zero, or the empty text.",
            NonEmptyString(),
        ),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._fields = dict.fromkeys(common.hash_order(settings["fields"]))
        self._replacement = settings["replacement"]
        self._is_long = len(self._replacement or "") > _SHORT
        self._replace_null = settings[common.REPLACE_NULL]
        self._places = common.PerSchema(self._find)
        self._converted = functools.lru_cache(maxsize=None)(self._convert)

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        schema = self.schema_of(record)
        if schema is None:
            masked = common.require_map(value, PURPOSE).copy()
            for name in self._fields:
                masked[name] = self._masked(masked.get(name), None)
            return self._checked(self.changed(record, None, masked), map(masked.get, self._fields))
        value = common.require_struct(value, PURPOSE, schema)
        inside = list(common.values_of(value, self._replace_null))
        for index, inner in self._places(value.schema):
            try:
                inside[index] = self._masked(inside[index], inner)
            except DataError:
                # The first field that is wrong is the one to tell of.
                common.check_nulls(value.schema, inside[:index])
                raise
        changed = self.changed(record, schema, common.struct_of(value.schema, inside))
        return self._checked(changed, (inside[index] for index, _ in self._places(value.schema)))

    def column(self, column: Column, batch: Any) -> Column:
        if self._is_long:
            raise Unusual
        names, columns = column.fields()
        if column.schema is None:
            if not set(self._fields) <= set(names):
                raise Unusual
            places: list[tuple[int, Schema | None]] = [(names.index(name), None) for name in self._fields]
        else:
            common.check_columns(column.schema, columns, self._replace_null)
            places = list(self._places(column.schema))
        masked = list(columns)
        for index, inner in places:
            values = columns[index]
            if set(map(type, values)) == {str}:
                masked[index] = [self._masked("", inner)] * len(column)
            else:
                masked[index] = [self._masked(item, inner) for item in values]
        return Column.by_field(column.schema, names, masked, len(column))

    def _checked(self, record: Any, masked: Iterable[Any]) -> Any:
        if not self._is_long:
            return record
        growth = Growth("MaskField")
        for value in masked:
            growth.note(value)
        return growth.check(record)

    def _find(self, schema: Schema) -> list[tuple[int, Schema]]:
        return [(field.index, field.schema) for field in schema.fields if field.name in self._fields]

    def _masked(self, value: Any, schema: Schema | None) -> Any:
        if value is None:
            return None
        if self._replacement is not None:
            return self._replaced(value, schema)
        zero = _ZEROS.get(type(value))
        if zero is not None:
            return zero
        if isinstance(value, list | tuple):
            return []
        if isinstance(value, dict):
            return {}
        raise DataError(f"Cannot mask value of type: class {values.java_class(value, schema)}")

    def _replaced(self, value: Any, schema: Schema | None) -> Any:
        if isinstance(value, str):
            return self._replacement
        number = self._converted(values.java_class(value, schema))
        # With a schema numbers are plain ones; without it, of the width of the one before.
        return number if type(value) in (int, float, decimal.Decimal) else type(value)(number)

    def _convert(self, java_class: str) -> Any:
        text = self._replacement
        if java_class in _CONVERSIONS:
            return _CONVERSIONS[java_class](None, text)
        try:
            if java_class == "java.math.BigDecimal":
                return values.convert_to_decimal(None, text, 0)
            if java_class == "java.math.BigInteger":
                return int(text)
        except (DataError, ValueError) as error:
            raise DataError(f"Unable to convert {text} (class java.lang.String) to number") from error
        raise DataError(f"Cannot mask value of type class {java_class} with custom replacement.")


MaskFieldKey, MaskFieldValue = common.variants(MaskField)
