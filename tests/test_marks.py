"""A test that starts a process without a mark that says so fails (`tests/conftest.py`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent

HOOKS = "from tests.conftest import pytest_collection_modifyitems, pytest_runtest_call, pytest_runtest_setup\n"
TESTS = """
import os, subprocess, sys, threading, pytest
from tests.support import starts

def start(): subprocess.run([sys.executable, "-c", ""], check=True)
def fork(): os.waitpid(os.fork() or os._exit(0), 0)
def hidden():
    try: start()
    except BaseException: pass

@pytest.fixture(scope="session")
def early(): start()
@pytest.fixture
@starts("process")
def child(): start()
@pytest.fixture
def user(child): pass
@pytest.fixture
@starts("integration")
def system(): start()

def test_bad_popen(): start()
def test_bad_fork(): fork()
def test_bad_spawn(): os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}), 0)
def test_bad_system(): os.system(":")
def test_bad_hidden(): hidden()
def test_bad_fixture(early): pass
def test_bad_thread():
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
@pytest.mark.lint
def test_good_lint(): start()
@pytest.mark.process
def test_good_process(): start()
@pytest.mark.integration
def test_good_integration(): start()
def test_good_child(user): pass
def test_good_system(system): pass
def test_good_nothing(): pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(HOOKS)
    tests = tmp_path / "tests" / "integration"
    tests.mkdir(parents=True)
    (tests / "test_some.py").write_text(TESTS)
    return tmp_path


def played(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-rA", "--import-mode=importlib", "-p", "no:cacheprovider", *options, "."]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_who_starts_a_process_says_so(folder: Path) -> None:
    ended = played(folder)
    said = [line.split()[:2] for line in ended.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    names = {name.rsplit("::")[-1]: result for result, name in said}
    assert len(names) == TESTS.count("def test_"), ended.stdout + ended.stderr
    assert all(result == ("FAILED" if name.startswith("test_bad") else "PASSED") for name, result in names.items()), names
    assert "the mark `process` is missing" in ended.stdout


@pytest.mark.long
def test_who_uses_what_starts_one_has_its_mark(folder: Path) -> None:
    for mark in ("process", "integration"):
        ended = played(folder, "-m", mark)
        assert "2 passed" in ended.stdout, ended.stdout + ended.stderr


def test_a_broker_where_nobody_looks_for_one_is_told(folder: Path) -> None:
    (folder / "tests" / "integration").rename(folder / "tests" / "other")
    ended = played(folder)
    assert ended.returncode != 0
    assert "test_good_integration has a broker: scripts/test looks for such tests in" in ended.stderr + ended.stdout
