"""
Converters that are not in the box: their answers are checked where they come in. A text in the place of bytes would be encoded
by Kafka's client as it likes, and what is no pair would fail far from who made it.

Made by `converters.py`. The refusal is that record's fault, as an error of the converter is. Read next: `core/task/answers.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.record import Header
from kconnect.core.task.answers import kind_of
from kconnect.data.column import Column
from kconnect.data.schema import Schema, SchemaAndValue
from kconnect.errors import DataError

_BYTES = "bytes, or None for a null"
_PAIR = "a SchemaAndValue: the schema, or None, and the value"


class CheckedConverter(Converter):
    """DataError, naming class and call, for what is no answer."""

    def __init__(self, converter: Converter, class_name: str) -> None:
        self._it, self._name = converter, class_name

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        self._it.configure(configs, is_key)

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        return _bytes(self._name, "from_connect_data", self._it.from_connect_data(topic, schema, value, headers))

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        return _pair(self._name, "to_connect_data", self._it.to_connect_data(topic, data, headers))

    def from_connect_all(self, topic: str, column: Column) -> Sequence[bytes | None] | None:
        # A copy, here and below: if there is no answer, the records go one by one, from the same values.
        answers = self._it.from_connect_all(topic, column.copy())
        return None if answers is None else [_bytes(self._name, "from_connect_all", answer) for answer in answers]

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        column = self._it.to_connect_all(topic, list(data))
        return column if isinstance(column, Column) else None


class CheckedHeaderConverter(HeaderConverter):
    """The same for headers."""

    def __init__(self, converter: HeaderConverter, class_name: str) -> None:
        self._it, self._name = converter, class_name

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._it.configure(configs)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return _bytes(self._name, "from_connect_header", self._it.from_connect_header(topic, key, schema, value))

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return _pair(self._name, "to_connect_header", self._it.to_connect_header(topic, key, data))

    def close(self) -> None:
        self._it.close()


def _bytes(class_name: str, call: str, answer: Any) -> bytes | None:
    if answer is None or answer.__class__ is bytes:
        return answer
    if isinstance(answer, bytes | bytearray | memoryview):
        return bytes(answer)
    raise _refusal(class_name, call, answer, _BYTES)


def _pair(class_name: str, call: str, answer: Any) -> SchemaAndValue:
    if isinstance(answer, tuple) and len(answer) == 2 and (answer[0] is None or isinstance(answer[0], Schema)):
        return SchemaAndValue(*answer)
    raise _refusal(class_name, call, answer, _PAIR)


def _refusal(class_name: str, call: str, answer: Any, allowed: str) -> DataError:
    return DataError(f"{class_name}.{call}() returned {kind_of(answer)}, but must return {allowed}")
