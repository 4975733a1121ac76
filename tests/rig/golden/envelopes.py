"""
Envelopes, `{"schema": …, "payload": …, "types": …}`: the data that they mean, and whether data of ours are those.

`value_of` builds data for a plugin. `check` compares what it gave: both sides are brought into one plain form, in which a
value stands with its Java class: ("int8", 5), ("map", pairs), ("struct", fields). That of the envelope is made of the JSON
alone, so an error in our schemas or converters can't be on both sides.

Where a Python number has no width of its own it is as wide as its schema says, and without one a long or a double.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import struct
from typing import Any

from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaAndValue, SchemaType, Struct
from kconnect.java import moments
from tests.rig.golden.errors import Case, Difference, Unreadable, only

Plain = Any
"""Nested tuples and lists of class and value."""

_NAMES = {"float": SchemaType.FLOAT32, "double": SchemaType.FLOAT64}
_JSON_NAMES = {kind: name for name, kind in _NAMES.items()}
_MS = {schemas.DATE: 86_400_000, schemas.TIME: 1, schemas.TIMESTAMP: 1}
_WIDTHS: dict[str, type] = {
    "int8": schemas.Int8,
    "int16": schemas.Int16,
    "int32": schemas.Int32,
    "int64": schemas.Int64,
    "float32": schemas.Float32,
    "float64": schemas.Float64,
}
_WIDTH_OF = {made: name for name, made in _WIDTHS.items()}
_INTEGERS = frozenset({"int8", "int16", "int32", "int64"})
_TYPES = {"boolean", "string", "bytes", "bytebuffer", "decimal", "bigint", "date", "array", "map", "struct", *_WIDTHS}
_UNTOLD = "without a schema"
_ANY_PRECISION = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


# --- data for a plugin ---


def value_of(envelope: Case, exact: bool = False) -> SchemaAndValue:
    """`exact` makes each number say its width, which else its schema says, or which is that of a long or a double."""
    only(envelope, "schema", "payload", types=...)
    schema = schema_of(envelope["schema"])
    return SchemaAndValue(schema, _built(schema, envelope["payload"], envelope.get("types"), exact))


def schema_of(body: Case | None) -> Schema | None:
    if body is None:
        return None
    made = Schema(
        _NAMES.get(body["type"]) or SchemaType[body["type"].upper()],
        optional=body.get("optional", False),
        name=body.get("name"),
        version=body.get("version"),
        doc=body.get("doc"),
        parameters=body.get("parameters"),
        fields=[(field["field"], schema_of(field)) for field in body.get("fields", [])],  # type: ignore[misc]
        key_schema=schema_of(body.get("keys")),
        value_schema=schema_of(body.get("items") or body.get("values")),
    )
    default = body.get("default")
    return made if default is None else made.replace(default=_built(made, default, None, False))


def _built(schema: Schema | None, payload: Any, types: Any, exact: bool) -> Any:
    if payload is None:
        return None
    if schema is None or isinstance(types, str) or not _could_be(schema, payload):
        return _built_free(payload, types, exact or schema is not None)
    if schema.name == schemas.DECIMAL:
        unscaled = int.from_bytes(base64.b64decode(payload), "big", signed=True)
        return decimal.Decimal(unscaled).scaleb(-int(schema.parameters["scale"]), _ANY_PRECISION)
    if schema.name in _MS:
        return moments.date_of(payload * _MS[schema.name])
    width = schema.type.value.lower()
    if width in _WIDTHS:
        number = _read_float(payload, width == "float32") if width in ("float32", "float64") else payload
        return _WIDTHS[width](number) if exact else number
    if schema.type is SchemaType.BYTES:
        return base64.b64decode(payload)
    if schema.type is SchemaType.ARRAY:
        return [_built(schema.value_schema, item, _part(types, at), exact) for at, item in enumerate(payload)]
    if schema.type is SchemaType.MAP:
        return {
            _built(schema.key_schema, key, of_key, exact): _built(schema.value_schema, item, of_item, exact)
            for key, item, of_key, of_item in _pairs(payload, types)
        }
    if schema.type is SchemaType.STRUCT:
        values = [_built(field.schema, payload.get(field.name), _part(types, field.name), exact) for field in schema.fields]
        return Struct.unchecked(schema, values)
    return payload


def _built_free(payload: Any, types: Any, exact: bool) -> Any:
    if types == "struct":
        raise Unreadable("a struct without a schema can't be built")
    if isinstance(payload, dict):
        return {key: _built(None, item, _part(types, key), exact) for key, item in payload.items()}
    if isinstance(payload, list):
        if types == "map":
            return {_built(None, key, None, exact): _built(None, item, None, exact) for key, item in payload}
        return [_built(None, item, _part(types, at), exact) for at, item in enumerate(payload)]
    plain = _free(payload, types)
    name, value = plain[0], plain[1]
    if name in _WIDTHS:
        number = _read_float(payload, name == "float32") if name in ("float32", "float64") else value
        return _WIDTHS[name](number) if exact or name not in ("int64", "float64") else number
    if name == "decimal":
        return decimal.Decimal(payload)
    if name == "date":
        return moments.date_of(value)
    return memoryview(value) if name == "bytebuffer" else value


def _read_float(payload: Any, narrow: bool) -> float:
    """
    A number that was given to Connect. What made the golden files read it by way of a BigDecimal, which has no negative zero;
    as a text it can be one.
    """
    number = float(payload)
    return _rounded(number if number or isinstance(payload, str) else 0.0, narrow)


def _rounded(number: float, narrow: bool) -> float:
    if not narrow or not math.isfinite(number):
        return number
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


# --- comparing ---


def check(found: SchemaAndValue, envelope: Case, where: str = "", implied: Schema | None = None) -> None:
    """`implied` is the schema that a value without one has by where it comes from."""
    only(envelope, "schema", "payload", types=..., schema_error=...)
    body = envelope["schema"]
    if envelope.get("schema_error") is not None:
        # The schema could not be written as JSON: that there is one is all that is known.
        if found.schema is None:
            raise Difference("a schema", None, f"{where}.schema")
        body = _body_of(found.schema)
    else:
        difference(_plain_schema(found.schema), _expected_schema(body), f"{where}.schema")
    expected = _resolved(_expected(body, envelope["payload"], envelope.get("types")), found.value)
    difference(plain(found.value, found.schema or implied), expected, f"{where}.payload")


def _resolved(expected: Plain, value: Any) -> Plain:
    """Structs whose schema is not told, as in a list without one, read by the schema that ours have."""
    if isinstance(value, Struct) and expected is not None and expected[1] == _UNTOLD:
        return _expected(_body_of(value.schema), expected[2], None)
    if isinstance(value, list) and expected is not None and expected[0] == "array" and len(expected[1]) == len(value):
        return "array", [_resolved(part, item) for part, item in zip(expected[1], value)]
    if isinstance(value, dict) and expected is not None and expected[0] == "map":
        items = {("string", name): item for name, item in value.items() if isinstance(name, str)}
        named = [(key, part) for key, part in expected[1] if key is not None and key[0] == "string"]
        others = [pair for pair in expected[1] if pair not in named]
        return _map([*others, *((key, _resolved(part, items.get(key))) for key, part in named)])
    return expected


def difference(found: Plain, expected: Plain, where: str) -> None:
    """Raises the innermost one."""
    if found == expected and repr(found) == repr(expected):
        return
    if type(found) is type(expected) and isinstance(found, dict) and found.keys() == expected.keys():
        for key, value in found.items():
            difference(value, expected[key], f"{where}.{key}")
        if list(found) != list(expected):
            raise Difference(list(expected), list(found), f"{where} in the order of fields")
    if type(found) is type(expected) and isinstance(found, list | tuple) and len(found) == len(expected):
        for at, (one, other) in enumerate(zip(found, expected)):
            difference(one, other, f"{where}[{at}]" if isinstance(found, list) else where)
    raise Difference(expected, found, where)


def has_unordered_map(envelope: Case) -> bool:
    """Whether a map of several entries is in the value, for whose order Connect promises nothing."""
    return _is_unordered(_expected(envelope["schema"], envelope["payload"], envelope.get("types")))


def _is_unordered(plain: Plain) -> bool:
    if not isinstance(plain, tuple):
        return False
    kind, value = plain[0], plain[-1]
    if kind == "struct":
        return isinstance(value, dict) and any(map(_is_unordered, value.values()))
    if kind == "map":
        return len(value) > 1 or any(_is_unordered(item) for _, item in value)
    return kind == "array" and any(map(_is_unordered, value))


# --- the plain form of an envelope ---


def _expected_schema(body: Case | None) -> Plain:
    if body is None:
        return None
    only(
        body, "type", optional=..., name=..., version=..., doc=..., parameters=..., default=..., fields=..., field=...,
        keys=..., items=..., values=...,
    )  # fmt: skip
    return _schema_row(
        body["type"],
        body.get("optional", False),
        body.get("name"),
        body.get("version"),
        body.get("doc"),
        body.get("parameters"),
        [(field["field"], _expected_schema(field)) for field in body.get("fields", ())],
        _expected_schema(body.get("keys")),
        _expected_schema(body.get("items") or body.get("values")),
        _expected(body, body.get("default"), None),
    )


def _expected(body: Case | None, payload: Any, types: Any) -> Plain:
    if payload is None:
        return None
    if body is None or isinstance(types, str) or not _could_be_of(body["type"], payload):
        return _expected_free(payload, types)
    kind, name = body["type"], body.get("name")
    if name == schemas.DECIMAL:
        return _decimal(int.from_bytes(base64.b64decode(payload), "big", signed=True), int(body["parameters"]["scale"]))
    if name in _MS:
        return "date", payload * _MS[name]
    if kind in _NAMES:
        return _float(payload, kind == "float")
    if kind == "bytes":
        return "bytes", base64.b64decode(payload)
    if kind == "array":
        return "array", [_expected(body.get("items"), item, _part(types, at)) for at, item in enumerate(payload)]
    if kind == "map":
        return _map(
            (_expected(body.get("keys"), key, of_key), _expected(body.get("values"), item, of_item))
            for key, item, of_key, of_item in _pairs(payload, types)
        )
    if kind == "struct":
        names = [field["field"] for field in body["fields"]]
        if payload.keys() - set(names):
            raise Unreadable(f"the payload has fields that its schema has not: {payload.keys() - set(names)}")
        return "struct", {
            field["field"]: _expected(field, payload.get(field["field"]), _part(types, field["field"]))
            for field in body["fields"]
        }
    return kind, payload


def _expected_free(payload: Any, types: Any) -> Plain:
    if isinstance(payload, dict):
        if types == "struct":
            return "struct", _UNTOLD, payload
        return _map((("string", key), _expected(None, item, _part(types, key))) for key, item in payload.items())
    if isinstance(payload, list):
        if types == "map":
            return _map((_expected(None, key, None), _expected(None, item, None)) for key, item in payload)
        return "array", [_expected(None, item, _part(types, at)) for at, item in enumerate(payload)]
    return _free(payload, types)


def _free(payload: Any, types: Any) -> Plain:
    """The plain form of a value that is no array or map and has no schema."""
    if types is not None and types not in _TYPES:
        raise Unreadable(f"no such type: {types!r}")
    name = types or {bool: "boolean", int: "int64", float: "float64", str: "string"}[type(payload)]
    if name in ("float32", "float64"):
        return _float(payload, name == "float32")
    if name in ("bytes", "bytebuffer"):
        return name, base64.b64decode(payload)
    if name == "decimal":
        return _plain_decimal(decimal.Decimal(payload))
    if name == "bigint":
        # An int too, so that one as small as a long can't be told from it.
        return "bigint" if _is_big(int(payload)) else "int64", int(payload)
    return name, payload


def _part(types: Any, at: Any) -> Any:
    """What `types` says of an element."""
    if isinstance(types, dict):
        return types.get(at)
    return types[at] if isinstance(types, list) and isinstance(at, int) and at < len(types) else None


def _pairs(payload: Any, types: Any) -> list[tuple[Any, Any, Any, Any]]:
    """Keys and values of a map, and what `types` says of them."""
    if isinstance(payload, dict):
        return [(key, item, None, _part(types, key)) for key, item in payload.items()]
    return [(key, item, _part(_part(types, at), 0), _part(_part(types, at), 1)) for at, (key, item) in enumerate(payload)]


def _could_be(schema: Schema, payload: Any) -> bool:
    return _could_be_of(schema.type.value.lower(), payload)


def _could_be_of(kind: str, payload: Any) -> bool:
    """Whether the payload has the outer form of such a value; if not, it is one that doesn't fit its schema."""
    if kind == "struct":
        return isinstance(payload, dict)
    if kind == "array":
        return isinstance(payload, list)
    return isinstance(payload, dict | list) is (kind == "map")


