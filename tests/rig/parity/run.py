"""
Runs the script against Connect 4.3.1 and against kconnect, at the same time and on one broker, and tells what differs.

`scripts/parity` and `tests/parity` call `run`. Read next: `script/`, `known.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kconnect.testing.processes import WorkerProcess
from tests.rig.parity import normal, records
from tests.rig.parity.cluster import Cluster
from tests.rig.parity.compare import Difference, differences
from tests.rig.parity.expected import Found, found, unmet
from tests.rig.parity.known import KNOWN
from tests.rig.parity.step import Step
from tests.rig.systems.connect import ConnectProcess

_QUICK = {"offset.flush.interval.ms": "500", "task.shutdown.graceful.timeout.ms": "20000"}

_HEALTHY_S = 180.0
"""Two JVMs and a worker start at the same time."""

_BURIED_S = 60.0
"""Until the statuses of what was deleted last are gone, on a machine that does much else."""


@dataclass
class Compared:
    """One request, or one internal topic: what both gave, and where that differs, with what is known of it."""

    title: str
    theirs: Any
    ours: Any
    found: list[Found]

    @property
    def unexpected(self) -> list[Difference]:
        return [each.difference for each in self.found if each.known is None]

    @property
    def known(self) -> list[str]:
        return sorted({each.known.id for each in self.found if each.known is not None})


@dataclass
class Report:
    compared: list[Compared]

    @property
    def unexpected(self) -> list[Difference]:
        return [difference for each in self.compared for difference in each.unexpected]

    @property
    def unmet(self) -> list[str]:
        """Known differences, by id and place, that did not occur."""
        return unmet(KNOWN, [found for each in self.compared for found in each.found])


def run(bootstrap_servers: str, directory: Path, script: Sequence[Step], say: Callable[[str], None] = lambda _: None) -> Report:
    """Both workers are started and stopped again. ConnectError if one does not come up."""
    clusters = [_cluster(kind, name, bootstrap_servers, directory) for kind, name in _KINDS]
    try:
        say("starting Connect 4.3.1 and kconnect")
        for cluster in clusters:
            cluster.worker.start(wait=False)
            cluster.prepare()
        for cluster in clusters:
            cluster.worker.wait_healthy(_HEALTHY_S)
        say(f"sending {len(script)} requests to both")
        _together(lambda cluster: cluster.run(list(script)), clusters)
        say(", ".join(f"{cluster.name} took {cluster.seconds:.0f} s" for cluster in clusters))
        return Report(_compare(script, *clusters))
    finally:
        _together(lambda cluster: cluster.worker.stop(), clusters)


_KINDS: tuple[tuple[type[WorkerProcess], str], ...] = ((ConnectProcess, "parity-peer"), (WorkerProcess, "parity-ours"))


def _cluster(kind: type[WorkerProcess], name: str, bootstrap_servers: str, directory: Path) -> Cluster:
    own = directory / name
    return Cluster(name, kind(own, bootstrap_servers, name, properties=_QUICK), bootstrap_servers, own)


def _compare(script: Sequence[Step], peer: Cluster, ours: Cluster) -> list[Compared]:
    same = [normal.texts_of(cluster, cluster.worker.client.root()["version"]) for cluster in (peer, ours)]
    pairs: list[tuple[str, Any, Any]] = []
    for step, one, other in zip(script, peer.answers, ours.answers, strict=True):
        pairs.append((step.title, normal.answer(step, one, same[0]), normal.answer(step, other, same[1])))
    both = _records((peer, ours), same)
    pairs += [(topic, both[0][topic], both[1][topic]) for topic in both[0]]
    return [_compared(*pair) for pair in pairs]


def _records(clusters: Sequence[Cluster], same: Sequence[normal.Same]) -> list[dict[str, Any]]:
    """Of each, read until nothing differs: what is deleted is buried once its host has said that it ended."""
    end = time.monotonic() + _BURIED_S
    while True:
        both = [records.read(cluster, each) for cluster, each in zip(clusters, same)]
        unexpected = [each for topic in both[0] for each in _compared(topic, both[0][topic], both[1][topic]).unexpected]
        if not unexpected or time.monotonic() > end:
            return both
        time.sleep(0.5)


def _compared(title: str, theirs: Any, ours: Any) -> Compared:
    return Compared(title, theirs, ours, [found(each, KNOWN) for each in differences(title, theirs, ours)])


def _together(work: Callable[[Cluster], Any], clusters: list[Cluster]) -> None:
    """Both at once: each waits for its own states. What one raises is raised here when both have ended."""
    raised: list[BaseException] = []

    def guarded(cluster: Cluster) -> None:
        try:
            work(cluster)
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(cluster,)) for cluster in clusters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
