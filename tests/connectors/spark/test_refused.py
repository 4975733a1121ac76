"""
Rows that a table does not take are found, told as bad records, and the others get into the tables: SparkSink with a Spark in
memory and random histories, and with Spark and a constraint of Delta. Each rule is taken out once, and found.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kconnect.api import INT32_SCHEMA, STRING_SCHEMA, ConnectError, SinkRecord, Struct, TopicPartition, schema
from kconnect.connectors.interrupts import Waiter
from kconnect.connectors.lake.narrowing import Narrowing
from kconnect.connectors.lake.pending import Pending
from kconnect.connectors.spark import application
from kconnect.connectors.spark.application import Answer, SparkFault
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.task import SparkSinkTask
from kconnect.testing import SinkRunner
from tests.connectors.spark.tables import play
from tests.support import starts

ROW = schema.struct({"id": INT32_SCHEMA, "kind": STRING_SCHEMA})
PLACES = [TopicPartition("orders", number) for number in range(3)]


class Spark:
    """An application in memory: its tables refuse rows whose id is one of `bad`. Writes are answered by `tick`."""

    def __init__(self, draw: random.Random, bad: set[int]) -> None:
        self.draw, self.bad = draw, bad
        self.is_sure, self.always_stale = True, False
        self.rows: dict[str, list[int]] = {}
        self.offsets: dict[str, dict[str, dict[str, int]]] = {}
        self.waiting: list[Callable[[], None]] = []

    def ask(self, head: dict[str, Any], rows: pa.Buffer | None = None) -> Future[Answer]:
        answer: Future[Answer] = Future()
        if head["do"] == "write":
            self.waiting.append(lambda: self._write(head, rows, answer))
        else:
            answer.set_result(self._told("there", ".".join(head["where"]["table"])))
        return answer

    def tick(self) -> None:
        if self.waiting:
            self.waiting.pop(0)()

    def _write(self, head: dict[str, Any], rows: pa.Buffer | None, answer: Future[Answer]) -> None:
        name = ".".join(head["where"]["table"])
        offsets = self.offsets.get(name, {})
        if self.always_stale or any(
            offsets.get(topic, {}).get(str(partition)) != begin for topic, partition, begin in head["begins"]
        ):
            answer.set_result(self._told("stale", name))
            return
        ids = pa.ipc.open_stream(rows).read_all().column("id").to_pylist()
        if self.bad.intersection(ids):
            sure = self.is_sure
            answer.set_exception(SparkFault("a constraint is broken", passes=not sure, blames=sure, perhaps=not sure))
            return
        self.rows.setdefault(name, []).extend(ids)
        kept = self.offsets.setdefault(name, {})
        for topic, partition, end in head["ends"]:
            kept.setdefault(topic, {})[str(partition)] = end
        answer.set_result(self._told("committed", name))

    def _told(self, outcome: str, name: str) -> Answer:
        if name not in self.rows:
            return Answer(outcome, None, None)
        table = {"identity": name, "columns": [], "offsets": self.offsets[name], "ids": {}}
        return Answer(outcome, table, pa.schema({"id": pa.int32(), "kind": pa.string()}))


def record(place: TopicPartition, offset: int, number: int, kind: str) -> SinkRecord:
    return SinkRecord(place.topic, place.partition, None, None, ROW, Struct(ROW, {"id": number, "kind": kind}), offset)


def config_of(folder: Path, **more: str) -> dict[str, str]:
    return {
        "name": "lake",
        "topics": "orders",
        "errors.tolerance": "all",
        "lake.format": "iceberg",
        "lake.store.url": f"file://{folder}",
        "lake.tables": "shop.x",
        "lake.tables.auto-create-enabled": "true",
        "lake.commit.interval-ms": "0",
        **more,
    }


def history(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return what is wrong after a random history."""
    draw = random.Random(seed)
    numbers = iter(range(10_000))
    log = {
        place: [
            record(place, offset, next(numbers), draw.choice(("shop.a", "shop.b"))) for offset in range(draw.randint(1, 60))
        ]
        for place in PLACES[: draw.randint(1, 3)]
    }
    every = [each.value["id"] for records in log.values() for each in records]
    spark = Spark(draw, set(draw.sample(every, min(len(every), draw.randint(1, 5)))))
    in_memory(monkeypatch, spark)
    by_field = {"lake.tables.dynamic-enabled": "true", "lake.tables.route-field": "kind"} if draw.random() < 0.5 else {}
    config = config_of(folder, **by_field)
    with SinkRunner(SparkSinkConnector, config) as runner:
        play(runner, log, draw, spark.tick, draw.choice((3, 20)))
        reported = {each.value["id"] for each, _ in runner.reported}
    there = Counter(number for rows in spark.rows.values() for number in rows)
    good = set(every) - spark.bad
    wrong = Counter({"lost": len(good - there.keys()), "doubled": sum(count - 1 for count in there.values())})
    wrong["not told"] = len(spark.bad - reported)
    wrong["told for nothing"] = len(reported - spark.bad)
    return +wrong


