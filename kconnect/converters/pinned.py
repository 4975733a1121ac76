"""
Whether a JSON value fits a schema as it is: it has nothing that the schema lacks, and nothing of it would become another value.

Connect's own reader (`json_readers.py`) passes over fields that a schema lacks, makes 0 of a text where a number should be, and
one entry of two with the same key. Who has pinned an inferred schema wants to hear of that. Called by `json_inferred.py`.
"""

from __future__ import annotations

import decimal
import itertools
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from kconnect.converters.inference import Misfit
from kconnect.converters.json_text import columns_of
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType

ENUM = "io.confluent.connect.avro.Enum"
"""The parameter by which a text of an Avro schema is an enumeration. Its symbols are the parameters that begin with it."""

_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_EXACT = {SchemaType.FLOAT32: 1 << 24, SchemaType.FLOAT64: 1 << 53}
_PLAIN = {SchemaType.BOOLEAN: bool, SchemaType.STRING: str, SchemaType.BYTES: str}
_ALL_DIGITS = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_REFUSED_BY_READERS = frozenset((schemas.DECIMAL, schemas.DATE, schemas.TIME))
"""Logical types of which the reader refuses what is none, but for a decimal's digits."""


def has_decimals(schema: Schema) -> bool:
    """Whether fractions are to be read digit by digit."""
    return schema.name == schemas.DECIMAL or any(map(has_decimals, _beneath(schema)))


def _beneath(schema: Schema) -> Iterator[Schema]:
    yield from (field.schema for field in schema.fields)
    yield from (part for part in (schema.key_schema, schema.value_schema) if part is not None)


def all_fit(schema: Schema, plains: Sequence[Any]) -> bool:
    """
    Whether all of these values fit, looked at field by field, which is much quicker than one by one. False also if that can't
    be told so.
    """
    kinds = set(map(type, plains))
    if type(None) in kinds:
        # A whole message that is null is for others to judge.
        if not schema.optional and schema.default is None:
            return False
        kinds.discard(type(None))
        plains = [plain for plain in plains if plain is not None]
    if not kinds:
        return True
    kind = schema.type
    if kind is SchemaType.STRUCT:
        names = [field.name for field in schema.fields]
        if kinds != {dict} or not set().union(*plains) <= set(names):
            return False
        return all(all_fit(field.schema, column) for field, column in zip(schema.fields, columns_of(plains, names)))
    if kind is SchemaType.ARRAY and schema.value_schema is not None:
        return kinds == {list} and all_fit(schema.value_schema, list(itertools.chain.from_iterable(plains)))
    if kind is SchemaType.MAP:
        return False
    if kinds == {int} and schema.name is None and kind in _BITS:
        limit = 1 << _BITS[kind] - 1
        return bool(-limit <= min(plains) and max(plains) < limit)
    if kinds == {float} and kind is SchemaType.FLOAT64 and schema.name is None:
        return True
    if kinds == {_PLAIN.get(kind)} and schema.name is None and ENUM not in schema.parameters:
        return True
    return all(_holds(schema, plain) for plain in plains)


def require(schema: Schema, plain: Any, path: str = "") -> None:
    """Raise Misfit, naming the field, for a value that does not fit."""
    where = f"the field {path!r}" if path else "it"
    if plain is None:
        if not schema.optional and schema.default is None and path:
            raise Misfit(f"{where} is null or missing, and the pinned schema requires it")
        return
    kind = schema.type
    if kind is SchemaType.STRUCT:
        _require_struct(schema, plain, path, where)
    elif kind is SchemaType.MAP:
        _require_map(schema, plain, path, where)
    elif kind is SchemaType.ARRAY and schema.value_schema is not None:
        if type(plain) is not list:
            raise _misfit(where, schema, plain)
        for item in plain:
            require(schema.value_schema, item, f"{path}[]")
    elif not _holds(schema, plain):
        raise _misfit(where, schema, plain)


def _require_struct(schema: Schema, plain: Any, path: str, where: str) -> None:
    if type(plain) is not dict:
        raise _misfit(where, schema, plain)
    names = {field.name for field in schema.fields}
    unknown_name = next((name for name in plain if name not in names), None)
    if unknown_name is not None:
        raise Misfit(f"the field {(f'{path}.' if path else '') + unknown_name!r} is not in the pinned schema")
    for field in schema.fields:
        value = plain.get(field.name)
        # Most of what is missing may be: a list of nothing but `{}` is looked at for each field of each.
        if value is not None or not field.schema.optional:
            require(field.schema, value, f"{path}.{field.name}" if path else field.name)


def _require_map(schema: Schema, plain: Any, path: str, where: str) -> None:
    keys, values = schema.key_schema, schema.value_schema
    assert keys is not None
    assert values is not None
    # One whose keys are no texts is written as pairs.
    as_pairs = keys.type is not SchemaType.STRING
    if type(plain) is not (list if as_pairs else dict):
        raise _misfit(where, schema, plain)
    pairs: list[Any] = list(plain.items()) if isinstance(plain, dict) else plain
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in pairs):
        raise Misfit(f"{where} has entries that are no pairs of a key and a value")
    for key, value in pairs:
        require(keys, key, f"{path}{{}}")
        require(values, value, f"{path}[]")
    if as_pairs and len({repr(key) for key, _ in pairs}) < len(pairs):
        raise Misfit(f"{where} has the same key twice")


def _holds(schema: Schema, plain: Any) -> bool:
    kind = schema.type
    if schema.name == schemas.DECIMAL:
        return type(plain) is not decimal.Decimal or _fits_scale(schema, plain)
    if schema.name in _REFUSED_BY_READERS:
        return True
    if kind in _BITS:
        limit = 1 << _BITS[kind] - 1
        return type(plain) is int and -limit <= plain < limit
    if kind in _EXACT:
        if type(plain) is int:
            return -_EXACT[kind] <= plain <= _EXACT[kind]
        if type(plain) is decimal.Decimal and decimal.Decimal(repr(float(plain))) != plain:
            return False
        return type(plain) in (float, decimal.Decimal) and (kind is SchemaType.FLOAT64 or _is_single(float(plain)))
    if type(plain) is not _PLAIN.get(kind):
        return False
    return ENUM not in schema.parameters or plain in _symbols(schema)


def _symbols(schema: Schema) -> set[str]:
    return {value for name, value in schema.parameters.items() if name.startswith(f"{ENUM}.")}


def _fits_scale(schema: Schema, plain: decimal.Decimal) -> bool:
    exponent = plain.normalize(_ALL_DIGITS).as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= schemas.decimal_scale(schema)


def _is_single(number: float) -> bool:
    """Whether a number of 32 bits is what was written: its shortest text is that of the number itself."""
    try:
        single = struct.unpack(">f", struct.pack(">f", number))[0]
    except OverflowError:
        return False
    return any(float(f"{single:.{digits}g}") == number for digits in range(6, 10))


def _misfit(where: str, schema: Schema, plain: Any) -> Misfit:
    expected = schema.name or schema.type.value
    if type(plain) in (float, decimal.Decimal) and schema.type in (*_EXACT, SchemaType.BYTES):
        return Misfit(f"{where} is a number that {expected} of the pinned schema does not hold exactly")
    return Misfit(f"{where} is of the type {type(plain).__name__}, and the pinned schema has {expected} there")
