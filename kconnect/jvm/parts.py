"""
Java transforms, predicates and converters, seen as `kconnect.api` has them. Made by `classes.py`.

A Java task has its whole chain in Java (`chain.py`), and takes the Java object `it` of each part. Behind a connector in Python,
and in previews, a part is called as any other: a transform takes batches across (`crossing.py`); a converter by itself takes
one value a call, which is slow, so that tasks have `conversion.py` in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jpype

from kconnect.api.config import ConfigDef
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.predicate import Predicate
from kconnect.api.record import Header, SourceRecord
from kconnect.api.transformation import Transformation
from kconnect.data.schema import Schema, SchemaAndValue
from kconnect.jvm import classes, machine, settings
from kconnect.jvm.errors import calling


class _JavaPart:
    java_class: str
    java_place: str

    def __init__(self) -> None:
        self.it = classes.new(self.java_class, self.java_place)

    def config(self) -> ConfigDef:
        with calling(self.it):
            definition = self.it.config()
        return ConfigDef() if definition is None else settings.JavaConfigDef(self.it, definition)

    def monitor(self, tag: str, name: str) -> None:
        """Let it make metrics (KIP-877), with this tag. Once it is configured, in a task."""
        with calling(self.it):
            jpype.JClass("kconnect.shim.Monitors").offer(self.it, tag, name)

    def close(self) -> None:
        with calling(self.it):
            self.it.close()


class JavaTransformation(_JavaPart, Transformation[Any]):
    _steps: Any = None
    _predicate: JavaPredicate | None = None
    _negate = False

    def configure(self, props: Mapping[str, Any]) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)))

    def only(self, predicate: JavaPredicate, negate: bool) -> None:
        """Take those records only that a predicate in Java is, or is not, true of. Before the first record."""
        self._predicate, self._negate = predicate, negate

    def apply(self, record: Any) -> Any:
        return self._in_java().apply(record)

    def apply_all(self, records: Sequence[Any]) -> list[Any]:
        return list(self._in_java().apply_all(records))

    def _in_java(self) -> Any:
        if self._steps is None:
            from kconnect.jvm.chain import Chain
            from kconnect.jvm.crossing import JavaSteps

            chain = Chain()
            chain.add("", self, self._predicate, self._negate)
            self._steps = JavaSteps(chain)
        return self._steps


class JavaPredicate(_JavaPart, Predicate):
    """
    A predicate in Java. For a transform in Java it is asked there (`JavaTransformation.only`); for one in Python a record
    crosses a call.
    """

    _steps: Any = None

    def configure(self, props: Mapping[str, Any]) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)))

    def test(self, record: Any) -> bool:
        if self._steps is None:
            from kconnect.jvm.chain import Chain
            from kconnect.jvm.crossing import JavaSteps

            chain = Chain()
            chain.add("", classes.load("transformation", "org.apache.kafka.connect.transforms.Filter", "")(), self, True)
            self._steps = JavaSteps(chain)
        # What the predicate is not true of is dropped.
        return self._steps.apply(record) is not None


class _Alone:
    """A converter by itself: single values go across as those of a record, for previews. The others are Connect's."""

    _chain: Any = None

    def _in_java(self) -> Any:
        if self._chain is None:
            from kconnect.jvm.chain import Chain
            from kconnect.jvm.crossing import JavaConversion

            bytes_of = classes.load("converter", "org.apache.kafka.connect.converters.ByteArrayConverter", "")
            simple = classes.load("header_converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter", "")
            value, header = (self, simple()) if isinstance(self, JavaConverter) else (bytes_of(), self)
            self._chain = JavaConversion(Chain(bytes_of(), value, header))  # type: ignore[arg-type]
        return self._chain


class JavaConverter(_Alone, _JavaPart, Converter):
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


class JavaHeaderConverter(_Alone, _JavaPart, HeaderConverter):
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
