"""Batches of records between Python and Java: what comes back, what can't go, and schemas that cross once."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.api.record import Header, SinkRecord, SourceRecord
from kconnect.data import schema as s
from kconnect.data.schema import Float32, Float64, Int8, Int16, Int32, Int64, Schema, SchemaType, Struct
from kconnect.data.values import date_of
from kconnect.errors import DataError
from kconnect.jvm import machine, record_schemas
from kconnect.jvm.errors import translated
from kconnect.jvm.record_codec import Decoder, Encoder
from tests.jvm.crossing_values import POINT, SCHEMAS, record_shown, shown, sink_records, source_records
from tests.support import starts

UTC = datetime.timezone.utc
OPTIONAL_POINT = POINT.optional_copy()
OUTER = s.struct({"in": POINT, "points": s.array(OPTIONAL_POINT), "m": s.mapping(s.STRING_SCHEMA, s.INT8_SCHEMA)})


class _Colour(enum.IntEnum):
    RED = 1


def record(schema: Schema | None, value: Any) -> SourceRecord:
    return SourceRecord(None, None, "t", None, None, None, schema, value)


class Java:
    """Java's half of the crossing."""

    def __init__(self) -> None:
        import jpype

        machine.start()
        self._reader, self._writer = (jpype.JClass(f"kconnect.shim.Record{each}")() for each in ("Reader", "Writer"))
        self._encoder, self._decoder = Encoder(), Decoder()

    def there(self, records: list[Any], numbers: list[int] | None = None, origins: list[Any] | None = None) -> list[Any]:
        import jpype
        import jpype.nio

        given = None if origins is None else jpype.JClass("org.apache.kafka.connect.connector.ConnectRecord")[:](origins)
        return list(self._reader.read(jpype.nio.convertToDirectBuffer(self._encoder.encode(records, numbers)), given))

    def back(self, records: list[Any], whole: bool = False) -> list[Any]:
        import jpype

        given = jpype.JClass("org.apache.kafka.connect.connector.ConnectRecord")[:](records)
        try:
            buffer = self._writer.write(given, jpype.JInt[:](list(range(len(records)))), whole)
        except jpype.JException as thrown:
            raise translated(thrown) from None
        return self._decoder.decode(memoryview(buffer)[: buffer.limit()].tobytes()).records

    @staticmethod
    def check(record: Any) -> None:
        import jpype

        validate = jpype.JClass("org.apache.kafka.connect.data.ConnectSchema").validateValue
        for schema, value in ((record.keySchema(), record.key()), (record.valueSchema(), record.value())):
            if schema is not None:
                validate(schema, value)

    @staticmethod
    def record(schema: Any, value: Any) -> Any:
        import jpype

        return jpype.JClass("org.apache.kafka.connect.source.SourceRecord")(None, None, "t", None, schema, value)


def there_and_back(records: list[Any], origins: list[Any] | None = None) -> list[Any]:
    return Decoder().decode(bytes(Encoder().encode(records)), origins).records


def value_of(schema: Schema | None, value: Any) -> Any:
    return there_and_back([record(schema, value)])[0].value


@settings(deadline=None)
@given(st.lists(source_records(), max_size=4) | st.lists(sink_records(), max_size=4))
def test_what_is_written_is_read_back(records: list[Any]) -> None:
    assert list(map(record_shown, there_and_back(records))) == list(map(record_shown, records))


@settings(deadline=None)
@given(st.lists(SCHEMAS, min_size=1, max_size=4))
def test_schemas_keep_all_that_they_say(schemas: list[Schema]) -> None:
    found = [each.value_schema for each in there_and_back([record(schema, None) for schema in schemas])]
    assert found == schemas
    assert [schema.default for schema in found] == [schema.default for schema in schemas]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (None, (1, (2,)), [1, [2]]),
        (None, bytearray(b"ab"), b"ab"),
        (None, Int64(5), 5),
        (None, Float64(0.5), 0.5),
        (s.INT8_SCHEMA, Int8(5), 5),
        (s.INT64_SCHEMA, Int64(5), 5),
        (s.FLOAT32_SCHEMA, 0.1, 0.10000000149011612),
        (s.FLOAT32_SCHEMA, 1e300, math.inf),
        (s.STRING_SCHEMA, "\ud83d\ude00", "\U0001f600"),
        (s.TIMESTAMP_SCHEMA, datetime.datetime(2024, 1, 1, 0, 0, 0, 1999), datetime.datetime(2024, 1, 1, 0, 0, 0, 1000, UTC)),
        (None, _Colour.RED, 1),
        (None, {"a": 1, 2: "b"}, {"a": 1, 2: "b"}),
        (Schema(SchemaType.ARRAY), [1, "a", None], [1, "a", None]),
    ],
)
def test_what_comes_of_values_that_java_has_no_own_type_for(schema: Schema | None, value: Any, expected: Any) -> None:
    assert shown(value_of(schema, value)) == shown(expected)


