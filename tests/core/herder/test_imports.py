"""Modules of the herder's folder import each other in one direction only, for types as well; and none of them the herder."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = "kconnect.core.herder"
FOLDER = ROOT.joinpath(*PACKAGE.split("."))
SOURCES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8") for path in FOLDER.rglob("*.py")}


def imported(source: str) -> Iterator[str]:
    """Whatever stands in an import anywhere in it: below TYPE_CHECKING, too, and in functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
            yield node.module or ""


def graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    return {module: {name for name in imported(source) if name in sources} for module, source in sources.items()}


def test_there_is_no_cycle() -> None:
    found = graph(SOURCES)
    assert len(found) > 30
    assert sum(map(len, found.values())) > 100, "the control: imports are found"
    TopologicalSorter(found).prepare()


def test_nobody_gets_the_herder() -> None:
    assert [module for module, names in graph(SOURCES).items() if f"{PACKAGE}.herder" in names] == []


@pytest.mark.parametrize(
    "line",
    [
        f"from {PACKAGE}.leader import Leading",
        f"if TYPE_CHECKING:\n    from {PACKAGE} import leader",
        f"def late():\n    import {PACKAGE}.request",
        f"from {PACKAGE}.requests import configs",
    ],
)
def test_a_cycle_is_found(line: str) -> None:
    desk = f"{PACKAGE}.desk"
    with pytest.raises(CycleError):
        TopologicalSorter(graph({**SOURCES, desk: f"{SOURCES[desk]}\n{line}\n"})).prepare()
