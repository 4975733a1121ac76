"""The heads of modules: each file that one names is there, and who is said to call or hold a module imports it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path for folder in ("kconnect", "tests/rig", "scripts") for path in (ROOT / folder).rglob("*.py") if path.stat().st_size
)

_FILE = re.compile(r"`([\w./-]+\.py)`")
_CALLERS = re.compile(
    r"\b(?:called|used|held|made|asked|run|read|started)(?:,? [\w']+){0,2}? by ((?:`[\w./-]+\.py`(?:,? and |, )?)+)", re.I
)


def head(path: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split())


def found(name: str, path: Path) -> Path | None:
    """The file that a head means: beside it, in a folder above, in the package, or in the tests' rig."""
    above = [folder for folder in path.parents if folder.is_relative_to(ROOT)]
    places = [*above, ROOT / "kconnect", ROOT / "tests" / "rig"]
    return next((place / name for place in places if (place / name).is_file()), None)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_head(path: Path) -> None:
    said = head(path)
    assert said, "a module says at its head what it is"
    missing = [name for name in _FILE.findall(said) if found(name, path) is None]
    assert not missing, f"its head names {missing}, which is not there"
    module = path.relative_to(ROOT).with_suffix("")
    name = module.parent.name if module.name == "__init__" else module.name
    for callers in _CALLERS.findall(said):
        for caller in _FILE.findall(callers):
            text = (found(caller, path) or path).read_text("utf-8")
            assert re.search(rf"\b{name}\b", text), f"its head says that {caller} calls it, which does not name it"
