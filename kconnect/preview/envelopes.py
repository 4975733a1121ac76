"""
Records and values as JSON: the form of the golden data, which `kconnect preview` and `kconnect test` read and write as well.

A record is `{"topic", "partition", "timestamp", "offset", "key", "value", "headers": [{"name", "value"}]}`, where `offset`
is of sink records only; results of these also have `original`, the place that they were consumed from. Keys, values and
header values are envelopes, `{"schema", "payload", "types"}`:

    schema    as Connect's JSON converter writes it; null for data without one
    payload   as that converter writes it, but an unset field stays null and is never replaced by a default, and numbers
              that JSON has not are "NaN", "Infinity", "-Infinity"
    types     only where schema and payload don't tell a value's class: in data without a schema (where a whole number is
              an int64 and a fraction a float64), and where a value does not fit its schema. It has the payload's shape

None of it goes through a converter, so that this can be used to test them. What Python can't tell is not written: whether
data without a schema, given as a plain int, was a Long. Read next: `preview/preview.py`.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import math
import struct
from collections.abc import Mapping
from typing import Any

from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.data import decimals
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaAndValue, SchemaType, Struct
from kconnect.errors import DataError
from kconnect.java import moments

_NAMES = {kind: kind.value.lower() for kind in SchemaType} | {SchemaType.FLOAT32: "float", SchemaType.FLOAT64: "double"}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_WIDTHS: dict[str, type] = {
    "int8": schemas.Int8,
    "int16": schemas.Int16,
    "int32": schemas.Int32,
    "int64": schemas.Int64,
    "float32": schemas.Float32,
    "float64": schemas.Float64,
}
_CLASSES = {kind: name for name, kind in _WIDTHS.items()} | {
    bool: "boolean",
    float: "float64",
    str: "string",
    bytes: "bytes",
    bytearray: "bytes",
    memoryview: "bytebuffer",
    decimal.Decimal: "decimal",
    datetime.datetime: "date",
    moments.FarDate: "date",
    list: "array",
    tuple: "array",
    dict: "map",
    Struct: "struct",
}
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_FLOATS = (SchemaType.FLOAT32, SchemaType.FLOAT64)
_UNIT_MS = {schemas.DATE: moments.DAY_MS, schemas.TIME: 1, schemas.TIMESTAMP: 1}

_PARTS = {"schema", "payload", "types"}
_RECORD = {"topic", "partition", "timestamp", "offset", "key", "value", "headers", "original"}

# --- records ---


def from_record(
    body: Any,
    kind: str,
    source_partition: Mapping[str, Any] | None = None,
    source_offset: Mapping[str, Any] | None = None,
) -> SourceRecord | SinkRecord:
    """
    A `source`'s or `sink`'s record. All but `topic` may be left out, and what is no envelope is data without a schema.

    DataError, naming the part, if it is none.
    """
    if not isinstance(body, dict):
        raise DataError(f"a record is an object with `topic`, `key`, `value` and so on, not {_kind_of(body)}")
    if unknown := sorted(map(str, body.keys() - _RECORD)):
        raise DataError(f"`{unknown[0]}` is not part of a record: {', '.join(sorted(_RECORD))} are")
    topic = _topic(body)
    partition, timestamp, offset = (_integer(body, name) for name in ("partition", "timestamp", "offset"))
    key, value = (value_of(body.get(name), name) for name in ("key", "value"))
    headers = _headers(body.get("headers"))
    if kind == "source":
        return SourceRecord(source_partition, source_offset, topic, partition, *key, *value, timestamp, headers)
    of_time = TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
    original = body.get("original") or {}
    place = (original.get("topic"), original.get("partition"), original.get("offset"))
    return SinkRecord(topic, partition or 0, *key, *value, offset or 0, timestamp, of_time, headers, *place)


def to_record(record: SourceRecord | SinkRecord, original: bool = True) -> dict[str, Any]:
    """`original` False leaves out where a sink record was consumed, as for one that nothing has changed yet."""
    body: dict[str, Any] = {"topic": record.topic, "partition": record.partition, "timestamp": record.timestamp}
    if isinstance(record, SinkRecord):
        body["offset"] = record.offset
        if original:
            place = (record.original_topic, record.original_partition, record.original_offset)
            body["original"] = dict(zip(("topic", "partition", "offset"), place))
    body["key"] = envelope_of(record.key_schema, record.key)
    body["value"] = envelope_of(record.value_schema, record.value)
    body["headers"] = [{"name": header.key, "value": envelope_of(header.schema, header.value)} for header in record.headers]
    return body


def _headers(body: Any) -> list[Header]:
    if body is None:
        return []
    if not isinstance(body, list):
        raise DataError(f"`headers` must be a list of {{name, value}}, not {_kind_of(body)}")
    headers = []
    for index, header in enumerate(body):
        if not isinstance(header, dict) or not isinstance(header.get("name"), str) or header.keys() - {"name", "value"}:
            raise DataError(f"`headers[{index}]` must be an object of a `name`, which is a text, and a `value`")
        schema, value = value_of(header.get("value"), f"headers[{index}]")
        headers.append(Header(header["name"], value, schema))
    return headers


def _topic(body: dict[str, Any]) -> Any:
    """Return the topic. None, if given, is what Java's records may have, and transforms have to cope with."""
    topic = body.get("topic")
    if "topic" not in body or not (topic is None or isinstance(topic, str)):
        raise DataError(f"`topic` must be a text, {'not ' + _kind_of(topic) if 'topic' in body else 'and is missing'}")
    return topic


