"""
Faults of clocks and disks: clocks two minutes apart, and disks that are full. Read by `table.py`.

Clocks are set by a library of the rig's own (`clock.c`). Disks are small ones in memory, in the mount namespace of one machine.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator

from tests.rig.machines import BROKERS, SPARK_WORKERS, WORKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault
from tests.rig.machines.programs import CLOCK, compiled
from tests.rig.machines.spark import WORK

_SPARE_MIB = 48


@fault("a worker's clock is a minute ahead, with its JVM, and another's a minute behind", "right again after 60 s", "k1 to k3")
def clocks_apart(scene: Scene) -> Iterator[float]:
    library = compiled(CLOCK)
    first = scene.busy_worker()
    second = scene.one_of([name for name in WORKERS if name != first])
    shifts = {first: "60", second: "-60"}
    for worker, shift in shifts.items():
        environment = {"LD_PRELOAD": str(library), "RIG_CLOCK_S": shift}
        yield from _restart(scene, worker, environment)
    yield 60.0
    for worker in shifts:
        yield from _restart(scene, worker, {})


@fault("the disk of a worker's log is full", "it has room again after 30 s", "k1 to k3")
def full_disk_of_log(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.rig.hosts.run(worker, ["sh", "-c", "mkdir -p /tmp/log && mount -t tmpfs -o size=1m tmpfs /tmp/log"])
    yield from _restart(scene, worker, {}, "/tmp/log/worker.log")
    _fill(scene, worker, "/tmp/log")
    yield 30.0
    _clear(scene, worker, "/tmp/log")
    yield 5.0
    yield from _restart(scene, worker, {})
    scene.rig.hosts.run(worker, ["umount", "-l", "/tmp/log"])


@fault(
    "the disk of a machine of Spark is full, and its executors are killed",
    "it has room again after 30 s",
    "s1 to s3",
    of_spark=True,
)
def full_disk_of_spark(scene: Scene) -> Iterator[float]:
    machine = scene.one_of([name for name in SPARK_WORKERS if scene.rig.spark.executors(name)])
    scene.rig.hosts.run(machine, ["mount", "-t", "tmpfs", "-o", f"size={_SPARE_MIB}m", "tmpfs", WORK])
    _fill(scene, machine, WORK)
    yield 5.0
    scene.signal(f"the executors on {machine}", scene.rig.spark.executors(machine))
    yield 30.0
    _clear(scene, machine, WORK)
    yield 30.0
    # Executors that were started on it go on with it; new ones write to the machine's own disk again.
    scene.rig.hosts.run(machine, ["umount", "-l", WORK])


@fault("a broker's disk is full", "it has room after 30 s, and the broker is started again", "b1 to b3")
def full_disk_of_broker(scene: Scene) -> Iterator[float]:
    broker = scene.one_of(BROKERS)
    data = shlex.quote(str(scene.rig.brokers.data(broker)))
    yield from _end(scene, broker)
    # A disk with a copy of the data and some room, in the place of its folder; what is written there is copied back at the end.
    size = f"$(( $(du -sm {data} | cut -f1) + {_SPARE_MIB} ))m"
    copy = (
        f"cp -a {data} /tmp/copy && mount -t tmpfs -o size={size} tmpfs {data} && cp -a /tmp/copy/. {data} && rm -rf /tmp/copy"
    )
    scene.rig.hosts.run(broker, ["sh", "-c", copy])
    scene.start(broker)
    yield from scene.until_brokers_are_whole()
    _fill(scene, broker, str(scene.rig.brokers.data(broker)))
    yield 30.0
    _clear(scene, broker, str(scene.rig.brokers.data(broker)))
    yield from _end(scene, broker)
    back = f"cp -a {data} /tmp/copy && umount {data} && rm -rf {data} && cp -a /tmp/copy {data} && rm -rf /tmp/copy"
    scene.rig.hosts.run(broker, ["sh", "-c", back])
    scene.start(broker)
    yield from scene.until_brokers_are_whole()


def _fill(scene: Scene, machine: str, folder: str) -> None:
    """Fill a disk to its last byte."""
    ballast = shlex.quote(f"{folder}/ballast")
    scene.rig.hosts.run(machine, ["sh", "-c", f"dd if=/dev/zero of={ballast} bs=4096 2>/dev/null; df -k {shlex.quote(folder)}"])
    scene.say(f"{folder} of {machine} is full")


def _clear(scene: Scene, machine: str, folder: str) -> None:
    scene.rig.hosts.run(machine, ["rm", "-f", f"{folder}/ballast"])
    scene.say(f"{folder} of {machine} has room")


def _end(scene: Scene, name: str) -> Iterator[float]:
    scene.signal(f"the program of {name}", scene.program(name), signal.SIGTERM)
    yield from scene.until_ended(name)


def _restart(scene: Scene, worker: str, environment: dict[str, str], log: str = "") -> Iterator[float]:
    scene.take_away(worker)
    yield from _end(scene, worker)
    scene.rig.workers.start(worker, environment, log)
    # What it logs elsewhere can't be looked at.
    is_up = scene.rig.workers.is_healthy if log else scene.rig.workers.is_ready
    yield from scene.until(lambda: is_up(worker), 120.0)
    scene.bring_back(worker)
