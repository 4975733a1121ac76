"""
The list of all advice: what the product tells people to do, by the places in the code that say it.

Called by `test_advice.py`; `python -m tests.docs.advice` writes the list. Advice is a remedy of a check (`Finding`, `Problem`),
a sentence of `core/describe/advice.py`, and any text with a command of ours in backticks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import kconnect

ROOT = Path(kconnect.__file__).parent
_COMMAND = re.compile(r"`kconnect [a-z][^`]*`")
_CHECKS = {"Finding": 4, "Problem": 4}
"""What checks make, and which of its values is the remedy."""
_SAYS_ALL = "core/describe/advice.py"


@dataclass(frozen=True)
class Advice:
    """`line` is that of the statement, in the file at `path` below kconnect/; `text` has `…` for what is put in."""

    path: str
    line: int
    text: str


def listed() -> list[Advice]:
    """Return all of it, a statement at a time, in the order of files and lines."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for statement in _statements(ast.parse(path.read_text("utf-8"))):
            if texts := list(dict.fromkeys(_advice(statement, name))):
                found.append(Advice(name, statement.lineno, " | ".join(texts)))
    return found


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """What is run at a call: simple statements, and the heads of others, within functions."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                if isinstance(node, (ast.Expr, ast.Return, ast.Assign, ast.AugAssign, ast.Raise)) and not is_docstring:
                    yield node


def _advice(statement: ast.stmt, path: str) -> Iterator[str]:
    if path == _SAYS_ALL and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
        yield from _texts(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and (place := _CHECKS.get(_name(node.func))) is not None:
            for remedy in [*node.args[place : place + 1], *(each.value for each in node.keywords if each.arg == "remedy")]:
                yield from _texts(remedy) or ["…"]
    yield from (text for text in _texts(statement) if _COMMAND.search(text))


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _texts(tree: ast.AST) -> list[str]:
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            found.append(node.value)
    return [text for text in found if " " in text]


if __name__ == "__main__":
    sys.stdout.writelines(f"{each.path}:{each.line}  {each.text}\n" for each in listed())
