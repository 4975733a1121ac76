"""
Schemas of JSON that has none, found out from its values: which fields there are, of what types, at any depth.

A `Shape` is what is known of all values so far. It only grows: fields are added, whole numbers become floating point ones, and
what was only ever null gets a type. What would change a settled field in another way is a `Misfit`, and the record is a bad
one. docs/connectors.md has the rules as users read them. Pure; called by `json_inferred.py`.
"""

from __future__ import annotations

import decimal
import enum
import itertools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from kconnect.converters import json_text
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import DataError

MOST_DEPTH, LONGEST_NAME = 32, 256
MOST_FIELDS = "schemas.infer.max.fields"
LEAST_BYTES, MOST_BYTES, LENGTH = 64_000, 800_000, 128
"""
How many bytes a shape may have as JSON: the least, the most, and between them so many for each field that there may be. It is
kept in one message, of which brokers take a million bytes by default, and once more with each field that is added.
"""
_EXACT = 1 << 53
"""Up to here a floating point number is each whole number."""
_LONGEST = 1 << 63
_HALF = re.compile("[\ud800-\udfff]")


class Kind(enum.Enum):
    """`INTEGER` is exact as a floating point number, too, `LONG` is not."""

    NOTHING = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    LONG = "long"
    DOUBLE = "double"
    TEXT = "text"
    ARRAY = "array"
    OBJECT = "object"


class Misfit(DataError):
    """A value that a settled shape can't grow to have."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`mixed`: a text that stands for other values as well, as their JSON. `element` is an array's, `fields` an object's."""

    kind: Kind
    fields: Mapping[str, Shape] = field(default_factory=dict)
    element: Shape | None = None
    mixed: bool = False


NOTHING = Shape(Kind.NOTHING)
_PLAIN = {kind: Shape(kind) for kind in Kind}
_MIXED = Shape(Kind.TEXT, mixed=True)
_TYPES = {
    Kind.BOOLEAN: SchemaType.BOOLEAN,
    Kind.INTEGER: SchemaType.INT64,
    Kind.LONG: SchemaType.INT64,
    Kind.DOUBLE: SchemaType.FLOAT64,
    Kind.TEXT: SchemaType.STRING,
}
_OPTIONAL = {kind: Schema(wanted, optional=True) for kind, wanted in _TYPES.items()}
_NUMBERS = {Kind.INTEGER, Kind.LONG, Kind.DOUBLE}


def shape_of(plain: Any, most: int = 1000, depth: int = 0) -> Shape:
    """
    Return the shape of one value, as orjson has read it. Misfit if it is too deep, has more than `most` fields in one place, or
    a name that no schema should have.
    """
    if depth > MOST_DEPTH:
        raise Misfit(f"it has objects or lists in each other, deeper than {MOST_DEPTH}")
    kind = type(plain)
    if kind is str:
        return _PLAIN[Kind.TEXT]
    if kind is int:
        if -_EXACT <= plain <= _EXACT:
            return _PLAIN[Kind.INTEGER]
        # No type of Connect has it but a decimal, which most targets can't have without a number of digits.
        return _PLAIN[Kind.LONG] if -_LONGEST <= plain < _LONGEST else _MIXED
    if kind is float:
        return _PLAIN[Kind.DOUBLE]
    if kind is bool:
        return _PLAIN[Kind.BOOLEAN]
    if kind is decimal.Decimal:
        return _MIXED
    if kind is dict:
        _require_few(plain, most)
        for name in plain:
            if not 0 < len(name) <= LONGEST_NAME:
                raise Misfit(f"it has a field whose name has {len(name)} characters: 1 to {LONGEST_NAME} may be inferred")
            if not name.isascii() and _HALF.search(name):
                # JSON in UTF-16 may have one. Nobody can write it down, in the topic of schemas or elsewhere.
                raise Misfit("it has a field whose name has half a pair of surrogates")
        return Shape(Kind.OBJECT, {name: shape_of(value, most, depth + 1) for name, value in plain.items()})
    if kind is list:
        element = NOTHING
        for item in plain:
            if not fits(element, item):
                element = grown(element, shape_of(item, most, depth + 1))
                # At once: to grow by one field takes as long as there are fields.
                _require_few(element.fields, most)
        return Shape(Kind.ARRAY, element=element)
    return NOTHING


def _require_few(fields: Collection[str], most: int) -> None:
    if len(fields) > most:
        raise Misfit(f"an inferred schema may have {most} fields ({MOST_FIELDS}), and it has {len(fields)} in one place")


