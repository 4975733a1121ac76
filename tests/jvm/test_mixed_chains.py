"""
Chains with parts in Java and in Python: `kconnect/jvm/transforms.py` and `kconnect/jvm/conversion.py` behind a connector in
Python, `kconnect/jvm/mixed.py` behind one in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kconnect.api.record import SinkRecord, SourceRecord, TopicPartition
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import Cut, Errors, Stage
from kconnect.core.task.ports import Refusal
from kconnect.core.task.source_pump import SourceConversion, SourcePump
from kconnect.core.task.steps import Step, Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import PollBoundary
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConfigError, ConnectError, DataError
from kconnect.jvm import machine
from kconnect.jvm.chain import Chain
from kconnect.jvm.conversion import JavaSinkChain, JavaSourceChain
from kconnect.jvm.errors import JavaError
from kconnect.jvm.mixed import MixedSink, MixedSource
from kconnect.jvm.source_task import JavaSourceTask
from kconnect.plugins.registry import Registry
from kconnect.units import converters
from kconnect.units.java_chain import JavaChain
from kconnect.units.languages import has_java_converter, is_mixed, refuse_inference
from kconnect.units.transforms import Transforms
from tests.core.task.pumps import INTERVAL_S, SinkWorld, SourceWorld
from tests.core.task.records import Message as InMemory
from tests.core.task.records import Text, TextHeaders
from tests.jvm.java import Judged
from tests.jvm.test_sink_task import Message, Sink
from tests.jvm.test_source_task import numbers

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

WORKER = {
    "bootstrap.servers": "b:1",
    "group.id": "g",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


@pytest.fixture(scope="module", autouse=True)
def jvm(java_plugin: Path) -> None:
    machine.start()


@pytest.fixture(scope="module")
def plugins(java_plugin: Path) -> Registry:
    return Registry.scan([str(java_plugin.parent)])


def settings() -> WorkerSettings:
    return WorkerSettings.from_properties(WORKER, {})


def records(*values: str) -> list[SourceRecord]:
    return [SourceRecord({}, {}, "t", value_schema=STRING_SCHEMA, value=value) for value in values]


def applied(plugins: Registry, config: dict[str, str], *values: str, judged: Judged | None = None) -> list[Any]:
    transforms = Transforms(config, plugins, owned=True)
    try:
        done = transforms.steps.apply(records(*values), None, (judged or Judged()).errors)
        return [None if each is None else each.value for each in done]
    finally:
        transforms.close()


SHOUT = {"transforms": "s", "transforms.s.type": "rig.Shout"}


def test_a_java_transform_takes_the_records_of_python(plugins: Registry) -> None:
    assert applied(plugins, {**SHOUT, "transforms.s.mark": "?"}, "a", "drop", "ö") == ["A?", None, "Ö?"]


def test_a_predicate_of_either_side_guards_it(plugins: Registry) -> None:
    java = {"transforms.s.predicate": "p", "predicates": "p", "predicates.p.type": "rig.IsShort"}
    assert applied(plugins, {**SHOUT, **java}, "abc", "long") == ["ABC!", "long"]
    assert applied(plugins, {**SHOUT, **java, "transforms.s.negate": "true"}, "abc", "long") == ["abc", "LONG!"]
    python = {**java, "predicates.p.type": "Expression", "predicates.p.expression": "value == 'abc'"}
    assert applied(plugins, {**SHOUT, **python}, "abc", "long") == ["ABC!", "long"]
    behind = {**java, "transforms.s.type": "HoistField$Value", "transforms.s.field": "f"}
    assert applied(plugins, {**SHOUT, **behind}, "abc", "long") != ["abc", "long"]
    assert applied(plugins, {**SHOUT, **behind}, "long") == ["long"]


def test_a_record_on_which_it_fails_is_judged_as_any_other(plugins: Registry) -> None:
    judged = Judged(tolerant=True)
    assert applied(plugins, SHOUT, "a", "bad", "c", judged=judged) == ["A!", None, "C!"]
    assert judged.told() == [("TRANSFORMATION", "rig.Shout", "it does not shout bad")]
    with pytest.raises(ConnectError, match="the transform s failed at a record for the topic t"):
        applied(plugins, SHOUT, "a", "bad", judged=Judged())


def test_one_of_java_s_errors_is_not_the_record_s_and_is_not_tolerated(plugins: Registry) -> None:
    judged = Judged(tolerant=True)
    with pytest.raises(JavaError, match="it lacks a class") as caught:
        applied(plugins, SHOUT, "a", "error", judged=judged)
    assert caught.value.shown_as == "java.lang.NoClassDefFoundError"
    assert judged.told() == []


def test_java_s_converter_behind_python_s_transforms(plugins: Registry) -> None:
    config = {"value.converter": "rig.Brackets", "key.converter": "StringConverter"}
    assert has_java_converter(config, settings(), plugins)
    assert not has_java_converter({}, settings(), plugins)
    made, judged = JavaChain(config, settings(), plugins, transforms=False), Judged(tolerant=True)
    chain = JavaSourceChain(made.chain, judged.errors)
    transforms = Transforms(
        SHOUT | {"transforms.s.predicate": "p", "predicates": "p", "predicates.p.type": "rig.IsShort"}, plugins
    )
    done = SourceConversion(chain, transforms.steps, judged.errors)(records("a", "long", "long"))
    assert [message[:3] for message in done.messages] == [("t", b"[A!]", None), ("t", b"[long]", None), ("t", b"[long]", None)]
    assert done.topics == {"t"}
    found = chain.apply(records("x", "bad", "y", "bad"))
    assert [each and each[1] for each in found] == [b"[x]", None, b"[y]", None]
    assert judged.told() == [("VALUE_CONVERTER", "rig.Brackets", "there are no brackets for bad")] * 2
    made.close()


def test_java_s_converter_before_a_sink_in_python(plugins: Registry) -> None:
    made, judged = JavaChain({"value.converter": "rig.Brackets"}, settings(), plugins, transforms=False), Judged(tolerant=True)
    chain = JavaSinkChain(made.chain, judged.errors)
    batch = [Message(b"[a]", 0, b"k"), Message(b"b", 1), Message(None, 2, packed=[("h", b"1")], place=("u", 4))]
    found = chain.apply(batch)
    first, second, third = found
    assert isinstance(first, SinkRecord) and isinstance(third, SinkRecord) and second is None
    assert (first.topic, first.partition, first.offset, first.key, first.value, first.timestamp) == ("in", 0, 0, "k", "a", 1000)
    assert (third.original_topic, third.original_partition, third.value) == ("u", 4, None)
    assert [(header.key, header.value) for header in third.headers] == [("h", 1)]
    assert [failure.origin for failure in judged.failures] == [batch[1]]
    made.close()


def test_inferred_schemas_are_for_java_s_sinks_too(plugins: Registry) -> None:
    plain = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
    assert not is_mixed(plain, settings(), plugins)
    infers = {**plain, "value.converter.schemas.infer": "true"}
    assert is_mixed(infers, settings(), plugins)
    refuse_inference(plain, settings(), plugins)
    with pytest.raises(ConfigError, match=r"value\.converter\.schemas\.infer: schemas can't be inferred beside a converter"):
        refuse_inference(infers, settings(), plugins)


def test_java_s_source_with_a_step_in_python(plugins: Registry, java_plugin: Path, tmp_path: Path) -> None:
    config = {**SHOUT, "transforms": "e,s", "transforms.e.type": "Expression", "transforms.e.drop": "value == '3'"}
    config["transforms.e.expression"] = "value + 'x'"
    assert is_mixed(config, settings(), plugins) and not is_mixed(SHOUT, settings(), plugins)
    judged, heard = Judged(), tmp_path / "heard"
    transforms = Transforms(config, plugins, owned=True)
    chain = SourceChain(converters.make(config, settings(), plugins), judged.errors)
    task = numbers(java_plugin, Chain(), heard=str(heard), header="h")
    convert = MixedSource(task, SourceConversion(chain, transforms.steps, judged.errors), judged.errors, True)
    found = convert(task.poll())
    assert [message[1] for message in found.messages] == [b"0X!", b"1X!", b"2X!", b"4X!"]
    assert [message[7] for message in found.messages] == [[("h", f"h{n}".encode())] for n in (0, 1, 2, 4)]
    assert [(each.source_partition, each.source_offset) for each in found.offsets] == [({"task": "0"}, {"last": 4})]
    assert [each.number for each in found.dropped()] == [3]
    for record in found.given:
        task.commit_record(record, None)
    task.commit()
    assert heard.read_text().splitlines() == [*(f"{number} dropped" for number in range(5)), "commit"]


def mixed(task: JavaSourceTask, errors: Errors, tracks: bool, *steps: Step) -> Callable[[Sequence[Any]], Converted]:
    """A chain in Python behind a task in Java, of these steps and a converter of texts."""
    chain = SourceChain(Converters(Text(), Text(), TextHeaders), errors)
    return MixedSource(task, SourceConversion(chain, Steps(list(steps)), errors, True), errors, tracks)


def refuse(record: Any, value: str = "2") -> Any:
    if record.value == value:
        raise DataError(f"it does not take {value}")
    return record


@pytest.mark.parametrize("tracks", [False, True], ids=["", "hears"])
@pytest.mark.parametrize("once", [False, True], ids=["", "exactly once"])
def test_what_comes_before_a_refused_letter_is_sent(java_plugin: Path, tmp_path: Path, tracks: bool, once: bool) -> None:
    heard = tmp_path / "heard"
    task = numbers(java_plugin, Chain(), heard=str(heard))
    world = SourceWorld(PollBoundary() if once else None, tracks, tolerant=True, plugin=task)
    world.letters.refuses = {"2"}
    pump = SourcePump(world.delivery, mixed(task, world.errors, tracks, Step("two", refuse)))
    with pytest.raises(ConnectError, match="refuses a letter"):
        pump.step(task.poll(), 0.0)
    pump.end(failed=True)
    task.stop()
    assert world.readable == [b"0", b"1"]
    assert world.store.stored == {"{'task': '0'}": {"last": 1}}
    (failure,) = world.letters.reported
    assert (failure.origin.source_partition, failure.origin.source_offset) == ({"task": "0"}, {"last": 2})
    if tracks:
        assert [line.split()[0] for line in heard.read_text().splitlines()] == ["0", "1", "commit", "stop"]


def test_a_page_is_not_counted_in_which_a_letter_is_refused(java_plugin: Path) -> None:
    task = numbers(java_plugin, Chain(), page="2")
    world = SourceWorld(tracks=False, tolerant=True, plugin=task)
    world.letters.refuses = {"3"}
    pump = SourcePump(world.delivery, mixed(task, world.errors, False, Step("three", lambda record: refuse(record, "3"))))
    with pytest.raises(ConnectError, match="refuses a letter"):
        pump.step(task.poll(), 0.0)
    pump.end(failed=True)
    assert world.readable == [b"0", b"1"]
    assert world.store.stored == {"{'task': '0'}": {"last": 0}}


def test_what_kafka_refuses_has_a_letter_with_the_whole_record(java_plugin: Path) -> None:
    task = numbers(java_plugin, Chain(), header="h")
    world = SourceWorld(tracks=False, tolerant=True, plugin=task)
    world.producer.refuses = lambda message: Refusal("too large") if message[1] == b"2" else None
    pump = SourcePump(world.delivery, mixed(task, world.errors, False))
    pump.step(task.poll(), 0.0)
    world.now = 2 * INTERVAL_S
    pump.commit_due(world.now)
    (failure,) = world.letters.reported
    assert (failure.origin.key, failure.origin.value, failure.origin.source_offset) == (2, "2", {"last": 2})
    assert [header.value for header in failure.origin.headers] == ["h2"]


@pytest.mark.parametrize("tracks", [False, True], ids=["", "hears"])
def test_a_record_of_java_that_can_not_cross_has_failed(java_plugin: Path, tracks: bool) -> None:
    judged = Judged(tolerant=True)
    task = numbers(java_plugin, Chain(), gives="an object")
    found = mixed(task, judged.errors, tracks)(task.poll())
    assert [message[1] for message in found.messages] == [b"0", b"2", b"3", b"4"]
    assert [record.number for record in found.dropped()] == [1]
    (failure,) = judged.failures
    assert (failure.stage, failure.component.class_name) == (Stage.VALUE_CONVERTER, "rig.NumbersTask")
    said = "The record can't go from Java to Python: value: java.lang.StringBuilder is no data of Connect's"
    assert (str(failure.error), failure.origin.value) == (said, "an object")
    assert failure.origin.source_offset == {"last": 1}
    before = found.without(1)
    assert before is not None
    assert ([message[1] for message in before.messages], before.offsets) == ([b"0"], [({"task": "0"}, {"last": 0})])

    task = numbers(java_plugin, Chain(), gives="an object")
    found = mixed(task, Judged().errors, tracks)(task.poll())
    assert [message[1] for message in found.messages] == [b"0"]
    assert [each.source_offset for each in found.offsets] == [{"last": 0}]
    place = "at a record for the topic numbers with the source offset {'last': 1}"
    assert f"the crossing from Java to Python failed {place}: {said}" in str(found.failure)


def test_a_record_that_can_not_cross_to_java_s_sink_has_failed(java_plugin: Path, tmp_path: Path) -> None:
    def odd(record: Any) -> Any:
        return record.new_record(value=2**70, value_schema=None) if record.value == "b" else record

    def make(judged: Judged) -> tuple[Sink, MixedSink]:
        sink, use = Sink(java_plugin, tmp_path, Chain()), TopicUse(set, lambda topic: None)
        chain = SinkChain(Converters(Text(), Text(), TextHeaders), judged.errors)
        return sink, MixedSink(sink.task, chain, Steps([Step("odd", odd)]), judged.errors, use)

    batch = [Message(b"a", 5), Message(b"b", 6), Message(b"c", 7)]
    judged = Judged(tolerant=True)
    sink, take = make(judged)
    assert take(batch) == [batch[0], batch[2]]
    sink.task.put([batch[0], batch[2]])
    assert [line.split()[4] for line in sink.written()] == ["a", "c"]
    assert judged.told() == [
        (
            "VALUE_CONVERTER",
            "rig.RecordingTask",
            "The record can't go from Python to Java: value: a number of more than 64 bits",
        )
    ]
    _, take = make(Judged())
    with pytest.raises(ConnectError, match="the crossing from Python to Java failed at in-0@6"):
        take(batch)


def test_a_record_of_python_that_can_not_cross_to_java_s_converters_has_failed(plugins: Registry) -> None:
    made, judged = JavaChain({"value.converter": "rig.Brackets"}, settings(), plugins, transforms=False), Judged(tolerant=True)
    given = records("a", "bad", "c", "odd", "e")
    given[3] = given[3].new_record(value=2**70, value_schema=None)
    assert [each and each[1] for each in JavaSourceChain(made.chain, judged.errors).apply(given)] == [
        b"[a]", None, b"[c]", None, b"[e]",
    ]  # fmt: skip
    assert [text for _, _, text in judged.told()] == [
        "there are no brackets for bad",
        "The record can't go from Python to Java: value: a number of more than 64 bits",
    ]
    cut = Cut()
    found = JavaSourceChain(made.chain, Judged().errors).apply([given[0], *given[2:]], cut=cut)
    assert [each and each[1] for each in found] == [b"[a]", b"[c]"]
    assert "the crossing between Python and Java failed" in str(cut.error)
    made.close()


def test_what_java_s_converters_make_that_can_not_cross_has_failed(plugins: Registry) -> None:
    made, judged = JavaChain({"value.converter": "rig.Brackets"}, settings(), plugins, transforms=False), Judged(tolerant=True)
    batch = [Message(b"[a]", 0), Message(b"[odd]", 1), Message(b"[c]", 2), Message(b"d", 3), Message(b"[e]", 4)]
    found = JavaSinkChain(made.chain, judged.errors).apply(batch)
    assert [each and each.value for each in found] == ["a", None, "c", None, "e"]
    assert [failure.origin for failure in judged.failures] == [batch[1], batch[3]]
    with pytest.raises(ConnectError, match="the crossing between Python and Java failed at in-0@1"):
        JavaSinkChain(made.chain, Judged().errors).apply(batch)
    made.close()


def test_java_s_sink_is_given_what_comes_before_a_refused_letter(java_plugin: Path, tmp_path: Path) -> None:
    sink = Sink(java_plugin, tmp_path, Chain())

    def intake(errors: Errors, use: TopicUse) -> MixedSink:
        chain = SinkChain(Converters(Text(), Text(), TextHeaders), errors)
        return MixedSink(sink.task, chain, Steps([Step("two", refuse)]), errors, use)

    world = SinkWorld(tolerant=True, plugin=sink.task, intake=intake)
    world.consumer.assign(TopicPartition("t", 0))
    world.letters.refuses = {b"2"}
    with pytest.raises(ConnectError, match="refuses a letter"):
        world.step(*(InMemory(("t", 0, number), str(number).encode()) for number in range(4)))
    world.consumer.revoke(TopicPartition("t", 0))
    assert [line.split()[4] for line in sink.written()] == ["0", "1"]
    assert world.committed == {0: 2}


def test_java_s_sink_with_a_step_in_python(plugins: Registry, java_plugin: Path, tmp_path: Path) -> None:
    config = {"transforms": "e", "transforms.e.type": "Expression", "transforms.e.drop": "value == 'b'"}
    config["transforms.e.topic"] = "'renamed'"
    judged = Judged()
    sink = Sink(java_plugin, tmp_path, Chain())
    transforms = Transforms(config, plugins, owned=True)
    chain = SinkChain(converters.make(config, settings(), plugins), judged.errors)
    take = MixedSink(sink.task, chain, transforms.steps, judged.errors, TopicUse(lambda: sink.used, sink.used.add))
    batch = [Message(b"a", 5, b"k"), Message(b"b", 6), Message(b"c", 7)]
    assert take(batch) == [batch[0], batch[2]]
    sink.task.put([batch[0], batch[2]])
    assert [line.split()[:6] for line in sink.written()] == [
        ["renamed", "0", "5", "k", "a", "1000"],
        ["renamed", "0", "7", "null", "c", "1000"],
    ]
    assert sink.used == {"in"}
