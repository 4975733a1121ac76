"""The guard ends its process with its parent, and never another that has the same number."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

pytestmark = pytest.mark.process

MARK = "mark-of-this-test"


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", MARK])
    yield process
    process.kill()
    process.wait()


def guard(pid: int, mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "kconnect.local.guard", str(pid), mark], stdin=subprocess.PIPE)


def parent_ends(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def test_the_process_ends_with_the_parent(victim: subprocess.Popen[bytes]) -> None:
    process = guard(victim.pid, MARK)
    assert victim.poll() is None
    parent_ends(process)
    assert victim.wait(60) != 0
    assert process.wait(60) == 0


def test_another_process_with_that_number_is_left_alone(victim: subprocess.Popen[bytes]) -> None:
    process = guard(victim.pid, "/another/server.properties")
    parent_ends(process)
    assert process.wait(60) == 0
    assert victim.poll() is None


def test_the_process_has_ended_before() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    process = guard(ended.pid, MARK)
    parent_ends(process)
    assert process.wait(60) == 0
