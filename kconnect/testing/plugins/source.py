"""
Runs a source connector and one of its tasks by hand, for tests of plugins: no broker, no Spark, no threads.

Used by authors' tests through `kconnect.testing`, and by `checks.py`. It calls `poll` through the worker's own pump,
`core/task/source_pump.py`, with exactly-once and a producer that needs no Kafka (`kafka/memory_clients.py`). After a restart
it reads the offsets back through `core/state/offsets.py`. Read next: `sink.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.connector import SourceConnector
from kconnect.api.record import Header, OffsetOnly, RecordMetadata, SourceRecord
from kconnect.api.task import SourceTask, TransactionContext
from kconnect.converters.json import JsonConverter
from kconnect.core.settings.source import BOUNDARY
from kconnect.core.state import offsets as stored_offsets
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import LogRecord
from kconnect.core.task import delivery
from kconnect.core.task.converted import Converted
from kconnect.core.task.delivery import ExactlyOnce
from kconnect.core.task.destination import at_place
from kconnect.core.task.errors import Counts, strict
from kconnect.core.task.meters import SourceMeter
from kconnect.core.task.numbers import Numbers
from kconnect.core.task.ports import NoTopics, OffsetRecord, Pairs
from kconnect.core.task.source_offsets import SourceOffsets
from kconnect.core.task.source_pump import SourcePump
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import PollBoundary, TaskBoundary
from kconnect.core.task.windows import Windows
from kconnect.data.schema import validate
from kconnect.errors import ConnectError, DataError, RetriableError
from kconnect.kafka.memory_clients import MemoryProducer
from kconnect.kafka.topics import require_name
from kconnect.testing.plugins.configs import accepted
from kconnect.testing.plugins.tasks import stopped_on_failure, task_configs_of
from kconnect.testing.plugins.world import Always

_JSON = JsonConverter()
_JSON.configure({"schemas.enable": "false"}, is_key=False)
_RETRY_S = 0.05
_OFFSETS = "__offsets__"


class Transaction(NamedTuple):
    """
    Records that a worker with exactly-once sources would write in one transaction; `committed` is False if it was aborted.
    """

    records: tuple[SourceRecord, ...]
    committed: bool


class SourceRunner:
    """
    A source connector and one of its tasks, run by hand.

        with SourceRunner(OrdersSource, {"url": url, "topic": "orders"}) as source:
            first = source.poll()

    `config` is the connector's config, as texts, like in REST. Raises ConfigError if validation would refuse it. `task` is the
    number of the task. `offsets` are pairs of source partition and offset that are already stored at the start.

    The runner acknowledges the records of each `poll` at once, stores their offsets, and calls the task's `commit_record` and
    `commit`. With `transaction.boundary=connector` it does so when the task ends a transaction. Offsets are stored as JSON, as
    in Kafka: a value that is not primitive is an error, and bytes come back as base64 text.
    """

    def __init__(
        self,
        connector: type[SourceConnector],
        config: Mapping[str, str],
        task: int = 0,
        offsets: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]] = (),
    ) -> None:
        self.config = accepted(connector, config)
        self.task_configs: list[dict[str, str]] = []
        """The configs of all tasks, as the connector made them."""
        self.transactions: list[Transaction] = []
        """The transactions that were committed or aborted so far, in order."""
        self.reconfigurations = 0
        """How often the connector has asked for its `task_configs` to be called again."""
        self.error: Exception | None = None
        """The error with which the connector failed itself, with `raise_error`."""
        self._class, self._number = connector, task
        self._stored = OffsetState()
        self._producer = MemoryProducer()
        self._store(offsets)
        self._connector: SourceConnector | None = None
        self._task: SourceTask | None = None
        self._hears: _Hears | None = None
        self._context: _TaskContext | None = None
        self._stopped = False

    def __enter__(self) -> SourceRunner:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def task(self) -> SourceTask:
        """The task that runs now. Raises ConnectError if none runs."""
        if self._task is None:
            raise ConnectError("No task runs: call start() first, or use the runner in a `with` block")
        return self._task

    @property
    def runs(self) -> bool:
        """Whether a task runs now."""
        return self._task is not None

    @property
    def connector(self) -> SourceConnector:
        """The connector instance that runs now. Raises ConnectError if none runs."""
        if self._connector is None:
            raise ConnectError("No connector runs: call start() first, or use the runner in a `with` block")
        return self._connector

    @property
    def offsets(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The stored offsets: pairs of source partition and offset, as `GET /connectors/{c}/offsets` shows them."""
        return [(dict(stored.partition or {}), dict(stored.offset or {})) for stored in self._stored.of(self.config["name"])]

    @property
    def awaited(self) -> str | None:
        """The text that the task has passed to `context.waits_for`."""
        return None if self._context is None else self._context.awaited

    @property
    def passed_over(self) -> int:
        """The number of unreadable records that the task has passed over, as it has said with `context.passed_over`."""
        return 0 if self._context is None else self._context.skipped

    @property
    def metrics(self) -> dict[tuple[tuple[str, str], ...], dict[str, float]]:
        """The numbers that the task has told with `context.metric`, by labels and name."""
        return {} if self._context is None else self._context.numbers.by_labels()

    def start(self) -> SourceRunner:
        """
        Start the connector, make its task configs, and start the task. Errors of the plugin are raised unchanged, after `stop`
        of what was begun, as in a worker.
        """
        with stopped_on_failure(self.stop):
            return self._start()

    def _start(self) -> SourceRunner:
        connector = self._connector = self._class()
        reader = _Offsets(self._stored, self.config["name"])
        connector.initialize(_ConnectorContext(self, reader))
        connector.start(dict(self.config))
        self.task_configs = task_configs_of(connector, self.config)
        if self._number >= len(self.task_configs):
            raise ConnectError(f"There is no task {self._number}: the connector made {len(self.task_configs)} task configs")
        by_task = BOUNDARY.read(self.config).lower() == "connector"
        boundary = TaskBoundary() if by_task else PollBoundary()
        properties = self.task_configs[self._number]
        task: Any = connector.task_class()()
        self._hears = _Hears(task, self.transactions)
        self._pump = SourcePump(self._deliver(self._hears, boundary), _as_they_are)
        self._task, self._stopped = task, False
        self._context = _TaskContext(properties, reader, boundary.context)
        task.initialize(self._context)
        task.start(dict(properties))
        return self

    def _deliver(self, hears: _Hears, boundary: PollBoundary) -> ExactlyOnce:
        clock = time.monotonic
        meter = SourceMeter(Windows(), Counts(), clock, lambda: 0)
        use = TopicUse(frozenset, lambda topic: None)
        world, store = Always(), _Store(self.config["name"], self._stored)
        ports = delivery.Ports(world, hears, store, NoTopics(), world, use, strict(), meter, True, 0.0)
        exactly_once = ExactlyOnce(ports, self._producer, boundary, _OFFSETS)
        exactly_once.begin(0.0)
        return exactly_once

    def poll(self, acknowledge: bool = True) -> list[SourceRecord]:
        """
        Call `poll` once. Return an empty list if it returned None. Raise AssertionError, with the reason, if a record can't be
        used.

        With `acknowledge=False` Kafka has not accepted the records yet. No offset is stored, so a correct task returns the
        records again after a `restart`.
        """
        records = checked(self.task.poll())
        if acknowledge:
            self._pump.step(records, 0.0)
            assert self._hears is not None
            self._hears.complain()
        return [record for record in records if not isinstance(record, OffsetOnly)]

    def read(self, count: int, timeout: float = 60.0) -> list[SourceRecord]:
        """
        Poll until there are `count` records or more. After a RetriableError it polls again, as a worker does.

        Raises AssertionError after `timeout` seconds. A `poll` that blocks longer is not interrupted.
        """
        records: list[SourceRecord] = []
        end = time.monotonic() + timeout
        while len(records) < count:
            reason = ""
            try:
                records += self.poll()
            except RetriableError as error:
                reason = f"; the last poll said: {error}"
                time.sleep(_RETRY_S)
            if len(records) < count and time.monotonic() > end:
                raise AssertionError(f"The task returned {len(records)} of {count} records within {timeout:g} s{reason}")
        return records

    def restart(self, crash: bool = False) -> SourceRunner:
        """
        Make new instances, which read the stored offsets. With `crash`, the old instances are not stopped, as after a `kill
        -9`.
        """
        if crash:
            self._connector = self._task = None
        self.stop()
        return self.start()

    def stop_task(self) -> None:
        """
        Stop the task only. As in a worker, it may be called from another thread while `poll` blocks, and `poll` must then
        return soon. A later `stop` stops the connector only.
        """
        if not self._stopped:
            self._stopped = True
            self.task.stop()

    def stop(self) -> None:
        """Stop the task and the connector. The records of an open transaction are lost."""
        connector, self._connector = self._connector, None
        try:
            if self._task is not None:
                self.stop_task()
        finally:
            self._task = None
            if connector is not None:
                connector.stop()

    def _store(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        _Store(self.config["name"], self._stored).committed(list(pairs))


def checked(records: Any) -> list[SourceRecord]:
    """The result of a `poll`, as a list. Raises AssertionError for a result on which a worker or a converter would fail."""
    if records is None:
        return []
    if not isinstance(records, list):
        raise AssertionError(f"poll() returned a {type(records).__name__}, but must return a list or None")
    for number, record in enumerate(records, 1):
        if not isinstance(record, SourceRecord):
            raise AssertionError(f"poll() returned a {type(record).__name__} as record {number}: it must be a SourceRecord")
        try:
            require_usable(record)
        except Exception as error:
            raise AssertionError(f"Record {number} of a poll() can't be used: {error}") from error
    return records


def require_usable(record: SourceRecord) -> None:
    """Raise AssertionError, or another error, for a record that no worker could send, or whose offset it could not store."""
    if isinstance(record, OffsetOnly):
        _require_storable(record)
        return
    if not isinstance(record.topic, str) or not record.topic:
        raise AssertionError(f"its topic is {record.topic!r}, but must be a non-empty text")
    require_name(record.topic)
    if record.timestamp is not None and (not isinstance(record.timestamp, int) or record.timestamp < 0):
        raise AssertionError(f"its timestamp is {record.timestamp!r}, but must be milliseconds, as an int, or None")
    if record.partition is not None:
        at_place(record.partition)
    if odd := next((header for header in record.headers if not isinstance(header, Header)), None):
        raise AssertionError(f"its headers hold a {type(odd).__name__}, but must be Headers, such as Header('name', 'value')")
    if record.source_partition is None and record.source_offset is not None:
        raise AssertionError("it has a source offset but no source partition, so the offset can't be stored")
    _require_storable(record)
    for what, schema, value in (("key", record.key_schema, record.key), ("value", record.value_schema, record.value)):
        if schema is not None:
            try:
                validate(schema, value, what)
            except DataError as error:
                problem = (
                    f"its {what}, of the class {type(value).__name__}, does not fit its schema, which is of {schema.type.name}"
                )
                raise AssertionError(f"{problem}: {error}") from error
        else:
            # What JSON takes without a schema, all converters do.
            try:
                _JSON.from_connect_data(record.topic, None, value)
            except DataError as error:
                raise AssertionError(f"its {what} needs a schema, or is no data: {error}") from None


def _require_storable(record: SourceRecord) -> None:
    offsets = SourceOffsets()
    offsets.add([record])
    offsets.newest()


def _as_they_are(records: Sequence[SourceRecord]) -> Converted:
    """Without converters: only the task is tested here."""
    messages = [
        (
            record.topic,
            None,
            None,
            -1 if record.partition is None else record.partition,
            None,
            None,
            record.timestamp or 0,
            None,
        )
        for record in records
    ]
    return Converted(messages, {record.topic for record in records}, records, records, records)


class _Hears:
    """Tells the task about its records, and keeps the errors that it raises then. A worker would only log them."""

    def __init__(self, task: SourceTask, transactions: list[Transaction]) -> None:
        self._task, self._transactions = task, transactions
        self._open: list[tuple[SourceRecord, RecordMetadata | None]] = []
        self._raised: Exception | None = None

    def commit_record(self, record: Any, metadata: RecordMetadata | None) -> None:
        self._open.append((record, metadata))
        self._call(lambda: self._task.commit_record(record, metadata))

    def commit(self) -> None:
        reported, self._open = self._open, []
        if reported:
            records = tuple(record for record, _ in reported)
            self._transactions.append(Transaction(records, any(metadata is not None for _, metadata in reported)))
        self._call(self._task.commit)

    def complain(self) -> None:
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _call(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - raised by `complain`
            self._raised = self._raised or error


class _Store:
    """An `OffsetStore` in this process. What is stored is JSON, as in Kafka."""

    def __init__(self, connector: str, stored: OffsetState) -> None:
        self._connector, self._stored = connector, stored

    def open(self, cancelled: Callable[[], bool]) -> None:
        """Do nothing: the store is always open."""

    def read(self, partitions: Sequence[Mapping[str, Any]], cancelled: Callable[[], bool]) -> list[dict[str, Any] | None]:
        return [self._stored.offset(self._connector, partition) for partition in partitions]

    def write(self, offsets: Pairs, timeout: float) -> None:
        self.committed(offsets)

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        stored = stored_offsets.entries(self._connector, offsets, self._stored.known_key)
        return [OffsetRecord(_OFFSETS, entry.key, entry.value) for entry in stored]

    def committed(self, offsets: Pairs) -> None:
        for entry in stored_offsets.entries(self._connector, offsets, self._stored.known_key):
            self._stored.apply(LogRecord(entry.topic, 0, 0, entry.key, entry.value))

    def close(self, abandon: bool = False) -> None:
        """Do nothing."""


class _Offsets:
    """A `kconnect.api.task.OffsetReader`."""

    def __init__(self, stored: OffsetState, connector: str) -> None:
        self._stored, self._connector = stored, connector

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._stored.offset(self._connector, partition)

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class _ConnectorContext:
    """A `kconnect.api.connector.ConnectorContext`."""

    def __init__(self, runner: SourceRunner, offsets: _Offsets) -> None:
        self._runner, self.offsets = runner, offsets

    def request_task_reconfiguration(self) -> None:
        self._runner.reconfigurations += 1

    def raise_error(self, error: Exception) -> None:
        self._runner.error = error


class _TaskContext:
    """A `kconnect.api.task.SourceTaskContext`."""

    def __init__(self, properties: dict[str, str], offsets: _Offsets, transactions: TransactionContext | None) -> None:
        self._properties, self.offsets, self.transaction_context = properties, offsets, transactions
        self.awaited: str | None = None
        self.skipped = 0
        self.numbers = Numbers()

    def configs(self) -> dict[str, str]:
        return dict(self._properties)

    def waits_for(self, what: str | None) -> None:
        self.awaited = what

    def metric(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> None:
        self.numbers.tell(name, value, labels)

    def passed_over(self, count: int) -> None:
        self.skipped += count
