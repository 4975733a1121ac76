"""
Texts with `${…}` in them, which stands for a part of a record: its topic, partition, offset, key, value, or a field of that.

Called by `requests.py`, with a function that says how a part is written where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api import DataError, Schema, SinkRecord, Struct

_PART = re.compile(r"\$\{([^{}]*)\}")
Part = tuple[Any, Schema | None]
_OWN: Mapping[str, Callable[[SinkRecord], Part]] = {
    "topic": lambda record: (record.topic, None),
    "partition": lambda record: (record.original_partition, None),
    "offset": lambda record: (record.original_offset, None),
    "timestamp": lambda record: (record.timestamp, None),
    "key": lambda record: (record.key, record.key_schema),
    "value": lambda record: (record.value, record.value_schema),
}


LONGEST = 32 * 2**20
"""Characters of one text; records have a megabyte or so."""


class Template:
    def __init__(self, text: str) -> None:
        self._pieces = _PART.split(text)
        """Texts and names of parts, in turns."""

    @property
    def is_constant(self) -> bool:
        return len(self._pieces) == 1

    @property
    def text(self) -> str:
        """The text of a constant template."""
        return self._pieces[0]

    def fill(self, record: SinkRecord, write: Callable[[Any, Schema | None], str]) -> str:
        """
        The text for a record; `write` gets each part with its schema. DataError if it has no such part, or if the text would be
        longer than memory has room for: a template may name a part many times.
        """
        pieces = self._pieces
        if len(pieces) == 1:
            return pieces[0]
        texts: dict[str, str] = {}
        filled, length = [], 0
        for number, piece in enumerate(pieces):
            if number % 2 and piece not in texts:
                texts[piece] = write(*part(record, piece))
            filled.append(texts[piece] if number % 2 else piece)
            length += len(filled[-1])
            if length > LONGEST:
                raise DataError(f"The text that is made of it has more than {LONGEST} characters")
        return "".join(filled)


def part(record: SinkRecord, name: str) -> Part:
    """Return what `${name}` stands for, and its schema: `address.city` is a field of a field."""
    read_attribute = _OWN.get(name)
    if read_attribute is not None:
        return read_attribute(record)
    value: Any = record.value
    schema: Schema | None = None
    for step in name.split("."):
        if isinstance(value, Struct) and (field := value.schema.field(step)) is not None:
            value, schema = value.get(step), field.schema
        elif isinstance(value, dict) and step in value:
            value, schema = value[step], None
        else:
            raise DataError(f"${{{name}}} stands for nothing: the record's value has no such field")
    return value, schema
