"""
What to do about a setting of a worker file that nobody knows: a typing error, or one of older versions of Kafka Connect.

Called by `worker/main.py` for the log and by `cli/checkup/doctor.py`. Read next: `worker.py`.
"""

from __future__ import annotations

import difflib

from kconnect.core.settings.worker import WORKER_CONFIG

_REMOVED = {
    # KAFKA-12483; files that are handed down still have them.
    "rest.host.name": "Kafka Connect had it until 3.0: set listeners, such as listeners=http://HOST:8083",
    "rest.port": "Kafka Connect had it until 3.0: set listeners, such as listeners=http://:PORT",
}


def remedy(name: str) -> str:
    """Return what to do about a setting that has no effect because of its name."""
    if name in _REMOVED:
        return _REMOVED[name]
    if name.startswith(("internal.key.converter", "internal.value.converter")):
        return "Kafka Connect had it until 3.0: take it out"
    near = difflib.get_close_matches(name, WORKER_CONFIG.keys, 1, 0.8)
    return f"did you mean {near[0]}?" if near else "take it out, or see docs/operating.md for what there is"
