"""
Turns telemetry on, in a process whose worker file asks for it.

`worker/main.py`, `host/driver.py` and `host/main.py` call `begin` once they have settings. Nothing of OpenTelemetry is imported
before that, and nothing at all where `opentelemetry.enabled` is false. Read next: `sdk.py`.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError

if TYPE_CHECKING:
    from kconnect.telemetry.sdk import Telemetry

log = logging.getLogger(__name__)

_NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_REMEDY = "pip install 'kconnect[opentelemetry]' in the Python that runs kconnect, or set opentelemetry.enabled=false"


def require(settings: WorkerSettings) -> None:
    """Raise ConfigError if telemetry is on, and its packages are not installed."""
    if settings.opentelemetry_enabled and (absent := missing()) is not None:
        raise ConfigError(f"opentelemetry.enabled is true, but the package {absent} is not installed: {_REMEDY}")


def missing() -> str | None:
    """Return the name of a package that telemetry needs and this Python lacks, or None."""
    return next((name for name in _NEEDED if not _is_there(name)), None)


def begin(settings: WorkerSettings, process: str) -> Telemetry | None:
    """
    Send this process's logs from now on, and return what its traces and metrics are made with; None if telemetry is off.
    `process` says which of the worker's it is, such as `host-0`. Never fails: an executor on another machine may lack the
    packages, and runs its tasks all the same.
    """
    if not settings.opentelemetry_enabled:
        return None
    if (absent := missing()) is not None:
        log.warning("This process sends no telemetry, as the package %s is not installed: %s", absent, _REMEDY)
        return None
    try:
        # The SDK reads its environment when it is imported, too.
        from kconnect.telemetry import sdk

        return sdk.Telemetry(settings, process)
    except Exception as error:  # noqa: BLE001 - such as a number in an OTEL_ variable that is none
        log.warning("This process sends no telemetry, as OpenTelemetry's SDK can't be used: %s", error)
        return None


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
