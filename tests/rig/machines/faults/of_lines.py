"""
Faults of the network: machines that are parted, in both directions or one, and lines that lose, delay or narrow.

Read by `table.py`. Each ends with lines that are whole again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rig.machines import ADDRESSES, BROKERS, CLIENT, MASTER, SPARK_WORKERS, WORKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault

_SHORT_S, _LONG_S = (16.0, 28.0), 120.0
_ALL = tuple(ADDRESSES)


def _others(name: str) -> list[str]:
    return [other for other in _ALL if other != name]


# --- workers ---


@fault("a worker is parted from all brokers", "whole after 16 to 28 s", "k and b")
def part_worker_brokers(scene: Scene) -> Iterator[float]:
    yield from _part_worker(scene, list(BROKERS))


@fault("a worker is parted from the other workers", "whole after 16 to 28 s", "k")
def part_worker_workers(scene: Scene) -> Iterator[float]:
    yield from _part_worker(scene, list(WORKERS))


@fault("a worker is parted from all other machines", "whole after 16 to 28 s", "k and all")
def part_worker(scene: Scene) -> Iterator[float]:
    yield from _part_worker(scene, list(_ALL))


def _part_worker(scene: Scene, others: list[str]) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.take_away(worker)
    scene.rig.switch.part([worker], others)
    yield from _hold(scene, f"{worker} from {' '.join(others)}", scene.seconds(*_SHORT_S))


@fault("what a worker sends to brokers is lost", "whole after 16 to 28 s", "k and b")
def part_worker_to_brokers(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.take_away(worker)
    scene.rig.switch.part_one_way([worker], BROKERS)
    yield from _hold(scene, f"{worker} to the brokers", scene.seconds(*_SHORT_S))


@fault("what brokers send to a worker is lost", "whole after 16 to 28 s", "k and b")
def part_brokers_to_worker(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.take_away(worker)
    scene.rig.switch.part_one_way(BROKERS, [worker])
    yield from _hold(scene, f"the brokers to {worker}", scene.seconds(*_SHORT_S))


# --- brokers ---


@fault("a broker is parted from all other machines", "whole after 16 to 28 s", "b and all")
def part_broker(scene: Scene) -> Iterator[float]:
    yield from _part_broker(scene, list(_ALL), scene.seconds(*_SHORT_S))


@fault("a broker is parted from all other machines", "whole after 120 s", "b and all")
def part_broker_long(scene: Scene) -> Iterator[float]:
    yield from _part_broker(scene, list(_ALL), _LONG_S)


@fault("a broker is parted from all its clients, not from the other brokers", "whole after 16 to 28 s", "b and all")
def part_broker_clients(scene: Scene) -> Iterator[float]:
    yield from _part_broker(scene, [name for name in _ALL if name not in BROKERS], scene.seconds(*_SHORT_S))


@fault("a broker is parted from the other brokers, not from its clients", "whole after 16 to 28 s", "b")
def part_broker_brokers(scene: Scene) -> Iterator[float]:
    yield from _part_broker(scene, list(BROKERS), scene.seconds(*_SHORT_S))


def _part_broker(scene: Scene, others: list[str], seconds: float) -> Iterator[float]:
    broker = scene.one_of(BROKERS)
    scene.rig.switch.part([broker], others)
    yield from _hold(scene, f"{broker} from {' '.join(others)}", seconds)


# --- Spark ---


@fault("a machine of Spark is parted from all brokers", "whole after 16 to 28 s", "s and b", of_spark=True)
def part_spark_brokers(scene: Scene) -> Iterator[float]:
    machine = scene.one_of(SPARK_WORKERS)
    scene.rig.switch.part([machine], BROKERS)
    yield from _hold(scene, f"{machine} from the brokers", scene.seconds(*_SHORT_S))


@fault("what a machine of Spark sends to brokers is lost", "whole after 16 to 28 s", "s and b", of_spark=True)
def part_spark_to_brokers(scene: Scene) -> Iterator[float]:
    machine = scene.one_of(SPARK_WORKERS)
    scene.rig.switch.part_one_way([machine], BROKERS)
    yield from _hold(scene, f"{machine} to the brokers", scene.seconds(*_SHORT_S))


@fault("what brokers send to a machine of Spark is lost", "whole after 16 to 28 s", "s and b", of_spark=True)
def part_brokers_to_spark(scene: Scene) -> Iterator[float]:
    machine = scene.one_of(SPARK_WORKERS)
    scene.rig.switch.part_one_way(BROKERS, [machine])
    yield from _hold(scene, f"the brokers to {machine}", scene.seconds(*_SHORT_S))


@fault(
    "a machine of Spark is parted from all workers, so its hosts from their drivers",
    "whole after 16 to 28 s",
    "s and k",
    of_spark=True,
)
def part_spark_drivers(scene: Scene) -> Iterator[float]:
    machine = scene.one_of(SPARK_WORKERS)
    scene.rig.switch.part([machine], WORKERS)
    yield from _hold(scene, f"{machine} from the workers", scene.seconds(*_SHORT_S))


@fault("a machine of Spark is parted from all other machines", "whole after 120 s", "s and all", of_spark=True)
def part_spark_long(scene: Scene) -> Iterator[float]:
    machine = scene.one_of(SPARK_WORKERS)
    scene.rig.switch.part([machine], _ALL)
    yield from _hold(scene, f"{machine} from all", _LONG_S)


@fault("Spark's master is parted from its workers", "whole after 16 to 28 s", "s0 and s", of_spark=True)
def part_master_spark(scene: Scene) -> Iterator[float]:
    scene.rig.switch.part([MASTER], SPARK_WORKERS)
    yield from _hold(scene, "Spark's master from its workers", scene.seconds(*_SHORT_S))


@fault("a driver is parted from Spark's master", "whole after 16 to 28 s", "k and s0", of_spark=True)
def part_driver_master(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.rig.switch.part([worker], [MASTER])
    yield from _hold(scene, f"{worker} from Spark's master", scene.seconds(*_SHORT_S))


# --- all ---


@fault("a third of everything is parted from the rest", "whole after 30 to 40 s", "b1 s1 k1, and the others")
def split(scene: Scene) -> Iterator[float]:
    number = scene.one_of("123")
    some = [f"b{number}", f"s{number}", f"k{number}"]
    scene.take_away(f"k{number}")
    scene.rig.switch.part(some, [name for name in _ALL if name not in some])
    yield from _hold(scene, f"{' '.join(some)} from the rest", scene.seconds(30, 40))


@fault("a worker is parted from all other machines and back, five times", "each time after 3 to 9 s", "k and all")
def flap_worker(scene: Scene) -> Iterator[float]:
    worker = scene.busy_worker()
    scene.take_away(worker)
    for _ in range(5):
        scene.rig.switch.part([worker], _others(worker))
        yield scene.seconds(3, 9)
        scene.rig.switch.heal()
        yield scene.seconds(1, 4)


@fault("one frame in ten is lost, on all lines", "none is after 40 s", "all")
def loss(scene: Scene) -> Iterator[float]:
    scene.rig.switch.link(_ALL, _ALL, loss_per_mille=100)
    yield from _hold(scene, "10 % of loss everywhere", 40.0)


@fault("each frame takes 200 ms, on all lines but the client's", "none does after 40 s", "all")
def delay(scene: Scene) -> Iterator[float]:
    inner = [name for name in _ALL if name != CLIENT]
    scene.rig.switch.link(inner, inner, delay_ms=200)
    yield from _hold(scene, "200 ms of delay everywhere", 40.0)


@fault("a broker's line carries 1 Mbit/s", "as before after 40 s", "b1 to b3")
def narrow_broker(scene: Scene) -> Iterator[float]:
    broker = scene.one_of(BROKERS)
    scene.rig.switch.narrow([broker], 1000)
    yield from _hold(scene, f"{broker} at 1 Mbit/s", 40.0)


def _hold(scene: Scene, what: str, seconds: float) -> Iterator[float]:
    scene.say(f"{what} for {seconds:.0f} s")
    yield seconds
    scene.rig.switch.heal()
    scene.away.clear()
    yield 1.0
