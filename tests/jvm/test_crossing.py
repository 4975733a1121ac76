"""Java's transforms and converters for records of Python's."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api.record import Header, SinkRecord, SourceRecord
from kconnect.core.task.steps import Step, Steps
from kconnect.data import schema as s
from kconnect.data.schema import Struct
from kconnect.errors import DataError
from kconnect.jvm import classes, machine
from kconnect.jvm.chain import Chain
from kconnect.jvm.crossing import JavaConversion, JavaSteps
from kconnect.jvm.errors import JavaError
from tests.core.task.records import Message
from tests.jvm.crossing_values import POINT, record_shown

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

_TRANSFORMS = "org.apache.kafka.connect.transforms"
_LOADERS = "org.apache.kafka.connect.storage"


def part(kind: str, name: str, config: dict[str, str], *more: bool) -> Any:
    machine.start()
    made = classes.load(kind, name, "")()
    made.configure(config, *more)
    return made


def add(chain: Chain, name: str, predicate: Any = None, negate: bool = False, **config: str) -> None:
    given = {key.replace("_", "."): value for key, value in config.items()}
    chain.add(name.lower(), part("transformation", f"{_TRANSFORMS}.{name}", given), predicate, negate)


def converting(name: str = "org.apache.kafka.connect.json.JsonConverter", **config: str) -> Chain:
    given = {key.replace("_", "."): value for key, value in config.items()}
    header = part("header_converter", f"{_LOADERS}.StringConverter", {"converter.type": "header"})
    return Chain(part("converter", f"{_LOADERS}.StringConverter", {}, True), part("converter", name, given, False), header)


@pytest.fixture(autouse=True)
def _java() -> None:
    machine.start()


def point(x: int, **other: Any) -> SourceRecord:
    return SourceRecord({"f": 1}, {"at": x}, "t", None, None, None, POINT, Struct(POINT, {"x": x, "name": "n"}), **other)


def test_transforms() -> None:
    chain = Chain()
    add(chain, "ReplaceField$Value", renames="x:y")
    add(chain, "RegexRouter", regex="(.*)", replacement="$1-new")
    records = [point(n, timestamp=5, headers=[Header("h", n)]) for n in range(20)]
    found = JavaSteps(chain).apply_all(records)
    assert [(each.topic, each.value["y"], each.value["name"], each.timestamp) for each in found] == [
        ("t-new", n, "n", 5) for n in range(20)
    ]
    assert [each.source_offset for each in found] == [each.source_offset for each in records]
    assert [list(each.headers) for each in found] == [each.headers for each in records]
    chain.close()


def test_what_is_dropped_leaves_a_none() -> None:
    chain = Chain()
    null = part("predicate", f"{_TRANSFORMS}.predicates.RecordIsTombstone", {})
    add(chain, "Filter", null)
    steps = JavaSteps(chain)
    found = steps.apply_all([SourceRecord(None, None, "t", value=None if n % 3 else n) for n in range(6)])
    assert [each and each.value for each in found] == [0, None, None, 3, None, None]
    assert steps.apply(SourceRecord(None, None, "t")) is None
    assert steps.apply_all([]) == []


def test_a_sink_record_keeps_its_place() -> None:
    chain = Chain()
    add(chain, "InsertField$Value", offset_field="o", topic_field="t")
    add(chain, "RegexRouter", regex=".*", replacement="new")
    record = SinkRecord("t", 3, None, None, None, {"a": 1}, 7, headers=(Header("h", "v"),), original_topic="first")
    [found] = JavaSteps(chain).apply_all([record])
    assert found.value == {"a": 1, "o": 7, "t": "t"}
    assert record_shown(found) == record_shown(record.new_record(topic="new", value=found.value))


def test_a_transform_that_fails() -> None:
    chain = Chain()
    add(chain, "Cast$Value", spec="int32")
    steps = JavaSteps(chain)
    records = [SourceRecord(None, None, "t", value=value) for value in ("1", "2", "x", "4")]
    with pytest.raises(JavaError, match="x") as error:
        steps.apply_all(records)
    stage, component, same = steps.failure()
    assert (stage.value, component.what, component.class_name) == (
        "TRANSFORMATION",
        "the transform cast$value",
        f"{_TRANSFORMS}.Cast$Value",
    )
    assert str(same) == str(error.value)
    assert steps.failed() == 2
    # As a step of Python's, which takes them one by one then.
    step = Step("cast", steps.apply, apply_all=steps.apply_all)
    assert [each.value for each in Steps([step]).apply(records[:2])] == [1, 2]
    with pytest.raises(Exception, match="x"):
        Steps([step]).apply(records)
    assert steps.apply(records[3]).value == 4


def test_what_java_does_not_take_is_named_and_what_follows_crosses() -> None:
    outer = s.struct({"in": POINT})
    missing = Struct.unchecked(outer, [Struct.unchecked(POINT, [None, "n"])])
    chain = Chain()
    add(chain, "RegexRouter", regex=".*", replacement="new")
    steps = JavaSteps(chain)
    good = SourceRecord(None, None, "t", value_schema=POINT, value=Struct(POINT, {"x": 1}))
    bad = SourceRecord(None, None, "t", value_schema=outer, value=missing)
    for _ in range(2):
        with pytest.raises(DataError, match=r'^Record 1 of the batch .*: value\.in: .* null used for required field: "x"'):
            steps.apply_all([good, bad])
        assert steps.apply(good).value["x"] == 1


def test_converters_of_java_behind_records_of_python() -> None:
    chain = converting(schemas_enable="false")
    add(chain, "ReplaceField$Value", exclude="name")
    conversion = JavaConversion(chain)
    records = [point(1), point(2, timestamp=9, headers=[Header("h", "v", s.STRING_SCHEMA)])]
    records[0].partition, records[0].key = 4, "k"
    assert conversion.messages(records) == [
        ("t", b'{"x":1}', b"k", 4, None, None, 0, None),
        ("t", b'{"x":2}', None, -1, None, None, 9, [("h", b"v")]),
    ]
    with pytest.raises(DataError):
        conversion.messages([records[0], SourceRecord(None, None, "t", None, s.INT32_SCHEMA, 5, POINT, None)])
    assert conversion.failure()[0].value == "VALUE_CONVERTER"
    assert conversion.failed() == 1


def test_converters_of_java_before_transforms_of_python() -> None:
    conversion = JavaConversion(converting(schemas_enable="false"))
    messages = [Message(("t", 0, n), b'{"a": %d}' % n, b"k", (n % 3, 100 + n), [("h", b"v")]) for n in range(9)]
    found = conversion.records(messages)
    assert [each.value for each in found if each] == [{"a": n} for n in range(9)]
    assert [(each.topic, each.partition, each.offset, each.original_offset) for each in found if each] == [
        ("t", 0, n, n) for n in range(9)
    ]
    assert [each.timestamp for each in found if each] == [100 + n if n % 3 else None for n in range(9)]
    assert [str(each.timestamp_type) for each in found[:3] if each] == ["NoTimestampType", "CreateTime", "LogAppendTime"]
    assert found[0] is not None
    assert [(each.key, each.value) for each in found[0].headers] == [("h", "v")]
    with pytest.raises(JavaError):
        conversion.records([messages[0], Message(("t", 0, 1), b"{", None, (0, 0))])
    assert conversion.failed() == 1
