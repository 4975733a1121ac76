"""The linters, the formatters, the types and the import contracts are part of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


COMMANDS = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["mypy"],
    ["lint-imports"],
    ["python", "-m", "tests.rig.formatters"],
    ["hadolint", "docker/Dockerfile"],
]


# Beside other tests, a formatter in Java takes minutes.
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_findings(command: list[str]) -> None:
    done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
