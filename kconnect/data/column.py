"""
Columns: the keys or the values of many records as one object, so that a step of the chain can treat all of them at once.

Converters give and take them (`api/converter.py`), built-in transforms change them, and sink tasks may ask for them
(`SinkTask.put_batch`). Read next: `core/task/batch.py`, which holds the two columns of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kconnect.data.schema import Schema, SchemaType, Struct

Fields = tuple[tuple[str, ...], Sequence[Sequence[Any]]]


class Unusual(Exception):
    """These values can't be treated at once; record by record they can, or one of them is wrong."""


class Column(Sequence[Any]):
    """
    Values that have one schema, or none. Structs, and maps without a schema that have the same keys in the same order, may be
    held by field: then there is one list for each field, and the structs or maps are made when somebody asks for `values`.

    A field's list may be a column itself. Don't change what it gives: others may hold it, too.
    """

    __slots__ = ("_fields", "_length", "_values", "schema")

    def __init__(self, schema: Schema | None, values: Sequence[Any]) -> None:
        self.schema = schema
        self._values: Sequence[Any] | None = values
        self._fields: Fields | None = None
        self._length = len(values)

    @classmethod
    def by_field(cls, schema: Schema | None, names: Sequence[str], columns: Sequence[Sequence[Any]], length: int) -> Column:
        """
        Make a column of structs of this schema, with a list of values for each of its fields; or, without a schema, of maps of
        these names. The values must fit the schema, which is not checked.
        """
        column = cls.__new__(cls)
        column.schema, column._values, column._fields, column._length = schema, None, (tuple(names), columns), length
        return column

    def copy(self) -> Column:
        """Return a column with lists of its own, for a plugin that may change them."""
        column = Column.__new__(Column)
        column.schema, column._length = self.schema, self._length
        column._values = None if self._values is None else list(self._values)
        column._fields = None if self._fields is None else (self._fields[0], list(self._fields[1]))
        return column

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: Any) -> Any:
        return self.values[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    @property
    def values(self) -> Sequence[Any]:
        """All values in their order."""
        if self._values is None:
            assert self._fields is not None
            names, columns = self._fields
            schema, rows = self.schema, zip(*columns) if columns else [()] * self._length
            if schema is None:
                self._values = [dict(zip(names, row)) for row in rows]
            else:
                self._values = [Struct.unchecked(schema, list(row)) for row in rows]
        return self._values

    def as_field(self) -> Sequence[Any]:
        """The values, as the list of a field: this very column if it is held by field."""
        return self if self._values is None else self._values

    @property
    def has_nulls(self) -> bool:
        """Whether one of the values is None."""
        # By their classes: `in` would have structs compare themselves.
        return self._values is not None and type(None) in set(map(type, self._values))

    def fields(self) -> Fields:
        """
        The names of the fields, and one list of values for each: of structs of the schema, or of maps that have the same texts
        as keys, in the same order. Unusual if they are anything else, or one is None.
        """
        if self._fields is None:
            self._fields = _of_maps(self._values) if self.schema is None else _of_structs(self.schema, self._values)
        return self._fields


def _of_maps(values: Any) -> Fields:
    first = values[0] if values else None
    if type(first) is not dict or set(map(type, values)) != {dict}:
        raise Unusual
    names = tuple(first)
    # Comparing all keys of one map with all of another costs less than looking any one of them up.
    if set(map(type, names)) != {str} or list(map(tuple, values)).count(names) != len(values):
        raise Unusual
    return names, list(zip(*map(dict.values, values)))


def _of_structs(schema: Schema, values: Any) -> Fields:
    if schema.type is not SchemaType.STRUCT or set(map(type, values)) - {Struct}:
        raise Unusual
    # Each schema once. Who makes records one by one may make an equal one for each.
    schemas = {id(struct.schema): struct.schema for struct in values}
    if [1 for other in schemas.values() if other is not schema and other != schema]:
        raise Unusual
    return tuple([field.name for field in schema.fields]), list(zip(*[struct._values for struct in values]))
