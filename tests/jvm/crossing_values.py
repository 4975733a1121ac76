"""Schemas, values and records for the tests of what goes between Python and Java, and their comparison, types and all."""

from __future__ import annotations

import datetime
import decimal
import struct
from typing import Any

from hypothesis import strategies as st

from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.data import schema as s
from kconnect.data.schema import Float32, Int8, Int16, Int32, Schema, Struct
from kconnect.data.values import date_of, milliseconds_of
from tests.converters.test_avro_made_up import SCHEMAS, values_of

POINT = s.struct({"x": s.INT32_SCHEMA, "name": s.OPTIONAL_STRING_SCHEMA}, name="Point", version=2)

# Also halves of surrogate pairs, but two that stand side by side are one character in Java.
TEXTS = st.text(st.characters(), max_size=6).map(
    lambda text: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
)
_DECIMALS = st.tuples(st.integers(-(10**30), 10**30), st.integers(-400, 400)).map(
    lambda parts: decimal.Decimal((int(parts[0] < 0), tuple(map(int, str(abs(parts[0])))), parts[1]))
)
_LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(-128, 127).map(Int8)
    | st.integers(-(2**15), 2**15 - 1).map(Int16)
    | st.integers(-(2**31), 2**31 - 1).map(Int32)
    | st.floats()
    | st.floats(width=32).map(Float32)
    | TEXTS
    | st.binary(max_size=4)
    | st.binary(max_size=4).map(lambda data: memoryview(data))
    | _DECIMALS
    | st.integers(-(10**16), 10**16).map(date_of)
    | st.integers(0, 9).map(lambda x: Struct(POINT, {"x": x, "name": "a" * x or None}))
)
_KEYS = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=2)
FREE = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=12
)
PAIRS: st.SearchStrategy[tuple[Schema | None, Any]] = SCHEMAS.flatmap(
    lambda schema: st.tuples(st.just(schema), values_of(schema))
) | st.tuples(st.none(), FREE)
_TOPICS = st.sampled_from(["a", "orders", "\u00e9"])
_PARTITIONS = st.integers(0, 2**31 - 1)
_TIMES = st.none() | st.integers(-1, 2**62)
# In Java a header whose value is a struct has its schema at least.
_HEADER_PAIRS = PAIRS.filter(lambda pair: pair[0] is not None or not isinstance(pair[1], Struct))
_HEADERS = st.lists(
    st.tuples(TEXTS, _HEADER_PAIRS).map(lambda parts: Header(parts[0], parts[1][1], parts[1][0])), max_size=2
).map(tuple)


@st.composite
def source_records(draw: st.DrawFn) -> SourceRecord:
    key, value = draw(PAIRS), draw(PAIRS)
    partition = draw(st.none() | _PARTITIONS)
    return SourceRecord(None, None, draw(_TOPICS), partition, *key, *value, draw(_TIMES), draw(_HEADERS))


@st.composite
def sink_records(draw: st.DrawFn) -> SinkRecord:
    place = (draw(_TOPICS), draw(_PARTITIONS))
    times = (draw(_TIMES), draw(st.sampled_from(TimestampType)))
    offsets = st.integers(0, 2**63 - 1)
    originals = (draw(_TOPICS), draw(_PARTITIONS), draw(offsets))
    key, value = draw(PAIRS), draw(PAIRS)
    made = SinkRecord(*place, *key, *value, draw(offsets), *times, draw(_HEADERS))
    made.original_topic, made.original_partition, made.original_offset = originals
    return made


def shown(value: Any) -> Any:
    """Equal for values that are the same in all that is kept."""
    kind = type(value).__name__
    if isinstance(value, Header):
        return (value.key, value.schema, shown(value.value))
    if isinstance(value, float):
        return kind, "nan" if value != value else struct.pack(">d", value)
    if isinstance(value, list | tuple):
        return "list", [shown(item) for item in value]
    if isinstance(value, dict):
        return kind, [(shown(key), shown(item)) for key, item in value.items()]
    if isinstance(value, Struct):
        return kind, value.schema, [shown(item) for item in value.values]
    if isinstance(value, datetime.datetime):
        return kind, milliseconds_of(value)
    if isinstance(value, decimal.Decimal):
        return kind, value.as_tuple()
    if isinstance(value, memoryview):
        return kind, bytes(value)
    return kind, value


def record_shown(record: Any) -> dict[str, Any]:
    found = {name: getattr(record, name) for name in record.__slots__}
    return {name: shown(value) if name in ("key", "value", "headers") else value for name, value in found.items()}
