"""
Tells a leader which tasks should change places by the CPU that they take, as hosts report it.

Held by `leader.py`; `cluster/loads.py` decides, and `cluster/handover.py` has them moved.
"""

from __future__ import annotations

from kconnect.core.cluster.loads import Loads, Reading
from kconnect.core.herder import effects, overview
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.settings.operation import WEIGHT, Operation
from kconnect.core.state.records import UnitId, Units

_CPU = "cpu-seconds-total"
_MOST_S = 1e12
"""No task has taken so many seconds, nor one that is no number."""


class Weighing:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._loads = Loads(desk.identity.load_moves_per_hour, desk.now)

    def exchanges(self, able: frozenset[str]) -> Procedure[dict[UnitId, str]]:
        """Return which units should go to which worker that is `able`; often none. Nothing else may be about to move."""
        desk = self._desk
        if not self._loads.is_due(desk.now):
            return {}
        readings = yield from self._readings()
        units = frozenset(desk.log.config.units())
        self._loads.hear(units, readings, desk.now)
        owners: dict[str, Units] = {worker: desk.log.units_of(worker) for worker in able}
        if sum(map(len, owners.values())) < len(units):
            # Some are on their way, or wait for room: where they will be is not known here.
            return {}
        config = desk.log.config
        # Whoever says a weight, be it 1, has decided himself.
        weights = {
            UnitId(name, task): Operation.of(connector.properties).weight
            for name, connector in config.connectors.items()
            if connector.properties.get(WEIGHT) is not None
            for task in config.task_ids(name)
        }
        moves = self._loads.exchanges(owners, weights, desk.now)
        for unit, worker in moves.items():
            desk.say("INFO", f"{unit} goes to {worker}, so that workers take more like amounts of CPU")
        return moves

    def _readings(self) -> Procedure[dict[UnitId, Reading]]:
        reports = overview.current(self._desk, (yield from ask(effects.ReadReports())))
        return {
            unit: Reading(report.incarnation, seconds)
            for unit, report in reports.items()
            if (seconds := report.values.get(_CPU)) is not None and 0 <= seconds < _MOST_S
        }
