"""Telemetry that is off is not there."""

from __future__ import annotations

import os
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


_ON = """
import logging
from kconnect.core.settings.worker import WorkerSettings
from kconnect.telemetry import switch
from tests.core.settings.test_worker import MINIMAL

logging.basicConfig()
on = {"opentelemetry.enabled": "true", "opentelemetry.endpoint": "http://127.0.0.1:9"}
telemetry = switch.begin(WorkerSettings.from_properties({**MINIMAL, **on}, {}), "worker")
if telemetry is not None:
    telemetry.send_metrics(None)
    telemetry.close()
print("goes on")
"""


@pytest.mark.process
@pytest.mark.parametrize(
    "variable",
    [
        *("OTEL_BSP_MAX_QUEUE_SIZE=x", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=99999", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=-4"),
        *("OTEL_EXPORTER_OTLP_COMPRESSION=zip", "OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such", "OTEL_SDK_DISABLED=true"),
    ],
)
def test_no_variable_of_the_environment_stops_a_process(variable: str) -> None:
    name, _, value = variable.partition("=")
    command = [sys.executable, "-c", _ON]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, env={**os.environ, name: value})
    assert (done.returncode, done.stdout.strip()) == (0, "goes on"), done.stderr


@pytest.mark.process
def test_nothing_of_opentelemetry_is_imported_where_it_is_off() -> None:
    done = subprocess.run([sys.executable, "-c", _OFF], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['kconnect.telemetry', 'kconnect.telemetry.switch']"
