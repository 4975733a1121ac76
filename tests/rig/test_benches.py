"""What benches share, without running one: tables, plots, and that the page of their results is made of the lines beside it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.pages import DOCS
from tests.rig.benches import page, results
from tests.rig.benches.results import CONNECT, KCONNECT, Results, Row

SVG = "{http://www.w3.org/2000/svg}"
RUN = {
    "command": "scripts/bench b",
    "date": "2026-01-01 00:00 UTC",
    "minutes": 1,
    "quick": False,
    "versions": {"kconnect": "0.1"},
}


def row(workload: str = "w", side: str = KCONNECT, *values: float, measure: str = "CPU a record", bench: str = "b") -> Row:
    return Row(bench, workload, side, measure, "µs", values)


def test_a_table_of_both_sides_compares_rounds_in_pairs() -> None:
    found = results.table([row("w", KCONNECT, 1, 2, 9), row("w", CONNECT, 2, 8, 10), row("alone", KCONNECT, 1234.5)])
    assert found == [
        ["", "measure", "kconnect", "Connect", "ratio"],
        ["w", "CPU a record, µs", "2.00 (1.00–9.00)", "8.00 (2.00–10.0)", "0.50"],
        ["alone", "CPU a record, µs", "1,234", "–", "–"],
    ]


def test_a_table_of_one_side_has_a_line_a_workload() -> None:
    found = results.table([row("100", KCONNECT, 12.34), row("300", KCONNECT, 3), row("300", KCONNECT, 4, measure="memory")])
    assert found == [["", "CPU a record, µs", "memory, µs"], ["100", "12.3", "–"], ["300", "3.00", "4.00"]]


def test_nothing_is_divided_by_nothing() -> None:
    assert results.ratio(row("w", KCONNECT, 1), row("w", CONNECT, 0)) == "–"


@pytest.mark.parametrize(("share", "expected"), [(50, 501), (99, 991), (99.9, 1000), (0, 1)])
def test_percentiles(share: float, expected: int) -> None:
    assert results.percentile(range(1, 1001), share) == expected


def test_lines_of_json_give_the_rows_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines"
    made = Results("b", file)
    made.add("w", KCONNECT, "CPU a record", "µs", 1.0, 2.0)
    results.append(file, {**RUN, "bench": "b"})
    made.add("w", CONNECT, "CPU a record", "µs", 3.0)
    made.show()
    assert "w " in capsys.readouterr().out
    # What a bench found before it was run again is gone.
    assert results.read(file) == ({"b": {**RUN, "bench": "b"}}, [row("w", CONNECT, 3.0)])


def test_the_page_keeps_what_was_written_by_hand_and_the_benches_that_were_not_run(tmp_path: Path) -> None:
    runs = {name: {**RUN, "bench": name} for name in ("throughput", "rest")}
    page.write(
        tmp_path,
        runs,
        [row("first", KCONNECT, 1.0, bench="throughput"), row("asked", KCONNECT, 2.0, bench="rest")],
    )
    file = tmp_path / page.PAGE
    file.write_text(file.read_text("utf-8") + "By hand.\n", "utf-8")
    page.write(tmp_path, runs, [row("second", KCONNECT, 3.0, bench="throughput")])
    text = file.read_text("utf-8")
    assert text.endswith(f"{page.HAND}\nBy hand.\n")
    assert "| second | 3.00 |" in text and "| asked | 2.00 |" in text and "first" not in text


@pytest.mark.parametrize(
    "rows",
    [
        [row("w", side, 2.0, bench="throughput") for side in results.SIDES],
        [row(f"{rate} a second", side, 2.0, measure="p99", bench="latency") for side in results.SIDES for rate in (100, 5000)],
        [row(f"{count:,} idle", KCONNECT, count / 10, measure="memory", bench="growth") for count in (0, 100, 1000)],
        [
            Row("memory", workload, KCONNECT, "memory", "MiB", (5.0,))
            for workload in ("0 restarts", "500 restarts", "1,000 restarts", "slope, for 1,000 restarts")
        ],
    ],
    ids=lambda rows: rows[0].bench,
)
def test_plots(rows: list[Row]) -> None:
    drawn = page.plots(rows)
    assert page.plots(rows) == drawn
    (svg,) = drawn.values()
    texts = {element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert texts & {KCONNECT, "memory", "w"}


def test_the_page_is_made_of_its_lines() -> None:
    runs, rows = results.read(DOCS / page.LINES)
    text, hand, _ = (DOCS / page.PAGE).read_text("utf-8").partition(page.HAND)
    assert (text, hand) == (page.text(runs, rows), page.HAND)
    folder = (DOCS / page.LINES).parent
    assert {path.name: path.read_text("utf-8") for path in folder.glob("*.svg")} == page.plots(rows)
