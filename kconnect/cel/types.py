"""
Which Connect schema an expression's result has: inferred from the record's schemas, or from a value. Also fits values to it.

A field that an expression adds must have one schema for all records, even for those in which it is null. `infer` follows the
expression through the schemas of what it reads. If these don't tell (values without a schema), `of_value` decides by the first
value. All schemas are optional, because any result may be null. Called by the transform `Expression`.

    int, uint -> INT64    double -> FLOAT64    string, bool, bytes -> themselves    timestamp -> Timestamp
    list -> ARRAY         map written out with texts for keys, message -> STRUCT    other map -> MAP
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from kconnect.api import Schema, SchemaType, Struct
from kconnect.cel import times
from kconnect.cel.syntax import Call, CelError, Ident, Literal, Macro, MakeList, MakeMap, Node, Select, Uint
from kconnect.cel.values import plain, type_name
from kconnect.data import schema

INT = schema.OPTIONAL_INT64_SCHEMA
DOUBLE = schema.OPTIONAL_FLOAT64_SCHEMA
BOOL = schema.OPTIONAL_BOOLEAN_SCHEMA
STRING = schema.OPTIONAL_STRING_SCHEMA
BYTES = schema.OPTIONAL_BYTES_SCHEMA
TIMESTAMP = schema.TIMESTAMP_SCHEMA.optional_copy()
NULL = Schema(SchemaType.STRING, optional=True, name="kconnect.cel.null")
"""Of an expression that is null whatever the record; never that of a field."""
UINT = Schema(SchemaType.INT64, optional=True, name="kconnect.cel.uint")
DURATION = Schema(SchemaType.INT64, optional=True, name="kconnect.cel.duration")
"""These two only while inferring: uints leave as INT64, and durations not at all."""

_OF_PRIMITIVE = {
    SchemaType.INT8: INT,
    SchemaType.INT16: INT,
    SchemaType.INT32: INT,
    SchemaType.INT64: INT,
    SchemaType.FLOAT32: DOUBLE,
    SchemaType.FLOAT64: DOUBLE,
    SchemaType.BOOLEAN: BOOL,
    SchemaType.STRING: STRING,
    SchemaType.BYTES: BYTES,
}
_OF_LOGICAL = {
    schema.DECIMAL: DOUBLE,
    schema.DATE: TIMESTAMP,
    schema.TIME: TIMESTAMP,
    schema.TIMESTAMP: TIMESTAMP,
}
_OF_FUNCTION = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "!x", "&&", "||", "bool"), BOOL),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "matches", "all", "exists", "exists_one"), BOOL),
    **dict.fromkeys(("size", "int", *times.PARTS), INT),
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
}
_OF_CLASS: Mapping[type, Schema] = {
    int: INT,
    Uint: INT,
    float: DOUBLE,
    bool: BOOL,
    str: STRING,
    bytes: BYTES,
    datetime.datetime: TIMESTAMP,
}
_OF_LITERAL = {**_OF_CLASS, Uint: UINT, type(None): NULL}


def read(of: Schema | None) -> Schema | None:
    """Return CEL's type of values of a schema, as a schema."""
    if of is None:
        return None
    simple = _OF_LOGICAL.get(of.name or "") or _OF_PRIMITIVE.get(of.type)
    if simple is not None:
        return simple
    if of.type is SchemaType.STRUCT:
        return of.optional_copy()
    if of.type is SchemaType.ARRAY:
        items = read(of.value_schema)
        return None if items is None else schema.array(items, optional=True)
    keys, items = read(of.key_schema), read(of.value_schema)
    return None if keys is None or items is None else schema.mapping(keys, items, optional=True)


def infer(node: Node, variables: Mapping[str, Schema | None]) -> Schema | None:
    """The schema of what an expression gives, or None if that can't be known before. `NULL` if it gives nothing but null."""
    match node:
        case Literal(value=value):
            return _OF_LITERAL[type(value)]
        case Ident(name=name):
            return variables.get(name)
        case Select(test=True):
            return BOOL
        case Select(operand=operand, field=field):
            return _field(infer(operand, variables), field)
        case MakeList(items=items):
            element = _same([infer(item, variables) for item in items])
            return None if element in (None, NULL) else schema.array(_settled(element), optional=True)
        case MakeMap():
            return _written_map(node, variables)
        case Macro():
            return _macro(node, variables)
        case Call():
            return _call(node, variables)
    return None


