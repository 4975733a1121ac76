"""The lock between processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kconnect.jvm import lock

pytestmark = pytest.mark.process

HOLDER = """
import sys, time
from pathlib import Path
from kconnect.jvm import lock
with lock.hold(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_it_ends_with_its_holder_even_by_kill(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    got = threading.Event()

    def take() -> None:
        with lock.hold(path):
            got.set()

    waiter = threading.Thread(target=take, daemon=True)
    waiter.start()
    assert not got.wait(0.2), "two hold the lock"
    holder.kill()
    holder.wait()
    assert got.wait(60)
    waiter.join()
    holder.stdout.close()
