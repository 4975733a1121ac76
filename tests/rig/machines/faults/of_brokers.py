"""
Faults of brokers: killed, ended, suspended, rolled, and with leadership moved to others. Read by `table.py`.

Read next: `scene.py`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from tests.rig.machines import BROKERS
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault
from tests.rig.machines.rights import GROUP

_AWAY_S, _ALL_AWAY_S = 30.0, 300.0


@fault("kill -9 of a broker", "it is started again after 30 s", "b1 to b3")
def kill9_broker(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.one_of(BROKERS))


@fault("kill -9 of the broker that coordinates the workers' group", "it is started again after 30 s", "b1 to b3")
def kill9_broker_coordinator(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.rig.brokers.coordinator(GROUP))


@fault("kill -9 of the broker whose controller is active", "it is started again after 30 s", "b1 to b3")
def kill9_broker_controller(scene: Scene) -> Iterator[float]:
    yield from _kill(scene, scene.rig.brokers.controller())


def _kill(scene: Scene, broker: str) -> Iterator[float]:
    scene.signal(f"the broker {broker}", scene.program(broker))
    yield _AWAY_S
    scene.start(broker)
    yield from scene.until_brokers_are_whole()


@fault("kill -9 of all brokers", "they are started again after five minutes", "b1 to b3")
def kill9_all_brokers(scene: Scene) -> Iterator[float]:
    for broker in BROKERS:
        scene.signal(f"the broker {broker}", scene.program(broker))
    yield _ALL_AWAY_S
    for broker in BROKERS:
        scene.start(broker)
    yield from scene.until_brokers_are_whole()


@fault("SIGTERM to a broker", "it is started again after 30 s", "b1 to b3")
def term_broker(scene: Scene) -> Iterator[float]:
    broker = scene.one_of(BROKERS)
    scene.signal(f"the broker {broker}", scene.program(broker), signal.SIGTERM)
    yield _AWAY_S
    scene.start(broker)
    yield from scene.until_brokers_are_whole()


@fault("SIGSTOP to a broker", "SIGCONT after 20 to 30 s", "b1 to b3")
def stop_broker(scene: Scene) -> Iterator[float]:
    broker = scene.one_of(BROKERS)
    scene.signal(f"the broker {broker}", scene.program(broker), signal.SIGSTOP)
    yield scene.seconds(20, 30)
    scene.signal(f"the broker {broker}", scene.program(broker), signal.SIGCONT)
    yield from scene.until_brokers_are_whole()


@fault("a rolling restart of all brokers", "each waits for the replicas of the one before", "b1 to b3")
def roll_brokers(scene: Scene) -> Iterator[float]:
    yield from roll(scene)


@fault("a rolling restart of all brokers, then an election of preferred leaders", "at once", "b1 to b3")
def roll_brokers_and_elect(scene: Scene) -> Iterator[float]:
    yield from roll(scene)
    yield from _elect(scene)


@fault("the group's coordinator moves away from a broker that lives, then kill -9 of a worker", "it is back after 40 s", "b, k")
def move_coordinator_and_kill9_worker(scene: Scene) -> Iterator[float]:
    coordinator = scene.rig.brokers.coordinator(GROUP)
    scene.signal(f"the broker {coordinator}", scene.program(coordinator), signal.SIGTERM)
    yield from scene.until_ended(coordinator)
    scene.start(coordinator)
    yield from scene.until_brokers_are_whole()
    yield from _elect(scene)
    worker = scene.busy_worker()
    scene.take_away(worker)
    scene.signal(f"the worker {worker}", scene.program(worker))
    yield 40.0
    scene.start(worker)
    yield 1.0


def roll(scene: Scene) -> Iterator[float]:
    """End and start each broker, one after the other."""
    for broker in BROKERS:
        scene.signal(f"the broker {broker}", scene.program(broker), signal.SIGTERM)
        yield from scene.until_ended(broker)
        scene.start(broker)
        yield from scene.until_brokers_are_whole()


def _elect(scene: Scene) -> Iterator[float]:
    scene.rig.brokers.elect_preferred()
    scene.say(f"elected preferred leaders; the group's coordinator is {scene.rig.brokers.coordinator(GROUP)}")
    yield 10.0
