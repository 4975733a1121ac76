"""
What a worker tells the Spark driver and the task hosts that it starts: its settings, and what their logs must not show.

`worker_file.py` makes such an order; `host/driver.py` and `host/main.py` read it. Read next: `core/settings/worker.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.core.settings.worker import WorkerSettings
from kconnect.processes import logs


def settings(order: Mapping[str, Any]) -> WorkerSettings:
    """Return the worker's settings, in a process that it has started. Logs hide their secrets from here on."""
    worker_settings = WorkerSettings.from_properties(order["properties"], {})
    logs.configure(format=worker_settings.log_format)
    logs.cover(order["covered"], always=True)
    logs.hide_secrets(worker_settings.raw)
    return worker_settings