# --- the plain form of our data ---


def _plain_schema(schema: Schema | None) -> Plain:
    if schema is None:
        return None
    return _schema_row(
        _json_name(schema.type),
        schema.optional,
        schema.name,
        schema.version,
        schema.doc,
        schema.parameters,
        [(field.name, _plain_schema(field.schema)) for field in schema.fields],
        _plain_schema(schema.key_schema),
        _plain_schema(schema.value_schema),
        plain(schema.default, schema),
    )


def plain(value: Any, schema: Schema | None) -> Plain:
    kind = type(value)
    if value is None:
        return None
    if kind in _WIDTH_OF:
        name = _WIDTH_OF[kind]
        return _float(value, name == "float32") if isinstance(value, float) else (name, int(value))
    of_schema = None if schema is None else schema.type.value.lower()
    if kind is int:
        return of_schema if of_schema in _INTEGERS else "bigint" if _is_big(value) else "int64", value
    if kind is float:
        return _float(value, of_schema == "float32")
    if kind is bool or kind is str:
        return "boolean" if kind is bool else "string", value
    if isinstance(value, bytes | bytearray | memoryview):
        is_buffer = isinstance(value, memoryview) and of_schema != "bytes"
        return "bytebuffer" if is_buffer else "bytes", bytes(value)
    if isinstance(value, decimal.Decimal):
        return _plain_decimal(value)
    if isinstance(value, datetime.datetime):
        return "date", moments.milliseconds_of(value)
    if isinstance(value, Struct):
        return "struct", {field.name: plain(item, field.schema) for field, item in value.items()}
    if isinstance(value, list | tuple):
        return "array", [plain(item, schema and schema.value_schema) for item in value]
    if isinstance(value, dict):
        return _map(
            (plain(key, schema and schema.key_schema), plain(item, schema and schema.value_schema))
            for key, item in value.items()
        )
    return kind.__qualname__, value


