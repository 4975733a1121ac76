"""
Self-healing: which of a worker's failed units are due to be started again (`errors.restart.*`).

Held by `placing.py`, which tells it of every status that it reads and restarts what `due` names, the way a user's restart
does. What it remembers is of this worker's life only: after a move or a restart of the worker the count begins anew.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from kconnect.core.settings.operation import Operation
from kconnect.core.state.records import State, UnitId, UnitStatus


@dataclass(slots=True)
class _Unit:
    attempts: int = 0
    failed_at: int | None = None
    running_since: int | None = None


@dataclass
class Healing:
    """Times are milliseconds of the herder's clock."""

    _units: dict[UnitId, _Unit] = field(default_factory=dict)

    def read(self, unit: UnitId, status: UnitStatus | None, operation: Operation, now: int) -> None:
        """Take note of a status as it is read."""
        if operation.max_attempts == 0 or status is None:
            self._units.pop(unit, None)
            return
        record = self._units.setdefault(unit, _Unit())
        if status.state is State.FAILED:
            ran = 0 if record.running_since is None else now - record.running_since
            if ran >= operation.max_backoff_ms:
                record.attempts = 0
            if record.failed_at is None:
                record.failed_at = now
            record.running_since = None
        else:
            record.failed_at = None
            if status.state is State.RUNNING:
                record.running_since = now if record.running_since is None else record.running_since

    def keep(self, units: Collection[UnitId]) -> None:
        """Forget all others: they have left this worker."""
        if not self._units.keys() <= set(units):
            self._units = {unit: record for unit, record in self._units.items() if unit in units}

    @property
    def failed(self) -> list[UnitId]:
        """The units whose last status was FAILED, and that have not been due for a restart since."""
        return sorted(unit for unit, record in self._units.items() if record.failed_at is not None)

    def due(self, unit: UnitId, operation: Operation, now: int) -> int:
        """The number of the attempt if `unit` is to be started now, else 0. It is due once a failure."""
        record = self._units[unit]
        if record.failed_at is None or record.attempts >= operation.max_attempts >= 0:
            return 0
        pause = min(operation.backoff_ms * 2 ** min(record.attempts, 30), operation.max_backoff_ms)
        if now - record.failed_at < pause:
            return 0
        record.attempts += 1
        record.failed_at = None
        return record.attempts
