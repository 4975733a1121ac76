"""The script: all requests in the order in which both clusters get them. Read next: `worker.py`."""

from __future__ import annotations

from tests.rig.parity.script import creation, life, offsets, validation, worker
from tests.rig.parity.step import Step

SCRIPT: list[Step] = [
    *worker.WORKER,
    *creation.UNKNOWN,
    *worker.RULES,
    *creation.REFUSED,
    *creation.ACCEPTED,
    *validation.VALIDATION,
    *life.RUNNING,
    *life.STATES,
    *life.RESTARTS,
    *life.CHANGES,
    *life.TOPICS,
    *offsets.SOURCES,
    *offsets.SINKS,
    *life.GONE,
]
