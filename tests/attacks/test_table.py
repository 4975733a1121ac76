"""
The table at the end of SECURITY.md: every part of the product that data from outside passes has rows there, and each row
names a check in the code and the tests that attack it.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HEAD = "| where | what others may write | could reach | what checks it | tried by |"
PARTS = (
    "kconnect.connectors",
    "kconnect.transforms",
    "kconnect.predicates",
    "kconnect.converters",
    "kconnect.config_providers",
)
OTHERS = (
    *("dead letter queue", "kconnect dlq", "kconnect preview", "console", "REST", "plugin install", "schema registry"),
    'format("kconnect")',
)


def rows() -> list[list[str]]:
    """Return the cells of the table's rows."""
    lines = (ROOT / "SECURITY.md").read_text("utf-8").splitlines()
    begin = lines.index(HEAD) + 2
    table = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def entry_points() -> list[str]:
    """Return the names of the plugins in the box, a class for keys and one for values counting as one."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", "utf-8")
    text = parser["options.entry_points"]
    names = [line.partition("=")[0].strip() for part in PARTS for line in text[part].splitlines() if line.strip()]
    whole = ("ValueToKey", "HasHeaderKey")
    return sorted({name if name in whole else re.sub(r"(?<=[a-z])(Key|Value)$", "", name) for name in names})


@pytest.mark.parametrize("name", [*entry_points(), *OTHERS])
def test_every_part_that_data_passes_has_a_row(name: str) -> None:
    where = " ".join(row[0] for row in rows())
    assert re.search(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", where), f"SECURITY.md's table has no row for {name}"


def test_every_row_names_a_check_and_attacks_that_are_there() -> None:
    table = rows()
    assert len(table) > 20
    for row in table:
        assert len(row) == 5 and all(row), f"A cell is empty: {row}"
        for path in re.findall(r"`((?:kconnect|tests)/[\w/]+\.py)`", " ".join(row[3:])):
            assert (ROOT / path).is_file(), f"{path} is not there: {row}"
        assert re.search(r"`kconnect/[\w/]+\.py`", row[3]), f"No module checks it: {row}"
        attacks = re.findall(r"`(tests/[\w/]+\.py)`", row[4])
        assert attacks, f"Nothing tries it: {row}"
        for path in attacks:
            assert re.search(r"^\s*def test_", (ROOT / path).read_text("utf-8"), re.MULTILINE)
