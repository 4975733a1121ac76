"""
Values between Connect's and those that fastavro encodes, compiled once for each pair of a Connect schema and an Avro type.

`Writers` makes functions from Connect's values to fastavro's, `Readers` the other way. The Avro type need not be the one that
the Connect schema itself would become: with `use.latest.version` it is the subject's newest, and the values are promoted as
Avro's rules of schema resolution say. Called by `avro.py`. Read before: `avro_types.Encoding`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kconnect.converters import avro_logical
from kconnect.converters.avro_schema import ANYTHING, Dialect, is_enum, is_union, union_field
from kconnect.converters.avro_schema_readers import Take, is_map_entry
from kconnect.converters.avro_types import MISSING, Avro, AvroField, Encoding, parts_of
from kconnect.data.hashes import dict_of
from kconnect.data.schema import Float32, Float64, Int8, Int16, Int32, Int64, Schema, SchemaType, Struct
from kconnect.data.values import float32, java_class
from kconnect.errors import DataError

Convert = Callable[[Any], Any]

_NUMBERS: dict[SchemaType, tuple[type, ...]] = {
    SchemaType.INT8: (int, Int8),
    SchemaType.INT16: (int, Int16),
    SchemaType.INT32: (int, Int32),
    SchemaType.INT64: (int, Int64),
    SchemaType.FLOAT32: (float, Float32),
    SchemaType.FLOAT64: (float, Float64),
}
BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_TARGETS: dict[SchemaType, frozenset[str]] = {
    **dict.fromkeys((SchemaType.INT8, SchemaType.INT16, SchemaType.INT32), frozenset(("int", "long", "float", "double"))),
    SchemaType.INT64: frozenset(("long", "float", "double")),
    SchemaType.FLOAT32: frozenset(("float", "double")),
    SchemaType.FLOAT64: frozenset(("double",)),
    SchemaType.BOOLEAN: frozenset(("boolean",)),
    SchemaType.STRING: frozenset(("string", "bytes", "enum")),
    SchemaType.BYTES: frozenset(("bytes", "string", "fixed")),
    SchemaType.ARRAY: frozenset(("array",)),
    SchemaType.MAP: frozenset(("map", "array")),
    SchemaType.STRUCT: frozenset(("record",)),
}
"""The Avro types that values of each Connect type can be written as: its own, and those that readers promote it to."""


class Writers:
    """
    Writers into one Avro type's encoding.

    `strict` refuses, before any value is seen, what a reader of that type could not take from every value of the schema:
    a field that would be missing, or null where none is allowed.
    """

    def __init__(self, dialect: Dialect, encoding: Encoding, strict: bool = True) -> None:
        self._dialect = dialect
        self._encoding = encoding
        self._strict = strict

    def of(self, schema: Schema | None, avro: Avro) -> Convert:
        """DataError if the schema's values can't be of that type."""
        if schema is None:
            if avro.name != ANYTHING:
                raise DataError(f"Data without a schema can't be written as the Avro type {avro!r}")
            return self.free
        if schema.type is SchemaType.STRUCT and is_union(schema):
            return self._or_null(schema, avro, self._of_union(schema, avro))
        if avro.type == "union":
            return self._or_null(schema, avro, self._of_branch(schema, avro))
        return self._or_null(schema, avro, self.of_present(schema, avro))

    def _or_null(self, schema: Schema, avro: Avro, write: Convert) -> Convert:
        if schema.optional and avro.nullable:
            return lambda value: None if value is None else write(value)
        if schema.optional and self._strict:
            raise DataError(f"{schema!r} is optional, but the Avro type {avro!r} has no null")

        def required(value: Any) -> Any:
            if value is None:
                raise DataError("Found null value for non-optional schema")
            return write(value)

        return required

    # --- unions ---

    def _of_branch(self, schema: Schema, union: Avro) -> Convert:
        """
        Return the writer of the first branch that takes the schema's values. A branch of its very type comes before all others.
        """
        failure: DataError | None = None
        for branch in sorted(union.present, key=lambda branch: not _is_own(schema, branch)):
            try:
                return self._tagged(union, branch, self.of_present(schema, branch))
            except DataError as error:
                failure = failure or error
        raise failure or DataError(f"The Avro type {union!r} has no branch for {schema!r}")

    def _tagged(self, union: Avro, branch: Avro, write: Convert) -> Convert:
        name = self._encoding.branch_name(union, branch)
        if name is not None:
            return lambda value: (name, {"v": write(value)})
        if branch.type in ("record", "array", "map", "enum", "fixed"):
            # With its name, fastavro need not look through the value to find its branch.
            type_name = self._encoding.type_name(branch)
            return lambda value: (type_name, write(value))
        return write

    def _of_union(self, schema: Schema, avro: Avro) -> Convert:
        present = avro.present
        if len(present) == len(schema.fields):
            branches = list(present)
        else:
            by_name = {
                union_field(branch.type, branch.name, index, self._dialect): branch
                for index, branch in enumerate(avro.branches or [avro])
            }
            missing = [field.name for field in schema.fields if field.name not in by_name]
            if missing:
                raise DataError(f"The Avro type {avro!r} has no branch for the union's {missing[0]}")
            branches = [by_name[field.name] for field in schema.fields]
        fields = []
        for field, branch in zip(schema.fields, branches):
            write = self.of_present(field.schema, branch)
            default = None if self._dialect.ignore_default_for_nullables else field.schema.default
            fields.append((default, self._tagged(avro, branch, write) if avro.type == "union" else write))

        def write_union(value: Any) -> Any:
            _check_struct(schema, value)
            for (default, convert), item in zip(fields, value.values):
                item = default if item is None else item
                if item is not None:
                    return convert(item)
            if avro.nullable:
                return None
            raise DataError("Found null value for non-optional schema")

        return write_union

    # --- other types ---

    def of_present(self, schema: Schema, avro: Avro) -> Convert:
        """Return the writer of values that are not null."""
        if schema.type is SchemaType.STRUCT and is_union(schema):
            return self._of_union(schema, avro)
        if avro.type not in _TARGETS[schema.type]:
            raise DataError(f"{schema.type.value} can't be written as the Avro type {avro!r}")
        if schema.type is SchemaType.STRUCT:
            return self._of_struct(schema, avro)
        if schema.type is SchemaType.ARRAY:
            return self._of_array(schema, avro)
        if schema.type is SchemaType.MAP:
            return self._of_map(schema, avro)
        return self._of_primitive(schema, avro)

    def _of_struct(self, schema: Schema, avro: Avro) -> Convert:
        places = {self._dialect.name(field.name): field for field in schema.fields}
        steps, absent = [], {}
        for target in avro.fields:
            field = places.get(target.name)
            if field is None:
                absent[target.name] = self.absent(target)
            else:
                write = self._of_field(field.schema, target.type)
                steps.append((field.index, target.name, as_it_is(field.schema, target.type), write))
        if not absent and [index for index, *_ in steps] == list(range(len(schema.fields))):
            pairs = [step[1:] for step in steps]

            def write_all(value: Any) -> Any:
                if type(value) is not Struct or value.schema is not schema:
                    _check_struct(schema, value)
                return {
                    name: item if type(item) is exact else convert(item)
                    for (name, exact, convert), item in zip(pairs, value.values)
                }

            return write_all

        def write_some(value: Any) -> Any:
            _check_struct(schema, value)
            values = value.values
            return {**absent, **{name: convert(values[index]) for index, name, _, convert in steps}}

        return write_some

    def absent(self, target: AvroField) -> Any:
        """Return what stands for a field that the values don't have."""
        if target.default is not MISSING:
            return Defaults(self._encoding).of(target.type, target.default)
        if self._strict or not target.type.nullable:
            raise DataError(
                f'The Avro field "{target.name}" has no default and is not in the data; '
                "give it a default in the registered schema, or the field to the data"
            )
        return None

    def _of_field(self, schema: Schema, avro: Avro) -> Convert:
        write = self.of(schema, avro)
        if schema.default is None or self._dialect.ignore_default_for_nullables:
            return write
        default = write(schema.default)
        return lambda value: default if value is None else write(value)

    def _of_array(self, schema: Schema, avro: Avro) -> Convert:
        element = self.of(schema.value_schema, avro.item())

        def write(value: Any) -> Any:
            if not isinstance(value, list | tuple):
                raise _wrong(schema, value)
            return [element(item) for item in value]

        return write

    def _of_map(self, schema: Schema, avro: Avro) -> Convert:
        if avro.type == "map":
            if schema.key_schema is None or schema.key_schema.type is not SchemaType.STRING:
                raise DataError("A map whose keys are no texts can't be written as an Avro map")
            return self._of_text_map(schema, self.of(schema.value_schema, avro.item()))
        if not is_map_entry(avro.item()):
            raise DataError("A map can't be written as an Avro array, except one of map entries")
        parts = {field.name: field.type for field in avro.item().fields}
        key = self.of(schema.key_schema, parts["key"])
        element = self.of(schema.value_schema, parts["value"])

        def write(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _wrong(schema, value)
            return [{"key": key(name), "value": element(item)} for name, item in value.items()]

        return write

    @staticmethod
    def _of_text_map(schema: Schema, element: Convert) -> Convert:
        def write(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _wrong(schema, value)
            for name in value:
                if type(name) is not str:
                    raise DataError(f"Invalid type for MAP: a key is of class {java_class(name)}, Avro's are texts only")
            return {name: element(item) for name, item in value.items()}

        return write

    def _of_primitive(self, schema: Schema, avro: Avro) -> Convert:
        kind, target = schema.type, avro.type
        logical = avro_logical.writer(schema)
        if target == "fixed":
            return _writer_of_fixed(schema, avro.size, logical)
        if target == "enum":
            if self._strict and not is_enum(schema):
                raise DataError(f"A text can't be written as the Avro type {avro!r}, because it may be no symbol of it")
            return _writer_of_enum(schema, avro)
        plain = logical or _writer_of(schema)
        if target in ("float", "double") and kind in BITS:
            return lambda value: float(plain(value))
        if kind is SchemaType.STRING and target == "bytes":
            return lambda value: plain(value).encode()
        if kind is SchemaType.BYTES and target == "string":
            return lambda value: plain(value).decode()
        return plain

    def free(self, value: Any) -> Any:
        """A value without a schema, as the record `Anything`."""
        if value is None:
            return {}
        kind = type(value)
        name = _FREE.get(kind)
        if name is not None:
            if name == "long" and not -(1 << 63) <= value < 1 << 63:
                raise DataError("Unknown Java type for schemaless data: class java.math.BigInteger")
            return {name: value}
        if kind is list or kind is tuple:
            return {"array": ("array", [self.free(item) for item in value])}
        if kind is dict:
            entries = [{"key": self.free(key), "value": self.free(item)} for key, item in value.items()]
            return {"map": ("array", entries)}
        if isinstance(value, bytes | bytearray | memoryview):
            # Confluent's converter reads these, but refuses to write them.
            return {"bytes": bytes(value)}
        raise DataError(f"Unknown Java type for schemaless data: class {java_class(value)}")


_FREE: dict[type, str] = {
    bool: "boolean",
    int: "long",
    Int64: "long",
    Int8: "int",
    Int16: "int",
    Int32: "int",
    float: "double",
    Float64: "double",
    Float32: "float",
    str: "string",
}


def _is_own(schema: Schema, avro: Avro) -> bool:
    """Whether a schema's values are of that type as they are."""
    if schema.type is SchemaType.STRUCT:
        return avro.type == "record" and avro.name == schema.name
    avro_type: object = {
        "INT8": "int",
        "INT16": "int",
        "INT32": "int",
        "INT64": "long",
        "FLOAT32": "float",
        "FLOAT64": "double",
    }.get(schema.type.value, schema.type.value.lower())
    return avro_type == avro.type


def as_it_is(schema: Schema, avro: Avro) -> type | None:
    """The class of which values are written as they are, without a call; others, null among them, need their writer."""
    present = avro.present
    if len(present) != 1 or avro_logical.writer(schema) is not None or not _is_own(schema, present[0]):
        return None
    return _EXACT.get(schema.type)


_EXACT = {
    SchemaType.STRING: str,
    SchemaType.BOOLEAN: bool,
    SchemaType.FLOAT64: float,
    # fastavro refuses what has more than 64 bits; of fewer it would take all.
    SchemaType.INT64: int,
    SchemaType.BYTES: bytes,
}


def _check_struct(schema: Schema, value: Any) -> None:
    if not isinstance(value, Struct):
        raise _wrong(schema, value)
    if value.schema is not schema and value.schema != schema:
        raise DataError("Mismatching struct schema")


def _writer_of(schema: Schema) -> Convert:
    kind = schema.type
    if kind in BITS:
        return _writer_of_integer(schema, BITS[kind], _NUMBERS[kind][1])
    if kind in _NUMBERS:
        narrow = _NUMBERS[kind]

        def write_float(value: Any) -> Any:
            if type(value) is float:
                return value
            if type(value) in narrow:
                return float(value)
            raise _wrong(schema, value)

        return write_float if kind is SchemaType.FLOAT64 else lambda value: float32(write_float(value))
    if kind is SchemaType.BYTES:

        def write_bytes(value: Any) -> Any:
            if not isinstance(value, bytes | bytearray | memoryview):
                raise _wrong(schema, value)
            return bytes(value)

        return write_bytes
    expected = bool if kind is SchemaType.BOOLEAN else str

    def write(value: Any) -> Any:
        if type(value) is not expected:
            raise _wrong(schema, value)
        return value

    return write


def _writer_of_integer(schema: Schema, bits: int, narrow: Any) -> Convert:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1

    def write(value: Any) -> Any:
        if (type(value) is int or type(value) is narrow) and least <= value <= most:
            return value
        raise _wrong(schema, value)

    return write


def _writer_of_fixed(schema: Schema, size: int, logical: Convert | None) -> Convert:
    plain = _writer_of(schema)

    def write(value: Any) -> Any:
        if logical is None:
            data = plain(value)
        else:
            data = logical(value)
            data = (b"\xff" if data[0] & 0x80 else b"\x00") * (size - len(data)) + data
        if len(data) != size:
            raise DataError(f"An Avro fixed of {size} bytes can't be of {len(data)}")
        return data

    return write


def _writer_of_enum(schema: Schema, avro: Avro) -> Convert:
    symbols = frozenset(avro.symbols)

    def write(value: Any) -> Any:
        if type(value) is not str:
            raise _wrong(schema, value)
        if value not in symbols:
            raise DataError(f"Not a symbol of the enum {avro.name}; its symbols are {', '.join(avro.symbols)}")
        return value

    return write


def _wrong(schema: Schema, value: Any) -> DataError:
    return DataError(f"Invalid type for {schema.type.value}: class {java_class(value)}")


# --- reading ---


class Readers:
    """Readers of one Avro type's encoding."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def of(self, avro: Avro, schema: Schema | None) -> Convert:
        """`schema` is what `avro_schema_readers.to_connect` made of the type."""
        return self._of(avro, schema) or _as_is

    def _of(self, avro: Avro, schema: Schema | None) -> Convert | None:
        """Return the reader of a type; None where the value, null included, is already Connect's."""
        if schema is None:
            return read_free
        if avro.type != "union":
            return self._of_present(avro, schema)
        if schema.type is SchemaType.STRUCT and is_union(schema):
            return self._of_union(avro, schema)
        read = self._of_present(avro.present[0], schema)
        return None if read is None else lambda plain: None if plain is None else read(plain)

    def _of_union(self, avro: Avro, schema: Schema) -> Convert:
        if len(avro.present) == 1:
            read = self.of(avro.present[0], schema.fields[0].schema)
            return lambda plain: Struct.unchecked(schema, [read(plain)])
        names = self._encoding.branch_names(avro)
        readers = {
            name: (field.index, self.of(branch, field.schema))
            for name, branch, field in zip(names, avro.present, schema.fields)
        }
        width = len(schema.fields)

        def read_union(plain: Any) -> Struct | None:
            if plain is None:
                return None
            index, read = readers[plain[0]]
            values = [None] * width
            values[index] = read(plain[1]["v"])
            return Struct.unchecked(schema, values)

        return read_union

    def _of_present(self, avro: Avro, schema: Schema) -> Convert | None:
        kind = schema.type
        if kind is SchemaType.STRUCT:
            return self._of_struct(avro, schema)
        if kind is SchemaType.ARRAY:
            element = self._of(avro.item(), schema.value_schema)
            return None if element is None else lambda plain: [element(item) for item in plain]
        if kind is SchemaType.MAP:
            return self._of_map(avro, schema)
        return self.of_primitive(schema)

    def of_primitive(self, schema: Schema) -> Convert | None:
        """Return what makes a value of a primitive schema from fastavro's; None if it is so already."""
        kind, logical = schema.type, avro_logical.reader(schema)
        if logical is not None:
            return logical
        if kind is SchemaType.INT8 or kind is SchemaType.INT16:
            half, whole = 1 << BITS[kind] - 1, 1 << BITS[kind]
            # What does not fit is cut, as Java's cast does.
            return lambda plain: (plain + half) % whole - half
        return None

    def _of_struct(self, avro: Avro, schema: Schema) -> Convert:
        readers = [self._of(field.type, schema.fields[index].schema) for index, field in enumerate(avro.fields)]
        steps = [(index, read) for index, read in enumerate(readers) if read is not None]

        def read_struct(plain: Any) -> Struct:
            values = list(plain.values())
            for index, read in steps:
                values[index] = read(values[index])
            return Struct.unchecked(schema, values)

        return read_struct

    def _of_map(self, avro: Avro, schema: Schema) -> Convert | None:
        if avro.type == "map":
            element = self._of(avro.item(), schema.value_schema)
            if element is None:
                return None
            return lambda plain: {key: element(item) for key, item in plain.items()}
        parts = {field.name: field.type for field in avro.item().fields}
        read_key = self.of(parts["key"], schema.key_schema)
        read_value = self.of(parts["value"], schema.value_schema)

        def read(plain: Any) -> dict[Any, Any]:
            return dict_of([(read_key(entry["key"]), read_value(entry["value"])) for entry in plain])

        return read


def _as_is(plain: Any) -> Any:
    return plain


def read_free(plain: Any) -> Any:
    """The value in the record `Anything`; numbers as narrow as they were."""
    for name, value in plain.items():
        if value is None:
            continue
        if name == "array":
            return [read_free(item) for item in value]
        if name == "map":
            try:
                return {read_free(entry["key"]): read_free(entry["value"]) for entry in value}
            except TypeError as error:
                raise DataError("A map has a key that is a list or a map itself, which Python's can't have") from error
        return Int32(value) if name == "int" else Float32(value) if name == "float" else value
    return None


class Defaults:
    """Defaults, from JSON to what fastavro would have read; also what it writes."""

    def __init__(self, encoding: Encoding, take: Take = lambda count: None) -> None:
        self._encoding = encoding
        self._take = take

    def of(self, avro: Avro, default: Any) -> Any:
        """DataError if the default is not of the type."""
        self._take(1)
        kind = avro.type
        try:
            if kind == "union":
                return self._of_union(avro, default)
            if kind == "null" or default is None:
                if kind != "null" or default is not None:
                    raise TypeError("null")
                return None
            if kind in ("bytes", "fixed"):
                return default.encode("latin-1")
            if kind == "array":
                return [self.of(avro.item(), item) for item in default]
            if kind == "map":
                return {key: self.of(avro.item(), item) for key, item in default.items()}
            if kind == "record":
                return {field.name: self.of(field.type, default.get(field.name, field.default)) for field in avro.fields}
            if kind in ("float", "double"):
                return float(default)
            if type(default) is not {"int": int, "long": int, "boolean": bool}.get(kind, str):
                raise TypeError(f"a {type(default).__name__}")
            return default
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"Invalid default for the Avro type {avro!r}: {error}") from error

    def _of_union(self, avro: Avro, default: Any) -> Any:
        # A default is of the first branch.
        first = avro.branches[0]
        value = self.of(first, default)
        if first.type == "null" or len(avro.present) == 1:
            return value
        return (self._encoding.branch_names(avro)[0], {"v": value})


def read_default(avro: Avro, schema: Schema, default: Any, take: Take) -> Any:
    """A default as a value of Connect's. `take` is told of all that is read for it."""
    take(parts_of(avro))
    if avro.type == "array" and is_map_entry(avro.item()) and isinstance(default, list):
        # In `connect.default` the entries of a map are pairs.
        default = [
            {"key": item[0], "value": item[1]} if isinstance(item, list) and len(item) == 2 else item for item in default
        ]
    encoding = Encoding(avro)
    plain = Defaults(encoding, take).of(avro, default)
    return None if plain is None else Readers(encoding).of(avro, schema)(plain)
