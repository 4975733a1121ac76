"""
What a worker's log may say at ERROR in a run, by version; anything else fails the row of the log.

What follows such a line without a level of its own belongs to it. Called by `run.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.rig.compat.row import Version

_THEIRS = re.compile(r"^\[.*?\] ERROR (?P<what>.*)$")
_OURS = re.compile(r"^\S+ \S+ (ERROR|CRITICAL) ")
_NEVER: Version = (999,)


@dataclass(frozen=True)
class Known:
    """From `since`, and before `until`."""

    pattern: re.Pattern[str]
    why: str
    since: Version = (0,)
    until: Version = _NEVER


_KEYS = "the log says of keys that came later, ERROR: Discarding config update record with invalid key"
_STATES = "the log says of states that came later, ERROR: Failed to deserialize … status"
_BATCH = "its file source fails until its connector has written `batch.size` to the tasks' configs, a moment later"
_KILLED = "Task threw an uncaught and unrecoverable exception"

_DISCARDED = "Discarding config update record with invalid key: "
_MEANT = Known(re.compile(r"Failed: \S+\.ConnectException: Tolerance exceeded in error handler: the transform fail failed"), "")
"""In kconnect's own log, by the rows of failed connectors."""

KNOWN: tuple[Known, ...] = (
    Known(re.compile(f"{_DISCARDED}restart-connector-"), _KEYS, until=(3,)),
    Known(re.compile(f"{_DISCARDED}tasks-fencing-"), _KEYS, until=(3, 3)),
    Known(re.compile(f"{_DISCARDED}logger-cluster-"), _KEYS, until=(3, 7)),
    Known(re.compile(r"Failed to deserialize (connector|task) status"), _STATES, until=(3,)),
    Known(re.compile(r"Failed to deserialize connector status"), _STATES, (3,), (3, 5)),
    Known(re.compile(rf"WorkerSourceTask.*{_KILLED}"), _BATCH, until=(3,)),
    # The rows of failed connectors.
    Known(re.compile(rf"Worker(Source|Sink)Task.*{_KILLED}"), ""),
    # The row of session keys, on a busy machine: it sends signed requests until Connect is far enough to take them.
    Known(re.compile(r"Uncaught exception in REST call to /connectors/\S+/tasks$"), ""),
)


def explained(log: Path, begin: int, version: Version | None) -> tuple[list[str], list[str]]:
    """What explains the errors after byte `begin`, and the lines that nothing explains; `version` None is kconnect."""
    with log.open("rb") as file:
        file.seek(begin)
        text = file.read().decode("utf-8", "replace")
    pattern = _OURS if version is None else _THEIRS
    why: list[str] = []
    unexpected = []
    for line in text.splitlines():
        if pattern.search(line):
            known = _known(line, version)
            if known is None:
                unexpected.append(line)
            elif known.why and known.why not in why:
                why.append(known.why)
    return why, unexpected


def _known(line: str, version: Version | None) -> Known | None:
    if version is None:
        return _MEANT if _MEANT.pattern.search(line) else None
    return next((known for known in KNOWN if known.since <= version < known.until and known.pattern.search(line)), None)