def test_halves_of_a_pair_in_two_texts_stay_halves() -> None:
    found = there_and_back([record(s.STRING_SCHEMA, "a\ud83d"), record(s.STRING_SCHEMA, "\ude00\0"), record(None, "\ud83d")])
    assert [each.value for each in found] == ["a\ud83d", "\ude00\0", "\ud83d"]


def test_maps_with_few_or_many_sets_of_names() -> None:
    few: list[dict[Any, Any]] = [{"a": n, "b": None} if n % 2 else {"b": n} for n in range(50)]
    many: list[dict[Any, Any]] = [{f"k{n}": n} for n in range(50)]
    other: list[list[dict[Any, Any]]] = [[{}], [{}, {"a": 1}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]]
    for maps in (few, many, *other):
        found = there_and_back([record(None, each) for each in maps])
        assert [list(each.value.items()) for each in found] == [list(each.items()) for each in maps]


def test_what_stays_behind_is_that_of_the_record_it_was_made_of() -> None:
    of_source = [SourceRecord({"file": "f"}, {"position": n}, "t", None, None, None, None, n) for n in range(3)]
    found = Decoder().decode(bytes(Encoder().encode([of_source[0], of_source[2]], [0, 2])), of_source)
    assert list(found.numbers) == [0, 2]
    assert [each.source_offset for each in found.records] == [{"position": 0}, {"position": 2}]
    of_sink = [SinkRecord("t", 0, None, None, None, n, 5 + n, original_topic="o") for n in range(3)]
    changed = of_sink[1].new_record(topic="u", headers=[Header("h", 1)])
    [back] = Decoder().decode(bytes(Encoder().encode([changed], [1])), of_sink).records
    assert record_shown(back) == record_shown(changed)


def _new(data: bytearray) -> int:
    return int.from_bytes(data[20:24], "little")


def test_a_schema_crosses_once() -> None:
    encoder, decoder = Encoder(), Decoder()
    equal = POINT.replace()
    first = encoder.encode([record(POINT, Struct(POINT, {"x": 1})), record(equal, Struct(equal, {"x": 2}))])
    assert _new(first) == 3, "the struct's and its fields'"
    [one, two] = decoder.decode(bytes(first)).records
    assert one.value_schema is two.value_schema
    again = encoder.encode([record(POINT, Struct(POINT, {"x": 3}))])
    assert _new(again) == 0
    assert decoder.decode(bytes(again)).records[0].value_schema is one.value_schema


def test_after_very_many_schemas_the_numbers_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_schemas, "_MANY", 10)
    encoder, decoder = Encoder(), Decoder()
    for n in range(50):
        schema = s.struct({f"f{n}": s.INT32_SCHEMA})
        found = decoder.decode(bytes(encoder.encode([record(schema, Struct(schema, {f"f{n}": n}))])))
        assert found.records[0].value_schema == schema
    assert len(encoder._schemas._held) <= 13


def test_schemas_of_long_texts_are_not_all_kept() -> None:
    """Who may write to a topic sends a schema of nearly a megabyte with each record."""
    encoder, decoder = Encoder(), Decoder()
    for n in range(100):
        schema = s.struct({"x": s.INT32_SCHEMA.replace(doc="d" * 900_000 + str(n))})
        found = decoder.decode(bytes(encoder.encode([record(schema, Struct(schema, {"x": n}))])))
        assert found.records[0].value_schema == schema
    assert len(encoder._schemas._equal) < 70


def test_a_schema_that_is_built_anew_for_each_record_crosses_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_schemas, "_MANY", 10)
    encoder, decoder = Encoder(), Decoder()
    for n in range(50):
        own = POINT.replace()
        data = encoder.encode([record(own, Struct(own, {"x": n}))])
        assert _new(data) == (0 if n else 3)
        assert decoder.decode(bytes(data)).records[0].value["x"] == n
    assert len(encoder._schemas._held) <= 13


def test_after_a_failure_schemas_are_described_again() -> None:
    encoder, decoder = Encoder(), Decoder()
    with pytest.raises(DataError):
        encoder.encode([record(POINT, Struct(POINT, {"x": 1})), record(POINT, "a")])
    good = encoder.encode([record(POINT, Struct(POINT, {"x": 1}))])
    assert decoder.decode(bytes(good)).records[0].value["x"] == 1
    late = encoder.encode([record(POINT, Struct(POINT, {"x": 1}))])
    with pytest.raises(DataError, match="Java has described 3 schemas, but Python knows 0"):
        Decoder().decode(bytes(late))