def _integer(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and type(value) is not int:
        raise DataError(f"`{name}` must be a whole number or null, not {_kind_of(value)}")
    return value


# --- reading ---


def is_envelope(body: Any) -> bool:
    """Whether it has a `schema`, be it null, and nothing that an envelope has not."""
    return isinstance(body, dict) and "schema" in body and not body.keys() - _PARTS


def value_of(envelope: Any, where: str = "value") -> SchemaAndValue:
    """The data of an envelope, or of plain JSON. DataError, with the place in it, if schema and payload don't fit."""
    if not is_envelope(envelope):
        return SchemaAndValue(None, _free(envelope, None, where))
    if "payload" not in envelope:
        raise DataError(f"`{where}` has a `schema`, but no `payload`")
    try:
        schema = schema_of(envelope["schema"])
    except DataError as error:
        raise DataError(f"the schema of `{where}`: {error}") from error
    return SchemaAndValue(schema, _read(schema, envelope["payload"], envelope.get("types"), where))


def schema_of(body: Any) -> Schema | None:
    """The schema that Connect's JSON form describes; None for null."""
    if body is None:
        return None
    if not isinstance(body, dict) or body.get("type") not in _KINDS:
        raise DataError(f"it must be an object whose `type` is one of {', '.join(_KINDS)}")
    fields = [(field.get("field"), schema_of(field)) for field in body.get("fields") or ()]
    described = Schema(
        _KINDS[body["type"]],
        optional=bool(body.get("optional", False)),
        name=body.get("name"),
        version=body.get("version"),
        doc=body.get("doc"),
        parameters=body.get("parameters"),
        fields=fields,  # type: ignore[arg-type]
        key_schema=schema_of(body.get("keys")),
        value_schema=schema_of(body.get("items") or body.get("values")),
    )
    if body.get("default") is None:
        return described
    return described.replace(default=_read(described, body["default"], None, "default"))


def _read(schema: Schema | None, payload: Any, types: Any, where: str) -> Any:
    if payload is None:
        return None
    if schema is None or isinstance(types, str):
        return _free(payload, types, where, schema)
    kind = schema.type
    try:
        if schema.name == schemas.DECIMAL and kind is SchemaType.BYTES:
            return decimals.of_bytes(_bytes(payload), schemas.decimal_scale(schema))
        if schema.name in _UNIT_MS and kind in _BITS:
            return moments.date_of(payload * _UNIT_MS[schema.name])
        if kind in _FLOATS:
            return _float(payload, kind is SchemaType.FLOAT32)
        if kind is SchemaType.BYTES:
            return _bytes(payload)
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise _unfit(schema, payload, where, error) from error
    if kind is SchemaType.STRUCT:
        if not isinstance(payload, dict):
            raise _unfit(schema, payload, where)
        if unknown := sorted(map(str, payload.keys() - {field.name for field in schema.fields})):
            raise DataError(f"`{where}.{unknown[0]}` is a field that the schema has not")
        of_fields = types or {}
        values = [
            _read(field.schema, payload.get(field.name), of_fields.get(field.name), f"{where}.{field.name}")
            for field in schema.fields
        ]
        return Struct.unchecked(schema, values)
    if kind is SchemaType.ARRAY:
        if not isinstance(payload, list):
            raise _unfit(schema, payload, where)
        return [
            _read(schema.value_schema, item, types[index] if types else None, f"{where}[{index}]")
            for index, item in enumerate(payload)
        ]
    if kind is SchemaType.MAP:
        return _map(schema, payload, types, where)
    if type(payload) is not {SchemaType.BOOLEAN: bool, SchemaType.STRING: str}.get(kind, int):
        raise _unfit(schema, payload, where)
    return payload


def _map(schema: Schema, payload: Any, types: Any, where: str) -> dict[Any, Any]:
    if not isinstance(payload, dict) and not _is_pairs(payload):
        raise _unfit(schema, payload, where)
    of_items = types if isinstance(types, dict) else {}
    result = {}
    for key, item in payload.items() if isinstance(payload, dict) else payload:
        of_item = of_items.get(key) if isinstance(key, str) else None
        at = _read(schema.key_schema, key, None, f"the key {key} of {where}")
        result[at] = _read(schema.value_schema, item, of_item, f"{where}.{key}")
    return result


def _free(payload: Any, types: Any, where: str, schema: Schema | None = None) -> Any:
    """Without a schema, or without heed to it."""
    if types == "map" and _is_pairs(payload):
        return {key: _free(item, None, f"{where}.{key}") for key, item in payload}
    if isinstance(payload, dict):
        of = types if isinstance(types, dict) else {}
        return {key: _free(item, of.get(key), f"{where}.{key}") for key, item in payload.items()}
    if isinstance(payload, list):
        item_types = types if isinstance(types, list) else [None] * len(payload)
        return [_free(item, item_types[index], f"{where}[{index}]") for index, item in enumerate(payload)]
    if payload is None or types is None:
        return payload
    try:
        if types in _WIDTHS:
            number = _float(payload, types == "float32") if types.startswith("float") else int(payload)
            # A plain number is an int64 or float64 already, where no schema says otherwise.
            plain = types in ("int64", "float64") and (schema is None or _NAMES[schema.type] in (types, "double"))
            return number if plain else _WIDTHS[types](number)
        if types in ("bytes", "bytebuffer"):
            return _bytes(payload) if types == "bytes" else memoryview(_bytes(payload))
        if types == "decimal":
            return decimal.Decimal(payload)
        if types == "bigint":
            return int(payload)
        if types == "date":
            return moments.date_of(payload)
    except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
        raise DataError(f"`{where}` is {_kind_of(payload)}, which can't be read as `{types}`") from error
    if types in ("string", "boolean", "array", "map"):
        return payload
    raise DataError(f"`{where}` has the unknown type `{types}`")


def _is_pairs(payload: Any) -> bool:
    return isinstance(payload, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in payload)


def _bytes(payload: Any) -> bytes:
    if not isinstance(payload, str):
        raise TypeError("bytes are a base64 text")
    try:
        return base64.b64decode(payload, validate=True)
    except binascii.Error as error:
        raise ValueError("it is not base64") from error


def _float(payload: Any, narrow: bool) -> float:
    if isinstance(payload, bool) or (isinstance(payload, str) and payload not in ("NaN", "Infinity", "-Infinity")):
        raise TypeError("it is not a number")
    number = float(payload)
    if not narrow or not math.isfinite(number):
        return number
    rounded: float = struct.unpack(">f", struct.pack(">f", number))[0]
    return rounded


def _unfit(schema: Schema, payload: Any, where: str, error: Exception | None = None) -> DataError:
    named = f"{_NAMES[schema.type]} {schema.name}" if schema.name else _NAMES[schema.type]
    why = f": {error}" if isinstance(error, ValueError | OverflowError) else ""
    return DataError(f"`{where}` is {_kind_of(payload)}, but its schema says {named}{why}")


def _kind_of(payload: Any) -> str:
    """Never the value: it may be a secret, and errors are logged."""
    names = {type(None): "null or missing", bool: "a boolean", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(payload), "a number" if isinstance(payload, int | float) else f"a {type(payload).__name__}")


# --- writing ---


def envelope_of(schema: Schema | None, value: Any) -> dict[str, Any]:
    payload, types = _write(schema, value)
    envelope = {"schema": schema_body(schema), "payload": payload}
    return envelope if types is None else {**envelope, "types": types}


def schema_body(schema: Schema | None) -> dict[str, Any] | None:
    """Connect's JSON form of a schema; `items`, `keys` or `values` are null where elements have none."""
    if schema is None:
        return None
    body: dict[str, Any] = {"type": _NAMES[schema.type]}
    if schema.type is SchemaType.ARRAY:
        body["items"] = schema_body(schema.value_schema)
    elif schema.type is SchemaType.MAP:
        body["keys"] = schema_body(schema.key_schema)
        body["values"] = schema_body(schema.value_schema)
    elif schema.type is SchemaType.STRUCT:
        body["fields"] = [{**(schema_body(field.schema) or {}), "field": field.name} for field in schema.fields]
    body["optional"] = schema.optional
    version = None if schema.version is None else int(schema.version)
    for name, attribute in (("name", schema.name), ("version", version), ("doc", schema.doc)):
        if attribute is not None:
            body[name] = attribute
    if schema.parameters:
        body["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        body["default"] = _write(schema, schema.default)[0]
    return body


def _write(schema: Schema | None, value: Any) -> tuple[Any, Any]:
    """Payload and types."""
    if value is None:
        return None, None
    if schema is None or not _fits(schema, value):
        return _write_free(value, schema)
    if schema.name == schemas.DECIMAL and schema.type is SchemaType.BYTES:
        sign, digits, _ = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return _base64(unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)), None
    if schema.name in _UNIT_MS and schema.type in _BITS:
        return moments.milliseconds_of(value) // _UNIT_MS[schema.name], None
    if schema.type is SchemaType.STRUCT:
        written = {field.name: _write(field.schema, item) for field, item in value.items()}
        return _parts(written)
    if schema.type is SchemaType.ARRAY:
        return _items([_write(schema.value_schema, item) for item in value])
    if schema.type is SchemaType.MAP:
        keys = schema.key_schema
        if keys is not None and keys.type is SchemaType.STRING and all(isinstance(key, str) for key in value):
            return _parts({key: _write(schema.value_schema, item) for key, item in value.items()})
        return [[_write(keys, key)[0], _write(schema.value_schema, item)[0]] for key, item in value.items()], None
    return _primitive(value, schema.type is SchemaType.FLOAT32), None


def _fits(schema: Schema, value: Any) -> bool:
    """Whether schema and payload alone say what the value is."""
    kind = schema.type
    if schema.name == schemas.DECIMAL and kind is SchemaType.BYTES:
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            return False
        return str(-int(value.as_tuple().exponent)) == schema.parameters.get("scale")
    if schema.name in _UNIT_MS and kind in _BITS:
        if not isinstance(value, datetime.datetime):
            return False
        return not moments.milliseconds_of(value) % _UNIT_MS[schema.name]
    if schema.name in (schemas.DECIMAL, *_UNIT_MS):
        # As Connect sees it: by its name the value is a decimal or a date, whatever the type says.
        return False
    if kind is SchemaType.STRUCT:
        return isinstance(value, Struct) and (value.schema is schema or value.schema == schema)
    try:
        # Of containers only themselves: their elements are asked one by one.
        elements = kind in (SchemaType.ARRAY, SchemaType.MAP)
        schemas.validate(Schema(kind) if elements or schema.name else schema, value)
    except DataError:
        return False
    return True


def _write_free(value: Any, schema: Schema | None) -> tuple[Any, Any]:
    """Without a schema, or with one that the value does not fit, so that its class must be told always."""
    has_schema = schema is not None
    if isinstance(value, Struct):
        return {field.name: _write(field.schema, item)[0] for field, item in value.items()}, "struct"
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            payload, types = _parts({key: _write_free(item, None) for key, item in value.items()})
            return payload, types or ("map" if has_schema else None)
        return [[_write_free(key, None)[0], _write_free(item, None)[0]] for key, item in value.items()], "map"
    if isinstance(value, list | tuple):
        items, of_items = _items([_write_free(item, None) for item in value])
        return items, of_items or ("array" if has_schema else None)
    if value is None:
        return None, None
    kind = type(value)
    if schema is not None and schema.name and kind in (int, float) and _fits(Schema(schema.type), value):
        # Of the right type, but the schema's name wants something else. A plain number is as wide as its schema says.
        name = schema.type.value.lower()
    elif kind is int:
        name = "int64" if -(1 << 63) <= value < 1 << 63 else "bigint"
    else:
        name = _CLASSES.get(kind) or f"{kind.__module__}.{kind.__qualname__}"
    payload = _primitive(value, name == "float32")
    if name == "bigint":
        return str(value), name
    obvious = name in ("int64", "string", "boolean") or (name == "float64" and not isinstance(payload, str))
    return payload, name if has_schema or not obvious else None


def _parts(written: dict[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    types = {name: of for name, (_, of) in written.items() if of is not None}
    return {name: payload for name, (payload, _) in written.items()}, types or None


def _items(written: list[tuple[Any, Any]]) -> tuple[list[Any], list[Any] | None]:
    types = [of for _, of in written]
    return [payload for payload, _ in written], types if any(of is not None for of in types) else None


def _primitive(value: Any, narrow: bool) -> Any:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value), narrow)
    if isinstance(value, bytes | bytearray | memoryview):
        return _base64(bytes(value))
    if isinstance(value, datetime.datetime):
        return moments.milliseconds_of(value)
    return str(value)


def _number(value: float, narrow: bool) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if narrow:
        # The shortest number that is the same 32 bits, as Java writes it: 1.1, not 1.100000023841858.
        for digits in range(1, 10):
            short = float(f"{value:.{digits}g}")
            try:
                if struct.pack(">f", short) == struct.pack(">f", value):
                    return short
            except OverflowError:
                continue
    return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
