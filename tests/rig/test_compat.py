"""
The parts of `scripts/compat` that need no worker: its table, what it makes of logs, and how rows take their turns.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.compat import logs, table
from tests.rig.compat.flows import Source
from tests.rig.compat.row import Case, Failed, Until
from tests.rig.compat.rows import EXACTLY_ONCE, SUITES
from tests.rig.compat.run import VERSIONS, CompatRun, Outcome

OUTCOMES = [
    Outcome("a paused source stays paused", "2.8.2"),
    Outcome("a paused source stays paused", "4.3.1", failure="in the turn of 4.3.1: it moved 3 lines"),
    Outcome("a stopped source stays stopped", "2.8.2", notes=["it shows PAUSED", "and so does kconnect"]),
    Outcome("a stopped source stays stopped", "4.3.1"),
    Outcome("offsets are altered there", "2.8.2", skipped="it has no request for it"),
    Outcome("offsets are altered there", "4.3.1", notes=["it shows PAUSED"]),
]

TABLE = """\
| | 2.8.2 | 4.3.1 |
| --- | --- | --- |
| a paused source stays paused | ok | fails |
| a stopped source stays stopped | ok [1] [2] | ok |
| offsets are altered there | – [3] | ok [1] |

1. it shows PAUSED
2. and so does kconnect
3. it has no request for it"""


def test_the_table_has_a_column_for_each_version_and_says_what_is_to_be_known() -> None:
    assert table.written(OUTCOMES) == TABLE


def test_a_table_is_read_back_as_it_was_written() -> None:
    document = table.replaced(f"Before.\n{table.BEGIN}\nold\n{table.END}\nAfter.\n", OUTCOMES)
    assert table.read(document) == table.cells(OUTCOMES)
    assert document.startswith("Before.") and document.endswith("After.\n") and "old" not in document


def test_each_cell_that_is_not_as_documented_is_told() -> None:
    documented = table.cells(OUTCOMES)
    assert table.differences(OUTCOMES, documented) == []
    observed = [Outcome("a paused source stays paused", "2.8.2", notes=["late"]), Outcome("new", "2.8.2")]
    assert table.differences(observed, documented) == [
        "a paused source stays paused, 2.8.2: observed ok; late, documented ok",
        "new, 2.8.2: observed ok, documented nothing",
    ]


def test_a_document_without_marks_is_not_written() -> None:
    with pytest.raises(ValueError, match="no marks"):
        table.replaced("# Nothing", OUTCOMES)


def test_the_documented_table_is_whole() -> None:
    """Every row that is played has its cell for every version, none of them a failure, and there is no other row."""
    documented = table.read(table.DOCUMENT.read_text("utf-8"))
    titles = {title for suite in SUITES for title in (suite.log, *(row.title for row in suite.rows))}
    assert documented.keys() == {(title, version) for title in titles for version in VERSIONS}
    assert {verdict for verdict, _ in documented.values()} == {"ok", "–"}


LINES = """\
[main] INFO org.apache.kafka.connect.runtime.Worker - Worker started
[KafkaBasedLog] ERROR org.apache.Store - Discarding config update record with invalid key: tasks-fencing-a
java.lang.IllegalStateException: ERROR in a trace
[main] ERROR org.apache.Store - Something new
"""


@pytest.mark.parametrize(
    ("version", "unexpected"),
    [
        ((2, 8, 2), ["[main] ERROR org.apache.Store - Something new"]),
        ((3, 4, 1), [line for line in LINES.splitlines() if " ERROR org" in line]),
    ],
)
def test_an_error_is_explained_by_the_version_that_logs_it(
    tmp_path: Path, version: tuple[int, ...], unexpected: list[str]
) -> None:
    log = tmp_path / "worker.log"
    log.write_text(LINES)
    why, found = logs.explained(log, 0, version)
    assert found == unexpected
    assert bool(why) == (version < (3, 3))


def test_only_what_came_since_the_worker_began_counts(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text(LINES)
    new = "2026-11-21 20:21:38.154 ERROR   kconnect.units.unit [a|task-0] Failed: KeyError"
    with log.open("a") as file:
        file.write(f"{new}\n")
    assert logs.explained(log, len(LINES), None) == ([], [new])


def test_what_no_row_can_be_played_with_is_told_and_starts_no_worker(tmp_path: Path) -> None:
    outcomes = CompatRun("127.0.0.1:1", tmp_path, suite=EXACTLY_ONCE).play(["2.8.2"])
    assert [each.row for each in outcomes] == [*(row.title for row in EXACTLY_ONCE.rows), EXACTLY_ONCE.log]
    assert {(each.skipped, each.failure) for each in outcomes} == {("exactly once is tried with 4.3.1 only", None)}


class Lines(Source):
    """What arrives is what a test says; nothing is read or run."""

    def add_destination(self) -> None:
        self.destinations.append(f"{len(self.destinations)}")
        self.came: list[str] = []

    def at(self, destination: str) -> list[str]:
        return self.came


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    # No topics and no worker: whoever asks for one fails.
    made = Lines(Case("row", (2, 8, 2), tmp_path, None, None, thorough=True))  # type: ignore[arg-type]
    made.send(3)
    return made


def arrives(lines: Lines) -> bool:
    waiting = next(lines.arrives())
    assert isinstance(waiting, Until)
    return bool(waiting.condition())


def test_a_row_goes_on_once_all_lines_have_come_in_their_order(lines: Lines) -> None:
    lines.came = lines.sent[:2]
    assert not arrives(lines)
    lines.came = lines.sent[:3]
    assert arrives(lines)


@pytest.mark.parametrize(
    ("came", "message"),
    [
        ((0, 0), "'row 0' comes again where 'row 1' belongs"),
        ((0, 2), "'row 2' is there where 'row 1' belongs"),
        ((0, 1, 2, 2), "'row 2' comes again after all had arrived"),
    ],
    ids=["repeated", "lost", "repeated at the end"],
)
def test_a_line_that_is_lost_or_comes_again_fails_the_row(lines: Lines, came: tuple[int, ...], message: str) -> None:
    lines.came = [lines.sent[number] for number in came]
    with pytest.raises(Failed, match=message):
        arrives(lines)


def test_a_line_that_comes_while_nothing_may_run_fails_the_row(lines: Lines) -> None:
    lines.came = lines.sent[:2]
    lines.nothing_came(but=2)
    with pytest.raises(Failed, match="row moved 1 lines while it was not to run"):
        lines.nothing_came(but=1)
