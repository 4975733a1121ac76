"""A run of several processes ends when one of them is killed, and every other test has been run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import _WITH_BROKERS
from tests.scheduling import EndingLoadFileScheduling

pytestmark = pytest.mark.process

CONFTEST = "from tests.conftest import pytest_testnodedown, pytest_xdist_make_scheduler"

KILLED = "import os, signal\ndef test_killed(): os.kill(os.getpid(), signal.SIGKILL)\n"
OPTIONS = ("-q", "-p", "no:cacheprovider", "--dist", "loadfile", "--no-loadscope-reorder")
GOOD = "def test_{}(): pass\n"


@pytest.mark.long
@pytest.mark.parametrize(("processes", "killed_at"), [(1, 7), (3, 3)])
def test_all_others_are_run(tmp_path: Path, processes: int, killed_at: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for number in range(8):
        text = "".join(map(GOOD.format, range(number % 3 + 1)))
        (tmp_path / f"test_{number}.py").write_text(text + KILLED + GOOD.format("after") if number == killed_at else text)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "-n", str(processes), "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    count = sum(number % 3 + 1 for number in range(8)) + 1
    assert f"1 failed, {count} passed" in ended.stdout, ended.stdout + ended.stderr
    assert f"test_{killed_at}.py::test_killed" in ended.stdout
    assert "ended, exit status -9" in ended.stderr


def test_scripts_test_runs_each_folder_that_may_have_tests_with_a_broker() -> None:
    lines = (Path(__file__).parent.parent / "scripts" / "test").read_text().splitlines()
    (at,) = (at for at, line in enumerate(lines) if '-m "integration$nights"' in line)
    assert lines[at + 1].split()[0] == '"${with_a_broker[@]}"'
    (folders,) = (line for line in lines if line.startswith("with_a_broker=("))
    assert {f"{word}/" for word in folders.partition("(")[2].rstrip(")").split()} == set(_WITH_BROKERS)


def test_files_that_share_a_cluster_go_to_one_process() -> None:
    def scope(name: str) -> str:
        return EndingLoadFileScheduling._split_scope(EndingLoadFileScheduling.__new__(EndingLoadFileScheduling), name)

    assert scope("tests/integration/console/test_a.py::test") == scope("tests/integration/console/test_b.py::test")
    assert scope("tests/integration/test_a.py::test") != scope("tests/integration/test_b.py::test")
