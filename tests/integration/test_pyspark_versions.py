"""
A worker on each PySpark that setup.cfg allows, beside the one that setup installs: lines move, and a host that is killed loses
none.

Each version has an environment in kconnect's cache with that PySpark, which is fetched first, and with all else of this one.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from kconnect.jvm import jars, lock
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.integration.transfer import Transfer

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
LINES = 100_000


class OtherSpark(WorkerProcess):
    """A worker that runs on another Python environment."""

    python = ""

    def _command(self) -> list[str]:
        return [self.python, *super()._command()[1:]]


def environment(version: str) -> Path:
    """Return the Python of an environment with the newest PySpark of a version, such as 4.1."""
    folder = jars.cache_dir() / "pyspark" / f"{version}-python{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    with lock.hold(folder.with_suffix(".lock")):
        if not (folder / "whole").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            quiet = ["-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([str(python), *quiet, f"pyspark=={version}.*"], check=True)
            (folder / "whole").touch()
        # Behind the environment's own, so that only PySpark and py4j are others.
        code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        own = subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout.strip()
        Path(own, "rest.pth").write_text(f"{ROOT}\n{sysconfig.get_paths()['purelib']}\n", "utf-8")
    return python


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2"])
def test_lines_move_and_a_killed_host_loses_none(
    broker: Broker, tmp_path: Path, unique: Callable[[str], str], version: str
) -> None:
    group = unique("pyspark")
    worker = OtherSpark(tmp_path / "worker", broker.bootstrap_servers, group, properties={**QUICK, "task.hosts": "1"})
    worker.python = str(environment(version))
    shown = subprocess.run(
        [worker.python, "-c", "import pyspark; print(pyspark.__version__)"], check=True, capture_output=True, text=True
    ).stdout
    assert shown.startswith(version), "the control: it is that one"
    try:
        worker.start()
        transfer = Transfer(worker, broker.bootstrap_servers, tmp_path, unique("pyspark"), LINES)
        transfer.begin()
        transfer.wait_for_share(0.2)
        committed = transfer.committed()
        for host in worker.hosts():
            host.kill()
        transfer.wait_done()
        transfer.check_source(f"{group}-offsets")
        transfer.check_sink(committed)
        transfer.delete()
    finally:
        worker.stop()
