"""Faults of who may do what: certificates that are renewed, passwords and rights that are taken away. Read by `table.py`."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka.admin import AclBinding, ResourceType

from tests.rig.machines import BROKERS, WORKERS
from tests.rig.machines.brokers import WORKER
from tests.rig.machines.faults import of_brokers, of_workers
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import fault
from tests.rig.machines.workers import INTERNAL
from tests.rig.machines.workload import SUNK


@fault("the workers' certificates are renewed", "a rolling restart", "k1 to k3")
def renew_worker_certificates(scene: Scene) -> Iterator[float]:
    for worker in WORKERS:
        scene.rig.certificates.renew(worker)
    yield from of_workers.roll(scene)


@fault("the brokers' certificates are renewed", "a rolling restart", "b1 to b3")
def renew_broker_certificates(scene: Scene) -> Iterator[float]:
    for broker in BROKERS:
        scene.rig.certificates.renew(broker)
    yield from of_brokers.roll(scene)


@fault("the workers' user has no password any more, and a broker is restarted", "it has it again after 40 s", "b1 to b3")
def scram_away(scene: Scene) -> Iterator[float]:
    scene.rig.brokers.take_password(WORKER)
    try:
        yield 2.0
        broker = scene.one_of(BROKERS)
        scene.signal(f"the broker {broker}", scene.program(broker))
        yield 5.0
        scene.start(broker)
        yield 33.0
    finally:
        scene.rig.brokers.set_password(WORKER)
    yield from scene.until_brokers_are_whole()


@fault("the workers' user has no rights on the internal topics any more", "it has them again after 20 to 30 s", "b1 to b3")
def acl_internal_away(scene: Scene) -> Iterator[float]:
    names = set(INTERNAL.values())
    yield from _without(scene, [acl for acl in scene.rig.rights.given() if acl.name in names])


@fault("the workers' user has no rights on the data topics any more", "it has them again after 20 to 30 s", "b1 to b3")
def acl_data_away(scene: Scene) -> Iterator[float]:
    acls = [acl for acl in scene.rig.rights.given() if acl.restype == ResourceType.TOPIC and acl.name in SUNK]
    yield from _without(scene, acls)


def _without(scene: Scene, acls: list[AclBinding]) -> Iterator[float]:
    scene.rig.rights.take(acls)
    scene.say(f"{len(acls)} rights are gone")
    try:
        yield scene.seconds(20, 30)
    finally:
        scene.rig.rights.give(acls)
    yield 1.0
