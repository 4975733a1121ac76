"""Tables: what is cut where a terminal is too narrow, and what never is."""

from __future__ import annotations

import pytest

from kconnect.cli import layout

HEADS = ("CONNECTOR", "STATE", "WORKER", "LAG")
ROWS = [
    ("c" * 60, "1 FAILED, 2 UNASSIGNED", "http://worker-7.connect.prod.acme.com:8083", "1,234,567"),
    ("d", "RUNNING", "w", "0"),
]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int | None:
    monkeypatch.setattr(layout, "width", lambda: request.param)
    found: int | None = request.param
    return found


@pytest.mark.parametrize("columns", [None, 200], indirect=True)
def test_nothing_is_cut_where_there_is_room_or_no_terminal(columns: int | None) -> None:
    lines = layout.table(HEADS, ROWS, right=("LAG",))
    assert lines[1].split("  ") == list(ROWS[0])
    assert layout.table(HEADS, ROWS, lead="  ") == [f"  {line}" for line in layout.table(HEADS, ROWS)]


@pytest.mark.parametrize("columns", [80], indirect=True)
def test_names_are_cut_in_the_middle_and_the_first_least(columns: int) -> None:
    heading, row, _ = layout.table(HEADS, ROWS, right=("LAG",), lead="  ")
    assert (heading.split(), len(row)) == (list(HEADS), columns)
    name, state, worker, lag = row.split("  ")[1:]
    assert (state, lag) == (ROWS[0][1], ROWS[0][3])
    assert (worker, name) == ("http:/…:8083", f"{'c' * 14}…{'c' * 14}")
    assert layout.table(HEADS, ROWS, whole=True)[1].startswith(ROWS[0][0])


@pytest.mark.parametrize("columns", [30], indirect=True)
def test_something_of_each_name_stays(columns: int) -> None:
    assert layout.table(HEADS, [("名" * 30, *ROWS[0][1:])])[1].startswith("名名名… 名名  1 FAILED")
