"""Faults of the Spark cluster: executors, task hosts, the daemons that fork them, master and workers. Read by `table.py`."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from tests.rig.machines import MASTER, SPARK_WORKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault


@fault("kill -9 of one executor", "by itself", "s1 to s3", of_spark=True)
def kill9_executor(scene: Scene) -> Iterator[float]:
    machine = scene.one_of([name for name in SPARK_WORKERS if scene.rig.spark.executors(name)])
    scene.signal(f"an executor on {machine}", [scene.dice.choice(scene.rig.spark.executors(machine))])
    yield 10.0


@fault("kill -9 of all executors of one worker's application", "by itself", "s1 to s3", of_spark=True)
def kill9_executors(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    processes = [process for name in SPARK_WORKERS for process in scene.rig.spark.executors(name, worker)]
    scene.signal(f"all executors of {worker}", processes)
    yield 10.0


@fault("kill -9 of one task host", "by itself", "s1 to s3", of_spark=True)
def kill9_task_host(scene: Scene) -> Iterator[float]:
    machine = scene.one_of([name for name in SPARK_WORKERS if scene.rig.spark.task_hosts(name)])
    scene.signal(f"a task host on {machine}", [scene.dice.choice(scene.rig.spark.task_hosts(machine))])
    yield 10.0


@fault("kill -9 of all task hosts of a machine", "by itself", "s1 to s3", of_spark=True)
def kill9_task_hosts(scene: Scene) -> Iterator[float]:
    machine = scene.one_of([name for name in SPARK_WORKERS if scene.rig.spark.task_hosts(name)])
    scene.signal(f"all task hosts on {machine}", scene.rig.spark.task_hosts(machine))
    yield 10.0


@fault("kill -9 of the daemons on a machine that fork task hosts", "by itself", "s1 to s3", of_spark=True)
def kill9_python_daemons(scene: Scene) -> Iterator[float]:
    machine = scene.one_of([name for name in SPARK_WORKERS if scene.rig.spark.python_daemons(name)])
    scene.signal(f"the daemons on {machine}", scene.rig.spark.python_daemons(machine))
    yield 10.0


@fault("kill -9 of Spark's master", "it is started again after 30 s", "s0", of_spark=True)
def kill9_spark_master(scene: Scene) -> Iterator[float]:
    yield from _end(scene, MASTER, signal.SIGKILL)


@fault("kill -9 of a worker of Spark", "it is started again after 30 s", "s1 to s3", of_spark=True)
def kill9_spark_worker(scene: Scene) -> Iterator[float]:
    yield from _end(scene, scene.one_of(SPARK_WORKERS), signal.SIGKILL)


@fault("SIGTERM to a worker of Spark", "it is started again after 30 s", "s1 to s3", of_spark=True)
def term_spark_worker(scene: Scene) -> Iterator[float]:
    yield from _end(scene, scene.one_of(SPARK_WORKERS), signal.SIGTERM)


def _end(scene: Scene, name: str, number: signal.Signals) -> Iterator[float]:
    scene.signal(f"the Spark of {name}", scene.program(name), number)
    yield 30.0
    scene.start(name)
    yield 10.0


@fault("SIGSTOP to all processes of a machine of Spark", "SIGCONT after 20 to 40 s", "s1 to s3", of_spark=True)
def stop_spark_machine(scene: Scene) -> Iterator[float]:
    machine = scene.one_of(SPARK_WORKERS)
    processes = scene.rig.hosts.processes(machine)
    scene.signal(f"all of {machine}", processes, signal.SIGSTOP)
    yield scene.seconds(20, 40)
    scene.signal(f"all of {machine}", processes, signal.SIGCONT)
    yield 5.0