def _body_of(schema: Schema) -> Case:
    """A schema in JSON, without the defaults."""
    body: Case = {"type": _json_name(schema.type), "name": schema.name, "parameters": dict(schema.parameters)}
    body["fields"] = [{**_body_of(field.schema), "field": field.name} for field in schema.fields]
    if schema.key_schema is not None:
        body["keys"] = _body_of(schema.key_schema)
    if schema.value_schema is not None:
        body["items"] = body["values"] = _body_of(schema.value_schema)
    return body


def _json_name(kind: SchemaType) -> str:
    return _JSON_NAMES.get(kind) or kind.value.lower()


# --- both ---


def _schema_row(
    kind: str,
    optional: bool,
    name: str | None,
    version: int | None,
    doc: str | None,
    parameters: Any,
    fields: list[tuple[str, Plain]],
    key: Plain,
    element: Plain,
    default: Plain,
) -> Plain:
    row = {
        "type": kind,
        "optional": optional,
        "name": name,
        "version": version,
        "doc": doc,
        "parameters": dict(sorted((parameters or {}).items())),
        "default": default,
        "keys": key,
        "items": element,
    }
    return {**row, "fields": fields}


def _map(pairs: Any) -> Plain:
    return "map", sorted(pairs, key=repr)


def _float(number: Any, narrow: bool) -> tuple[str, str]:
    """Its shortest text, which 0.0 and -0.0 don't share, and NaN with itself does."""
    return "float32" if narrow else "float64", repr(_rounded(float(number), narrow))


def _plain_decimal(number: decimal.Decimal) -> Plain:
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return "decimal", str(number)
    unscaled = int("".join(map(str, digits)))
    # Java's has no negative zero.
    return ("decimal", "-0", -exponent) if sign and not unscaled else _decimal(-unscaled if sign else unscaled, -exponent)


def _is_big(number: int) -> bool:
    return not -(1 << 63) <= number < 1 << 63


def _decimal(unscaled: int, scale: int) -> Plain:
    return "decimal", unscaled, scale
