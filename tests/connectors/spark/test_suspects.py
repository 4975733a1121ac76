"""A table that ends the Spark application whenever it is asked for, and the others that share it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from kconnect.api import ConnectError
from kconnect.connectors.spark import application
from kconnect.connectors.spark.application import Answer, Application, SparkFault


class Life:
    """
    An application that answers once it is told to, and ends once the table `bad` was asked for, if `kills` says so. `asked` are
    the tables that all lives were asked for.
    """

    kills = True
    asked: list[str]
    lives: list[Life]

    def __init__(self, *_: Any) -> None:
        self.ended = threading.Event()
        self.waiting: list[tuple[str, Future[Answer]]] = []
        self.lives.append(self)

    def ask(self, head: dict[str, Any], rows: Any) -> Future[Answer]:
        future: Future[Answer] = Future()
        self.asked.append(head["where"]["url"])
        self.waiting.append((head["where"]["url"], future))
        return future

    def go_on(self) -> None:
        """End, if the bad table is asked for; else answer all."""
        waiting, self.waiting = self.waiting, []
        is_end = self.kills and any(table == "bad" for table, _ in waiting)
        if is_end:
            self.ended.set()
        for _, future in waiting:
            if is_end:
                fault = SparkFault("the Spark application has ended", passes=True)
                fault.ended = True
                future.set_exception(fault)
            else:
                future.set_result(Answer("committed", None, None))


@pytest.fixture
def life(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Life]]:
    Life.asked, Life.lives, Life.kills = [], [], True
    monkeypatch.setattr(application, "_Life", Life)
    yield Life


def ask(spark: Application, table: str, do: str = "write") -> Future[Answer]:
    return spark.ask({"do": do, "format": "delta", "where": {"url": table}})


def test_a_table_that_ends_the_application_lets_others_be_written_to(life: type[Life]) -> None:
    """Whoever may write into the folder of one table has Spark end by its log: no other table was written to any more."""
    spark = Application({})
    done = {"good": 0, "other": 0}
    for _ in range(40):
        answers = {table: ask(spark, table) for table in ("bad", *done)}
        while not all(answer.done() for answer in answers.values()):
            life.lives[-1].go_on()
        for table in done:
            done[table] += answers[table].exception() is None
    assert life.asked.count("bad") == application._VERDICT
    assert all(count >= 37 for count in done.values())
    reason = str(ask(spark, "bad").exception())
    assert "has ended each of the last 4 times that this table was asked for. It is tried again in 10 min" in reason


def test_a_table_that_is_mended_is_asked_for_as_any_other(life: type[Life], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "_REST_S", 0.0)
    spark = Application({})
    for _ in range(6):
        answer = ask(spark, "bad")
        life.lives[-1].go_on()
        assert answer.exception() is not None
    life.kills = False
    first, second = ask(spark, "bad"), ask(spark, "bad")
    life.lives[-1].go_on()
    life.lives[-1].go_on()
    assert first.result().outcome == second.result().outcome == "committed"
    both = [ask(spark, "bad"), ask(spark, "bad")]
    assert [table for table, _ in life.lives[-1].waiting] == ["bad", "bad"]
    life.lives[-1].go_on()
    assert all(answer.done() for answer in both)


def test_a_process_that_was_killed_once_makes_nobody_a_suspect(life: type[Life]) -> None:
    spark = Application({})
    first = [ask(spark, table) for table in ("bad", "good", "other")]
    life.lives[-1].go_on()
    assert all(answer.exception() is not None for answer in first)
    life.kills = False
    again = [ask(spark, table) for table in ("bad", "good", "other")]
    assert len(life.lives[-1].waiting) == 3, "all at once"
    life.lives[-1].go_on()
    assert all(answer.exception() is None for answer in again)


def test_whoever_waits_is_told_that_spark_can_not_be_started(life: type[Life], monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Application({})
    for _ in range(2):
        ask(spark, "bad")
        life.lives[-1].go_on()

    def fails(*_: Any) -> None:
        raise ConnectError("no Python")

    monkeypatch.setattr(application, "_Life", fails)
    for _ in range(2):
        with pytest.raises(ConnectError, match="no Python"):
            ask(spark, "bad").result(0)