def fits(shape: Shape, plain: Any) -> bool:
    """Whether a value is of a shape as it is; a null is of each."""
    if plain is None:
        return True
    kind, expected = type(plain), shape.kind
    if expected is Kind.TEXT:
        return kind is str or shape.mixed
    if expected is Kind.INTEGER:
        return kind is int and -_EXACT <= plain <= _EXACT
    if expected is Kind.DOUBLE:
        return kind is float or (kind is int and -_EXACT <= plain <= _EXACT)
    if expected is Kind.OBJECT:
        if kind is not dict:
            return False
        fields = shape.fields
        return all(name in fields and fits(fields[name], value) for name, value in plain.items())
    if expected is Kind.BOOLEAN:
        return kind is bool
    if expected is Kind.LONG:
        return kind is int and -_LONGEST <= plain < _LONGEST
    if expected is Kind.ARRAY:
        element = shape.element or NOTHING
        return kind is list and all(fits(element, item) for item in plain)
    return False


def fit_together(shape: Shape, plains: Sequence[Any]) -> bool:
    """Whether all of these values fit, looked at field by field, which is much quicker than one by one."""
    kinds = set(map(type, plains))
    if type(None) in kinds:
        kinds.discard(type(None))
        plains = [plain for plain in plains if plain is not None]
    if not kinds:
        return True
    expected = shape.kind
    if expected is Kind.TEXT:
        return kinds == {str} or shape.mixed
    if expected is Kind.OBJECT:
        return kinds == {dict} and fitting_columns(shape, plains) is not None
    if expected is Kind.ARRAY:
        return kinds == {list} and fit_together(shape.element or NOTHING, list(itertools.chain.from_iterable(plains)))
    if expected is Kind.BOOLEAN:
        return kinds == {bool}
    if expected is Kind.DOUBLE and kinds == {float}:
        return True
    return (
        kinds <= {int, float}
        and all(fits(shape, plain) for plain in (min(plains), max(plains)))
        and (kinds == {int} or all(fits(shape, plain) for plain in plains))
    )


def fitting_columns(shape: Shape, plains: Sequence[dict[str, Any]]) -> Mapping[str, Sequence[Any]] | None:
    """Return what objects have by each name that one of them has. None if not all of it fits."""
    names: list[str] = list(set().union(*plains))
    fields = shape.fields
    if not fields.keys() >= set(names):
        return None
    columns = json_text.columns_of(plains, names)
    return dict(zip(names, columns)) if all(map(fit_together, map(fields.__getitem__, names), columns)) else None


def grown(shape: Shape, other: Shape, settled: Shape = NOTHING, path: str = "") -> Shape:
    """
    Return what has both. Where `settled` has a type, it only gets wider: Misfit, naming the field, for what is no such change.
    Elsewhere values of several kinds become texts.
    """
    if shape is other or other.kind is Kind.NOTHING:
        return shape
    if shape.kind is Kind.NOTHING:
        return other
    kinds = {shape.kind, other.kind}
    if kinds == {Kind.OBJECT}:
        return _with_fields(shape, other, settled, path)
    if kinds == {Kind.ARRAY}:
        settled_element = settled.element if settled.kind is Kind.ARRAY else None
        element = grown(shape.element or NOTHING, other.element or NOTHING, settled_element or NOTHING, f"{path}[]")
        return Shape(Kind.ARRAY, element=element)
    if shape.mixed:
        return shape
    if kinds == {Kind.TEXT} and not other.mixed:
        return shape
    if len(kinds) == 1 and Kind.TEXT not in kinds:
        return shape
    if kinds == {Kind.INTEGER, Kind.LONG}:
        return _PLAIN[Kind.LONG]
    if kinds == {Kind.INTEGER, Kind.DOUBLE}:
        return _PLAIN[Kind.DOUBLE]
    if settled.kind is not Kind.NOTHING:
        raise Misfit(_difference(shape, other, path))
    return _MIXED


def _with_fields(shape: Shape, other: Shape, settled: Shape, path: str) -> Shape:
    fields = dict(shape.fields)
    for name, other_shape in other.fields.items():
        before = fields.get(name, NOTHING)
        beneath = settled.fields.get(name, NOTHING) if settled.kind is Kind.OBJECT else NOTHING
        fields[name] = grown(before, other_shape, beneath, f"{path}.{name}" if path else name)
    return Shape(Kind.OBJECT, fields)


def merged(settled: Shape, other: Shape) -> tuple[Shape, bool]:
    """
    Return what has both, and whether they agree, so that it is the same whichever is settled. In a field in which they do not,
    `settled` holds, and the others are added.
    """
    kinds = {settled.kind, other.kind}
    if kinds == {Kind.OBJECT}:
        fields, agree = dict(settled.fields), True
        for name, other_shape in other.fields.items():
            fields[name], agrees = merged(fields.get(name, NOTHING), other_shape)
            agree = agree and agrees
        return Shape(Kind.OBJECT, fields), agree
    if kinds == {Kind.ARRAY}:
        element, agree = merged(settled.element or NOTHING, other.element or NOTHING)
        return Shape(Kind.ARRAY, element=element), agree
    try:
        shape = grown(settled, other, settled)
    except Misfit:
        return settled, False
    try:
        return shape, grown(other, settled, other) == shape
    except Misfit:
        return shape, False