WRONG = [
    (None, 2**63, "value: a number of more than 64 bits"),
    (None, {"a": [1, {2, 3}]}, "value.a[1]: builtins.set is no data of Connect's"),
    (None, {"a": {5: UTC}}, "value.a{0}: datetime.timezone is no data of Connect's"),
    (None, decimal.Decimal("NaN"), "value: a decimal that Java has not"),
    (s.INT8_SCHEMA, 128, "value: a number of more than 8 bits"),
    (s.INT32_SCHEMA, True, "value: java.lang.Boolean is no INT32"),
    (s.INT32_SCHEMA, Int16(1), "value: java.lang.Short is no INT32"),
    (s.FLOAT64_SCHEMA, 1, "value: java.lang.Long is no FLOAT64"),
    (s.DATE_SCHEMA, 1, "value: java.lang.Long is no org.apache.kafka.connect.data.Date of INT32"),
    (POINT, {"x": 1}, "value: java.util.HashMap is no Point of STRUCT"),
    (POINT, Struct(POINT.replace(version=3)), "value: the struct has another schema"),
    (POINT, Struct.unchecked(POINT, ["a", None]), "value.x: java.lang.String is no INT32"),
    (OUTER, Struct.unchecked(OUTER, [None, None, {"a": 1, "b": 300}]), "value.m{1}: a number of more than 8 bits"),
    (
        OUTER,
        Struct.unchecked(OUTER, [None, [None, Struct.unchecked(OPTIONAL_POINT, [1, 5])], None]),
        "value.points[1].name: java.lang.Long is no STRING",
    ),
]


