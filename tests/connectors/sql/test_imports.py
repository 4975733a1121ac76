"""
SQLAlchemy is imported from its top: whoever begins with a part of it, while another thread imports the whole, gets half of it.

A host starts a connector and its tasks at once, each in a thread.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kconnect.connectors

ROOT = Path(kconnect.connectors.__file__).parent
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "sqlalchemy" in path.read_text("utf-8")]


def first_import(path: Path) -> str | None:
    """The first name of SQLAlchemy that a module imports when it is loaded."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sqlalchemy":
            return node.module
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] == "sqlalchemy":
                    return name.name
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sqlalchemy_is_imported_from_its_top(path: Path) -> None:
    assert first_import(path) in ("sqlalchemy", None)


def test_there_are_such_modules() -> None:
    assert sum(first_import(path) is not None for path in FILES) > 5
