"""
What was made for schemas, and is kept: no more than memory has room for, whatever schemas come.

A schema may come with each record, and who writes the record decides how large it is: readers and writers take forty times as
much. So not only their number is limited, but also what they weigh together. Used by the converters, by
`transforms/common.py`, and by `connectors/documents.py`. From one thread.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from kconnect.data.schema import Schema

K = TypeVar("K")
V = TypeVar("V")

HEAVIEST = 100_000
"""In fields, of which each takes one or two kilobytes."""
_TEXT = 256
"""So many characters of names, docs, parameters and defaults weigh as much as a field."""


class Kept(Generic[K, V]):
    """
    A cache of at most `most` entries, which weigh no more than `heaviest` together, unless it is a single one. The oldest go
    first.
    """

    def __init__(self, most: int, heaviest: int = HEAVIEST) -> None:
        self._most, self._heaviest = most, heaviest
        self._values: dict[K, V] = {}
        self._weights: dict[K, int] = {}
        self._weight = 0
        self.get = self._values.get

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: K, value: V, weight: int) -> None:
        """Keep a value of a key that has none yet."""
        if self._most <= 0:
            return
        while self._values and (len(self._values) >= self._most or self._weight + weight > self._heaviest):
            oldest = next(iter(self._values))
            del self._values[oldest]
            self._weight -= self._weights.pop(oldest)
        self._values[key], self._weights[key] = value, weight
        self._weight += weight


def weight_of(*schemas: Schema | None) -> int:
    """Return how many fields some schemas have, those of fields counted, and what their texts weigh."""
    fields = texts = 0
    waiting = [schema for schema in schemas if schema is not None]
    while waiting:
        schema = waiting.pop()
        fields += 1
        texts += _length_of_texts(schema)
        waiting += [field.schema for field in schema.fields]
        waiting += [inner for inner in (schema.key_schema, schema.value_schema) if inner is not None]
    return fields + weight_of_text(texts)


def own_weight(schema: Schema) -> int:
    """Return what a schema weighs without those within it."""
    return 1 + weight_of_text(_length_of_texts(schema))


def weight_of_text(length: int) -> int:
    """Return what a text of so many characters weighs."""
    return length // _TEXT


def _length_of_texts(schema: Schema) -> int:
    """Return about how many characters a schema has itself, without those within it."""
    texts = sum([len(field.name) for field in schema.fields])
    if schema.name or schema.doc or schema.parameters or schema.default is not None:
        texts += len(schema.name or "") + len(schema.doc or "")
        texts += sum(len(name) + len(value) for name, value in schema.parameters.items())
        texts += len(schema.default) if isinstance(schema.default, str | bytes | list | dict) else 1
    return texts
