"""
Java converters, seen as `kconnect.api` has them: one value a call. Made by `classes.py`. Read next: `parts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.record import Header, SourceRecord
from kconnect.data.schema import Schema, SchemaAndValue
from kconnect.jvm import loading, machine
from kconnect.jvm.chain import Chain
from kconnect.jvm.crossing import JavaConversion
from kconnect.jvm.errors import calling
from kconnect.jvm.parts import JavaPart


class _Alone:
    """A converter by itself: single values go across as those of a record, for previews. The others are Connect's."""

    _chain: Any = None

    def _in_java(self) -> Any:
        if self._chain is None:
            bytes_of = loading.of_connect(JavaConverter, "org.apache.kafka.connect.converters.ByteArrayConverter")
            simple = loading.of_connect(JavaHeaderConverter, "org.apache.kafka.connect.storage.SimpleHeaderConverter")
            value, header = (self, simple()) if isinstance(self, JavaConverter) else (bytes_of(), self)
            self._chain = JavaConversion(Chain(bytes_of(), value, header))  # type: ignore[arg-type]
        return self._chain


class JavaConverter(_Alone, JavaPart, Converter):
    """A converter in Java. It sees no headers of a value."""

    def configure(self, props: Mapping[str, Any], is_key: bool) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)), is_key)

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        record = SourceRecord(None, None, topic, value_schema=schema, value=value)
        data: bytes | None = self._in_java().messages([record])[0][1]
        return data

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        record = self._in_java().records([_Message(topic, data)])[0]
        return SchemaAndValue(record.value_schema, record.value)


class JavaHeaderConverter(_Alone, JavaPart, HeaderConverter):
    def configure(self, props: Mapping[str, Any]) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)))

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        record = SourceRecord(None, None, topic, headers=[Header(key, value, schema)])
        data: bytes | None = self._in_java().messages([record])[0][7][0][1]
        return data

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        record = self._in_java().records([_Message(topic, None, [(key, data)])])[0]
        return SchemaAndValue(record.headers[0].schema, record.headers[0].value)


class _Message(NamedTuple):
    """A value, or a header, with the methods that confluent-kafka's messages have."""

    name: str
    data: bytes | None
    pairs: Sequence[tuple[str, bytes | None]] | None = None

    def topic(self) -> str:
        return self.name

    def value(self) -> bytes | None:
        return self.data

    def key(self) -> None:
        return None

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        return self.pairs

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0

    def timestamp(self) -> tuple[int, int]:
        return 0, -1
