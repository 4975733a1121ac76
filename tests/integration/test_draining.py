"""Maintenance as an operator does it: a worker is drained, restarted, and taken back, by the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


def test_a_worker_is_emptied_restarted_and_taken_back(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    group, names = unique("drained"), [unique("ticks"), unique("tocks")]
    one, two = (
        WorkerProcess(tmp_path / str(number), broker.bootstrap_servers, group, properties={**QUICK, "task.hosts": "1"})
        for number in range(2)
    )
    ids = {worker: str(urlsplit(worker.url).netloc) for worker in (one, two)}

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kconnect", "cluster", *words, "--url", one.url]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    def tasks_on(worker: WorkerProcess) -> list[str]:
        found = []
        for name in names:
            status = one.client.status(name)
            found += [name for task in status["tasks"] if (task["worker_id"], task["state"]) == (ids[worker], "RUNNING")]
        return found

    try:
        one.start()
        two.start()
        for name in names:
            one.client.put_config(
                name, {"connector.class": "Datagen", "kafka.topic": name, "quickstart": "orders", "tasks.max": "4"}
            )
        half = [names[0]] * 2 + [names[1]] * 2
        wait_until(lambda: tasks_on(one) == half == tasks_on(two), 240, "the tasks of each connector are not on both workers")
        done = typed("drain", ids[two])
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert f"{ids[two]} runs nothing" in done.stderr
        assert f"{ids[two]}  drained" in typed().stdout
        wait_until(lambda: len(tasks_on(one)) == 8, 240, "not all runs on the other one")
        refused = typed("drain", ids[one])
        assert refused.returncode != 0
        assert f"{ids[one]} is the last worker that can run anything" in refused.stderr
        two.stop()
        two.start()
        wait_until(lambda: next(row["hosts"] for row in one.client.cluster()["workers"] if row["worker_id"] == ids[two]), 240)
        assert (tasks_on(two), len(tasks_on(one))) == ([], 8)
        assert typed("undrain", ids[two]).returncode == 0
        wait_until(lambda: tasks_on(one) == half == tasks_on(two), 240, "nothing comes back")
    finally:
        two.stop()
        one.stop()