def _call(node: Call, variables: Mapping[str, Schema | None]) -> Schema | None:
    result = _OF_FUNCTION.get(node.function)
    if result is not None:
        return result
    if node.function == "?:":
        return _same([infer(part, variables) for part in node.args[1:]])
    args = [infer(part, variables) for part in node.args]
    if node.function == "[]":
        key = node.args[1]
        if args[0] is not None and args[0].type is SchemaType.STRUCT:
            return _field(args[0], key.value) if isinstance(key, Literal) and type(key.value) is str else None
        return None if args[0] is None else args[0].value_schema
    if node.function in ("-x", "dyn"):
        return args[0]
    if len(args) == 2 and TIMESTAMP in args and node.function in ("+", "-"):
        # A time moved by a duration, or the duration between two.
        return TIMESTAMP if DURATION in args else DURATION if args[0] == args[1] else None
    if len(args) == 2 and None in args:
        # CEL mixes no types, so that one operand tells of both; but of times and durations it does not.
        operand = args[0] or args[1]
        return operand if operand in (INT, DOUBLE, STRING, BYTES, UINT) else None
    return args[0] if len(args) == 2 and args[0] == args[1] else None


def _field(of: Schema | None, name: str) -> Schema | None:
    if of is None:
        return None
    if of.type is SchemaType.STRUCT:
        field = of.field(name)
        return None if field is None else read(field.schema)
    return of.value_schema if of.type is SchemaType.MAP else None


def _written_map(node: MakeMap, variables: Mapping[str, Schema | None]) -> Schema | None:
    fields: dict[str, Schema] = {}
    for key, item in node.entries:
        item_type = infer(item, variables)
        if not isinstance(key, Literal) or type(key.value) is not str or not key.value or item_type in (None, NULL):
            return None
        fields[key.value] = _settled(item_type)
    return schema.struct(fields, optional=True) if len(fields) == len(node.entries) else None


def _macro(node: Macro, variables: Mapping[str, Schema | None]) -> Schema | None:
    if node.kind in _OF_FUNCTION:
        return _OF_FUNCTION[node.kind]
    over = infer(node.over, variables)
    items = None if over is None else over.key_schema if over.type is SchemaType.MAP else over.value_schema
    element = items if node.kind == "filter" else infer(node.body, {**variables, node.variable: items})
    return None if element in (None, NULL) else schema.array(_settled(element), optional=True)


def _same(schemas: list[Schema | None]) -> Schema | None:
    kinds = {kind for kind in schemas if kind != NULL}
    if not kinds:
        return NULL if schemas else None
    return kinds.pop() if len(kinds) == 1 else None


def _settled(kind: Schema | None) -> Schema:
    assert kind is not None
    if kind == DURATION:
        raise CelError("a duration has no schema; convert it to a text with string(...), or to seconds with x.getSeconds()")
    return INT if kind == UINT else kind


def settled(inferred: Schema | None) -> Schema | None:
    """Return the schema of a field that `infer` found, if it is any. Raise CelError for a type that records don't know."""
    return None if inferred is None or inferred == NULL else _settled(inferred)


class Parts:
    """
    Counts the parts of a value, and how long its texts and bytes are together. CelError for too many or too long: a list may
    hold one item many times over, in each level of it.
    """

    LIMIT, LONGEST = 200_000, 128 * 1024 * 1024

    def __init__(self) -> None:
        self._left, self._length, self._kept = self.LIMIT, self.LONGEST, 0

    def count(self, value: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise CelError(f"it has more than {self.LIMIT} parts")
        kind = type(value)
        if kind is str or kind is bytes:
            self._length -= len(value)
            if self._length < 0:
                raise CelError(f"it has texts of more than {self.LONGEST} characters together")

    def keep(self, struct: Struct) -> None:
        """
        Count the parts of a struct that stays as it is. The first such one is free, as it is no larger than the record that it
        is of: most expressions give one.
        """
        self._kept += 1
        waiting = list(struct.values) if self._kept > 1 else []
        while waiting:
            part = waiting.pop()
            self.count(part)
            if type(part) is Struct:
                waiting += part.values
            elif isinstance(part, list | tuple):
                waiting += part
            elif isinstance(part, dict):
                waiting += [*part, *part.values()]


def of_value(value: Any) -> Schema | None:
    """The schema of a value of CEL's. None for null, or if it holds nothing that tells. CelError if there is none."""
    return _Telling().of(value)


class _Telling(Parts):
    """Asks a value's parts for their schemas."""

    def of(self, value: Any) -> Schema | None:
        self.count(value)
        value = plain(value)
        simple = _OF_CLASS.get(type(value))
        if simple is not None or value is None:
            return simple
        if type(value) is Struct:
            return value.schema.optional_copy()
        if type(value) is list:
            items = self._of_all(value, "items of the list")
            return None if items is None else schema.array(items, optional=True)
        if isinstance(value, dict):
            keys = self._of_all(list(value), "keys of the map")
            if keys == STRING:
                kinds = {name: kind for name, item in value.items() if (kind := self.of(item)) is not None}
                return schema.struct(kinds, optional=True) if len(kinds) == len(value) else None
            items = self._of_all(list(value.values()), "values of the map")
            return None if keys is None or items is None else schema.mapping(keys, items, optional=True)
        raise CelError(
            f"a value of type {type_name(value)} has no schema; convert it to a text or a number, for example with string(...)"
        )

    def _of_all(self, values: list[Any], what: str) -> Schema | None:
        kinds = {self.of(value) for value in values} - {None}
        if len(kinds) > 1:
            raise CelError(f"the {what} have different types, so they have no schema")
        return kinds.pop() if kinds else None


_INTEGERS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}


