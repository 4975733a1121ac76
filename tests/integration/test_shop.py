"""`scripts/demo --shop --once`, as a user types it: made-up orders are in the table and in the files, each once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]


@pytest.mark.parametrize("option", ["--shop", "--lake"])
def test_every_order_is_where_it_should_be(postgres_programs: Path, option: str) -> None:
    command = [sys.executable, "-m", "tests.rig.shop", option, "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("OK: 5,000 orders were made, ")
    assert "each once" in done.stdout
