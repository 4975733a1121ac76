"""A driver that is ended while Spark's JVM starts, as by a worker that is refused: `kconnect/spark/session.py`."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from kconnect.testing.processes import still_alive
from tests.support import wait_until

pytestmark = pytest.mark.process

_DRIVER = """
import signal, sys
from kconnect.spark import output, session
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
session.start({}, "kconnect.host.main", 1, output.Output())
"""


@pytest.mark.parametrize("cpu_s", [0.0, 0.8, 1.2])
def test_its_jvm_ends_with_it(cpu_s: float) -> None:
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        started = wait_until(
            lambda: (found := psutil.Process(driver.pid).children(recursive=True)) and spent(found, cpu_s), 240
        )
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(120) == 7
        assert still_alive(started, 60) == []
    finally:
        driver.kill()
        driver.wait()


def spent(processes: list[psutil.Process], cpu_s: float) -> list[psutil.Process]:
    """The processes, once they have computed for so long. Then they are about as far on any machine, however busy it is."""
    try:
        return processes if sum(sum(process.cpu_times()[:2]) for process in processes) >= cpu_s else []
    except psutil.NoSuchProcess:  # A short one, of Spark's shell scripts.
        return []
