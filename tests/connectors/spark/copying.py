"""A backfill straight into a table, run by hand: as a worker runs it, with the sink's task beside its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kconnect.api import SinkRecord, SinkTask, SourceConnector, SourceRecord
from kconnect.connectors.backfill import sinks
from kconnect.connectors.backfill.range_into import RangeIntoTask
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.staging import StagingTask
from kconnect.testing import SinkRunner, SourceRunner
from tests.connectors.spark.tables import Lake
from tests.support import wait_until


def as_read(records: list[SourceRecord], first: int = 0) -> list[SinkRecord]:
    """Records as a sink's task has them from a topic."""
    return [
        SinkRecord(record.topic, 0, record.key_schema, record.key, record.value_schema, record.value, first + at)
        for at, record in enumerate(records)
    ]


class Copying:
    """A backfill into a table, and the sink's task that a worker has beside its own."""

    def __init__(
        self,
        connector: type[SourceConnector],
        config: dict[str, str],
        offsets: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]] = (),
    ) -> None:
        self.config = config
        self.source = SourceRunner(connector, config, offsets=offsets)
        self.records: list[SourceRecord] = []
        self._sink: SinkRunner | None = None

    def start(self) -> None:
        self.source.start()
        self._beside()

    def _beside(self) -> None:
        task = self.task
        sink, props = task.sink_beside(self.source.task_configs[0])

        class Own(StagingTask):
            def __new__(cls) -> Any:
                return sink

        class Beside(SparkSinkConnector):
            def task_class(self) -> type[SinkTask]:
                return Own

        self._sink = SinkRunner(Beside, props).start()
        self._put = 0

    @property
    def task(self) -> RangeIntoTask:
        assert isinstance(self.source.task, RangeIntoTask)
        return self.source.task

    def restart(self, crash: bool = False) -> None:
        self.source.restart(crash)
        self._beside()

    def poll(self) -> list[SourceRecord]:
        records = self.source.poll()
        assert self._sink is not None
        if records:
            self._sink.put(as_read(records, self._put))
        self._put += len(records)
        self.records += records
        return records

    def until(self, condition: Callable[[], Any], what: str = "it is not so") -> Any:
        def polled() -> Any:
            self.poll()
            return condition()

        return wait_until(polled, 240, what)

    def crash_amid_and_behind(self) -> None:
        """Let it end amid the second range, and once more when all is committed, before that is known."""
        self.until(lambda: self.ranges_left == 2, "it has but one range")
        self.poll()
        self.restart(crash=True)
        self.until(lambda: not self.ranges_left)
        task = self.task
        wait_until(lambda: task.poll(), 240, "nothing is committed")
        assert self.committed is None
        self.restart(crash=True)

    @property
    def ranges_left(self) -> int:
        return len(self.task._ranges) + (self.task._sealing is not None)

    @property
    def committed(self) -> dict[str, Any] | None:
        return next((offset for partition, offset in self.source.offsets if partition.get("backfill") == "tables"), None)

    @property
    def where(self) -> Callable[[str], dict[str, Any]]:
        return sinks.where_of(self.config, RangeIntoTask.worker)

    def handed_over(self) -> dict[str, Any]:
        """Return what the connector notes of the end, which it has seen."""
        assert self.source.error is None, self.source.error
        self.restart()
        self.poll()
        return next(offset for partition, offset in self.source.offsets if partition == {"backfill": "done"})

    def stop(self) -> None:
        self.source.stop()


def settings_of(sink: Mapping[str, str], lake: Lake) -> dict[str, str]:
    """Return the settings of a sink as a backfill has them that writes into its tables."""
    own = {**lake.config(**sink), "connector.class": "SparkSink"}
    return {**{f"into.{name}": value for name, value in own.items() if name != "name"}, "backfill.into": "lake"}
