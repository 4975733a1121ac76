"""
The bytes of the topic of inferred schemas, which only kconnect has.

A key is `["connector", "key" or "value", "topic", task]`: each task says what it knows, which is never less than what it has
read of the others, so compaction loses nothing. Tasks write and read it (`kafka/schema_topic.py`); `internal_topics/` looks at
it from outside. What a value says, `converters/inference.py` knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kconnect.core.state import bodies
from kconnect.core.state.bodies import BadRecord
from kconnect.core.state.records import Broken, LogRecord


class Key(NamedTuple):
    connector: str
    part: str
    """`key` or `value`: of what the schema is."""
    topic: str
    task: int


@dataclass(frozen=True, slots=True)
class InferredSchema:
    """The schema of the keys or the values of a topic, as a task has inferred it. `body` is None if it was forgotten."""

    key: Key
    body: dict[str, Any] | None


def decode_key(data: bytes | None) -> Key:
    """Return the key of a record. BadRecord if it is none."""
    plain = bodies.parsed(bodies.text_key(data).encode())
    if not isinstance(plain, list) or len(plain) != 4:
        raise BadRecord("unknown kind of key")
    connector, part, topic, task = plain
    if not all(isinstance(text, str) for text in (connector, part, topic)) or type(task) is not int:
        raise BadRecord("unknown kind of key")
    return Key(connector, part, topic, task)


def decode_schema(record: LogRecord) -> InferredSchema | Broken:
    try:
        key = decode_key(record.key)
        return InferredSchema(key, None if record.value is None else bodies.json_object(record.value))
    except BadRecord as error:
        return Broken.of(record, error)
