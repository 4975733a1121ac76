"""
Tells a leader which tasks should change places by the CPU that they take, as hosts report it.

Held by `leader.py`; `cluster/loads.py` decides, and `cluster/handover.py` has them moved.
"""

from __future__ import annotations

from kconnect.core.cluster.loads import Loads, Reading
from kconnect.core.herder import effects
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.metrics.report import UnitReport
from kconnect.core.settings.operation import WEIGHT, Operation
from kconnect.core.state.records import UnitId, Units

_CPU = "cpu-seconds-total"


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
        """Read what the hosts say that have the tasks now: others may have had them before."""
        reports = yield from ask(effects.ReadReports())
        hosts = {(held.worker, held.host): held for held in self._desk.log.assignment.held.values()}
        readings = {}
        for report in reports:
            host = hosts.get((report.worker, report.host)) if isinstance(report, UnitReport) else None
            if not isinstance(report, UnitReport) or host is None or host.incarnation != report.incarnation:
                continue
            if report.unit in (host.units or ()) and (seconds := report.values.get(_CPU)) is not None:
                readings[report.unit] = Reading(report.incarnation, seconds)
        return readings
