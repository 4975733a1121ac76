"""
Somebody types docs/upgrade.md, with two workers and connectors that run meanwhile: all that ran runs, and no line is lost.

Both workers are of this version. Old and new are the same then, but the steps are not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.docs.readings import AFTER_UPGRADE, BEFORE_UPGRADE, RESTART, Reading, steps_of
from tests.docs.scene import FILE_SINK, FILE_SOURCE, Scene
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1200)]

_LIMIT_S = 240.0


def type_all(scene: Scene, reading: Reading, worker: WorkerProcess, start: Callable[[WorkerProcess], object]) -> list[str]:
    """Type a part of the page, at the machine of `worker`. Return what each command prints."""
    said = []
    scene.addresses["localhost:8083"] = worker.url.removeprefix("http://").rstrip("/")
    scene.reader.export("KCONNECT_URL", worker.url)
    for step in steps_of(reading):
        if step.command == "systemctl stop kconnect":
            worker.stop()
        elif step.command == "systemctl start kconnect":
            start(worker)
        else:
            said.append(scene.type(step))
    return said


def start(worker: WorkerProcess) -> None:
    # The page's reader waits for it himself.
    worker.start(wait=False)


def test_workers_are_restarted_one_by_one_and_back(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    follow(broker, tmp_path, unique("upgraded"), (start, start))


def follow(
    broker: Broker, directory: Path, group: str, versions: tuple[Callable[[WorkerProcess], object], ...]
) -> tuple[int, int]:
    """Go through the page once for each of `versions`, which start a worker. Return how many lines came, and how many again."""
    properties = {**QUICK, "session.timeout.ms": "10000", "task.hosts": "1"}
    workers = [
        WorkerProcess(directory / f"worker-{number}", broker.bootstrap_servers, group, properties=properties)
        for number in (1, 2)
    ]
    source, target, lines = directory / "in.txt", directory / "out.txt", [""]

    def write(count: int) -> None:
        first = len(lines)
        lines.extend(f"line {number}" for number in range(first, first + count))
        with source.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines[first:]))

    def arrived() -> list[str]:
        return target.read_text("utf-8").splitlines() if target.exists() else []

    def is_all_there() -> bool:
        return set(arrived()) == set(lines[1:])

    try:
        for worker in workers:
            versions[-1](worker)
            worker.wait_healthy(_LIMIT_S)
        scene = Scene(workers[0], broker.bootstrap_servers, directory / "home")
        # The page says -f itself, which curl does not take twice.
        (scene.home / ".curlrc").unlink()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(group, 1, 1)])[group].result(_LIMIT_S)
        write(100)
        scene.create(f"{group}-source", FILE_SOURCE, file=str(source), topic=group)
        scene.create(f"{group}-sink", FILE_SINK, file=str(target), topics=group)
        wait_until(is_all_there, _LIMIT_S, "not all lines arrived before")
        for version in versions:
            (scene.home / "before.jsonl.gz").unlink(missing_ok=True)
            type_all(scene, BEFORE_UPGRADE, workers[0], version)
            for worker in workers:
                write(100)
                type_all(scene, RESTART, worker, version)
                wait_until(is_all_there, _LIMIT_S, "not all lines arrived after a worker's restart")
            for name in (f"{group}-source", f"{group}-sink"):
                workers[0].client.wait_for(name, "RUNNING", tasks=1, timeout=_LIMIT_S)
            said = type_all(scene, AFTER_UPGRADE, workers[0], version)
            assert said[0].count("1/1 RUNNING") == 2, said[0]
            write(100)
            wait_until(is_all_there, _LIMIT_S, "not all lines arrived in the end")
        return len(lines) - 1, len(arrived()) - len(set(arrived()))
    finally:
        for worker in workers:
            worker.stop()
