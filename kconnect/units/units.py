"""Makes the unit that a spec asks for. Called by `host/main.py`."""

from __future__ import annotations

from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.records import TargetState
from kconnect.units.connector_unit import ConnectorUnit
from kconnect.units.task_unit import TaskUnit
from kconnect.units.unit import BlamedUnit, Ports, Unit


def make_unit(spec: UnitSpec, ports: Ports, target: TargetState, blame: str | None = None) -> Unit:
    """Never fails: a plugin's code is touched in the unit's own thread only; with `blame` not at all."""
    if blame is not None:
        return BlamedUnit(spec, ports, target, blame)
    return ConnectorUnit(spec, ports, target) if spec.task is None else TaskUnit(spec, ports, target)
