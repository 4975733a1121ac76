"""
The schemas that records brought from one side to the other, by number, so that each is described and built once.

`Described` is for those that go to Java, `Known` for those that come from there; Java has `SchemaReader` and `SchemaWriter`,
the latter of which says how a description looks. Held by `record_codec.py`. Both sides count alike: a batch says how many
schemas its writer had described before, and 0 means that the numbers begin anew. The description of a default is a column.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any

from kconnect.data.kept import HEAVIEST, own_weight
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import DataError
from kconnect.jvm import column_readers, column_writers
from kconnect.jvm.column_readers import Cursor
from kconnect.jvm.column_writers import TYPES, WIDE, Parts

_MANY = 4000


class Described:
    """The schemas that Java has been told of."""

    def __init__(self) -> None:
        self._columns: list[column_writers.Column] = []
        self._numbers: dict[int, int] = {}
        """By identity, of the schemas in `_held`."""
        self._equal: dict[Schema, int] = {}
        self._held: list[Schema] = []
        self._weights: list[int] = []
        """The weights of the schemas that Java knows, by number, each with those within it."""
        self._weight = self._held_weight = 0
        """The weights together: of what Java knows, each schema by itself, and of what is in `_held`."""
        self._new: Parts = []
        self._before = 0
        self._writers = column_writers.Writers(self.number, self.column)

    @property
    def free(self) -> column_writers.Write:
        """The writer of columns without a schema."""
        return self._writers.free

    def begin(self) -> None:
        """Prepare for a batch."""
        if len(self._equal) > _MANY or self._weight > HEAVIEST:
            self.reset()
        elif len(self._held) > _MANY or self._held_weight > HEAVIEST:
            # Somebody builds each record's schema anew.
            self._forget_identities()
        self._new = []
        self._before = len(self._columns)

    def reset(self) -> None:
        """Java has not seen what was last written, or could not read it."""
        self._columns.clear()
        self._weights.clear()
        self._equal.clear()
        self._weight = 0
        self._forget_identities()

    def _forget_identities(self) -> None:
        self._numbers.clear()
        self._held.clear()
        self._held_weight = 0

    def described(self) -> tuple[int, int, bytes]:
        """Return the schemas of this batch: how many were known before, how many are new, and the new ones."""
        return self._before, len(self._columns) - self._before, b"".join(self._new)

    def number(self, schema: Schema) -> int:
        try:
            return self._numbers[id(schema)]
        except KeyError:
            number = self._equal.get(schema)
            if number is None:
                number = self._equal[schema] = self._describe(schema)
            self._numbers[id(schema)] = number
            # So that no other schema gets this one's identity.
            self._held.append(schema)
            self._held_weight += self._weights[number]
            return number

    def column(self, schema: Schema) -> column_writers.Column:
        """The function that writes values of the schema."""
        return self._columns[self.number(schema)]

    def _describe(self, schema: Schema) -> int:
        out: Parts = [bytes((TYPES.index(schema.type), schema.optional)), _text(schema.name), _text(schema.doc)]
        out.append(pack("=?2i", schema.version is not None, schema.version or 0, len(schema.parameters)))
        for name, parameter in schema.parameters.items():
            out += (_text(name), _text(parameter))
        if schema.type is SchemaType.MAP:
            out.append(pack("=i", self._part(schema.key_schema)))
        if schema.type in (SchemaType.MAP, SchemaType.ARRAY):
            out.append(pack("=i", self._part(schema.value_schema)))
        if schema.type is SchemaType.STRUCT:
            out.append(pack("=i", len(schema.fields)))
            for field in schema.fields:
                out += (_text(field.name), pack("=i", self.number(field.schema)))
        column = self._writers.of(schema)
        out.append(b"\0" if schema.default is None else b"\1")
        if schema.default is not None:
            write = self.free if schema.type is SchemaType.STRUCT else column
            write(out, [schema.default])
        # Now that what it is made of has numbers.
        self._new.append(b"".join(out))
        own = own_weight(schema)
        within = [schema.key_schema, schema.value_schema, *(field.schema for field in schema.fields)]
        self._weights.append(own + sum([self._weights[self.number(part)] for part in within if part is not None]))
        self._weight += own
        self._columns.append(column)
        return len(self._columns) - 1

    def _part(self, schema: Schema | None) -> int:
        return -1 if schema is None else self.number(schema)


class Known:
    """The schemas that Java has told of."""

    def __init__(self) -> None:
        self._known: list[tuple[Schema, column_readers.Column]] = []
        self._readers = column_readers.Readers(self._known)

    def of(self, number: int) -> tuple[Schema | None, column_readers.Read]:
        """A schema and the function that reads its values; -1: no schema."""
        return (None, self._readers.free) if number < 0 else self._known[number]

    def read(self, cursor: Cursor, before: int, added: int) -> None:
        """The schemas described from here on. DataError if some are missing before them."""
        if before == 0:
            self._known.clear()
        if before != len(self._known):
            raise DataError(f"Java has described {before} schemas, but Python knows {len(self._known)}")
        for _ in range(added):
            self._known.append(self._one(cursor))

    def _one(self, cursor: Cursor) -> tuple[Schema, column_readers.Column]:
        kind, optional = TYPES[cursor.byte()], bool(cursor.byte())
        name, doc = cursor.text(), cursor.text()
        has_version, version, count = bool(cursor.byte()), cursor.number(), cursor.number()
        parameters: dict[Any, Any] = {}
        for _ in range(count):
            parameter = cursor.text()
            parameters[parameter] = cursor.text()
        of_keys = of_values = None
        fields: list[tuple[str, Schema]] = []
        reads: list[column_readers.Read] = []

        def part(into: Callable[[column_readers.Read], None] = reads.append) -> Schema | None:
            schema, read = self.of(cursor.number())
            into(read)
            return schema

        if kind is SchemaType.MAP:
            of_keys = part()
        if kind in (SchemaType.MAP, SchemaType.ARRAY):
            of_values = part()
        if kind is SchemaType.STRUCT:
            for _ in range(cursor.number()):
                field, schema = cursor.text(), part()
                assert field is not None
                assert schema is not None
                fields.append((field, schema))
        result = Schema(
            kind, optional, None, name, version if has_version else None, doc, parameters, fields, of_keys, of_values
        )
        column = self._readers.of(result, reads)
        if cursor.byte():
            read = self._readers.free if kind is SchemaType.STRUCT else column
            # Connect has checked it, and takes a struct as a default which has a schema without one.
            result.default = read(cursor, 1)[0]
        return result, column


def _text(text: str | None) -> bytes:
    if text is None:
        return pack("=i", -1)
    data = text.encode(WIDE, "surrogatepass")
    return pack("=i", len(data) // 2) + data
