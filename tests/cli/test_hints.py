"""Every command that kconnect tells its users to type can be typed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import kconnect
from kconnect.cli.checkup import workers
from kconnect.cli.main import cli
from kconnect.core.describe import advice
from tests.cli import examples

_ROOT = Path(kconnect.__file__).parent
# In backticks, or alone, or at the end of a sentence.
_HINT = re.compile(r"`(kconnect [a-z][^`]*)`|(?:^|: )(kconnect [a-z][^`.,]*)$")


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """With `x` for what is put in; not what describes the code."""
    bodies = [getattr(node, "body", None) for node in ast.walk(tree)]
    blocks = [body[0] for body in bodies if isinstance(body, list) and body]
    parts = {id(block.value) for block in blocks if isinstance(block, ast.Expr)}
    parts |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
            yield node.lineno, "".join(map(str, values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def _written() -> dict[str, str]:
    """Hints, and where they stand first."""
    found: dict[str, str] = {}
    for path in sorted(_ROOT.rglob("*.py")):
        for line, text in _texts(ast.parse(path.read_text("utf-8"))):
            for hit in _HINT.finditer(text):
                if hit[2] and path.parts[len(_ROOT.parts)] != "cli":
                    continue
                found.setdefault(" ".join((hit[1] or hit[2]).split()), f"{path.relative_to(_ROOT)}:{line}")
    return found


def test_hints_in_the_code_name_commands_and_options_that_are_there() -> None:
    found = _written()
    assert len(found) > 30
    wrong = {}
    for hint, where in found.items():
        words = shlex.split(hint)[1:]
        if words[0] == "x" or "…" in hint:
            continue
        try:
            examples.check(cli, words)
        except click.NoSuchOption as error:
            wrong[f"{where}: {hint}"] = error.format_message()
        except click.UsageError as error:
            # What names a command only is meant as that; whole lines are checked below.
            if "No such command" in error.format_message():
                wrong[f"{where}: {hint}"] = error.format_message()
    assert wrong == {}


@pytest.mark.parametrize("state", ["FAILED", "PAUSED", "STOPPED", "RUNNING", "UNASSIGNED", None])
@pytest.mark.parametrize("cause", ["DataException: x", "ClassNotFoundException: x", "x"])
def test_what_describe_advises_can_be_typed(state: str | None, cause: str) -> None:
    tasks = [{"id": 0, "state": "FAILED", "error": {"first_cause": cause, "reported_as": None}, "retrying": None}]
    found = {
        **{"name": "a b", "state": state, "type": "sink", "error": None, "retrying": None, "tasks": tasks, "moving": True},
        **{"numbers": {"skipped": 3, "in_per_s": 0}, "errors": {"topic": "dead"}, "topics": ["t"]},
        "lag": {"total": 5, "partitions": []},
    }
    retrying = {"since": 1, "reason": "task_configs(): ConnectError: away"}
    said = [*advice.of(found), *advice.of({**found, "tasks": [], "moving": False}), *advice.of({**found, "retrying": retrying})]
    typed = [hit for text in said for hit in re.findall(r"`(kconnect [^`]*)`", text)]
    assert typed
    for hint in typed:
        examples.check(cli, shlex.split(hint)[1:])


def test_what_the_doctor_says_of_a_failed_connector_can_be_typed() -> None:
    status = {"connector": {"state": "FAILED"}, "tasks": []}
    (finding,) = workers._failed({"t 5": {"status": status}})
    assert shlex.split(finding.remedy) == ["kconnect", "describe", "connector", "t 5"]
    examples.check(cli, shlex.split(finding.remedy)[1:])
