"""No truth test on data: 0, an empty text and no bytes are values like others, and not "none"."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kconnect.core.task

DATA = {"timestamp", "value", "key", "offset", "partition", "source_offset", "metadata"}
"""What records have, by the names of attributes, variables and calls."""
MODULES = sorted(Path(kconnect.core.task.__file__).parent.glob("*.py"))


def is_data(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        return isinstance(node.func, ast.Attribute) and node.func.attr in DATA
    return (isinstance(node, ast.Attribute) and node.attr in DATA) or (isinstance(node, ast.Name) and node.id in DATA)


def truth_tests(tree: ast.AST) -> Iterator[ast.expr]:
    """All that is taken for true or false in a module, as far as it can be seen."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp):
            yield from node.values[:-1]
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_value_is_taken_for_true_or_false(module: Path) -> None:
    found = [ast.unparse(node) for node in truth_tests(ast.parse(module.read_text())) if is_data(node)]
    assert not found


LINES = (
    "record.timestamp or 0",
    "message.value() or b''",
    "if not key: pass",
    "[1 for value in x if value]",
    "1 if offset else 2",
)


@pytest.mark.parametrize("line", LINES)
def test_such_a_test_is_seen(line: str) -> None:
    assert [node for node in truth_tests(ast.parse(line)) if is_data(node)]
