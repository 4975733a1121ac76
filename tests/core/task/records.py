"""Records, messages and converters for the tests of `core/task`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.record import Header, SourceRecord
from kconnect.data.schema import Schema, SchemaAndValue


class Text(Converter):
    """Texts to bytes and back; counts how often it was asked, and refuses the text `bad`."""

    def __init__(self, null: bytes | None = None) -> None:
        self.asked = 0
        self._null = null

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None: ...

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        self.asked += 1
        if value == "bad":
            raise ValueError("can't be text")
        return self._null if value is None else str(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        self.asked += 1
        if data == b"bad":
            raise ValueError("can't be read")
        return SchemaAndValue(None, None if data is None else data.decode())


class TextHeaders(HeaderConverter):
    def configure(self, configs: Mapping[str, Any]) -> None: ...

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        if value == "bad":
            raise ValueError("can't be text")
        return str(value).encode()

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(None, None if data is None else data.decode())


class Message(NamedTuple):
    """What a Kafka message is to the chain."""

    at: tuple[str, int, int]
    body: bytes | None = None
    name: bytes | None = None
    time: tuple[int, int] = (1, 1700)
    marks: list[tuple[str, bytes | None]] | None = None

    def topic(self) -> str:
        return self.at[0]

    def partition(self) -> int:
        return self.at[1]

    def offset(self) -> int:
        return self.at[2]

    def key(self) -> bytes | None:
        return self.name

    def __len__(self) -> int:
        return len(self.value() or b"")

    def value(self) -> bytes | None:
        return self.body

    def timestamp(self) -> tuple[int, int]:
        return self.time

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.marks


def source(partition: dict[str, Any] | None, position: int, topic: str = "t", **rest: Any) -> SourceRecord:
    return SourceRecord(partition, {"position": position}, topic, **rest)