_AS_THEY_ARE = {float: SchemaType.FLOAT64, str: SchemaType.STRING, bool: SchemaType.BOOLEAN, bytes: SchemaType.BYTES}


def fit(target: Schema | None, value: Any) -> Any:
    """The value as one of the schema, or of none; CelError if it is not. See `Fit`."""
    if value is None or (target is not None and target.name is None and target.type is _AS_THEY_ARE.get(type(value))):
        return value
    return Fit()(target, value)


class Fit(Parts):
    """Makes values of CEL's fit a schema: numbers its width, maps its structs. CelError for one that it does not take."""

    def __call__(self, target: Schema | None, value: Any) -> Any:
        self.count(value)
        if value is None:
            return None
        value = plain(value)
        if target is None:
            return self._bare(value)
        kind = type(value)
        if target.name in _OF_LOGICAL and target.name != schema.DECIMAL:
            if kind is datetime.datetime:
                return value
        elif target.type in _INTEGERS:
            bits = _INTEGERS[target.type]
            if kind is int or kind is Uint:
                if -(1 << bits - 1) <= value < 1 << bits - 1:
                    return int(value)
                raise CelError(f"{value} does not fit {target.type.value}")
        elif target.type in (SchemaType.FLOAT32, SchemaType.FLOAT64):
            if kind is float or kind is int or kind is Uint:
                return float(value)
        elif target.type is SchemaType.STRUCT:
            if kind is Struct or isinstance(value, dict):
                return self._struct(target, value)
        elif target.type is SchemaType.ARRAY:
            if kind is list:
                return [self(target.value_schema, item) for item in value]
        elif target.type is SchemaType.MAP:
            if isinstance(value, dict):
                return {self(target.key_schema, key): self(target.value_schema, item) for key, item in value.items()}
        elif _OF_CLASS.get(kind) == _OF_PRIMITIVE[target.type] and target.name != schema.DECIMAL:
            return value
        raise CelError(f"a value of type {type_name(value)} is not a {target.name or target.type.value}")

    def _struct(self, target: Schema, value: Any) -> Struct:
        if type(value) is Struct:
            if value.schema is target or value.schema == target:
                self.keep(value)
                return value
            if value.schema.optional_copy() == target:
                self.keep(value)
                return Struct.unchecked(target, list(value.values))
            value = {field.name: item for field, item in value.items()}
        if unknown := value.keys() - {field.name for field in target.fields}:
            raise CelError(f"the map has keys that earlier records did not have: {', '.join(sorted(map(str, unknown)))}")
        return Struct(target, {field.name: self(field.schema, value.get(field.name)) for field in target.fields})

    def _bare(self, value: Any) -> Any:
        """Without a schema: as it is, but for what only CEL knows."""
        kind = type(value)
        if kind is list:
            return [self(None, item) for item in value]
        if isinstance(value, dict):
            return {self(None, key): self(None, item) for key, item in value.items()}
        if kind is Uint:
            return int(value)
        if kind is Struct:
            self.keep(value)
        elif kind not in _OF_CLASS:
            raise CelError(
                f"a value of type {type_name(value)} can't be in a record; "
                "convert it to a text or a number, for example with string(...)"
            )
        return value
