"""Faults of brokers: killed, ended, suspended, rolled, and with their tasks moved to others. Read by `table.py`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.rig.machines import BROKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault


@fault("kill -9 of a broker", "it is started again after 30 s", "b1 to b3")
def kill9_broker(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.one_of(BROKERS))


def _kill(scene: Scene, broker: str) -> Iterator[float]:
    scene.signal(f"the broker {broker}", scene.program(broker))
    yield 30.0
    scene.start(broker)
    yield 5.0
