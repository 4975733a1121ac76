"""`kconnect backfill` by itself: how it shows progress, and what it says to wrong words."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from kconnect.cli.backfill import backfill, progress


def state(**other: Any) -> Any:
    return {
        "state": "RUNNING",
        "tasks": {"RUNNING": 1, "FAILED": 1},
        "done": False,
        "ranges": 2,
        "ranges_done": 1,
        "rows": 4500,
        "rows_in_all": 10_000,
        "rows_per_s": None,
        "rest_s": None,
        "held": {"snapshot_s": None, "transactions": None, "log_bytes": None},
        **other,
    }


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({}, "RUNNING, 1 of 2 tasks RUNNING; 1 of 2 ranges, 4,500 of some 10,000 rows"),
        ({"rows_in_all": 4000}, "RUNNING, 1 of 2 tasks RUNNING; 1 of 2 ranges, 4,500 rows"),
        (
            {"rows_per_s": 1234.5, "rest_s": 4},
            "RUNNING, 1 of 2 tasks RUNNING; 1 of 2 ranges, 4,500 of some 10,000 rows; 1,234 rows a second, some 4 s left",
        ),
        ({"done": True}, "all ranges are read, 4,500 rows"),
        ({"ranges": 0, "rows": 0, "tasks": {}}, "RUNNING, 0 of 0 tasks RUNNING; no tasks yet"),
        ({"ranges": 0}, "RUNNING, 1 of 2 tasks RUNNING; all is read, and is being handed over"),
    ],
)
def test_progress_in_words(other: dict[str, Any], text: str) -> None:
    assert progress.text(state(**other)) == text


def test_what_the_database_holds_back_is_told_once_it_is_known() -> None:
    held = {"snapshot_s": 61.0, "transactions": 1234.0, "log_bytes": 3 * 2.0**20}
    assert progress.held(state()) is None
    assert progress.held(state(held=held, done=True)) is None
    assert progress.held(state(held=held)) == (
        "The snapshot is 61 s old: VACUUM keeps what 1,234 transactions have replaced since, and 3.0 MiB of the log are kept"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["start", "cdc", "--set", "nothing"], "--set nothing is no KEY=VALUE"),
        (["start", "cdc", "--tasks", "0"], "Invalid value for '--tasks'"),
        (["start", "cdc", "--rate", "0"], "Invalid value for '--rate'"),
        (["start"], "Missing argument 'NAME'"),
        (["again", "cdc", "public.t", "--stop"], "--stop ends all reading again"),
        (["again", "cdc", "--where", "id > 1"], "--where needs a TABLE"),
        (["begin", "cdc"], "No such command 'begin'"),
    ],
)
def test_wrong_words_are_told(words: list[str], text: str) -> None:
    result = CliRunner().invoke(backfill, words)
    assert result.exit_code == 2
    assert text in result.output
