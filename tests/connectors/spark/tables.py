"""Tables of Delta and Iceberg as SparkSink's tests have them, and records. The fixtures: `conftest.py`."""

from __future__ import annotations

import contextlib
import datetime
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kconnect.api import (
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.spark import targets
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.testing import SinkRunner
from tests.rig.systems import lake as lakes
from tests.support import wait_until

UTC = datetime.timezone.utc
ROW = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
WIDE = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
PLACE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
UPSERTS = {
    "lake.tables.upsert-mode-enabled": "true",
    "lake.tables.default-id-columns": "id",
    "lake.tables.delete-enabled": "true",
}
EVOLVES = {"lake.tables.evolve-schema-enabled": "true"}


class Lake:
    """A folder with tables of one format."""

    def __init__(self, folder: Path, form: str) -> None:
        self.folder, self.form = folder, form

    def config(self, **more: str) -> dict[str, str]:
        base = {
            "name": "lake",
            "topics": "orders",
            "lake.format": self.form,
            "lake.store.url": f"file://{self.folder}",
            "lake.tables": "shop.orders",
            "lake.tables.auto-create-enabled": "true",
            "lake.commit.interval-ms": "0",
            "retry.backoff.ms": "100",
        }
        return {**base, **more}

    def sink(self, task: int = 0, /, **more: str) -> SinkRunner:
        return SinkRunner(SparkSinkConnector, self.config(**more), task)

    def rows(self, name: str = "shop.orders") -> list[dict[str, Any]]:
        folder = self.folder.joinpath(*name.split("."))
        found: list[dict[str, Any]] = self.read(folder).to_pylist()
        return sorted(found, key=lambda row: (row["id"], str(row.get("note"))))

    def read(self, folder: Path) -> pa.Table:
        if self.form == "delta":
            return DeltaTable(str(folder)).to_pyarrow_table()
        return lakes.iceberg_rows(folder)

    def files(self, name: str = "shop.orders") -> list[str]:
        """Those that the table has now."""
        folder = self.folder.joinpath(*name.split("."))
        return DeltaTable(str(folder)).file_uris() if self.form == "delta" else lakes.iceberg_files(folder)

    def ids(self, name: str = "shop.orders") -> list[int]:
        return [row["id"] for row in self.rows(name)]


def record(offset: int, value: Any, own: Schema | None = None, partition: int = 0, topic: str = "orders") -> SinkRecord:
    return SinkRecord(topic, partition, None, None, own, value, offset)


def row(number: int, own: Schema = ROW, partition: int = 0, offset: int | None = None, **values: Any) -> SinkRecord:
    """Its offset is its number, unless told."""
    made = Struct(own, {"id": number, "note": "n", **values})
    return record(number if offset is None else offset, made, own, partition)


def gone(number: int, offset: int) -> SinkRecord:
    """A record that deletes a row."""
    return SinkRecord("orders", 0, INT32_SCHEMA, number, None, None, offset)


def commit(runner: SinkRunner, *records: SinkRecord) -> None:
    """Put records, and wait until the tables have them."""
    wanted = dict(runner.committed)
    for each in records:
        place = TopicPartition(each.original_topic, each.original_partition)
        wanted[place] = max(wanted.get(place, 0), each.original_offset + 1)
    runner.put(list(records))
    until(runner, wanted)


def until(runner: SinkRunner, wanted: dict[TopicPartition, int]) -> None:
    def committed() -> bool:
        look(runner)
        runner.flush()
        return all(runner.committed.get(place) == offset for place, offset in wanted.items())

    wait_until(committed, 240, f"the tables have not all up to {wanted}")


def commit_again(runner: SinkRunner, last: int) -> None:
    """Put rows from where the task asked for them until all up to `last` are committed, as often as it asks."""

    def committed() -> bool:
        begin = runner.rewinds.pop(PLACE, None)
        try:
            runner.put([] if begin is None else [row(number) for number in range(begin, last + 1)])
        except RetriableError:
            if begin is not None:
                # They count as not delivered.
                runner.rewinds.setdefault(PLACE, begin)
        return runner.flush().get(PLACE) == last + 1

    wait_until(committed, 480, f"the table has not all up to {last}")


def look(runner: SinkRunner) -> None:
    """Have a task see what has become of its commits."""
    with contextlib.suppress(RetriableError):
        runner.put([])


def between(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """Have that done once, when a task has decided what is to be committed, and by what it knows of the table."""
    begin = targets.SparkTarget.begin

    def after_another(self: Any, parts: Any) -> Any:
        monkeypatch.setattr(targets.SparkTarget, "begin", begin)
        what()
        return begin(self, parts)

    monkeypatch.setattr(targets.SparkTarget, "begin", after_another)


def play(
    runner: SinkRunner, log: Mapping[TopicPartition, list[SinkRecord]], draw: random.Random, tick: Callable[[], None], most: int
) -> None:
    """Put the records of a log as a consumer would that goes where the task says, until all offsets are committed."""
    positions = dict.fromkeys(log, 0)
    runner.open(*log)

    def step() -> bool:
        if draw.random() < 0.3:
            tick()
        readable = [place for place in log if place not in runner.paused and positions[place] < len(log[place])]
        batch = []
        if readable and draw.random() < 0.7:
            place = draw.choice(readable)
            batch = log[place][positions[place] : positions[place] + draw.randint(1, most)]
        try:
            runner.put(batch)
            if batch:
                positions[place] += len(batch)
        except RetriableError:
            pass
        positions.update(runner.rewinds)
        runner.rewinds.clear()
        committed = runner.flush()
        return all(committed.get(place, 0) == len(records) for place, records in log.items())

    end = time.monotonic() + 240
    while not step():
        assert time.monotonic() < end, "not all offsets are committed"
