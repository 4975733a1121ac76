"""Telemetry that is off is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest

_OFF = """
import sys
import kconnect.host.driver, kconnect.host.main, kconnect.worker.main
from kconnect.core.settings.worker import WorkerSettings
from kconnect.telemetry import switch
from tests.core.settings.test_worker import MINIMAL

settings = WorkerSettings.from_properties(MINIMAL, {})
switch.require(settings)
assert switch.begin(settings, "worker") is None
print([name for name in sys.modules if name.startswith(("opentelemetry", "requests.", "kconnect.telemetry"))])
"""


@pytest.mark.process
def test_nothing_of_opentelemetry_is_imported_where_it_is_off() -> None:
    done = subprocess.run([sys.executable, "-c", _OFF], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['kconnect.telemetry', 'kconnect.telemetry.switch']"