def _difference(shape: Shape, other: Shape, path: str) -> str:
    where = f"the field {path!r}" if path else "it"
    if {shape.kind, other.kind} <= _NUMBERS:
        return (
            f"{where} has whole numbers beyond 2^53 and fractions, which no number of Connect's has both: a {other.kind.value} "
            f"can't be told in a column of {shape.kind.value}"
        )
    description = "a number that no type of Connect's has exactly" if other.mixed else f"of the type {other.kind.value}"
    return f"{where} is {description}, but the schema that was inferred has {shape.kind.value} there"


def width(shape: Shape) -> int:
    """Return how many fields it has, at any depth."""
    beneath: Iterable[Shape] = shape.fields.values() if shape.element is None else (shape.element,)
    return len(shape.fields) + sum(map(width, beneath))


def size(shape: Shape) -> int:
    """Return about how many bytes it takes as JSON."""
    beneath = itertools.chain(shape.fields.values(), () if shape.element is None else (shape.element,))
    # A name of control characters takes six times as many bytes as it has letters.
    return 32 + sum(len(orjson.dumps(name)) for name in shape.fields) + sum(map(size, beneath))


def is_mixed(shape: Shape) -> bool:
    """Whether some values have to be told as texts."""
    beneath = (*shape.fields.values(), *(() if shape.element is None else (shape.element,)))
    return shape.mixed or any(map(is_mixed, beneath))


def told(shape: Shape, plain: Any) -> Any:
    """Return a value of a shape with texts where the shape has them."""
    if plain is None:
        return None
    if shape.kind is Kind.OBJECT:
        return {name: told(shape.fields[name], value) for name, value in plain.items()}
    if shape.kind is Kind.ARRAY and shape.element is not None:
        return [told(shape.element, item) for item in plain]
    if shape.mixed and type(plain) is not str:
        return str(plain) if type(plain) in (int, decimal.Decimal) else _json(plain)
    return plain


def _json(plain: Any) -> str:
    try:
        return orjson.dumps(plain).decode()
    except TypeError:
        # Integers beyond 64 bits, halves of pairs of surrogates, and numbers that are kept digit by digit.
        return _with_digits(plain)


def _with_digits(plain: Any) -> str:
    if type(plain) is decimal.Decimal:
        return str(plain)
    if type(plain) is dict:
        return "{" + ",".join(f"{json.dumps(name)}:{_with_digits(item)}" for name, item in plain.items()) + "}"
    return "[" + ",".join(map(_with_digits, plain)) + "]" if type(plain) is list else json.dumps(plain)


def schema_of(shape: Shape, version: int) -> Schema | None:
    """
    Return the schema: all within it is optional, and what has only ever been null, or empty, has no part in it. None for a
    value of which nothing is known.
    """
    if shape.kind is Kind.OBJECT:
        return schemas.struct(_fields(shape), version=version)
    if shape.kind is Kind.ARRAY:
        element = _part(shape.element or NOTHING)
        return None if element is None else schemas.array(element, version=version)
    return None if shape.kind is Kind.NOTHING else Schema(_TYPES[shape.kind], version=version)


def _fields(shape: Shape) -> dict[str, Schema]:
    field_schemas = {name: _part(field_shape) for name, field_shape in shape.fields.items()}
    return {name: field_schema for name, field_schema in field_schemas.items() if field_schema is not None}


def _part(shape: Shape) -> Schema | None:
    if shape.kind is Kind.OBJECT:
        fields = _fields(shape)
        return schemas.struct(fields, optional=True) if fields else None
    if shape.kind is Kind.ARRAY:
        element = _part(shape.element or NOTHING)
        return None if element is None else schemas.array(element, optional=True)
    return _OPTIONAL.get(shape.kind)


def to_plain(shape: Shape) -> Any:
    """Return a shape as JSON has it."""
    if shape.kind is Kind.OBJECT:
        return {"fields": [[name, to_plain(field_shape)] for name, field_shape in shape.fields.items()]}
    if shape.kind is Kind.ARRAY:
        return {"element": to_plain(shape.element or NOTHING)}
    return "mixed" if shape.mixed else shape.kind.value


def of_plain(plain: Any) -> Shape:
    """Return what `to_plain` has told. DataError for anything else."""
    try:
        if isinstance(plain, dict) and "fields" in plain:
            return Shape(Kind.OBJECT, {str(name): of_plain(field_plain) for name, field_plain in plain["fields"]})
        if isinstance(plain, dict):
            return Shape(Kind.ARRAY, element=of_plain(plain["element"]))
        return _MIXED if plain == "mixed" else _PLAIN[Kind(plain)]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"It is no inferred schema: {str(plain)[:100]}") from error