@pytest.mark.parametrize(("schema", "value", "message"), WRONG)
def test_what_can_not_go_to_java_is_named(schema: Schema | None, value: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        Encoder().encode([record(schema, None), record(schema, value)])
    assert str(error.value) == f"Record 1 of the batch can't go from Python to Java: {message}"


def test_where_else_something_may_be_wrong() -> None:
    for wrong, message in (
        (SourceRecord(None, None, "t", headers=[Header("h", 1, s.STRING_SCHEMA)]), "header h: java.lang.Long is no STRING"),
        (SourceRecord(None, None, "t", None, s.STRING_SCHEMA, 5), "key: java.lang.Long is no STRING"),
        (SourceRecord(None, None, "t", 2**31), "partition: java.lang.Long is no number of 32 bits"),
        (SourceRecord(None, None, "t", timestamp=0.5), "timestamp: java.lang.Double is no number of 64 bits"),  # type: ignore[arg-type]
        (SourceRecord(None, None, "t", headers=[Header(5, 1)]), "the name of a header: java.lang.Long is no text"),  # type: ignore[arg-type]
        (SourceRecord(None, None, 5), "topic: java.lang.Long is no text"),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError, match=message):
            Encoder().encode([wrong])


def test_what_is_nested_without_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(DataError, match="nested too deeply"):
        Encoder().encode([record(None, endless)])


@pytest.fixture(scope="module")
@starts("process")
def java() -> Java:
    return Java()


@pytest.mark.process
@settings(deadline=None)
@given(records=st.lists(source_records(), max_size=4) | st.lists(sink_records(), max_size=4))
def test_java_reads_and_writes_the_same(java: Java, records: list[Any]) -> None:
    found = java.there(records)
    for each in found:
        java.check(each)
    back = java.back(found, any(isinstance(each, SinkRecord) for each in records))
    assert list(map(record_shown, back)) == list(map(record_shown, records))


@pytest.mark.process
@settings(deadline=None)
@given(schemas=st.lists(SCHEMAS, min_size=1, max_size=4))
def test_java_has_the_same_schemas(java: Java, schemas: list[Schema]) -> None:
    back = java.back(java.there([record(schema, None) for schema in schemas]))
    assert [each.value_schema for each in back] == schemas
    assert [each.value_schema.default for each in back] == [schema.default for schema in schemas]


@pytest.mark.process
@pytest.mark.long
def test_very_many_schemas(java: Java) -> None:
    for batch in range(3):
        schemas = [s.struct({f"f{batch}": s.INT32_SCHEMA, f"g{n}": s.INT8_SCHEMA}) for n in range(2500)]
        back = java.back(java.there([record(each, None) for each in schemas]))
        assert [each.value_schema for each in back] == schemas


@pytest.mark.process
def test_java_makes_new_records_of_its_own(java: Java) -> None:
    import jpype

    own = jpype.JClass("org.apache.kafka.connect.source.SourceRecord")
    one = jpype.JClass("java.util.Collections").singletonMap
    records = [own(one("file", "f"), one("position", jpype.JLong(n)), "t", None, None, None, None, n) for n in range(3)]
    changed = [each.new_record(topic="u", value=[each.value]) for each in java.back(records)[1:]]
    found = java.there(changed, [1, 2], records)
    assert [str(each.topic()) for each in found] == ["u", "u"]
    assert [int(each.sourceOffset().get("position")) for each in found] == [1, 2]
    assert [str(each.value()) for each in found] == ["[1]", "[2]"]


@pytest.mark.process
def test_what_java_has_and_python_has_not(java: Java) -> None:
    import jpype

    lang, util = jpype.JPackage("java.lang"), jpype.JPackage("java.util")
    data = jpype.JPackage("org.apache.kafka.connect.data")
    builder = data.SchemaBuilder.struct().name("S").field("a", data.Schema.OPTIONAL_STRING_SCHEMA)
    outer = data.SchemaBuilder.struct().field("in", data.SchemaBuilder.struct().name("S").optional().build()).build()
    wrapped = jpype.JClass("java.nio.ByteBuffer").wrap(jpype.JArray(jpype.JByte)([1, 2, 3, 4]))
    wrapped.position(1)
    made = [
        java.record(None, lang.Byte(1)),
        java.record(None, lang.Short(1)),
        java.record(None, lang.Integer(1)),
        java.record(None, lang.Long(1)),
        java.record(None, lang.Float(0.1)),
        java.record(None, lang.Double(0.1)),
        java.record(data.Schema.BYTES_SCHEMA, wrapped),
        java.record(None, jpype.JClass("java.sql.Timestamp")(5)),
        java.record(builder, data.Struct(builder).put("a", "b")),
        java.record(outer, data.Struct(outer)),
        java.record(None, util.ArrayList(["a", lang.Integer(5)])),
    ]
    found = [each.value for each in java.back(made)]
    assert shown(found[:8]) == shown(
        [Int8(1), Int16(1), Int32(1), 1, Float32(0.10000000149011612), 0.1, memoryview(b"\2\3\4"), date_of(5)]
    )
    assert found[8]["a"] == "b"
    assert found[9]["in"] is None
    assert shown(found[10]) == shown(["a", Int32(5)])
    assert wrapped.position() == 1, "reading has not moved it"
    classes = [str(each.value().getClass().getSimpleName()) for each in java.there([record(None, each) for each in found[:7]])]
    assert classes == ["Byte", "Short", "Integer", "Long", "Float", "Double", "HeapByteBuffer"]


@pytest.mark.process
def test_a_default_that_is_a_struct(java: Java) -> None:
    import jpype

    data = jpype.JPackage("org.apache.kafka.connect.data")
    inner = data.SchemaBuilder.struct().name("S").field("a", data.Schema.INT32_SCHEMA).build()
    value = data.Struct(inner).put("a", jpype.JClass("java.lang.Integer")(5))
    kind = data.Schema.Type.STRUCT
    with_default = data.ConnectSchema(kind, True, value, "S", None, None, None, inner.fields(), None, None)
    [back] = java.back([java.record(with_default, None)])
    assert back.value_schema.default["a"] == 5
    [again] = java.there([record(back.value_schema, None)])
    assert again.valueSchema().defaultValue().equals(value)


@pytest.mark.process
def test_what_can_not_come_from_java_is_named(java: Java) -> None:
    import jpype

    util, data = jpype.JPackage("java.util"), jpype.JPackage("org.apache.kafka.connect.data")
    uuid = util.UUID(1, 2)
    keyed = util.HashMap()
    keyed.put(util.ArrayList(["a"]), "b")
    array = data.SchemaBuilder.array(data.Schema.STRING_SCHEMA).build()
    for schema, value, message in (
        (None, util.Map.of("a", util.ArrayList(["b", uuid])), "value.a[1]: java.util.UUID is no data of Connect's"),
        (data.Schema.STRING_SCHEMA, uuid, "value: java.util.UUID is no STRING"),
        (array, util.ArrayList(["b", uuid]), "value[1]: java.util.UUID is no STRING"),
        (None, keyed, "value{0}: java.util.ArrayList can't be the key of a dict"),
        (data.Timestamp.SCHEMA, "a", "value: java.lang.String is no org.apache.kafka.connect.data.Timestamp of INT64"),
    ):
        with pytest.raises(DataError) as error:
            java.back([java.record(None, None), java.record(schema, value)])
        assert str(error.value) == f"Record 1 of the batch can't go from Java to Python: {message}"
    assert java.back([java.record(None, "a")])[0].value == "a"


def test_numbers_that_say_how_wide_they_are() -> None:
    values = [Int8(1), Int16(2), Int32(3), 4, Float32(0.5), 0.25]
    assert [type(each) for each in value_of(None, values)] == [Int8, Int16, Int32, int, Float32, float]
