"""Tasks with a process of their own (`tasks.isolation`), on a real worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until

Names = Callable[[str], str]


def hosts(worker: WorkerProcess) -> list[Any]:
    (found,) = worker.client.cluster()["workers"]
    return list(found["hosts"])


def dedicated(worker: WorkerProcess, name: str) -> dict[int, int]:
    """The processes of a connector's tasks, by task, as far as each has said that it runs its own and nothing else."""
    return {
        host["dedicated_to"]["task"]: host["pid"]
        for host in hosts(worker)
        if host["dedicated_to"] and host["dedicated_to"]["connector"] == name and (host["connectors"], host["tasks"]) == (0, 1)
    }


def test_dedicated_tasks_have_processes_of_their_own_that_go_with_them(
    worker: WorkerProcess, unique: Names, tmp_path: Path, topic: str
) -> None:
    client, name = worker.client, unique("alone")
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out"), "tasks.max": "2"}
    with pytest.raises(RestError) as refused:
        client.create(name, {**config, "tasks.memory.max": "200000000"})
    assert "tasks.memory.max: only a task with a process of its own can be limited: set tasks.isolation=dedicated too" in str(
        refused.value
    )
    client.create(name, config)
    client.wait_for(name, "RUNNING", tasks=2, timeout=120)
    shared = {host["pid"] for host in hosts(worker)}
    assert not dedicated(worker, name)
    client.put_config(name, {**config, "tasks.isolation": "dedicated"})
    wait_until(lambda: len(dedicated(worker, name)) == 2, 120)
    client.wait_for(name, "RUNNING", tasks=2, timeout=120)
    pids = set(dedicated(worker, name).values())
    assert len(pids) == 2 and not pids & shared and all(map(psutil.pid_exists, pids))
    client.delete(name)
    wait_until(lambda: not any(host["dedicated_to"] for host in hosts(worker)), 120)
    wait_until(lambda: not any(map(psutil.pid_exists, pids)), 120)
