"""TypeScript's compiler reads the console's modules."""

from __future__ import annotations

from pathlib import Path

import pytest

import kconnect.console
from tests.rig.systems.browser import check_types

CONSOLE = Path(kconnect.console.__file__).parent

pytestmark = pytest.mark.process


def test_types_fit() -> None:
    assert check_types(CONSOLE) == ""


@pytest.mark.long
def test_what_does_not_fit_is_found(tmp_path: Path) -> None:
    for file in CONSOLE.iterdir():
        if file.suffix in (".js", ".json"):
            (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    with open(tmp_path / "main.js", "a") as main:
        main.write("feed.rows.get(7);\n")
    assert "error TS2345" in check_types(tmp_path)
