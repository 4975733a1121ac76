"""
Plugins that answer what they may not: each call of the API that returns something has a row, which says what comes of it.

The rows of calls that are tried elsewhere name that test; a call that is added to the API fails here until it has one. Calls
that raise, hang, end the process, print or fill the memory are the fault matrix's (`tests/rig/plugin_faults`).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import kconnect.api
from kconnect.api.batch import RecordBatch
from kconnect.api.config_provider import ConfigProvider
from kconnect.api.connector import Connector
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.predicate import Predicate
from kconnect.api.record import Header, SinkRecord, SourceRecord
from kconnect.api.task import Task
from kconnect.api.transformation import Transformation
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task import answers
from kconnect.core.task.answers import AnswerError
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.errors import Cut, Errors, Failure
from kconnect.core.task.steps import Step, Steps
from kconnect.data.column import Column
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConnectError
from kconnect.units.checked import CheckedConverter, CheckedHeaderConverter

from ..core.task.records import Message
from ..rig.plugin_faults import places

NOTHING = "nothing is returned"
ELSEWHERE = {
    "ConfigProvider.get": "tests.plugins.test_providers",
    "Connector.task_class": "",
    "Connector.task_configs": "tests.units.test_connector_unit",
    "Connector.config": "tests.plugins.test_sandbox",
    "Connector.validate": "tests.plugins.test_sandbox",
    "Connector.version": "a text is made of whatever it is, `units/about.py`",
    "Task.version": "a text is made of whatever it is, `units/about.py`",
    "SourceConnector.alter_offsets": "tests.plugins.test_sandbox_offsets",
    "SinkConnector.alter_offsets": "tests.plugins.test_sandbox_offsets",
    "SourceConnector.exactly_once_support": "what is not SUPPORTED is none, `plugins/validation.py`",
    "SourceConnector.can_define_transaction_boundaries": "true or false, as Python has it",
    "SourceTask.poll": "tests.core.task.test_destination",
    "SinkTask.pre_commit": "tests.core.task.test_positions",
    "Predicate.test": "true or false, as Python has it",
    "Predicate.test_batch": "what is neither true nor false says nothing, `core/task/steps.py`",
}
HERE = {
    "Transformation.apply", "Transformation.apply_all", "Transformation.apply_batch",
    "Converter.from_connect_data", "Converter.to_connect_data", "Converter.from_connect_all", "Converter.to_connect_all",
    "HeaderConverter.from_connect_header", "HeaderConverter.to_connect_header",
}  # fmt: skip
DECLARATIONS = {"config", "version"}
"""Of transforms, predicates and converters: asked by validation and listings only."""
PLUGINS = (ConfigProvider, Connector, Converter, HeaderConverter, Predicate, Task, Transformation)


def calls() -> Iterator[tuple[str, Any]]:
    for module in pkgutil.iter_modules(kconnect.api.__path__):
        for name, kind in vars(importlib.import_module(f"kconnect.api.{module.name}")).items():
            if inspect.isclass(kind) and issubclass(kind, PLUGINS) and kind.__module__ == f"kconnect.api.{module.name}":
                for call, function in vars(kind).items():
                    if inspect.isfunction(function) and not call.startswith("_"):
                        yield f"{name}.{call}", function


def test_each_call_has_its_row() -> None:
    returning = {
        name
        for name, function in calls()
        if function.__annotations__.get("return") != "None"
        and not (name.partition(".")[2] in DECLARATIONS and name.partition(".")[0] not in ("Connector", "Task"))
    }
    assert returning == {*ELSEWHERE, *HERE}
    for where in ELSEWHERE.values():
        if where.startswith("tests."):
            importlib.import_module(where)


MATRIX_AS = {
    "ConfigProvider.configure": "provider.get",
    "ConfigProvider.close": "provider.get",
    "SourceConnector.exactly_once_support": "connector.validate",
    "SourceConnector.can_define_transaction_boundaries": "connector.validate",
    "Converter.from_connect_all": "converter.from_connect_data",
    "Converter.to_connect_all": "converter.to_connect_data",
    "HeaderConverter.configure": "converter.configure",
    "HeaderConverter.from_connect_header": "converter.from_connect_data",
    "HeaderConverter.to_connect_header": "converter.to_connect_data",
    "Predicate.configure": "transform.configure",
    "Predicate.close": "transform.close",
    "Task.version": "connector.version (host)",
    "SinkTask.put_batch": "sink.put",
    "SinkTask.flush": "sink.pre_commit",
    "Transformation.apply_all": "transform.apply",
    "Transformation.apply_batch": "transform.apply",
    "Predicate.test_batch": "predicate.test",
}
"""Calls that are no row of the fault matrix, and the row whose thread, process and limits are theirs."""
MATRIX_PREFIXES = {
    "Connector": ("connector",),
    "SourceConnector": ("connector",),
    "SinkConnector": ("connector",),
    "Task": ("source", "sink"),
    "SourceTask": ("source",),
    "SinkTask": ("sink",),
    "Transformation": ("transform",),
    "Predicate": ("predicate",),
    "Converter": ("converter",),
    "HeaderConverter": ("header_converter",),
    "ConfigProvider": ("provider",),
}
NOT_CALLED = {"Connector.reconfigure", "HeaderConverter.close"}


def test_each_call_has_a_row_of_the_fault_matrix() -> None:
    names = {place.name.removesuffix(" (host)") for place in places.PLACES}
    for name, _ in calls():
        kind, _, call = name.partition(".")
        if name in NOT_CALLED or (call in DECLARATIONS and kind not in ("Connector", "Task")):
            continue
        if name in MATRIX_AS:
            assert MATRIX_AS[name] in places.BY_NAME, name
        else:
            assert {f"{prefix}.{call}" for prefix in MATRIX_PREFIXES[kind]} <= names, name


# --- transforms ---

WRONG_RECORDS: list[Any] = ["text", 7, [], {}, ("a", 1), object(), True]


def record(at: int, of: type[Any]) -> Any:
    if of is SourceRecord:
        return SourceRecord({"p": 1}, {"o": at}, "t", value_schema=STRING_SCHEMA, value=str(at))
    return SinkRecord("t", 0, None, None, STRING_SCHEMA, str(at), at)


def of_another_kind(of: type[Any]) -> Any:
    return record(0, SinkRecord if of is SourceRecord else SourceRecord)


def judge(tolerant: bool) -> tuple[Errors, list[Failure]]:
    told: list[Failure] = []
    return Errors(
        ErrorSettings(tolerant=tolerant), told.append, lambda seconds: True, lambda: 0.0, lambda longest: longest
    ), told


@pytest.mark.parametrize("of", [SourceRecord, SinkRecord])
@pytest.mark.parametrize("all_at_once", [False, True])
@pytest.mark.parametrize(
    "answer",
    [*WRONG_RECORDS, "of another kind"],
    ids=lambda answer: f"{answer:.20}" if isinstance(answer, str) else type(answer).__name__,
)
@pytest.mark.parametrize(("size", "bad"), [(1, 0), (12, 0), (12, 5), (12, 11)])
def test_a_transform_that_gives_no_record(of: type[Any], all_at_once: bool, answer: Any, size: int, bad: int) -> None:
    if answer == "of another kind":
        answer = of_another_kind(of)

    def apply(record: Any) -> Any:
        return answer if record.value == str(bad) else record

    def apply_all(records: Sequence[Any]) -> list[Any]:
        return [apply(each) for each in records]

    step = Step("odd", apply, class_name="acme.Odd", apply_all=apply_all if all_at_once else None, foreign=True)
    next_one = Step("next", lambda record: record, foreign=True)
    records = [record(at, of) for at in range(size)]
    with pytest.raises(
        ConnectError, match=r"acme\.Odd\.apply\(\) returned an? .*, but must return a record, or None to drop it"
    ):
        Steps([step, next_one]).apply(records)
    errors, told = judge(tolerant=True)
    done = Steps([step, next_one]).apply(records, errors=errors)
    assert [None if each is None else each.value for each in done] == [None if at == bad else str(at) for at in range(size)]
    assert [failure.origin for failure in told] == [records[bad]]
    errors, _ = judge(tolerant=False)
    cut = Cut()
    done = Steps([step, next_one]).run(list(records), records, errors, cut)  # type: ignore[assignment]
    assert [each.value for each in done] == [str(at) for at in range(bad)]
    assert "acme.Odd.apply() returned" in str(cut.error)


def shorter(batch: RecordBatch) -> Any:
    return batch.replace(value=Column(STRING_SCHEMA, ["x"]))


@pytest.mark.parametrize("of", [SourceRecord, SinkRecord])
@pytest.mark.parametrize(
    "give",
    [
        *(pytest.param(lambda batch, answer=answer: answer, id=type(answer).__name__) for answer in [*WRONG_RECORDS, None]),
        pytest.param(shorter, id="a column that is too short"),
        pytest.param(lambda batch: batch.replace(topic=7), id="a topic that is no text"),
        pytest.param(lambda batch: 1 / 0, id="an error"),
    ],
)
def test_a_transform_that_gives_no_batch_is_asked_record_by_record(of: type[Any], give: Callable[[Any], Any]) -> None:
    def apply(record: Any) -> Any:
        return record.new_record(value=f"{record.value}!")

    step = Step("odd", apply, class_name="acme.Odd", apply_batch=give, foreign=True)
    records = [record(at, of) for at in range(12)]
    assert [each.value for each in Steps([step]).apply(records)] == [f"{at}!" for at in range(12)]
    # The control: a batch is what it is asked first.
    bang = Step("bang", apply, apply_batch=lambda batch: batch.replace(value=Column(None, ["?"] * len(batch))), foreign=True)
    assert {each.value for each in Steps([bang]).apply([record(at, of) for at in range(12)])} == {"?"}


@pytest.mark.parametrize("outcome", [None, 7, "no", "error"])
def test_a_predicate_that_does_not_say_is_asked_record_by_record(outcome: Any) -> None:
    def test_batch(batch: Any) -> Any:
        return 1 / 0 if outcome == "error" else outcome

    step = Step("odd", lambda record: None, test=lambda record: record.value == "3", test_batch=test_batch)
    done = Steps([step]).apply([record(at, SinkRecord) for at in range(12)])
    assert [at for at, each in enumerate(done) if each is None] == [3]


# --- converters ---


class Odd(Converter, HeaderConverter):
    """Answers as it is told to."""

    def __init__(self, bytes_: Callable[[], Any], pair: Callable[[], Any]) -> None:
        self._bytes, self._pair = bytes_, pair

    def configure(self, configs: Any, is_key: bool = False) -> None: ...

    def from_connect_data(self, topic: str, schema: Any, value: Any, headers: Any = None) -> Any:
        return self._bytes()

    def to_connect_data(self, topic: str, data: Any, headers: Any = None) -> Any:
        return self._pair()

    def from_connect_all(self, topic: str, column: Any) -> Any:
        return [self._bytes() for _ in column.values]

    def to_connect_all(self, topic: str, data: Any) -> Any:
        return self._pair()

    def from_connect_header(self, topic: str, key: str, schema: Any, value: Any) -> Any:
        return self._bytes()

    def to_connect_header(self, topic: str, key: str, data: Any) -> Any:
        return self._pair()


def converters(odd: Odd) -> Converters:
    value = CheckedConverter(odd, "acme.Odd")
    return Converters(value, value, lambda: CheckedHeaderConverter(odd, "acme.Odd"))


@pytest.mark.parametrize("answer", ["text", 7, 1.5, [], {}, True, object()], ids=lambda answer: type(answer).__name__)
@pytest.mark.parametrize("size", [1, 12])
@pytest.mark.parametrize("headers", [(), (Header("h", 1),)], ids=["", "headers"])
def test_a_converter_that_gives_no_bytes(answer: Any, size: int, headers: Any) -> None:
    chain = SourceChain(converters(Odd(lambda: answer, tuple)))
    records = [SourceRecord({}, {}, "t", value="v", key="k", headers=headers) for _ in range(size)]
    with pytest.raises(ConnectError, match=r"acme\.Odd\.from_connect_(data|header)\(\) returned an? .*, but must return bytes"):
        chain.apply(records)


@pytest.mark.parametrize("answer", [None, "text", 7, (), (1,), ("no schema", 1), (None, 1, 2), {}], ids=repr)
@pytest.mark.parametrize("size", [1, 12])
@pytest.mark.parametrize("marks", [None, [("h", b"1")]], ids=["", "headers"])
def test_a_converter_that_gives_no_pair(answer: Any, size: int, marks: Any) -> None:
    chain = SinkChain(converters(Odd(bytes, lambda: answer)))
    messages = [Message(("t", 0, at), b"v", b"k", marks=marks) for at in range(size)]
    assert chain.at_once(messages) is None
    with pytest.raises(
        ConnectError, match=r"acme\.Odd\.to_connect_(data|header)\(\) returned .*, but must return a SchemaAndValue"
    ):
        chain.apply(messages)


@pytest.mark.parametrize("answer", [bytearray(b"v"), memoryview(b"v"), b"v"], ids=lambda answer: type(answer).__name__)
def test_whatever_is_like_bytes_is_taken(answer: Any) -> None:
    (message,) = SourceChain(converters(Odd(lambda: answer, tuple))).apply([SourceRecord({}, {}, "t", value="v")])
    assert message is not None
    assert message[1] == b"v"
    assert type(message[1]) is bytes


# --- connectors ---


@pytest.mark.parametrize("answer", [None, "Task", 7, []], ids=repr)
def test_a_connector_that_names_no_task_class(answer: Any) -> None:
    with pytest.raises(
        AnswerError, match=r"^acme\.Source\.task_class\(\) returned .*, but must return the class of its tasks$"
    ):
        answers.task_class("acme.Source", answer)
