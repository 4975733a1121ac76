"""`kconnect backfill` by itself: what it takes of a config, how it shows progress, and what it says to wrong words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from kconnect.cli.backfill import backfill, handover, progress
from kconnect.cli.backfill.progress import Progress
from kconnect.errors import BadRequestError, ConflictError, NotFoundError

LSN = 100
RANGES = {"tables": [["public", "t", 5, 10, 2, 100]], "place": 0, "of": 1}
SEES = "7:7:"


class Worker:
    """Answers as a worker's client does, from what a test has written down."""

    def __init__(self, **parts: Any) -> None:
        self.parts = parts

    def connectors(self) -> list[str]:
        return list(self.parts.get("connectors", ["cdc", "cdc-backfill"]))

    def get_config(self, name: str) -> dict[str, str]:
        if name.endswith("-backfill"):
            return {"connector.class": self.parts.get("reader", "Backfill")}
        return dict(self.parts.get("config", {"connector.class": progress.DEBEZIUM}))

    def tasks(self, name: str) -> list[dict[str, Any]]:
        told = {"backfill.snapshot": json.dumps({"lsn": LSN, "sees": SEES}), "backfill.ranges": json.dumps(RANGES)}
        return [{"config": self.parts.get("task", told)}]

    def offsets(self, name: str) -> list[dict[str, Any]]:
        if not name.endswith("-backfill"):
            return list(self.parts.get("of_debezium", []))
        return list(self.parts.get("offsets", []))

    def status(self, name: str) -> dict[str, Any]:
        return {"connector": {"state": "RUNNING"}, "tasks": self.parts.get("tasks", [{"state": "RUNNING"}])}


def of_range(pages: str, lsn: int = LSN, **offset: Any) -> dict[str, Any]:
    partition = {"lsn": lsn, "schema": "public", "table": "t", "file": 5, "pages": pages}
    return {"partition": partition, "offset": {"sees": SEES, **offset}}


def look(**parts: Any) -> Progress:
    return progress.look(Worker(**parts), "cdc")  # type: ignore[arg-type]  # what the command asks of a client


def test_rows_and_ranges_of_this_backfill_are_counted() -> None:
    offsets = [of_range("0-10", rows=40, done=True), of_range("10-", rows=5), of_range("0-10", lsn=7, rows=1000, done=True)]
    found = look(offsets=offsets)
    assert (found.ranges, found.ranges_done, found.rows, found.rows_in_all) == (2, 1, 45, 100)
    assert str(found) == "RUNNING, 1 of 1 tasks RUNNING; 1 of 2 ranges, 45 of some 100 rows"
    assert found.rest_s(look(), 9.0) == 11.0
    assert found.rest_s(found, 9.0) is None


def test_once_all_is_read_that_is_said_whatever_tasks_are_left() -> None:
    done = {"partition": {"backfill": "done"}, "offset": {"lsn": LSN, "txId": 1, "ts_usec": 1}}
    found = look(offsets=[of_range("0-10", rows=40, done=True), of_range("10-", rows=60, done=True), done], task={})
    assert str(found) == "all ranges are read, 100 rows"
    found = look(offsets=[of_range("0-10", rows=40, done=True)], task={})
    assert str(found) == "RUNNING, 1 of 1 tasks RUNNING; all is read, and is being handed over"
    assert str(look(task={})) == "RUNNING, 1 of 1 tasks RUNNING; no tasks yet"


def test_ranges_of_another_snapshot_are_not_done_and_those_of_another_file_do_not_count() -> None:
    other_file = {"partition": {**of_range("0-10")["partition"], "file": 4}, "offset": {"sees": SEES, "rows": 7, "done": True}}
    odd = {"partition": None, "offset": None}
    found = look(offsets=[of_range("0-10", rows=40, done=True, sees="1:1:"), other_file, odd])
    assert (found.ranges_done, found.rows) == (0, 40)


def test_a_connector_of_that_name_that_is_another_one_is_left_alone() -> None:
    with pytest.raises(BadRequestError, match="cdc-backfill is no backfill of cdc, but a SqlSink"):
        look(reader="SqlSink")


def test_a_failure_is_told_with_its_trace() -> None:
    assert look(tasks=[{"state": "FAILED", "trace": "no room"}]).trace == "no room"


def test_what_is_not_there_or_another_connector_is_told() -> None:
    with pytest.raises(NotFoundError, match="kconnect backfill start cdc"):
        look(connectors=["cdc"])
    with pytest.raises(BadRequestError, match="cdc is a SqlSource"):
        progress.config_of(Worker(config={"connector.class": "SqlSource"}), "cdc")  # type: ignore[arg-type]
    # Debezium may have offsets of its own by a mistake: a backfill that has just begun is not deleted for that.
    for offsets in ([], [{"partition": {"server": "p"}, "offset": {"lsn": 1}}]):
        with pytest.raises(ConflictError, match="is not done"):
            handover.finish(Worker(of_debezium=offsets), "cdc")  # type: ignore[arg-type]


def test_the_reading_connector_has_the_config_but_for_what_is_its_own() -> None:
    config = {"connector.class": progress.DEBEZIUM, "name": "cdc", "tasks.max": "1", "topic.prefix": "p", "transforms": "x"}
    assert progress.reading_config(config, 4, "3.6.1.Final") == {
        "connector.class": "Backfill",
        "tasks.max": "4",
        "topic.prefix": "p",
        "transforms": "x",
        "backfill.debezium.version": "3.6.1.Final",
    }


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["start", "cdc", "--set", "nothing"], "--set nothing is no KEY=VALUE"),
        (["start", "cdc", "--tasks", "0"], "Invalid value for '--tasks'"),
        (["start", "cdc", "--rate", "0"], "Invalid value for '--rate'"),
        (["start"], "Missing argument 'NAME'"),
        (["begin", "cdc"], "No such command 'begin'"),
    ],
)
def test_wrong_words_are_told(words: list[str], text: str) -> None:
    result = CliRunner().invoke(backfill, words)
    assert result.exit_code == 2
    assert text in result.output
