"""
What a Java connector or task may ask of the framework: Java's interfaces, in front of the contexts that `kconnect.api` has.

Used by the adapters beside it. Java calls these from the plugin's own threads as well. Errors of ours come out of them as
Connect's exceptions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import jpype

from kconnect.api.record import TopicPartition
from kconnect.errors import RetriableError
from kconnect.jvm import machine, values
from kconnect.jvm.errors import translated

log = logging.getLogger(__name__)


def _answering(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def answer(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except jpype.JException:
            raise
        except Exception as error:
            kind = "RetriableException" if isinstance(error, RetriableError) else "ConnectException"
            raise jpype.JClass(f"org.apache.kafka.connect.errors.{kind}")(f"{error}") from error

    return answer


def to_place(place: Iterable[Any]) -> Any:
    topic, partition = place
    return jpype.JClass("org.apache.kafka.common.TopicPartition")(topic, partition)


def of_place(place: Any) -> TopicPartition:
    return TopicPartition(str(place.topic()), int(place.partition()))


def SourceConnectorContext(context: Any) -> Any:
    return _implement("org.apache.kafka.connect.source.SourceConnectorContext", _SourceConnector(context))


def SinkConnectorContext(context: Any) -> Any:
    return _implement("org.apache.kafka.connect.sink.SinkConnectorContext", _Connector(context))


def SourceTaskContext(context: Any, ends: Transactions) -> Any:
    return _implement("org.apache.kafka.connect.source.SourceTaskContext", _SourceTask(context, ends))


def SinkTaskContext(context: Any, group: str, reporter: Callable[[Any, Any], None]) -> Any:
    """`group` is the consumer group. `reporter` is given a Java record that the task can't deliver, and what it threw."""
    ours = _implement("org.apache.kafka.connect.sink.SinkTaskContext", _SinkTask(context, reporter))
    return jpype.JClass("kconnect.shim.SinkContext")(
        ours, group, _implement("java.util.function.Function", _Committed(context))
    )


def _implement(interface: str, methods: object) -> Any:
    return jpype.JProxy(interface, inst=methods)


class _Connector:
    def __init__(self, context: Any) -> None:
        self._it = context
        self._metrics = jpype.JClass("kconnect.shim.Monitors").own()

    @_answering
    def requestTaskReconfiguration(self) -> None:
        self._it.request_task_reconfiguration()

    @_answering
    def raiseError(self, error: Any) -> None:
        self._it.raise_error(translated(error))

    def pluginMetrics(self) -> Any:
        return self._metrics


class _SourceConnector(_Connector):
    def offsetStorageReader(self) -> Any:
        return _implement("org.apache.kafka.connect.storage.OffsetStorageReader", _Offsets(self._it.offsets))


class Transactions:
    """
    The transaction ends that a source task asks for, from any thread: for the next batch at once, for a record once that has
    come, which only then has a number here.
    """

    def __init__(self) -> None:
        self._asked: list[tuple[Any, Callable[[Any], None]]] = []

    def ask(self, record: Any, say: Callable[[Any], None]) -> None:
        if record is None:
            raise ValueError("Source record used to define transaction boundaries may not be null")
        self._asked.append((record, say))

    def say(self, number_of: Callable[[Any], Any]) -> None:
        """Pass on what was asked of the records that have a number by now; it is None for the others."""
        for request in list(self._asked):
            record, say = request
            number = number_of(record)
            if number is not None:
                say(number)
                self._asked.remove(request)


class _TransactionContext:
    def __init__(self, context: Any, ends: Transactions) -> None:
        self._it, self._ends = context, ends

    @_answering
    def commitTransaction(self, *record: Any) -> None:
        self._ask(self._it.commit_transaction, *record)

    @_answering
    def abortTransaction(self, *record: Any) -> None:
        self._ask(self._it.abort_transaction, *record)

    def _ask(self, say: Callable[..., None], *record: Any) -> None:
        if record:
            self._ends.ask(record[0], say)
        else:
            say()