def histories(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> Counter[str]:
    wrong: Counter[str] = Counter()
    for seed in range(count):
        with monkeypatch.context() as own:
            wrong += history(seed, folder, own)
    return wrong


def test_each_refused_record_is_told_and_all_others_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert histories(tmp_path, monkeypatch, 60) == {}


def test_what_is_not_held_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: records behind those of a smaller commit are passed over, and nobody goes back for them."""
    monkeypatch.setattr(Pending, "hold", lambda self, name, place, offset: None)
    assert histories(tmp_path, monkeypatch, 20)["lost"]


def test_of_more_than_one_none_is_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the first record of whatever is refused is called bad."""
    refuse = Narrowing.refuse

    def hasty(self: Narrowing, waiting: dict[TopicPartition, tuple[int, int]], reason: str) -> int:
        place, (first, _) = next(iter(waiting.items()))
        self._bad[place, first] = reason
        return refuse(self, waiting, reason)

    monkeypatch.setattr(Narrowing, "refuse", hasty)
    assert histories(tmp_path, monkeypatch, 20)["told for nothing"]


def in_memory(monkeypatch: pytest.MonkeyPatch, spark: Spark) -> None:
    made = application.Application({})
    monkeypatch.setattr(made, "ask", spark.ask)
    monkeypatch.setattr(application, "of", lambda worker: made)
    # Who waits for Spark has it go on.
    monkeypatch.setattr(Waiter, "wait_for_any", lambda self, answers, seconds: spark.tick())


def test_a_table_that_is_always_another_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were made anew each time, and never committed: the task went round, RUNNING, and said nothing."""
    draw, place = random.Random(1), PLACES[0]
    spark = Spark(draw, set())
    in_memory(monkeypatch, spark)
    log = [record(place, offset, offset, "x") for offset in range(4)]
    more = {"max.retries": "2", "retry.backoff.ms": "1"}
    with SinkRunner(SparkSinkConnector, config_of(tmp_path, **more)) as runner:
        play(runner, {place: log[:2]}, draw, spark.tick, 2)
        spark.always_stale = True
        with pytest.raises(ConnectError, match=r"20 times in a row it had other columns or offsets.*max\.retries is 2"):
            play(runner, {place: log}, draw, spark.tick, 4)


def test_a_table_that_others_have_set_back_gets_its_records_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Iceberg's `rollback_to_snapshot` takes rows away, and the offsets with them: what came between was never there again."""
    draw, place = random.Random(1), PLACES[0]
    spark = Spark(draw, set())
    in_memory(monkeypatch, spark)
    log = [record(place, offset, offset, "x") for offset in range(7)]
    with SinkRunner(SparkSinkConnector, config_of(tmp_path)) as runner:
        task = runner.task
        assert isinstance(task, SparkSinkTask)
        play(runner, {place: log[:2]}, draw, spark.tick, 2)
        play(runner, {place: log[:5]}, draw, spark.tick, 5)
        assert spark.rows["shop.x"] == [0, 1, 2, 3, 4]
        spark.rows["shop.x"], spark.offsets["shop.x"] = [0, 1], {"orders": {"0": 2}}
        play(runner, {place: log[:6]}, draw, spark.tick, 6)
        assert spark.rows["shop.x"] == [0, 1, 2, 3, 4, 5]
        assert "are read again from offset 2" in caplog.text
        spark.rows["shop.x"], spark.offsets["shop.x"] = [], {}
        with pytest.raises(ConnectError, match=r"set it back.*kconnect offsets set"):
            play(runner, {place: log}, draw, spark.tick, 7)


def test_a_table_that_has_taken_rows_is_not_to_blame_for_what_one_commit_fails_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown error of a writer: a text that is no UUID, in a column of Iceberg's of which Spark sees a text."""
    draw, place = random.Random(1), PLACES[0]
    spark = Spark(draw, {10})
    spark.is_sure = False
    in_memory(monkeypatch, spark)
    log = [record(place, offset, offset, "x") for offset in range(15)]
    more = {"max.retries": "2", "retry.backoff.ms": "1"}
    with SinkRunner(SparkSinkConnector, config_of(tmp_path, **more)) as runner:
        play(runner, {place: log[:5]}, draw, spark.tick, 5)
        play(runner, {place: log}, draw, spark.tick, 15)
        assert {bad.original_offset for bad, _ in runner.reported} == {10}
    assert sorted(spark.rows["shop.x"]) == [offset for offset in range(15) if offset != 10]
    # The control: one that has taken none.
    with SinkRunner(SparkSinkConnector, config_of(tmp_path, name="other", **more)) as runner:
        spark.rows.clear()
        spark.offsets.clear()
        spark.bad = {0}
        with pytest.raises(ConnectError, match=r"max\.retries is 2"):
            play(runner, {place: log}, draw, spark.tick, 15)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("tolerance", [pytest.param("all", marks=pytest.mark.long), "none"])
@starts("process")
def test_a_constraint_is_broken_by_some_records(
    tmp_path: Path, python: dict[str, str], monkeypatch: pytest.MonkeyPatch, tolerance: str
) -> None:
    monkeypatch.setattr(SparkSinkTask, "worker", python)
    monkeypatch.setattr(SparkSinkConnector, "worker", python)
    folder = tmp_path / "lake" / "shop" / "orders"
    folder.mkdir(parents=True)
    table = DeltaTable.create(str(folder), pa.schema({"id": pa.int32(), "kind": pa.string()}))
    table.alter.add_constraint({"small": "id < 100"})
    config = {
        "name": "lake",
        "topics": "orders",
        "errors.tolerance": tolerance,
        "lake.format": "delta",
        "lake.store.url": f"file://{tmp_path / 'lake'}",
        "lake.tables": "shop.orders",
        "lake.commit.interval-ms": "0",
    }
    pause = threading.Event()

    def wait() -> None:
        pause.wait(0.2)

    place, numbers = PLACES[0], [1, 2, 100, 3, 4, 5, 101, 6]
    log = {place: [record(place, offset, number, "needle") for offset, number in enumerate(numbers)]}
    with SinkRunner(SparkSinkConnector, config) as runner:
        if tolerance == "none":
            with pytest.raises(ConnectError, match=r"The record at offset 2 of orders-0 .*refuses it: .*small"):
                play(runner, log, random.Random(1), wait, 8)
            return
        play(runner, log, random.Random(1), wait, 8)
        assert [(each.original_offset, "needle" in str(error)) for each, error in runner.reported] == [(2, False), (6, False)]
    assert sorted(DeltaTable(str(folder)).to_pyarrow_table().column("id").to_pylist()) == [1, 2, 3, 4, 5, 6]
