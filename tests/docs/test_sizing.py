"""Each figure of docs/sizing.md is in the table that its row links to, and what is computed from them is computed rightly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.docs.pages import DOCS
from tests.docs.test_pages import section

PAGE = DOCS / "sizing.md"
PERFORMANCE = DOCS / "performance.md"

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


class Row(NamedTuple):
    cells: list[str]
    section: str
    """The heading in docs/performance.md that its last cell links to."""

    @property
    def name(self) -> str:
        return self.cells[0]


def rows() -> Iterator[Row]:
    for line in PAGE.read_text("utf-8").splitlines():
        if link := re.search(r"\[([^\]]+)\]\(performance\.md#[\w-]+\) \|$", line):
            yield Row([cell.strip() for cell in line.strip("|").split("|")], link[1])


def numbers(text: str) -> list[str]:
    return _NUMBER.findall(text)


def value(number: str) -> float:
    return float(number.replace(",", ""))


ROWS = list(rows())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_figure_is_in_the_table_that_its_row_links_to(row: Row) -> None:
    table = section(PERFORMANCE, f"## {row.section}")
    measured = set(numbers(table))
    # 15.6 records are computed of the number in brackets.
    shown = numbers(row.cells[1].partition("(")[2] or row.cells[1])
    assert shown and set(shown) <= measured


def test_room_for_records_is_computed_of_cpu() -> None:
    computed = 0
    for row in ROWS:
        if len(row.cells) == 4:
            cpu, room = ([value(number) for number in numbers(cell)] for cell in row.cells[1:3])
            assert room == [pytest.approx(1_000_000 / each, rel=0.005) for each in cpu], row.name
            computed += len(cpu)
    assert computed >= 11


def test_records_of_internal_topics_are_computed() -> None:
    (row,) = [row for row in ROWS if "records for each idle connector" in row.cells[1]]
    each, records, connectors = map(value, numbers(row.cells[1]))
    assert each == pytest.approx(records / connectors, abs=0.05)


def test_the_example_adds_up() -> None:
    example = section(PAGE, "## An example")
    work = re.findall(r"^\| [^|]+ \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \|$", example, re.MULTILINE)
    assert len(work) == 3
    for records, cpu, cores in work:
        assert value(cores) == pytest.approx(value(records) * value(cpu) / 1_000_000, abs=0.005)
        assert cpu in numbers(section(PAGE, "## Cores for records"))
    (idle,) = re.findall(r"itself \(([\d.]+) %", example)
    assert idle in numbers(section(PERFORMANCE, "## Growth"))
    (total,) = re.findall(r"\| all \| \| \| ([\d.]+) \|", example)
    assert value(total) == pytest.approx(sum(value(cores) for _, _, cores in work) + value(idle) / 100, abs=0.02)
    (planned,) = re.findall(r"\| at 70 % \| \| \| ([\d.]+) \|", example)
    assert value(planned) == pytest.approx(value(total) / 0.7, abs=0.05)