class _SourceTask:
    def __init__(self, context: Any, ends: Transactions) -> None:
        self._it = context
        self._ends = ends
        self._metrics = jpype.JClass("kconnect.shim.Monitors").own()

    @_answering
    def configs(self) -> Any:
        return machine.to_map(self._it.configs())

    def offsetStorageReader(self) -> Any:
        return _implement("org.apache.kafka.connect.storage.OffsetStorageReader", _Offsets(self._it.offsets))

    def transactionContext(self) -> Any:
        asked = self._it.transaction_context
        if asked is None:
            return None
        return _implement("org.apache.kafka.connect.source.TransactionContext", _TransactionContext(asked, self._ends))

    def pluginMetrics(self) -> Any:
        return self._metrics


class _Offsets:
    def __init__(self, reader: Any) -> None:
        self._it = reader

    @_answering
    def offset(self, partition: Any) -> Any:
        return values.to_java(self._it.offset(values.to_python(partition)))

    @_answering
    def offsets(self, partitions: Any) -> Any:
        asked = list(partitions)
        stored_offsets = self._it.offsets([values.to_python(source_partition) for source_partition in asked])
        result = jpype.JClass("java.util.HashMap")()
        for partition, offset in zip(asked, stored_offsets):
            # As Connect's reader: what is not stored is not there.
            if offset is not None:
                result.put(partition, values.to_java(offset))
        return result


class _SinkTask:
    def __init__(self, context: Any, reporter: Callable[[Any, Any], None]) -> None:
        self._it, self._reporter = context, reporter
        self._metrics = jpype.JClass("kconnect.shim.Monitors").own()

    @_answering
    def configs(self) -> Any:
        return machine.to_map(self._it.configs())

    @_answering
    def offset(self, place: Any, offset: Any = None) -> None:
        if offset is not None:
            self._it.offset(of_place(place), int(offset))
            return
        for entry in place.entrySet():
            if entry.getValue() is None:
                # As in Connect.
                log.warning("context.offset() was given null as the offset of %s, which is left out", entry.getKey())
            else:
                self._it.offset(of_place(entry.getKey()), int(entry.getValue()))

    @_answering
    def timeout(self, milliseconds: Any) -> None:
        self._it.timeout(int(milliseconds))

    @_answering
    def assignment(self) -> Any:
        java_places = jpype.JClass("java.util.HashSet")()
        for place in self._it.assignment():
            java_places.add(to_place(place))
        return java_places

    @_answering
    def pause(self, places: Any) -> None:
        self._it.pause(*map(of_place, places))

    @_answering
    def resume(self, places: Any) -> None:
        self._it.resume(*map(of_place, places))

    @_answering
    def requestCommit(self) -> None:
        self._it.request_commit()

    @_answering
    def errantRecordReporter(self) -> Any:
        if self._it.errant_record_reporter() is None:
            return None
        return _implement("org.apache.kafka.connect.sink.ErrantRecordReporter", _Reporter(self._reporter))

    def pluginMetrics(self) -> Any:
        return self._metrics


class _Committed:
    """A group's committed offsets of some partitions, as Connect's consumer answers them."""

    def __init__(self, context: Any) -> None:
        self._it = context

    @_answering
    def apply(self, places: Any) -> Any:
        position = jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")
        asked = [of_place(place) for place in places]
        offsets = self._it.group_offsets(asked)
        result = jpype.JClass("java.util.HashMap")()
        for place in asked:
            # As Connect's: null where there is none.
            result.put(to_place(place), position(offsets[place]) if place in offsets else None)
        return result


class _Reporter:
    def __init__(self, report: Callable[[Any, Any], None]) -> None:
        self._report = report

    @_answering
    def report(self, record: Any, error: Any) -> Any:
        self._report(record, error)
        return jpype.JClass("java.util.concurrent.CompletableFuture").completedFuture(None)
