"""Faults of whole machines: gone without a word, as by a power cut, and back later or at once. Read by `table.py`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.rig.machines import ADDRESSES, BROKERS, SPARK_WORKERS, WORKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault


@fault("a worker's machine is gone", "it is back, with its worker, after 40 s", "k1 to k3")
def lose_worker_machine(scene: Scene) -> Iterator[float]:
    yield from _lose(scene, scene.busy_worker(), 40.0)


@fault("a worker's machine is gone", "it is back, with its worker, at once", "k1 to k3")
def worker_machine_back_at_once(scene: Scene) -> Iterator[float]:
    yield from _lose(scene, scene.busy_worker(), 0.5)


@fault("a machine of Spark is gone", "it is back, with its worker of Spark, after 40 s", "s1 to s3", of_spark=True)
def lose_spark_machine(scene: Scene) -> Iterator[float]:
    yield from _lose(scene, scene.one_of(SPARK_WORKERS), 40.0)


@fault("a broker's machine is gone", "it is back, with its broker, after 40 s", "b1 to b3")
def lose_broker_machine(scene: Scene) -> Iterator[float]:
    yield from _lose(scene, scene.one_of(BROKERS), 40.0)
    yield from scene.until_brokers_are_whole()


def _lose(scene: Scene, machine: str, seconds: float) -> Iterator[float]:
    if machine in WORKERS:
        scene.take_away(machine)
    # Without this the kernel would close all connections, which a power cut does not.
    scene.rig.switch.part([machine], [name for name in ADDRESSES if name != machine])
    scene.rig.hosts.crash(machine)
    scene.say(f"{machine} is gone for {seconds:.0f} s")
    yield seconds
    scene.rig.switch.heal()
    scene.rig.hosts.boot(machine)
    scene.start(machine)
    yield 1.0
