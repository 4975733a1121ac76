"""A test with processes that failed is run once more (`scripts/again.py`); what it may not forgive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parent.parent / "scripts" / "again.py"

pytestmark = pytest.mark.process

MANY = [f"test_passes_{number}" for number in range(6)]


def again(tmp_path: Path, failed: dict[str, bool], *statuses: int) -> subprocess.CompletedProcess[str]:
    """`failed`: whether the test of this name in a module of two, of which `passes` passes and `fails` fails, has processes."""
    module = tmp_path / "test_some.py"
    passing = "".join(f"def {name}(): pass\n" for name in ("test_passes", "test_passes_too", *MANY))
    module.write_text(passing + "def test_fails(): assert 1 == 2\n")
    failures = tmp_path / "failures"
    failures.write_text("".join(json.dumps([f"{module}::{name}", kind]) + "\n" for name, kind in failed.items()))
    command = [sys.executable, str(_SCRIPT), str(failures), *map(str, statuses)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_a_run_without_failures_passes(tmp_path: Path) -> None:
    assert again(tmp_path, {}, 0, 0).returncode == 0


def test_what_passes_alone_is_named_at_the_end(tmp_path: Path) -> None:
    ended = again(tmp_path, {"test_passes": True, "test_passes_too": True}, 1, 0)
    assert ended.returncode == 0, ended.stdout
    assert [line.rsplit("::")[-1] for line in ended.stdout.splitlines() if line.startswith("FLAKY ")] == [
        "test_passes",
        "test_passes_too",
    ]


@pytest.mark.parametrize(
    ("failed", "statuses"),
    [
        pytest.param({"test_fails": True}, (1, 0), marks=pytest.mark.long),
        ({"test_passes": True, "test_fails": True}, (1,)),
        ({"test_passes": False}, (1, 0)),
        ({"test_passes": True, "test_passes_too": False}, (1,)),
        ({"test_passes": True}, (1, 2)),
        ({}, (1,)),
        (dict.fromkeys(MANY, True), (1, 1)),
    ],
    ids=[
        "fails again",
        "one of two fails again",
        "has no processes",
        "one has none",
        "pytest was ended",
        "no name",
        "too many",
    ],
)
def test_all_else_fails_the_run(tmp_path: Path, failed: dict[str, bool], statuses: tuple[int, ...]) -> None:
    ended = again(tmp_path, failed, *statuses)
    assert ended.returncode == 1
    assert "FLAKY" not in ended.stdout


def test_what_failed_is_written_down(tmp_path: Path) -> None:
    """By the conftest that all tests have: here for copies of it and of a module in a folder of its own."""
    folder = tmp_path / "other"
    folder.mkdir()
    hook = "from tests.conftest import pytest_runtest_logreport\n"
    (folder / "conftest.py").write_text(hook)
    (folder / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.fixture\n"
        "def broken(): raise OSError\n"
        "def test_pure(): assert 1 == 2\n"
        "@pytest.mark.process\n"
        "def test_process(): assert 1 == 2\n"
        "@pytest.mark.integration\n"
        "def test_broker(broken): pass\n"
        "def test_passes(): pass\n"
    )
    failures = tmp_path / "failures"
    root = str(_SCRIPT.parent.parent)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": root, "KCONNECT_TEST_FAILURES": str(failures)}
    command = [sys.executable, "-m", "pytest", "--import-mode=importlib", "-p", "no:cacheprovider", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    written = dict(json.loads(line) for line in failures.read_text().splitlines())
    assert {name.rsplit("::")[-1]: kind for name, kind in written.items()} == {
        "test_pure": False,
        "test_process": True,
        "test_broker": True,
    }
