"""Faults of workers, their drivers and the drivers' JVMs: killed, ended, suspended and rolled. Read by `table.py`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial

from tests.rig.machines import WORKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault


@fault("kill -9 of a worker", "it is started again at once", "k1 to k3")
def kill9_worker_short(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.busy_worker(), 0.5)


@fault("kill -9 of a worker", "it is started again after 60 s", "k1 to k3")
def kill9_worker_long(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.busy_worker(), 60.0)


@fault("kill -9 of the worker that leads", "it is started again after 40 s", "k1 to k3")
def kill9_leader(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.leader(), 40.0)


def _kill(scene: Scene, worker: str, seconds: float) -> Iterator[float]:
    scene.take_away(worker)
    scene.signal(f"the worker {worker}", scene.program(worker))
    yield seconds
    scene.start(worker)
    yield 1.0


@fault("SIGTERM to a worker", "it is started again 20 s after its end", "k1 to k3")
def term_worker(scene: Scene) -> Iterator[float]:
    yield from _restart(scene, scene.busy_worker(), 20.0)


@fault("a rolling restart of all workers", "each waits until the one before is ready", "k1 to k3")
def roll_workers(scene: Scene) -> Iterator[float]:
    yield from roll(scene)


def roll(scene: Scene) -> Iterator[float]:
    """End and start each worker, one after the other, as the documentation says."""
    for worker in WORKERS:
        yield from _restart(scene, worker, 0.0)
        yield from scene.until(partial(scene.rig.workers.is_ready, worker), 180.0)


def _restart(scene: Scene, worker: str, seconds: float) -> Iterator[float]:
    scene.take_away(worker)
    scene.signal(f"the worker {worker}", scene.program(worker), signal.SIGTERM)
    yield from scene.until_ended(worker)
    yield seconds
    scene.start(worker)
    yield 1.0


@fault("SIGSTOP to all processes of a worker's machine", "SIGCONT after 20 to 40 s", "k1 to k3")
def stop_worker(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.take_away(worker)
    processes = scene.rig.hosts.processes(worker)
    scene.signal(f"all of {worker}", processes, signal.SIGSTOP)
    yield scene.seconds(20, 40)
    scene.signal(f"all of {worker}", processes, signal.SIGCONT)
    scene.bring_back(worker)
    yield 5.0


@fault("kill -9 of a worker's driver", "by itself", "k1 to k3", of_spark=True)
def kill9_driver(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.hit.add(worker)
    scene.signal(f"the driver of {worker}", scene.rig.workers.driver(worker))
    yield 10.0


@fault("kill -9 of the JVM of a worker's driver", "by itself", "k1 to k3", of_spark=True)
def kill9_driver_jvm(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.hit.add(worker)
    scene.signal(f"the JVM of {worker}", scene.rig.workers.jvm(worker))
    yield 10.0
