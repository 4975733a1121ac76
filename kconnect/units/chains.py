"""
The chain of a task, made of plugins of both languages: what the pump is given, and what is to be closed in the end.

Called by `source_task.py` and `sink_task.py`. A chain runs as a whole in the language of its task where that can be, so that a
record crosses over once or never; else in Python, with converters in Java if one of them is. What is Java's is imported for
such a chain only: a host without Java plugins has no JPype. Read next: `languages.py`, which tells the cases apart;
`transforms.py` and `converters.py` for parts in Python, `java_chain.py` for parts in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from kconnect.api.record import TopicPartition
from kconnect.api.task import SinkTask, SourceTask
from kconnect.converters.json_inferred import Inferring
from kconnect.core.task import answers
from kconnect.core.task.chain import SinkChain, SourceChain
from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import Errors
from kconnect.core.task.sink_pump import Chain, Intake, SinkConversion
from kconnect.core.task.source_pump import SourceConversion
from kconnect.core.task.topic_use import TopicUse
from kconnect.units import converters, inferring, languages
from kconnect.units.java_chain import JavaChain
from kconnect.units.transforms import Transforms
from kconnect.units.unit import Unit

Config = dict[str, str]


@dataclass(frozen=True)
class OfSource:
    """
    `convert` is the pump's, of what `polled` makes of an answer to `poll`: records, and the error that came behind them. With
    `hears`, the task wants to hear of each record that Kafka has. `close` it when the task has ended.
    """

    convert: Callable[[Sequence[Any]], Converted]
    polled: Callable[[Any], tuple[list[Any] | None, Exception | None]]
    hears: bool
    close: Callable[[], None]


@dataclass(frozen=True)
class OfSink:
    """`intake` is the pump's. `close` it when the task has ended."""

    intake: Intake
    close: Callable[[], None]


def of_source(unit: Unit, task: Any, config: Config, errors: Errors) -> OfSource:
    """ConfigError, naming the setting, if a part can't be had or does not take its settings."""
    settings, plugins = unit.ports.settings, unit.ports.plugins
    is_java = languages.is_java(config, plugins)
    with ExitStack() as parts:
        if is_java and not languages.is_mixed(config, settings, plugins):
            from kconnect.jvm.source_task import SourceConversion as InJava

            java = JavaChain(config, settings, plugins)
            parts.callback(java.close)
            hears = task.begin(java.chain)
            return OfSource(InJava(task, errors, hears), _numbers, hears, parts.pop_all().close)
        if is_java:
            from kconnect.jvm.chain import Chain as JavaParts
            from kconnect.jvm.mixed import MixedSource

            convert = _source_in_python(unit, config, errors, True, parts)
            hears = task.begin(JavaParts())
            return OfSource(MixedSource(task, convert, errors, hears), _numbers, hears, parts.pop_all().close)
        hears = type(task).commit_record is not SourceTask.commit_record
        convert = _source_in_python(unit, config, errors, hears, parts)
        return OfSource(convert, partial(answers.polled, type(task).__qualname__), hears, parts.pop_all().close)


def _numbers(answer: Any) -> tuple[list[Any] | None, None]:
    """Take the answer of a task in Java, which gives numbers of records and not records."""
    return answer, None


def _source_in_python(unit: Unit, config: Config, errors: Errors, hears: bool, parts: ExitStack) -> SourceConversion:
    settings, plugins = unit.ports.settings, unit.ports.plugins
    transforms = _transforms(unit, config, parts)
    if languages.has_java_converter(config, settings, plugins):
        from kconnect.jvm.conversion import JavaSourceChain

        return SourceConversion(JavaSourceChain(_java_converters(unit, config, parts), errors), transforms.steps, errors, hears)
    return SourceConversion(SourceChain(converters.make(config, settings, plugins), errors), transforms.steps, errors, hears)


def of_sink(
    unit: Unit,
    task: Any,
    config: Config,
    errors: Errors,
    use: TopicUse,
    group: str,
    assignment: Callable[[], Set[TopicPartition]],
) -> OfSink:
    """ConfigError, naming the setting, if a part can't be had. `group` is the task's, `assignment` what it is given there."""
    settings, plugins = unit.ports.settings, unit.ports.plugins
    is_java = languages.is_java(config, plugins)
    with ExitStack() as parts:
        if is_java and not languages.is_mixed(config, settings, plugins):
            from kconnect.jvm.sink_task import SinkIntake

            java = JavaChain(config, settings, plugins)
            parts.callback(java.close)
            task.begin(java.chain, group)
            return OfSink(SinkIntake(task, errors, use, assignment), parts.pop_all().close)
        transforms = _transforms(unit, config, parts)
        chain, inferred = _sink_converters(unit, config, errors, parts)
        intake: Intake
        if is_java:
            from kconnect.jvm.chain import Chain as JavaParts
            from kconnect.jvm.mixed import MixedSink

            task.begin(JavaParts(), group)
            intake = MixedSink(task, chain, transforms.steps, errors, use)
        else:
            takes_columns = type(task).put_batch is not SinkTask.put_batch
            takes_headers = getattr(task, "takes_batches_with_headers", False)
            intake = SinkConversion(chain, transforms.steps, errors, use, takes_columns, takes_headers)
        return OfSink(inferring.around(intake, inferred, unit), parts.pop_all().close)


def _sink_converters(unit: Unit, config: Config, errors: Errors, parts: ExitStack) -> tuple[Chain, dict[str, Inferring]]:
    """Return the beginning of a sink's chain, and the converters that infer schemas."""
    settings, plugins = unit.ports.settings, unit.ports.plugins
    if languages.has_java_converter(config, settings, plugins):
        from kconnect.jvm.conversion import JavaSinkChain

        languages.refuse_inference(config, settings, plugins)
        return JavaSinkChain(_java_converters(unit, config, parts), errors), {}
    of_task = converters.make(config, settings, plugins)
    return SinkChain(of_task, errors), inferring.parts_of(of_task)


def _transforms(unit: Unit, config: Config, parts: ExitStack) -> Transforms:
    transforms = Transforms(config, unit.ports.plugins, owned=True, worker=unit.ports.settings.raw)
    parts.callback(transforms.close)
    return transforms


def _java_converters(unit: Unit, config: Config, parts: ExitStack) -> Any:
    java = JavaChain(config, unit.ports.settings, unit.ports.plugins, transforms=False)
    parts.callback(java.close)
    return java.chain
