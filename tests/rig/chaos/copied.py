"""
The same straight into a table of a lake, which is compared with the database, row by row: `scripts/chaos --backfill --into`.

With `--append` the table has all changes, and copies and changes are compared with what was written, as the topic is otherwise.
Beside all else, the Spark applications are killed that commit. Read next: `connectors/backfill/range_into.py`.
"""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow as pa
from deltalake import DeltaTable

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.chaos import backfill
from tests.rig.chaos.backfill import Event, Run, Writer, events_of
from tests.rig.chaos.databases import NAME, TABLE, Copied, CopiedMariaDB
from tests.rig.systems import lake
from tests.support import wait_until

_SINK = "lake"
_LONGEST_S = 600.0
_UNWRAPPED = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "lake.tables.delete-field": "__deleted",
}
"""Envelopes are read by Debezium's own transform, in Java."""
_ORDERED = {"transforms.unwrap.add.fields": "lsn", "lake.tables.order-by": "__lsn"}
"""Rows have their place in the log. MariaDB's has no number that rises from file to file."""


class LakeRun(Run):
    kinds = ("sessions", "application", "host", "driver", "worker", "session")
    altered_each = 1000
    """No column ever leaves the lake's table."""

    def __init__(self, options: argparse.Namespace, tell: Callable[[str], None]) -> None:
        super().__init__(options, tell)
        self._folder = Path()

    @property
    def properties(self) -> dict[str, str]:
        return {"lake.python": lake.python()}

    @property
    def converters(self) -> dict[str, str]:
        # Without schemas what was null in all rows of the first commit would be a text for ever, and Debezium unwraps nothing.
        return backfill.converters(schemas=self._options.append or self._options.into == "iceberg")

    def prepare(self, worker: WorkerProcess, directory: Path, database: Copied) -> list[str]:
        (directory / "lake").mkdir()
        self._folder = directory / "lake" / "shop" / TABLE
        unwrapped = _UNWRAPPED if isinstance(database, CopiedMariaDB) else {**_UNWRAPPED, **_ORDERED}
        upserts = {
            "lake.tables.upsert-mode-enabled": "true",
            "lake.tables.default-id-columns": "id",
            **(unwrapped if self._options.into == "iceberg" else {"lake.tables.debezium-envelopes-enabled": "true"}),
        }
        worker.client.put_config(
            _SINK,
            {
                "connector.class": "SparkSink",
                "topics": database.topic,
                **self.converters,
                "consumer.override.session.timeout.ms": "6000",
                "consumer.override.heartbeat.interval.ms": "1500",
                "lake.format": self._options.into,
                "lake.store.url": f"file://{directory / 'lake'}",
                "lake.tables": f"shop.{TABLE}",
                "lake.tables.auto-create-enabled": "true",
                "lake.tables.evolve-schema-enabled": "true",
                "lake.commit.interval-ms": "1000",
                "max.retries": "-1",
                "retry.backoff.ms": "500",
                **({} if self._options.append else upserts),
            },
        )
        return ["--into", _SINK]

    def has_more(self, worker: WorkerProcess, before: int) -> bool:
        """Also while the copy is committed."""
        if super().has_more(worker, before):
            return True
        with contextlib.suppress(RestError):
            state = worker.client.backfill(NAME)
            return 0 < int(state["ranges"]) == state["ranges_done"]
        return False

    def kill(self, kind: str, worker: WorkerProcess, database: Copied) -> None:
        if kind != "application":
            super().kill(kind, worker, database)
            return
        for process in wait_until(lambda: _applications(worker), _LONGEST_S, "there is no Spark application"):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def wrong(self, broker: Broker, writer: Writer, database: Copied) -> Counter[str]:
        streamed = events_of(broker, database.topic)
        found: Counter[str] = Counter()
        found["copied into the topic"] = sum(event.what == "r" for _, event in streamed)
        table = self._read()
        if self._options.append:
            return +(found + self._wrong_changes(table, streamed, writer, database))
        truth = database.truth()
        rows = list(zip(*(table.column(name).to_pylist() for name in ("id", "number", "note")), strict=True))
        there = {row[0]: row for row in rows}
        found["doubled"] = len(rows) - len(there)
        found["lost"] = len(truth.keys() - there.keys())
        found["not deleted"] = len(there.keys() - truth.keys())
        found["stale"] = sum(there.get(number, row) != row for number, row in truth.items())
        return +found

    def _wrong_changes(
        self, table: pa.Table, streamed: list[tuple[int, Event]], writer: Writer, database: Copied
    ) -> Counter[str]:
        copied: list[tuple[int, Event]] = []
        changes: Counter[tuple[int, Event]] = Counter()
        columns = (table.column(name).to_pylist() for name in ("op", "before", "after"))
        for what, before, after in zip(*columns, strict=True):
            row = before if what == "d" else after
            event = row["id"], Event(what, row["number"])
            if what == "r":
                copied.append(event)
            else:
                changes[event] += 1
        found = backfill.wrong(writer.rows, writer.changes, [*copied, *streamed], self.strict)
        wanted = Counter(streamed)
        found["changes doubled"] = (changes - wanted).total()
        found["changes lost"] = (wanted - changes).total()
        # Read from a second snapshot, a row that has changed comes again. MariaDB's ranges are read by keys, whatever is lost.
        found["copies doubled"] = len(copied) - len(set(copied))
        if self.strict or isinstance(database, CopiedMariaDB):
            found["rows copied twice"] = len(copied) - len({key for key, _ in copied})
        return found

    def _read(self) -> pa.Table:
        if self._options.into == "delta":
            return DeltaTable(str(self._folder)).to_pyarrow_table()
        return lake.iceberg_rows(self._folder)


def _applications(worker: WorkerProcess) -> list[psutil.Process]:
    """Return the Spark applications of the worker's hosts."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(worker.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "kconnect.connectors.spark.session.main" in process.cmdline():
                    found.append(process)
    return found
