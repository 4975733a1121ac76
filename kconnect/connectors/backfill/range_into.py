"""
What the tasks of both databases share that read straight into tables of a lake: SparkSink's task makes rows of the ranges, and
the first task has all that is staged committed, once everything is read.

Records go through the connector's own transforms and converters, and then through those of the sink, into the sink's task, all
in this process (`units/beside.py`). A range begins anew if it was not read to its end. Made by `into.py` and `mariadb/into.py`,
which know the database. Read next: `spark/staging.py`, `spark/copies.py`.
"""

from __future__ import annotations

import json
import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from concurrent import futures
from typing import Any

from kconnect.api import ConnectError, OffsetOnly, RetriableError, SinkTask, SourceRecord
from kconnect.connectors.backfill import settings, sinks
from kconnect.connectors.backfill.range_task import RangeTask
from kconnect.connectors.libraries import Informed
from kconnect.connectors.spark import application, copies
from kconnect.connectors.spark.application import Application, SparkFault
from kconnect.connectors.spark.copies import Copy, Entry
from kconnect.connectors.spark.staging import StagingTask

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_MANY = 100
"""Of so many ranges is tried beforehand whether the tables can have them: one starts Spark for that."""
_STAGED = "staged"


class RangeIntoTask(RangeTask):
    worker_settings = (*Informed.worker_settings, application.PYTHON, application.SETTINGS)

    def __init__(self) -> None:
        super().__init__()
        self._staging: StagingTask | None = None
        self._sealing: tuple[Mapping[str, Any], dict[str, Any]] | None = None
        """The range that was read to its end, and its offset: its last rows are on their way."""
        self._sealed: list[Entry] = []
        """The files of that range."""
        self._is_committed = True
        self._part: Any = None

    @abstractmethod
    def copy_of(self, told: Mapping[str, Any]) -> int:
        """
        Return the number of the copy, by what tasks are told of the snapshot: every try has the same one, and a copy that is
        begun anew a greater one.
        """

    @property
    @abstractmethod
    def order(self) -> int:
        """A number of the rows that are read now: of rows with the same id, those with the greatest one count."""

    def sink_beside(self, props: dict[str, str]) -> tuple[SinkTask, dict[str, str]]:
        """Return the task that is to have the records, and its config. Called before `start`."""
        copy = self.copy_of(json.loads(props[settings.SNAPSHOT])) if settings.SNAPSHOT in props else 0
        self._staging = StagingTask(sinks.folder_of(props, self.worker) / str(copy), settings.STAGING)
        self._staging.worker = self.worker
        return self._staging, sinks.config_of(props)

    def start(self, props: dict[str, str]) -> None:
        super().start(props)
        self._props = props
        self._folder = sinks.folder_of(props, self.worker)
        if self._done is not None:
            return
        if not self.worker.get(application.PYTHON):
            raise ConnectError(
                f"The worker's {application.PYTHON} is not set, so the copy could not be committed: run kconnect lake setup on "
                f"each machine of the cluster, and set {application.PYTHON} in the worker's file to the program that it names"
            )
        self._copy = self.copy_of(json.loads(props[settings.SNAPSHOT]))
        self._staged_in = self._folder / str(self._copy)
        self._committed = sinks.committed_partition(self._copy)
        self._is_committed = not self.is_first or self.context.offsets.offset(self._committed) is not None
        self._is_tried = not self.is_first or len(self.every_range) < _MANY

    def read(self) -> list[SourceRecord] | None:
        assert self._staging is not None
        if self._sealing is not None:
            # All that was read before has been put by now. What follows may fail, and is asked for again.
            partition, offset = self._sealing
            self._sealed += self._entries()
            if not self._is_tried and self._sealed and not self._try(self._sealed):
                return None
            staged = [*json.loads(offset.get(_STAGED, "[]")), *self._sealed]
            self._sealing, self._sealed = None, []
            return [OffsetOnly(partition, {**offset, _STAGED: json.dumps(staged)})]
        if self._done is None and not self._ranges and not self._is_committed:
            return self._commit()
        if self._done:
            sinks.remove(self._folder)
        elif self._done is None and self._ranges and self._ranges[0][0] is not self._part:
            self._part = self._ranges[0][0]
            self._staging.begin(f"{self.order} {self.partition_of(self._part)}")
        return self._without_offsets(super().read())

    def _entries(self) -> list[Entry]:
        assert self._staging is not None
        return [Entry(self.order, *staged) for staged in self._staging.seal()]

    def begin_again(self) -> None:
        # What was put of the range comes once more: its files are none that an offset names.
        self._entries()

    def _without_offsets(self, records: list[SourceRecord] | None) -> list[SourceRecord] | None:
        """Return the records of a range without offsets: it counts once its rows are in files."""
        if not records or "pages" not in (records[-1].source_partition or {}):
            return records
        last = records[-1]
        offset = last.source_offset or {}
        if offset.get("done"):
            self._sealing = last.source_partition or {}, dict(offset)
        if isinstance(last, OffsetOnly):
            return None
        for record in records:
            record.source_partition = record.source_offset = None
        return records

    def _commit(self) -> list[SourceRecord] | None:
        """Have all tables commit what is staged for them, once all ranges are; None if that is not so yet."""
        offsets = self.context.offsets.offsets([self.partition_of(part) for part in self.every_range])
        if not all(map(self.is_done, offsets)):
            self.keep()
            self.stopped.wait(_LOOK_S)
            return None
        staged = self._copies(Entry(*entry) for offset in offsets for entry in json.loads((offset or {}).get(_STAGED, "[]")))
        if staged:
            (self._staged_in / sinks.COMMITTING).touch()
            rows = sum(copy.rows for copy in staged)
            self.context.waits_for(f"Spark, which commits {rows} rows to {len(staged)} tables")
            if not self._ask(staged):
                return None
        self._is_committed = True
        self.context.waits_for(None)
        rows = sum(copy.rows for copy in staged)
        log.info("The copy is committed: %d rows in %d tables", rows, len(staged))
        return [OffsetOnly(self._committed, {"tables": len(staged), "staged_rows": rows})]

    def _copies(self, entries: Iterable[Entry]) -> list[Copy]:
        return copies.read(self._staged_in, entries, sinks.where_of(self._props, self.worker))

    def _try(self, entries: list[Entry]) -> bool:
        """
        See whether the tables can have these rows, so that nobody hears hours later that they can't. Return False if the task
        is to stop before.
        """
        self.context.waits_for("Spark, which looks whether the tables can have the copy")
        self._is_tried = self._ask(self._copies(entries), tries=True)
        self.context.waits_for(None)
        return self._is_tried

    def _ask(self, found: list[Copy], tries: bool = False) -> bool:
        """Have copies committed, or tried; return False if the task is to stop before. RetriableError for what may pass."""
        # One of its own: it ends with the task, so no commit comes behind that.
        spark = Application(self.worker)
        try:
            answers = [copies.begin(spark, copy, self._props["name"], self._copy, tries) for copy in found]
            while futures.wait(answers, _LOOK_S).not_done:
                if self.stopped.is_set():
                    return False
                self.keep()
            for copy, answer in zip(found, answers):
                copies.check(copy, answer.result())
            return True
        except SparkFault as error:
            text = f"The copy can't be committed: {error}"
            if error.passes:
                raise RetriableError(text) from None
            raise ConnectError(text) from None
        finally:
            spark.end()
